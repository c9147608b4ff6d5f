"""Diffusion: rows that are drowned in noise step by step, and a network that goes back."""
