"""What `make bench` measures: our time against each peer's, side by side in one run."""
