"""The scikit-learn face of supervised models: a pure core in a thin shell."""

from likely.estimators.collinearity import CollinearityWarning
from likely.estimators.linear import LinearRegression, Ridge
from likely.estimators.logistic import LogisticRegression, SeparationWarning
from likely.estimators.network import MLPClassifier, MLPRegressor
from likely.estimators.rounded import RoundedRegression

__all__ = [
    "CollinearityWarning",
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "Ridge",
    "RoundedRegression",
    "SeparationWarning",
]
