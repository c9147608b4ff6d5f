"""Loops of the models of energies, compiled by numba."""
