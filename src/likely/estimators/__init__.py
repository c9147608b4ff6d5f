"""The scikit-learn face of supervised models: a pure core in a thin shell."""

from likely.estimators.bagging import BaggingClassifier, BaggingRegressor
from likely.estimators.boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from likely.estimators.collinearity import CollinearityWarning
from likely.estimators.comparison import (
    NatsDifference,
    PartialEffect,
    compare,
    linearity_test,
    partial_effect,
)
from likely.estimators.counts import NegativeBinomialRegressor, PoissonRegressor
from likely.estimators.forest import RandomForestClassifier, RandomForestRegressor
from likely.estimators.gamma import GammaRegressor
from likely.estimators.lasso import ElasticNet, Lasso
from likely.estimators.linear import LinearRegression, Ridge
from likely.estimators.log_target import LogTarget
from likely.estimators.logistic import LogisticRegression, SeparationWarning
from likely.estimators.network import MLPClassifier, MLPRegressor
from likely.estimators.null import NullClassifier, NullRegressor
from likely.estimators.perceptron import Perceptron
from likely.estimators.robust import HuberRegressor, LADRegressor
from likely.estimators.rounded import RoundedRegression
from likely.estimators.spline import SplineRegressor
from likely.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = [
    "BaggingClassifier",
    "BaggingRegressor",
    "CollinearityWarning",
    "ElasticNet",
    "GammaRegressor",
    "HuberRegressor",
    "LADRegressor",
    "Lasso",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "LinearRegression",
    "LogTarget",
    "LogisticRegression",
    "NullClassifier",
    "NullRegressor",
    "NatsDifference",
    "NegativeBinomialRegressor",
    "PartialEffect",
    "Perceptron",
    "PoissonRegressor",
    "MLPClassifier",
    "MLPRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
from likely.estimators.linear_svm import LinearSVC
from likely.estimators.logistic import LogisticRegression, SeparationWarning
from likely.estimators.naive_bayes import GaussianNB
from likely.estimators.neighbors import KNeighborsClassifier, KNeighborsRegressor
from likely.estimators.nystroem import Nystroem
from likely.estimators.rounded import RoundedRegression
from likely.estimators.svm import SVC
from likely.estimators.svr import SVR

__all__ = [
    "SVC",
    "SVR",
    "CollinearityWarning",
    "GaussianNB",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "Nystroem",
    "Ridge",
    "RoundedRegression",
    "SeparationWarning",
    "SplineRegressor",
    "compare",
    "linearity_test",
    "partial_effect",
]
