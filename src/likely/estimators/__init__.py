"""The scikit-learn face of supervised models: a pure core in a thin shell.

Names load when they are used: a linear model waits neither for trees nor for networks.
"""

import importlib
from typing import TYPE_CHECKING

_PLACES = {
    "bagging": "BaggingClassifier BaggingRegressor",
    "boosting": "GradientBoostingClassifier GradientBoostingRegressor",
    "collinearity": "CollinearityWarning",
    "comparison": "NatsDifference PartialEffect compare linearity_test partial_effect",
    "count_target": "CountTarget",
    "counts": "NegativeBinomialRegressor PoissonRegressor",
    "forest": "RandomForestClassifier RandomForestRegressor",
    "frozen": "FrozenFeatures",
    "gamma": "GammaRegressor",
    "images": "CNNClassifier CNNRegressor ResNetClassifier",
    "lasso": "ElasticNet Lasso",
    "linear": "LinearRegression Ridge",
    "linear_svm": "LinearSVC",
    "log_target": "LogTarget",
    "logistic": "LogisticRegression SeparationWarning",
    "naive_bayes": "GaussianNB",
    "neighbors": "KNeighborsClassifier KNeighborsRegressor",
    "network": "MLPClassifier MLPRegressor",
    "null": "NullClassifier NullRegressor",
    "nystroem": "Nystroem",
    "perceptron": "Perceptron",
    "robust": "HuberRegressor LADRegressor",
    "rounded": "RoundedRegression",
    "smoothed": "SmoothedClassifier",
    "segmentation": "UNetSegmenter",
    "spline": "SplineRegressor",
    "svm": "SVC",
    "svr": "SVR",
    "tree": "DecisionTreeClassifier DecisionTreeRegressor",
}
_NAMES = {name: place for place, names in _PLACES.items() for name in names.split()}

__all__ = [
    "BaggingClassifier",
    "BaggingRegressor",
    "CNNClassifier",
    "CNNRegressor",
    "CollinearityWarning",
    "CountTarget",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ElasticNet",
    "FrozenFeatures",
    "GammaRegressor",
    "GaussianNB",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HuberRegressor",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "LADRegressor",
    "Lasso",
    "LinearRegression",
    "LinearSVC",
    "LogTarget",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "NatsDifference",
    "NegativeBinomialRegressor",
    "NullClassifier",
    "NullRegressor",
    "Nystroem",
    "PartialEffect",
    "Perceptron",
    "PoissonRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ResNetClassifier",
    "Ridge",
    "RoundedRegression",
    "SVC",
    "SVR",
    "SeparationWarning",
    "SmoothedClassifier",
    "SplineRegressor",
    "UNetSegmenter",
    "compare",
    "linearity_test",
    "partial_effect",
]

if TYPE_CHECKING:
    from likely.estimators.bagging import (
        BaggingClassifier as BaggingClassifier,
        BaggingRegressor as BaggingRegressor,
    )
    from likely.estimators.boosting import (
        GradientBoostingClassifier as GradientBoostingClassifier,
        GradientBoostingRegressor as GradientBoostingRegressor,
    )
    from likely.estimators.collinearity import (
        CollinearityWarning as CollinearityWarning,
    )
    from likely.estimators.comparison import (
        NatsDifference as NatsDifference,
        PartialEffect as PartialEffect,
        compare as compare,
        linearity_test as linearity_test,
        partial_effect as partial_effect,
    )
    from likely.estimators.count_target import (
        CountTarget as CountTarget,
    )
    from likely.estimators.counts import (
        NegativeBinomialRegressor as NegativeBinomialRegressor,
        PoissonRegressor as PoissonRegressor,
    )
    from likely.estimators.forest import (
        RandomForestClassifier as RandomForestClassifier,
        RandomForestRegressor as RandomForestRegressor,
    )
    from likely.estimators.frozen import (
        FrozenFeatures as FrozenFeatures,
    )
    from likely.estimators.gamma import (
        GammaRegressor as GammaRegressor,
    )
    from likely.estimators.images import (
        CNNClassifier as CNNClassifier,
        CNNRegressor as CNNRegressor,
        ResNetClassifier as ResNetClassifier,
    )
    from likely.estimators.lasso import (
        ElasticNet as ElasticNet,
        Lasso as Lasso,
    )
    from likely.estimators.linear import (
        LinearRegression as LinearRegression,
        Ridge as Ridge,
    )
    from likely.estimators.linear_svm import (
        LinearSVC as LinearSVC,
    )
    from likely.estimators.log_target import (
        LogTarget as LogTarget,
    )
    from likely.estimators.logistic import (
        LogisticRegression as LogisticRegression,
        SeparationWarning as SeparationWarning,
    )
    from likely.estimators.naive_bayes import (
        GaussianNB as GaussianNB,
    )
    from likely.estimators.neighbors import (
        KNeighborsClassifier as KNeighborsClassifier,
        KNeighborsRegressor as KNeighborsRegressor,
    )
    from likely.estimators.network import (
        MLPClassifier as MLPClassifier,
        MLPRegressor as MLPRegressor,
    )
    from likely.estimators.null import (
        NullClassifier as NullClassifier,
        NullRegressor as NullRegressor,
    )
    from likely.estimators.nystroem import (
        Nystroem as Nystroem,
    )
    from likely.estimators.perceptron import (
        Perceptron as Perceptron,
    )
    from likely.estimators.robust import (
        HuberRegressor as HuberRegressor,
        LADRegressor as LADRegressor,
    )
    from likely.estimators.rounded import (
        RoundedRegression as RoundedRegression,
    )
    from likely.estimators.segmentation import (
        UNetSegmenter as UNetSegmenter,
    )
    from likely.estimators.smoothed import (
        SmoothedClassifier as SmoothedClassifier,
    )
    from likely.estimators.spline import (
        SplineRegressor as SplineRegressor,
    )
    from likely.estimators.svm import (
        SVC as SVC,
    )
    from likely.estimators.svr import (
        SVR as SVR,
    )
    from likely.estimators.tree import (
        DecisionTreeClassifier as DecisionTreeClassifier,
        DecisionTreeRegressor as DecisionTreeRegressor,
    )


def __getattr__(name: str):
    """Load a public name when it is first used (PEP 562)."""
    if name not in _NAMES:
        raise AttributeError(f"module 'likely.estimators' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"likely.estimators.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
