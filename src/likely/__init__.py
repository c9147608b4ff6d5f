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
    layers       2   bricks of models: dense, batch norm
    models       2   η = f(x; φ): null, linear, mlp
    objectives   3a  what is minimised: nll, priors, and surrogates that are neither
    solvers      3b  how: exact least squares, Newton, L-BFGS, the stochastic loop
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
    "Ensemble": "likely.selection",
    "GaussianNB": "likely.estimators",
    "KNeighborsClassifier": "likely.estimators",
    "KNeighborsRegressor": "likely.estimators",
    "LinearRegression": "likely.estimators",
    "LinearSVC": "likely.estimators",
    "LogisticRegression": "likely.estimators",
    "Nystroem": "likely.estimators",
    "Ridge": "likely.estimators",
    "RoundedRegression": "likely.estimators",
    "SVC": "likely.estimators",
    "SVR": "likely.estimators",
    "Stacking": "likely.selection",
    "cross_validate": "likely.selection",
    "load": "likely.files",
    "save": "likely.files",
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
    from likely.core import tune_host as tune_host
    from likely.estimators import (
        SVC as SVC,
        SVR as SVR,
        GaussianNB as GaussianNB,
        KNeighborsClassifier as KNeighborsClassifier,
        KNeighborsRegressor as KNeighborsRegressor,
        LinearRegression as LinearRegression,
        LinearSVC as LinearSVC,
        LogisticRegression as LogisticRegression,
        Nystroem as Nystroem,
        Ridge as Ridge,
        RoundedRegression as RoundedRegression,
    )
    from likely.files import load as load, save as save
    from likely.selection import (
        Ensemble as Ensemble,
        Stacking as Stacking,
        cross_validate as cross_validate,
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
