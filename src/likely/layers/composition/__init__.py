"""Layers made of layers: chains, residual and skip connections, recording."""
