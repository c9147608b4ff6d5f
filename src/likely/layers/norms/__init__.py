"""Normalisation layers: batch, layer and group normalisation."""
