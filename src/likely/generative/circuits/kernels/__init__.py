"""Passes over circuits, compiled by numba."""
