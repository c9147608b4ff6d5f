"""The scikit-learn face of supervised models: a pure core in a thin shell."""

from likely.estimators.collinearity import CollinearityWarning
from likely.estimators.frozen import FrozenFeatures
from likely.estimators.linear import LinearRegression, Ridge
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
    "FrozenFeatures",
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
]
