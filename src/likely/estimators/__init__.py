"""The scikit-learn face of supervised models: a pure core in a thin shell."""

from likely.estimators.collinearity import CollinearityWarning
from likely.estimators.linear import LinearRegression, Ridge
from likely.estimators.log_target import LogTarget
from likely.estimators.logistic import LogisticRegression, SeparationWarning
from likely.estimators.null import NullClassifier, NullRegressor
from likely.estimators.rounded import RoundedRegression

__all__ = [
    "CollinearityWarning",
    "LinearRegression",
    "LogTarget",
    "LogisticRegression",
    "NullClassifier",
    "NullRegressor",
    "Ridge",
    "RoundedRegression",
    "SeparationWarning",
]
