"""Normalising flows of tables and images."""
