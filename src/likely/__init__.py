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
    layers       2   parts of networks: dense, convolution, norms, dropout, residual
    probability      tables, random variables, limits and bounds, streams
    information      entropy, cross-entropy, divergences, mutual information, codes
    analysis         convexity, smoothness, definiteness, approximation
    models       2   η = f(x; φ): linear, mlp, images, trees, kernels
    objectives   3a  what is minimised: nll, priors, and surrogates that are neither
    solvers      3b  how: exact least squares, Newton, L-BFGS, the stochastic loop
    inference    4   uncertainty in φ: tests, bootstrap, variational, MCMC, evidence
    evaluate     4   numbers from distributions and arrays
    preprocess       weighted, savable: scaling, encoding, imputation, tables
    base             what every public class shares: rows, labels, faces, training
    estimators       supervised models: linear, trees, kernels, networks, wrappers
    latent           unsupervised models: densities, factors, clusters, manifolds
    generative       models that make new rows: autoencoders, flows, graphs, circuits
    text             models of sequences of tokens
    vision           boxes around things in images, features by hand, detectors
    selection        what needs estimators: cross-validation in one program
    diagnostics      what a fitted model is made of, what it sees, how it behaves
    data             small data sets that come along
    plots            one function per picture
    workbench        a run as data, for the command line
    cli              the command line

Names load when they are used, so `import likely` imports neither JAX nor
scikit-learn.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_ROOMS = (
    "analysis",
    "autodiff",
    "base",
    "core",
    "data",
    "diagnostics",
    "estimators",
    "evaluate",
    "families",
    "files",
    "generative",
    "inference",
    "information",
    "latent",
    "layers",
    "models",
    "objectives",
    "plots",
    "preprocess",
    "probability",
    "recipe",
    "selection",
    "solvers",
    "text",
    "typing",
    "vision",
    "workbench",
)
_OPEN = ("estimators", "generative", "latent", "selection", "text", "vision")
"""Rooms whose public names are names of `likely` too."""
_FUNCTIONS = {
    "anova": "inference",
    "check": "diagnostics",
    "compare_densities": "diagnostics",
    "correlation": "inference",
    "load": "files",
    "save": "files",
    "t_test": "inference",
    "tune_host": "core",
}


def _names() -> dict[str, str]:
    """A public name -> the room that it is loaded from."""
    rooms = {room: importlib.import_module(f"likely.{room}").__all__ for room in _OPEN}
    return {name: room for room, names in rooms.items() for name in names} | _FUNCTIONS


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562)."""
    if name in _ROOMS:
        value = importlib.import_module(f"likely.{name}")
    elif name == "__all__":
        value = sorted([*_names(), *_ROOMS, "__version__"])
    elif name.startswith("_") or name not in (names := _names()):
        raise AttributeError(f"module 'likely' has no attribute {name!r}")
    else:
        value = getattr(importlib.import_module(f"likely.{names[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __getattr__("__all__")
