"""Kernels, and support vector machines on them."""

from likely.models.kernels.functions import (
    Definiteness,
    Kernel,
    definiteness,
    disc_feature,
    gram,
    kernel_of,
    polynomial_features,
    structural_risk,
)

__all__ = [
    "Definiteness",
    "Kernel",
    "definiteness",
    "disc_feature",
    "gram",
    "kernel_of",
    "polynomial_features",
    "structural_risk",
]
