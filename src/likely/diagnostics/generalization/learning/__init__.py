"""Losses by the number of training rows, and what they say."""
