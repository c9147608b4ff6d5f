"""Solvers that use or estimate curvature, line searches, stationary points."""
