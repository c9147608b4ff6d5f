"""Many fits of one estimator to many training sets."""
