"""Vectors of words and of texts."""
