"""Autoencoders and variational autoencoders: rows to short codes, and codes to rows."""
