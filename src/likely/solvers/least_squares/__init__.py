"""Least squares: exact, ridge, nonlinear."""
