"""4. What a fitted model is made of, what it sees, and how it behaves."""

from likely.diagnostics.anatomy import Anatomy, anatomy, dead_units, parameter_count
from likely.diagnostics.feature_maps import feature_maps, filters, maximal_input
from likely.diagnostics.regions import Pieces, Region, linear_pieces, linear_regions
from likely.diagnostics.saliency import class_activation, saliency
from likely.diagnostics.signals import (
    SignalProfile,
    gradient_autocorrelation,
    signal_profile,
)
from likely.diagnostics.survey import (
    Survey,
    flops,
    receptive_field,
    stacked_field,
    survey,
)
from likely.diagnostics.symmetry import equivariance_error, invariance_error

__all__ = [
    "Anatomy",
    "Pieces",
    "Region",
    "SignalProfile",
    "Survey",
    "anatomy",
    "class_activation",
    "dead_units",
    "equivariance_error",
    "feature_maps",
    "filters",
    "flops",
    "gradient_autocorrelation",
    "invariance_error",
    "linear_pieces",
    "linear_regions",
    "maximal_input",
    "parameter_count",
    "receptive_field",
    "saliency",
    "signal_profile",
    "stacked_field",
    "survey",
]
