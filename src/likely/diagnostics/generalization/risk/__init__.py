"""Losses, and the risks of a fitted predictor."""
