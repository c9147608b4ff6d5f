"""Normalisation of batches, layers and groups."""
