"""Invertible layers with the log-determinant of their Jacobian: the bricks of flows."""
