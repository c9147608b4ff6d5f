r"""The leaves of a circuit: distributions of single columns.

normal        N(μ, σ²)                                    numbers
student       t(ν, μ, s)                                  numbers with far outliers
histogram     constant between edges                      numbers of odd shapes
rounded       P(v) = Φ((v+δ/2−μ)/σ) − Φ((v−δ/2−μ)/σ)      whole numbers, δ apart
category      a probability for each level                words, truth values
poisson       rate λ                                      counts
negative      negative binomial: shape r, mean m          counts that spread more
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import stats
from scipy.special import gammaln, log_ndtr, ndtr

from likely.generative.circuits.kernels.kinds import (
    CATEGORY,
    HISTOGRAM,
    NEGATIVE,
    NORMAL,
    OUTSIDE,
    POISSON,
    ROUNDED,
    STUDENT,
)

HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class Leaf:
    """The distribution of one column."""

    kind: int
    column: int
    a: float = 0.0
    """μ, or the rate λ, or the shape r."""
    b: float = 1.0
    """σ or s, or the mean m."""
    c: float = 0.0
    """ν, or the step δ."""
    table: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Logarithms of probabilities of levels, or of densities between edges."""
    edges: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Between densities; of whole numbers one value of the column."""
    prior: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """What the fit is drawn to: the variance, the rate, or the probabilities of more rows."""


def log_prob(leaf: Leaf, x: np.ndarray) -> np.ndarray:
    """log p of values of the column; 0 where they are missing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = _log_prob(leaf, np.where(np.isnan(x), leaf.a, x))
    return np.where(np.isnan(x), 0.0, found)


def _log_prob(leaf: Leaf, x: np.ndarray) -> np.ndarray:
    a, b, c = leaf.a, leaf.b, leaf.c
    if leaf.kind == NORMAL:
        return -0.5 * ((x - a) / b) ** 2 - np.log(b) - HALF_LOG_2PI
    if leaf.kind == STUDENT:
        return stats.t.logpdf(x, c, a, b)
    if leaf.kind == ROUNDED:
        z, half = np.abs(x - a) / b, 0.5 * c / b
        upper, lower = log_ndtr(half - z), log_ndtr(-half - z)
        return upper + np.log(-np.expm1(lower - upper))
    if leaf.kind == CATEGORY:
        return leaf.table[np.clip(x, 0, len(leaf.table) - 1).astype(np.int64)]
    if leaf.kind == HISTOGRAM:
        at = np.searchsorted(leaf.edges, x, side="right") - 1
        inside = (at >= 0) & (at < len(leaf.table))
        return np.where(
            inside, leaf.table[np.clip(at, 0, len(leaf.table) - 1)], OUTSIDE
        )
    if leaf.kind == POISSON:
        return x * np.log(a) - a - gammaln(x + 1)
    p = b / (a + b)  # negative binomial: shape a, mean b
    return (
        gammaln(x + a) - gammaln(a) - gammaln(x + 1) + a * np.log1p(-p) + x * np.log(p)
    )


def mean(leaf: Leaf) -> float:
    """E[v]; of a category 0."""
    if leaf.kind == HISTOGRAM:
        middles = 0.5 * (leaf.edges[1:] + leaf.edges[:-1])
        return float(np.exp(leaf.table) * np.diff(leaf.edges) @ middles)
    if leaf.kind == ROUNDED:
        points, p = support(leaf)
        return float(p @ points)
    return {NEGATIVE: leaf.b, CATEGORY: 0.0}.get(leaf.kind, leaf.a)


def variance(leaf: Leaf) -> float:
    """Var[v]; of a category 0."""
    a, b, c = leaf.a, leaf.b, leaf.c
    if leaf.kind == HISTOGRAM:
        e = leaf.edges
        seconds = (e[1:] ** 3 - e[:-1] ** 3) / (3 * np.diff(e))
        return float(np.exp(leaf.table) * np.diff(e) @ seconds - mean(leaf) ** 2)
    if leaf.kind == STUDENT:
        return b**2 * c / (c - 2)
    if leaf.kind == ROUNDED:
        points, p = support(leaf)
        return float(p @ (points - p @ points) ** 2)
    found = {NORMAL: b**2, CATEGORY: 0.0, POISSON: a, NEGATIVE: b + b**2 / a}
    return found[leaf.kind]


def mode(leaf: Leaf) -> float:
    """The most probable value."""
    a, b, c = leaf.a, leaf.b, leaf.c
    if leaf.kind == CATEGORY:
        return float(leaf.table.argmax())
    if leaf.kind == HISTOGRAM:
        at = int(leaf.table.argmax())
        return float(0.5 * (leaf.edges[at] + leaf.edges[at + 1]))
    if leaf.kind == POISSON:
        return float(np.floor(a))
    if leaf.kind == NEGATIVE:
        return float(np.floor(max(b * (a - 1) / a, 0.0)))
    if leaf.kind == ROUNDED:
        return float(leaf.edges[0] + c * np.round((a - leaf.edges[0]) / c))
    return float(a)


def draw(leaf: Leaf, n: int, rng: np.random.Generator) -> np.ndarray:
    """n values; of whole numbers before they are rounded."""
    a, b, c = leaf.a, leaf.b, leaf.c
    if leaf.kind == CATEGORY:
        p = np.exp(leaf.table)
        return rng.choice(len(p), n, p=p / p.sum()).astype(np.float64)
    if leaf.kind == HISTOGRAM:
        p = np.exp(leaf.table) * np.diff(leaf.edges)
        at = rng.choice(len(p), n, p=p / p.sum())
        return leaf.edges[at] + rng.random(n) * np.diff(leaf.edges)[at]
    if leaf.kind == POISSON:
        return rng.poisson(a, n).astype(np.float64)
    if leaf.kind == NEGATIVE:
        return rng.poisson(rng.gamma(a, b / a, n)).astype(np.float64)
    noise = rng.standard_t(c, n) if leaf.kind == STUDENT else rng.normal(size=n)
    return a + b * noise


def support(leaf: Leaf) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights with which Σ weight · g(point) is E[g(v)], nearly or exactly."""
    a, b, c = leaf.a, leaf.b, leaf.c
    if leaf.kind == CATEGORY:
        return np.arange(len(leaf.table), dtype=float), np.exp(leaf.table)
    if leaf.kind in (POISSON, NEGATIVE):
        most = (
            mean(leaf) + 12 * np.sqrt(variance(leaf)) + 30 * variance(leaf) / mean(leaf)
        )
        counts = np.arange(int(most) + 20.0)
        p = np.exp(log_prob(leaf, counts))
        return counts, p / p.sum()
    if leaf.kind == NORMAL:
        z, p = np.polynomial.hermite_e.hermegauss(64)
        return a + b * z, p / p.sum()
    if leaf.kind == STUDENT:
        q, p = np.polynomial.legendre.leggauss(400)
        return stats.t.ppf(0.5 * (q + 1), c, a, b), 0.5 * p
    if leaf.kind == HISTOGRAM:
        z, p = np.polynomial.legendre.leggauss(8)
        half = 0.5 * np.diff(leaf.edges)
        points = (leaf.edges[:-1] + half)[:, None] + half[:, None] * z
        return points.ravel(), (np.exp(leaf.table)[:, None] * half[:, None] * p).ravel()
    reach = int(10 * b / c) + 2  # whole numbers around μ
    points = mode(leaf) + c * np.arange(-reach, reach + 1)
    p = ndtr((points + 0.5 * c - a) / b) - ndtr((points - 0.5 * c - a) / b)
    return points, p / p.sum()
