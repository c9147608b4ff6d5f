"""Normalising flows: a bijection to a simple distribution, for tables and images."""
