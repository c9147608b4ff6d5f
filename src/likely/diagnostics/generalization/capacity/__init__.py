"""Errors by the capacity of a model: double descent, the interpolation threshold."""
