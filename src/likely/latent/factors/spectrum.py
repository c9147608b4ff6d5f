r"""Principal directions of weighted rows: eigenvectors of their scatter matrix.

$$S = \sum_i w_i (x_i - \bar x)(x_i - \bar x)^\top, \qquad S v_j = λ_j v_j .$$

Exactly by the eigenvectors of S where there are many rows, by a QR decomposition where S would
lose digits or rows are few, and approximately by random projections where few components of a
large matrix are asked for (Halko, Martinsson and Tropp, 2011).
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from likely.core.products import MAX_BLOCKS, column_product, row_product
from likely.core.threads import one_thread, thread_map

BLOCK_NUMBERS = 2**16
"""Numbers in a block of rows whose products are added up: a block stays in the cache."""
MAX_MEAN_SHARE = 100.0
"""Square of a mean, in variances, up to which rows need not be shifted."""
MAX_SQUARED_CONDITION = 1e10
"""Ratio of eigenvalues beyond which the scatter matrix has lost too many digits."""
MAX_MEAN_ROUNDING = 1e-12
"""Error of a mean, in standard deviations, from which on rows are centred once more."""
MEASURED_ROWS = 200
"""Rows from which those standard deviations are measured."""
OVERSAMPLES = 10
"""Directions that random projections have in addition to those asked for."""
EPSILON = float(np.finfo(float).eps)


class Scatter(NamedTuple):
    """The weight of rows, their mean, and their scatter matrix S."""

    weight: float
    mean: Float[np.ndarray, " d"]
    matrix: Float[np.ndarray, "d d"]

    def merge(self, other: "Scatter") -> "Scatter":
        """The scatter of both sets of rows together, without cancellation."""
        weight = self.weight + other.weight
        gap = other.mean - self.mean
        share = other.weight / weight
        between = self.weight * share * np.outer(gap, gap)
        mean = self.mean + share * gap
        return Scatter(weight, mean, self.matrix + other.matrix + between)


class Spectrum(NamedTuple):
    """Directions of largest scatter first.

    Attributes:
        weight: of all rows together.
        mean: of the rows.
        components: orthonormal directions, the largest entry of each above zero.
        squares: the sum of squares along each.
        total: the sum of squares along all directions, also those not found.
        resolution: squares below this share of the largest are rounding errors.
    """

    weight: float
    mean: Float[np.ndarray, " d"]
    components: Float[np.ndarray, "r d"]
    squares: Float[np.ndarray, " r"]
    total: float
    resolution: float

    @property
    def rank(self) -> int:
        """In how many of the directions the rows vary by more than rounding."""
        d = self.components.shape[1]
        size = self.squares[0] if len(self.squares) else 0.0
        rounding = (10 * EPSILON * np.abs(self.mean).max(initial=0.0)) ** 2
        least = max(size * self.resolution, self.weight * d * rounding)
        return int((self.squares > least).sum())


def scatter_of(X: Float[np.ndarray, "n d"], w: Float[np.ndarray, " n"]) -> Scatter:
    """The scatter of rows: of those as they are where their means are small.

    Subtracting the means afterwards loses as many digits as the squares of the means have more
    than the variances; where those are more than two, rows are shifted first.
    """
    weight = float(w.sum())
    if (w == 1.0).all():
        mean, matrix = w @ X / weight, column_product(X, X)
        squares = weight * mean**2
        if (squares <= MAX_MEAN_SHARE * (matrix.diagonal() - squares)).all():
            return Scatter(weight, mean, matrix - weight * np.outer(mean, mean))
    return _shifted_scatter(X, w)


def _shifted_scatter(X: np.ndarray, w: np.ndarray) -> Scatter:
    """The scatter of rows, in blocks that are shifted near their mean."""
    (n, d), size = X.shape, max(1, BLOCK_NUMBERS // X.shape[1])
    shift = w[:size] @ X[:size] / w[:size].sum()
    each = max(size, -(-n // MAX_BLOCKS))
    rows = [slice(start, start + each) for start in range(0, n, each)]
    with one_thread():
        parts = thread_map(lambda own: _shifted_sums(X[own], w[own], shift, size), rows)
    sums, total = np.zeros(d), np.zeros((d, d))
    for part_sums, part_total in parts:
        sums += part_sums
        total += part_total
    weight = float(w.sum())
    gap = sums / weight
    return Scatter(weight, shift + gap, total - weight * np.outer(gap, gap))


def _shifted_sums(
    X: np.ndarray, w: np.ndarray, shift: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Σ w (x − shift) and Σ w (x − shift)(x − shift)ᵀ, one pass over blocks of rows."""
    n, d = X.shape
    total, sums, room = np.zeros((d, d)), np.zeros(d), np.empty((min(size, n), d))
    weighted = not (w == 1.0).all()
    for start in range(0, n, size):
        part = w[start : start + size]
        block = np.subtract(X[start : start + size], shift, out=room[: len(part)])
        sums += part @ block
        if weighted:
            block *= np.sqrt(part)[:, None]
        total += block.T @ block
    return sums, total


def eigen_spectrum(scatter: Scatter) -> Spectrum:
    """All directions of a scatter matrix."""
    with one_thread():
        values, vectors = scipy.linalg.eigh(scatter.matrix, check_finite=False)
    squares = np.maximum(values[::-1], 0.0)
    components = oriented(vectors[:, ::-1].T)
    resolution = 10 * len(values) * EPSILON
    return Spectrum(*scatter[:2], components, squares, float(squares.sum()), resolution)


def exact_spectrum(
    X: Float[np.ndarray, "n d"], w: Float[np.ndarray, " n"], *, by_scatter: bool
) -> Spectrum:
    """All directions of rows.

    Args:
        X: rows.
        w: their weights.
        by_scatter: whether to try the scatter matrix, which is fast and squares the
            condition number; where that is too large, the decomposition is of the rows.
    """
    if by_scatter:
        found = eigen_spectrum(scatter_of(X, w))
        if found.squares[0] <= MAX_SQUARED_CONDITION * found.squares[-1]:
            return found
    weight, mean, centred = _centred(X, w)
    with one_thread():
        if len(X) > X.shape[1]:
            centred = np.linalg.qr(centred, mode="r")
        _, s, components = scipy.linalg.svd(
            centred, full_matrices=False, overwrite_a=True, check_finite=False
        )
    total, resolution = float((s**2).sum()), (100 * X.shape[1] * EPSILON) ** 2
    return Spectrum(weight, mean, oriented(components), s**2, total, resolution)


def randomized_spectrum(
    X: Float[np.ndarray, "n d"],
    w: Float[np.ndarray, " n"],
    k: int,
    rng: np.random.Generator,
    iterations: int | str = "auto",
) -> Spectrum:
    """The first k directions of rows, by random projections and power iterations.

    The projections are drawn for the columns, so that a row twice is a row of weight 2.

    Args:
        X: rows.
        w: their weights.
        k: how many directions.
        rng: draws the projections.
        iterations: the number of power iterations; "auto": 7, or 4 for many directions.
    """
    weight, mean, A = _centred(X, w)
    total = float(np.vdot(A, A))
    _, s, components = randomized_svd(A, k, rng, iterations)
    resolution = (100 * X.shape[1] * EPSILON) ** 2
    return Spectrum(weight, mean, oriented(components), s**2, total, resolution)


def randomized_svd(
    A: Any, k: int, rng: np.random.Generator, iterations: int | str = "auto"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, s and V of the k largest singular values, A ≈ U diag(s) V; A may be sparse."""
    n, d = A.shape
    width = min(k + OVERSAMPLES, n, d)
    if iterations == "auto":
        iterations = 7 if k < 0.1 * min(n, d) else 4
    Q = row_product(A, rng.normal(size=(d, width)))
    for _ in range(int(iterations)):
        Q = column_product(A, _basis(Q))
        Q = row_product(A, _basis(Q))
    with one_thread():
        Q = np.linalg.qr(Q)[0]
    small = column_product(A, Q).T
    with one_thread():
        U, s, V = scipy.linalg.svd(small, full_matrices=False, check_finite=False)
    return row_product(Q, U[:, :k]), s[:k], V[:k]


def _basis(Q: np.ndarray) -> np.ndarray:
    """Columns that span what those of Q do, none of them much larger than another."""
    with one_thread():
        return scipy.linalg.lu(Q, permute_l=True, check_finite=False)[0]


def oriented(components: Float[np.ndarray, "r d"]) -> Float[np.ndarray, "r d"]:
    """Directions with the largest entry of each above zero."""
    largest = np.abs(components).argmax(1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * np.where(signs == 0, 1.0, signs)[:, None]


def _centred(X: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The weight of rows, their mean, and √w (x − mean) of each."""
    weight = float(w.sum())
    mean = w @ X / weight
    centred = X - mean
    gap = w @ centred / weight
    if (np.abs(gap) > MAX_MEAN_ROUNDING * centred[:MEASURED_ROWS].std(0)).any():
        mean = mean + gap
        np.subtract(X, mean, out=centred)
    if not (w == 1.0).all():
        centred *= np.sqrt(w)[:, None]
    return weight, mean, centred
