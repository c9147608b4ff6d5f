r"""Families of features with as many columns as one likes, of which the first p are used.

random features   $\max(0, x·v_j/\sqrt d)$ with random directions $v_j \sim N(0, I)$
polynomial        orthonormal Legendre polynomials of degree 0, 1, ..., of one x in an interval
columns           the first p columns of x itself
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.data.curves import curve, linear
from likely.diagnostics.generalization.refits.truth import Generator

Features = Callable[
    [Float[np.ndarray, "n d"], int, np.random.Generator], Float[np.ndarray, "n p"]
]


def random_features(
    X: Float[np.ndarray, "n d"], p: int, rng: np.random.Generator
) -> Float[np.ndarray, "n p"]:
    """Random ReLU features: the hidden layer of a network with random weights."""
    d = X.shape[1]
    return np.maximum(X @ (rng.normal(size=(d, p)) / np.sqrt(d)), 0.0)


def legendre_features(
    X: Float[np.ndarray, "n d"], p: int, rng: np.random.Generator
) -> Float[np.ndarray, "n p"]:
    """Legendre polynomials that are orthonormal for x uniform on (−1, 1)."""
    if X.shape[1] != 1 or np.abs(X).max() > 1:
        raise InputError(
            "Legendre polynomials are of one column between -1 and 1; give such a generator, "
            "as functools.partial(data.curve, interval=(-1, 1))."
        )
    table = np.polynomial.legendre.legvander(X[:, 0], p - 1)
    return table * np.sqrt(2 * np.arange(p) + 1)


def column_features(
    X: Float[np.ndarray, "n d"], p: int, rng: np.random.Generator
) -> Float[np.ndarray, "n p"]:
    """The first p columns."""
    if p > X.shape[1]:
        raise InputError(
            f"p is {p} and there are {X.shape[1]} columns; give sizes up to that, or a "
            "generator of more columns."
        )
    return X[:, :p]


FEATURES: dict[str, Features] = {
    "random features": random_features,
    "polynomial": legendre_features,
    "columns": column_features,
}
GENERATORS: dict[str, Generator] = {
    "random features": partial(
        linear, noise=0.25, coefficients=np.full(40, 40**-0.5), intercept=0.0
    ),
    "polynomial": partial(curve, noise=0.3, interval=(-1.0, 1.0)),
    "columns": partial(
        linear, noise=0.5, coefficients=np.full(400, 0.05), intercept=0.0
    ),
}
"""Data on which the double descent of each family can be seen."""
