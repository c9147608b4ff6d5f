"""Computation graphs as pictures and as an HTML page to step through."""
