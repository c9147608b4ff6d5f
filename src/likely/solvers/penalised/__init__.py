"""Losses with a kink: the lasso, coordinate descent, proximal gradients."""
