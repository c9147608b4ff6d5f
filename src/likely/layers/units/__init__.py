"""Dense layers, activations, dropout, and how weights start."""
