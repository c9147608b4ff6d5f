"""Pictures of what networks can represent, and of signals inside them."""
