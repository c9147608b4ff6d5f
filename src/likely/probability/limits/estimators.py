r"""Bias, variance and mean squared error of an estimator.

$$\operatorname{Bias} = E[\hat θ] - θ, \qquad
  \operatorname{MSE} = E\big[(\hat θ - θ)^2\big]
  = \operatorname{Bias}^2 + \operatorname{Var} \hat θ .$$

They are computed over all samples where there are not too many, by simulation from a known law, or
by the bootstrap from data, with their standard errors.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError, check_choice
from likely.core.random import seed_of
from likely.probability.variables.make import random_variable
from likely.probability.variables.point_variable import PointVariable

MAX_SAMPLES = 2 * 10**5
"""The largest number of samples that are enumerated."""
CHUNK = 2**22
"""The number of draws that are held at once."""


class EstimatorRisk(NamedTuple):
    """How an estimator behaves over samples of n."""

    truth: float
    """θ."""
    mean: float
    """E[θ̂]."""
    bias: float
    bias_error: float
    """The standard error of the bias; 0 over all samples."""
    variance: float
    mse: float
    mse_error: float
    n: int
    """The size of a sample."""
    repeats: int
    """The number of samples."""
    method: str
    """"exact", "simulation" or "bootstrap"."""


def estimator_risk(
    statistic: Callable[..., Any],
    law: Any,
    n: int | None = None,
    *,
    truth: float | int | None = None,
    method: str = "auto",
    repeats: int = 10_000,
    sample_weight: Any = None,
    random_state: Any = 0,
    **theta: Any,
) -> EstimatorRisk:
    """The bias and the mean squared error of a statistic.

    Args:
        statistic: a function of a sample (n,); with an argument `axis`, like those of
            NumPy, it is called once for all samples.
        law: what `random_variable` takes. An array is data: with method "bootstrap", its
            rows are drawn with replacement.
        n: the size of a sample; of the data for the bootstrap, unless given.
        truth: θ. The bootstrap takes the statistic of the data in its place.
        method: "exact" over all samples of a law of few points, "simulation", or
            "bootstrap"; "auto" is the first of these that fits.
        repeats: the number of samples drawn.
        sample_weight: of the data.
        random_state: for the draws.
        **theta: parameters of a family.

    Examples:
        >>> found = lk.probability.estimator_risk(np.mean, np.array([1.0, 2.0, 3.0]), 2)
        >>> bool(abs(found.bias) < 0.05)
        True
    """
    check_choice("method", method, ("auto", "exact", "simulation", "bootstrap"))
    variable = random_variable(law, sample_weight=sample_weight, **theta)
    variable._check_number("an estimator of this kind")
    data = isinstance(law, np.ndarray | list | tuple)
    if method == "auto" and data and truth is None:
        method = "bootstrap"
    if n is None:
        if not data:
            raise InputError("n is missing; give the size of a sample.")
        weights = np.ones(len(law)) if sample_weight is None else sample_weight
        n = int(round(float(np.sum(weights))))
    if n < 1 or repeats < 2:
        raise InputError(f"n is {n} and repeats {repeats}; give at least 1 and 2.")
    truth = _truth(statistic, variable, truth, method, n)
    points = variable if isinstance(variable, PointVariable) else None
    few = points is not None and len(points.values) ** n <= MAX_SAMPLES
    if method == "exact" and not few:
        raise InputError(
            "there are too many samples to go through; use simulation, or a smaller n."
        )
    if points is not None and few and method in ("auto", "exact"):
        return _exact(statistic, points, n, truth)
    rng = np.random.default_rng(seed_of(random_state))
    size = max(1, CHUNK // n)
    found = []
    for start in range(0, repeats, size):
        many = min(size, repeats - start)
        draws = variable.sample(many * n, random_state=rng).reshape(many, n)
        found.append(_apply(statistic, draws))
    values = np.concatenate(found)
    errors = (values - truth) ** 2
    root = np.sqrt(repeats)
    return EstimatorRisk(
        truth, float(values.mean()), float(values.mean() - truth),
        float(values.std(ddof=1) / root), float(values.var(ddof=1)), float(errors.mean()),
        float(errors.std(ddof=1) / root), n, repeats,
        "bootstrap" if method == "bootstrap" else "simulation",
    )  # fmt: skip


def _truth(
    statistic: Callable[..., Any], variable: Any, truth: Any, method: str, n: int
) -> float:
    if truth is not None:
        return float(truth)
    if method != "bootstrap" or not isinstance(variable, PointVariable):
        raise InputError("truth is missing; give the value that is estimated.")
    copies = variable.weights * n
    if np.allclose(copies, np.round(copies), atol=1e-9):
        rows = np.repeat(variable.values, np.round(copies).astype(int))
    else:
        rows = variable.values
    return float(_apply(statistic, rows[None])[0])


def _exact(
    statistic: Callable[..., Any], variable: PointVariable, n: int, truth: float
) -> EstimatorRisk:
    """Over all samples, each with its probability."""
    index = np.indices((len(variable.values),) * n).reshape(n, -1).T
    p = variable.weights[index].prod(1)
    values = _apply(statistic, variable.values[index])
    mean = float(p @ values)
    variance, mse = float(p @ (values - mean) ** 2), float(p @ (values - truth) ** 2)
    return EstimatorRisk(
        truth, mean, mean - truth, 0.0, variance, mse, 0.0, n, len(p), "exact"
    )


def _apply(statistic: Callable[..., Any], samples: np.ndarray) -> np.ndarray:
    """The statistic of each row."""
    try:
        vectorised = "axis" in inspect.signature(statistic).parameters
    except (TypeError, ValueError):
        vectorised = False
    if vectorised:
        return np.asarray(statistic(samples, axis=1), np.float64)
    return np.array([float(statistic(row)) for row in samples])
