"""Linear models and their parts."""
