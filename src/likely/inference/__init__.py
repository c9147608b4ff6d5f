"""4. Uncertainty in φ: Wald and likelihood-ratio tests, robust errors, the bootstrap."""

from likely.inference.bootstrap import bootstrap, resampled_weights
from likely.inference.correlation import Correlation, correlation
from likely.inference.estimate import Estimate
from likely.inference.information import (
    Curvature,
    curvature,
    information,
    inverse,
    joint_information,
    scores,
)
from likely.inference.nested import (
    TestResult,
    anova,
    f_test,
    likelihood_ratio_test,
    t_test,
)
from likely.inference.sandwich import sandwich
from likely.inference.summary import Summary

__all__ = [
    "Correlation",
    "Curvature",
    "Estimate",
    "Summary",
    "TestResult",
    "anova",
    "bootstrap",
    "correlation",
    "curvature",
    "f_test",
    "information",
    "inverse",
    "joint_information",
    "likelihood_ratio_test",
    "resampled_weights",
    "sandwich",
    "scores",
    "t_test",
]
