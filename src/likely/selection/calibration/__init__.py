"""Estimators with recalibrated probabilities and distributions."""
