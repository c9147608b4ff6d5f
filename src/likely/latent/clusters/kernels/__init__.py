"""Loops of the models of clusters, compiled by numba."""
