"""Polynomials that approximate, and errors of approximation."""
