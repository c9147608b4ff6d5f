"""Solvers without gradients: genetic algorithms, block coordinates."""
