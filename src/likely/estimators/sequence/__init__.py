"""Networks of sequences."""
