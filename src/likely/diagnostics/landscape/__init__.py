"""The loss around fitted weights: landscapes, curvature, sharpness, what batch norm buys."""
