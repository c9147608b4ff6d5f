r"""Synthetic classes in the plane: shapes that a straight line can or cannot separate.

`truth` holds what made the data; where p(class | x) has a closed form it is the
function `truth["probability"]`, of rows X, with one column for each class.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from likely.core.checks import InputError
from likely.data.dataset import Dataset, Numbers, column_names, generator

PLANE = ("x", "y")


def moons(n: int = 200, *, noise: float = 0.1, random_state: Any = None) -> Dataset:
    """Two interleaving half circles.

    Examples:
        >>> lk.data.moons(100, random_state=0).X.shape
        (100, 2)
    """
    rng = generator(random_state)
    y = _classes(n, 2)
    t = rng.uniform(0, np.pi, n)
    upper = np.stack([np.cos(t), np.sin(t)], axis=1)
    clean = np.where(y[:, None] == 0, upper, np.array([1.0, 0.5]) - upper)
    return _noisy(clean, y, noise, rng, "Two moons")


def rings(
    n: int = 200,
    radii: Numbers = (0.5, 1.0),
    *,
    noise: float = 0.1,
    random_state: Any = None,
) -> Dataset:
    r"""Concentric rings, one class each.

    With normal noise of standard deviation s, the density at distance ρ from the
    centre is $p(x \mid r) \propto e^{-(ρ^2 + r^2) / 2s^2} I_0(ρ r / s^2)$.

    Examples:
        >>> lk.data.rings(100, random_state=0).X.shape
        (100, 2)
    """
    rng = generator(random_state)
    r = np.asarray(radii, float)
    y = _classes(n, len(r))
    angle = rng.uniform(0, 2 * np.pi, n)
    clean = r[y, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def probability(X):
        rho = np.linalg.norm(X, axis=1)[:, None]
        bessel = np.log(special.ive(0, rho * r / noise**2))
        return special.softmax(bessel - (rho - r) ** 2 / (2 * noise**2), axis=1)

    made = _noisy(clean, y, noise, rng, f"{len(r)} rings")
    truth = {**made.truth, "probability": probability, "radii": r}
    return dataclasses.replace(made, truth=truth)


def spirals(
    n: int = 200,
    classes: int = 2,
    *,
    turns: float = 1.5,
    noise: float = 0.02,
    random_state: Any = None,
) -> Dataset:
    """Arms that wind around each other, from the centre to radius 1.

    Examples:
        >>> lk.data.spirals(100, random_state=0).X.shape
        (100, 2)
    """
    rng = generator(random_state)
    y = _classes(n, classes)
    r = np.sqrt(rng.uniform(0.01, 1.0, n))
    angle = 2 * np.pi * (turns * r + y / classes)
    clean = r[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return _noisy(clean, y, noise, rng, f"{classes} spirals")


def disc(
    n: int = 200,
    *,
    radius: float = 1.0,
    extent: float = 1.6,
    flip: float = 0.0,
    random_state: Any = None,
) -> Dataset:
    r"""Inside a disc or outside of it: linearly separable after one new feature.

    Points are uniform on a square; $φ(x, y) = \max(0, R^2 - (x^2 + y^2))$ is positive
    exactly inside, so that the classes are separable once φ is a column.

    Args:
        n: rows.
        radius: R.
        extent: half the side of the square.
        flip: the probability that a label is wrong.
        random_state: seed or NumPy generator.

    Examples:
        >>> np.unique(lk.data.disc(100, random_state=0).y)
        array([0, 1])
    """
    rng = generator(random_state)

    def feature(X):
        return np.maximum(0.0, radius**2 - (np.asarray(X) ** 2).sum(axis=1))

    def probability(X):
        inside = np.where(feature(X) > 0, 1 - flip, flip)
        return np.stack([1 - inside, inside], axis=1)

    X = rng.uniform(-extent, extent, size=(n, 2))
    y = (feature(X) > 0) ^ (rng.uniform(size=n) < flip)
    truth = {"feature": feature, "probability": probability, "radius": radius}
    about = "Inside or outside of a disc"
    return Dataset(X, y.astype(int), PLANE, ("outside", "inside"), about, truth)


def mixture(
    n: int = 300,
    means: Sequence[Numbers] | np.ndarray = ((0.0, 0.0), (3.0, 0.0), (0.0, 3.0)),
    *,
    weights: Numbers | None = None,
    std: float | Numbers = 1.0,
    random_state: Any = None,
) -> Dataset:
    r"""A mixture of normals, $\sum_k π_k N(μ_k, σ_k^2 I)$; y is the component of each row.

    Examples:
        >>> lk.data.mixture(100, random_state=0).X.shape
        (100, 2)
    """
    rng = generator(random_state)
    mu = np.asarray(means, float)
    k, d = mu.shape
    pi = np.full(k, 1 / k) if weights is None else np.asarray(weights, float)
    if len(pi) != k or not np.isclose(pi.sum(), 1) or (pi < 0).any():
        raise InputError(f"weights must be {k} probabilities that sum to 1; got {pi}.")
    sigma = np.broadcast_to(np.asarray(std, float), (k,))

    def joint(X):
        squared = ((np.asarray(X)[:, None] - mu) ** 2).sum(axis=2) / sigma**2
        return np.log(pi) - squared / 2 - d * np.log(sigma * np.sqrt(2 * np.pi))

    y = rng.choice(k, size=n, p=pi)
    X = mu[y] + sigma[y, None] * rng.normal(size=(n, d))
    truth = {
        "means": mu,
        "weights": pi,
        "std": sigma,
        "probability": lambda X: special.softmax(joint(X), axis=1),
        "log_density": lambda X: special.logsumexp(joint(X), axis=1),
    }
    return Dataset(
        X, y, column_names(d), _labels(k), f"A mixture of {k} normals", truth
    )


def separable(
    n: int = 200, d: int = 2, *, margin: float = 0.5, random_state: Any = None
) -> Dataset:
    r"""Two classes with a gap: $y(x·v) \ge$ `margin` for a unit vector v, y = ±1.

    Maximum likelihood has no finite answer here: a linear classifier gains by growing
    without bound.

    Examples:
        >>> lk.data.separable(100, random_state=0).X.shape
        (100, 2)
    """
    rng = generator(random_state)
    v = rng.normal(size=d)
    v /= np.linalg.norm(v)
    y = _classes(n, 2)
    X = rng.normal(size=(n, d))
    along = np.abs(X @ v) + margin
    X += np.outer((2 * y - 1) * along - X @ v, v)
    truth = {"direction": v, "margin": margin}
    return Dataset(X, y, column_names(d), _labels(2), "Two classes with a gap", truth)


def inseparable(
    n: int = 200, d: int = 2, *, distance: float = 2.0, random_state: Any = None
) -> Dataset:
    r"""Two normal classes that overlap, with means `distance` δ apart.

    The best possible classifier is linear, $P(1 \mid x) = σ(δ\, x_1)$, and errs with
    probability $Φ(-δ/2)$.

    Examples:
        >>> lk.data.inseparable(100, random_state=0).X.shape
        (100, 2)
    """
    rng = generator(random_state)
    y = _classes(n, 2)
    X = rng.normal(size=(n, d))
    X[:, 0] += distance * (y - 0.5)

    def probability(X):
        one = special.expit(distance * np.asarray(X)[:, 0])
        return np.stack([1 - one, one], axis=1)

    truth = {
        "probability": probability,
        "distance": distance,
        "error": float(special.ndtr(-distance / 2)),
    }
    return Dataset(X, y, column_names(d), _labels(2), "Two overlapping classes", truth)


def _classes(n: int, k: int) -> np.ndarray:
    """Codes 0 ... k − 1 in turn, so that classes are as equal in size as possible."""
    return np.arange(n) % k


def _labels(k: int) -> tuple[str, ...]:
    return tuple(str(j) for j in range(k))


def _noisy(
    clean: np.ndarray, y: np.ndarray, noise: float, rng: np.random.Generator, about: str
) -> Dataset:
    X = clean + noise * rng.normal(size=clean.shape)
    truth = {"clean": clean, "noise": noise}
    return Dataset(X, y, PLANE, _labels(int(y.max()) + 1), about, truth)
