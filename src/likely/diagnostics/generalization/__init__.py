"""How models do on new rows: bias and variance, risks, learning curves, double descent."""
