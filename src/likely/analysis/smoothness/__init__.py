"""Lipschitz constants, curvature and the classes of smooth functions."""
