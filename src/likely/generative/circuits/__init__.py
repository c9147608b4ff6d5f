"""Probabilistic circuits: sums and products over distributions of single columns."""
