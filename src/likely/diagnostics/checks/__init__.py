"""Numbered checks of a fitted predictor and its data: LK101 and so on."""
