"""Formulas: reading them, what they may say, and the functions they use."""
