"""Derivatives by finite differences and by sampling, and gradient checks."""
