"""Training as motion: gradient flow, and linear networks whose path has a closed form."""
