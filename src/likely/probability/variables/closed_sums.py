"""Laws of sums that have a name: normal, Poisson, gamma, binomial, and sums of points."""

from typing import Any

import numpy as np

from likely import families
from likely.core.checks import InputError
from likely.probability.tables.from_law import predictive_of
from likely.probability.variables.family_variable import FamilyVariable
from likely.probability.variables.point_variable import PointVariable
from likely.probability.variables.variable import AbstractVariable

MAX_POINTS = 10**6
"""The largest number of values of a sum that is enumerated."""
SAME = 1e-12
"""The relative difference up to which parameters are the same."""


def closed_sum(combination: Any) -> AbstractVariable | None:
    """The law of Σ a_i X_i + b as a family or as points, or None."""
    parts, A, b = combination.parts, combination.A, float(combination.b)
    if all(isinstance(part, PointVariable) for part in parts):
        return _points(parts, A, b)
    if not all(isinstance(part, FamilyVariable) for part in parts):
        return None
    kinds = {type(part.family) for part in parts}
    if kinds == {families.Normal}:
        scale = np.sqrt(combination.covariance)
        return family_variable(families.Normal(), loc=combination.mean, scale=scale)
    if b == 0 and kinds <= {families.Gamma, families.Exponential} and (A > 0).all():
        return _gamma([part.theta for part in parts], A)
    if b == 0 and (A == 1).all():
        return _counts(kinds, [part.theta for part in parts])
    return None


def mapped(x: Any, A: np.ndarray, b: Any) -> AbstractVariable:
    """A X + b for a vector X that is normal or takes finitely many values."""
    if isinstance(x, PointVariable):
        return PointVariable(x.values @ A.T + b, x.weights)
    if not isinstance(x.family, families.MultivariateNormal):
        raise InputError(
            f"{type(x.family).__name__} has no closed form under a matrix; draw a sample and "
            "map it."
        )
    mean, covariance = A @ x.mean + b, A @ x.covariance @ A.T
    if A.ndim == 1:
        return family_variable(families.Normal(), loc=mean, scale=np.sqrt(covariance))
    try:
        L = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise InputError(
            f"A X has a singular covariance, since A has rank below {len(A)}; map to fewer "
            "entries, or draw a sample and map it."
        ) from None
    return family_variable(
        families.MultivariateNormal(len(A)), loc=mean[None], scale_tril=L[None]
    )


def family_variable(family: Any, **theta: Any) -> FamilyVariable:
    """A variable of one row of a family."""
    predictive = predictive_of(family, theta)
    if len(predictive) != 1:
        raise InputError(
            f"the parameters are of {len(predictive)} distributions; give those of one."
        )
    return FamilyVariable(predictive)


def _gamma(thetas: list[dict[str, Any]], A: np.ndarray) -> AbstractVariable | None:
    """A sum of gamma variables of the same scale is a gamma variable."""
    scales = A / np.array([float(theta["rate"]) for theta in thetas])
    if not _same(scales):
        return None
    shape = sum(float(theta.get("concentration", 1.0)) for theta in thetas)
    return family_variable(families.Gamma(), concentration=shape, rate=1 / scales[0])


def _counts(kinds: set[type], thetas: list[dict[str, Any]]) -> AbstractVariable | None:
    """Sums of Poisson variables, and of binomial ones and failures of the same p."""
    if kinds == {families.Poisson}:
        rate = sum(float(theta["rate"]) for theta in thetas)
        return family_variable(families.Poisson(), rate=rate)
    if kinds <= {families.Bernoulli, families.Binomial}:
        logits = np.array([float(theta["logits"]) for theta in thetas])
        if not _same(logits):
            return None
        n = sum(int(theta.get("total_count", 1)) for theta in thetas)
        return family_variable(families.Binomial(n), logits=logits[0])
    if kinds <= {families.Geometric, families.NegativeBinomial}:
        r = np.array([float(theta.get("concentration", 1.0)) for theta in thetas])
        means = np.array(
            [float(t["mean"] if "mean" in t else np.exp(-t["logits"])) for t in thetas]
        )
        if not _same(means / r):
            return None
        family = families.NegativeBinomial()
        return family_variable(family, mean=means.sum(), concentration=r.sum())
    return None


def _points(parts: Any, A: np.ndarray, b: float) -> PointVariable | None:
    """All values of a sum, equal ones joined, where they are not too many."""
    values, weights = np.array([b]), np.ones(1)
    for part, a in zip(parts, A, strict=True):
        if len(values) * len(part.values) > MAX_POINTS:
            return None
        values = np.add.outer(values, a * part.values).ravel()
        weights = np.multiply.outer(weights, part.weights).ravel()
        values, weights = _joined(values, weights)
    return PointVariable(values, weights)


def _joined(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equal values once, with the sum of their weights."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    size = float(np.max(np.abs(values), initial=1e-300))
    new = np.concatenate([[True], np.diff(values) > 1e-13 * size])
    starts = np.flatnonzero(new)
    return values[starts], np.add.reduceat(weights, starts)


def _same(values: np.ndarray) -> bool:
    return bool(np.ptp(values) <= SAME * np.max(np.abs(values), initial=0.0))
