"""likely: machine learning from maximum likelihood up.

    Choose a distribution p(y | θ). Let a model compute η = f(x; φ), linked to θ.
    Minimise −log likelihood − log prior by a solver.
    Use the distribution you get: predict, judge, calibrate, diagnose.

That sentence is `likely.recipe`; the rooms beside it are its nouns:

    recipe       fit(family, model, data, prior, solver, key) -> Fit
    typing       Batch(x, y, w), Key, the protocols
    core         numerics, linear algebra, padding, precision, keys: no statistics
    autodiff     traces one can read: forward, reverse, checkpointed, numerical
    files        saving and loading without pickle, model cards
    families     1   p(y | θ): distributions and links, cdf and quantile, Predictive
    layers       2   bricks of models: dense, norms, dropout, activations, residual
    models       2   η = f(x; φ): null, linear, mlp; what a network is made of
    layers       2   bricks of models: dense, batch norm
    models       2   η = f(x; φ): null, linear, mlp, trees
    objectives   3a  what is minimised: nll, priors, and surrogates that are neither
    solvers      3b  how: exact least squares, Newton, L-BFGS, the stochastic loop
    inference    4   uncertainty in φ: tests, robust errors, bootstrap
    evaluate     4   numbers from distributions and arrays
    preprocess       weighted, savable: scaling, encoding, imputation, tables
    estimators       the scikit-learn face of supervised models
    selection        what needs estimators: cross-validation in one program
    data             small data sets that come along
    plots            one function per picture
    workbench        a run as data, for the command line
    cli              the command line

Names load when they are used, so `import likely` imports neither JAX nor
scikit-learn.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_NAMES = {
    "BaggingClassifier": "likely.estimators",
    "BaggingRegressor": "likely.estimators",
    "CountTarget": "likely.estimators",
    "CNNClassifier": "likely.estimators",
    "CNNRegressor": "likely.estimators",
    "DecisionTreeClassifier": "likely.estimators",
    "DecisionTreeRegressor": "likely.estimators",
    "ElasticNet": "likely.estimators",
    "Ensemble": "likely.selection",
    "FrozenFeatures": "likely.estimators",
    "GammaRegressor": "likely.estimators",
    "GaussianNB": "likely.estimators",
    "GradientBoostingClassifier": "likely.estimators",
    "GradientBoostingRegressor": "likely.estimators",
    "HuberRegressor": "likely.estimators",
    "KNeighborsClassifier": "likely.estimators",
    "KNeighborsRegressor": "likely.estimators",
    "LADRegressor": "likely.estimators",
    "Lasso": "likely.estimators",
    "LinearRegression": "likely.estimators",
    "LinearSVC": "likely.estimators",
    "LogTarget": "likely.estimators",
    "LogisticRegression": "likely.estimators",
    "MLPClassifier": "likely.estimators",
    "MLPRegressor": "likely.estimators",
    "NegativeBinomialRegressor": "likely.estimators",
    "NullClassifier": "likely.estimators",
    "NullRegressor": "likely.estimators",
    "Nystroem": "likely.estimators",
    "Perceptron": "likely.estimators",
    "PoissonRegressor": "likely.estimators",
    "RandomForestClassifier": "likely.estimators",
    "RandomForestRegressor": "likely.estimators",
    "ResNetClassifier": "likely.estimators",
    "Ridge": "likely.estimators",
    "RoundedRegression": "likely.estimators",
    "SVC": "likely.estimators",
    "SVR": "likely.estimators",
    "SmoothedClassifier": "likely.estimators",
    "SplineRegressor": "likely.estimators",
    "UNetSegmenter": "likely.estimators",
    "Stacking": "likely.selection",
    "anova": "likely.inference",
    "compare": "likely.estimators",
    "correlation": "likely.inference",
    "cross_validate": "likely.selection",
    "linearity_test": "likely.estimators",
    "load": "likely.files",
    "partial_dependence": "likely.selection",
    "partial_effect": "likely.estimators",
    "permutation_importance": "likely.selection",
    "save": "likely.files",
    "t_test": "likely.inference",
    "tune_host": "likely.core",
}
_ROOMS = (
    "autodiff",
    "core",
    "data",
    "estimators",
    "evaluate",
    "families",
    "files",
    "inference",
    "layers",
    "models",
    "objectives",
    "plots",
    "preprocess",
    "recipe",
    "selection",
    "solvers",
    "typing",
    "workbench",
)

__all__ = sorted([*_NAMES, *_ROOMS, "__version__"])

if TYPE_CHECKING:
    from likely import (
        autodiff as autodiff,
        core as core,
        data as data,
        estimators as estimators,
        evaluate as evaluate,
        families as families,
        files as files,
        inference as inference,
        layers as layers,
        models as models,
        objectives as objectives,
        plots as plots,
        preprocess as preprocess,
        recipe as recipe,
        selection as selection,
        solvers as solvers,
        typing as typing,
        workbench as workbench,
    )
    from likely.core import (
        tune_host as tune_host,
    )
    from likely.estimators import (
        SVC as SVC,
        SVR as SVR,
        BaggingClassifier as BaggingClassifier,
        BaggingRegressor as BaggingRegressor,
        CNNClassifier as CNNClassifier,
        CNNRegressor as CNNRegressor,
        CountTarget as CountTarget,
        DecisionTreeClassifier as DecisionTreeClassifier,
        DecisionTreeRegressor as DecisionTreeRegressor,
        ElasticNet as ElasticNet,
        FrozenFeatures as FrozenFeatures,
        GammaRegressor as GammaRegressor,
        GaussianNB as GaussianNB,
        GradientBoostingClassifier as GradientBoostingClassifier,
        GradientBoostingRegressor as GradientBoostingRegressor,
        HuberRegressor as HuberRegressor,
        KNeighborsClassifier as KNeighborsClassifier,
        KNeighborsRegressor as KNeighborsRegressor,
        LADRegressor as LADRegressor,
        Lasso as Lasso,
        LinearRegression as LinearRegression,
        LinearSVC as LinearSVC,
        LogisticRegression as LogisticRegression,
        LogTarget as LogTarget,
        MLPClassifier as MLPClassifier,
        MLPRegressor as MLPRegressor,
        NegativeBinomialRegressor as NegativeBinomialRegressor,
        NullClassifier as NullClassifier,
        NullRegressor as NullRegressor,
        Nystroem as Nystroem,
        Perceptron as Perceptron,
        PoissonRegressor as PoissonRegressor,
        RandomForestClassifier as RandomForestClassifier,
        RandomForestRegressor as RandomForestRegressor,
        ResNetClassifier as ResNetClassifier,
        Ridge as Ridge,
        RoundedRegression as RoundedRegression,
        SmoothedClassifier as SmoothedClassifier,
        SplineRegressor as SplineRegressor,
        UNetSegmenter as UNetSegmenter,
        compare as compare,
        linearity_test as linearity_test,
        partial_effect as partial_effect,
    )
    from likely.files import (
        load as load,
        save as save,
    )
    from likely.inference import (
        anova as anova,
        correlation as correlation,
        t_test as t_test,
    )
    from likely.selection import (
        Ensemble as Ensemble,
        Stacking as Stacking,
        cross_validate as cross_validate,
        partial_dependence as partial_dependence,
        permutation_importance as permutation_importance,
    )


def __getattr__(name: str):
    """Load a public name when it is first used (PEP 562)."""
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"likely.{name}")
    else:
        raise AttributeError(f"module 'likely' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
