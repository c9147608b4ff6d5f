"""Layers made of layers: chains, residual and skip connections, recorded values."""
