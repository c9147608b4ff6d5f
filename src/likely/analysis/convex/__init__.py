"""Convexity of sets and functions, by tests and by rules."""
