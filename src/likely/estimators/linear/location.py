"""What linear models of a location with a fitted scale share."""

from typing import Any

import numpy as np

from likely.estimators.linear.coefficients import coefficients_of
from likely.estimators.linear.inference.evidence import Evidence
from likely.estimators.linear.inference.statistics import likelihood_estimate
from likely.inference import Estimate
from likely.typing import Solution


def publish_location(self: Any, phi: Solution) -> None:
    """coef_, intercept_ and scale_."""
    weight, bias, log_scale = coefficients_of(phi)
    self.coef_ = weight[:, 0]
    self.intercept_ = 0.0 if bias is None else float(bias[0])
    self.scale_ = float(np.exp(log_scale[0]))


def location_estimate(model: Any, evidence: Evidence, C: np.ndarray) -> Estimate:
    """The statistics of a location model with a fitted scale, C of (B, log s)."""
    p, tail = evidence.p, float(C[-1, -1])
    return likelihood_estimate(model, evidence, C[:p, :p], tail_variance=tail)
