"""Bayesian networks: directed graphs of tables and normal distributions."""
