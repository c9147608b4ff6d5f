"""Definiteness, traces, norms and linear functions."""
