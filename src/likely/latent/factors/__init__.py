"""Factors: rows as combinations of a few latent variables."""
