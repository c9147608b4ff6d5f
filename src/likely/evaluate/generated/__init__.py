"""Scores of generated rows beside real ones, and of the likelihood of held-out rows."""
