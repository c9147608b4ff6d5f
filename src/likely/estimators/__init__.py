"""The scikit-learn face of supervised models: a pure core in a thin shell."""

from likely.estimators.bagging import BaggingClassifier, BaggingRegressor
from likely.estimators.boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from likely.estimators.collinearity import CollinearityWarning
from likely.estimators.forest import RandomForestClassifier, RandomForestRegressor
from likely.estimators.linear import LinearRegression, Ridge
from likely.estimators.logistic import LogisticRegression, SeparationWarning
from likely.estimators.rounded import RoundedRegression
from likely.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = [
    "BaggingClassifier",
    "BaggingRegressor",
    "CollinearityWarning",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "LinearRegression",
    "LogisticRegression",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Ridge",
    "RoundedRegression",
    "SeparationWarning",
]
