"""Manifolds: maps of rows in few dimensions that keep neighbours together."""
