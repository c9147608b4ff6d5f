"""Embeddings: categories as learned vectors."""
