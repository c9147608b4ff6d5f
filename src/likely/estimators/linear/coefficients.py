"""The coefficients inside φ of any linear model, and η at them, in NumPy."""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import PyTree
from scipy.sparse import issparse

from likely.models import Linear, Shared


class Coefficients(NamedTuple):
    """What φ of a linear model is made of."""

    weight: np.ndarray
    """(d, k)."""
    bias: np.ndarray | None
    """(k,), or None without an intercept."""
    shared: np.ndarray
    """Entries of η that all rows share, such as a scale."""

    @staticmethod
    def without_weights(phi: PyTree) -> PyTree:
        """φ with every weight zero."""
        zeros = np.zeros_like(linear_of(phi).weight)
        return eqx.tree_at(lambda p: linear_of(p).weight, phi, zeros)


def coefficients_of(phi: PyTree) -> Coefficients:
    """Weights, bias and shared entries of η, whatever holds them.

    The bias is that of the columns as they are, also where the line has a centre.
    """
    shared = getattr(phi, "log_scale", None)
    shared = np.zeros(0) if shared is None else np.atleast_1d(shared)
    model: Any = phi.model
    while not isinstance(model, Linear):
        shared = np.asarray(model.tail) if isinstance(model, Shared) else shared
        model = model.model
    weight, bias = np.asarray(model.weight), model.bias
    if bias is not None and model.centre is not None:
        shift = np.asarray(model.centre, np.longdouble) @ weight
        bias = np.asarray(bias - shift, np.float64)
    return Coefficients(weight, None if bias is None else np.asarray(bias), shared)


def eta_at(phi: PyTree, x: Any) -> np.ndarray:
    """(n, k) η = XW + 1b + offset, and the shared entries beside it.

    Args:
        phi: of a linear model.
        x: (n, d) columns, or these and (n,) offsets.
    """
    X, offset = x if isinstance(x, tuple) else (x, None)
    line, shared = linear_of(phi), coefficients_of(phi).shared
    W = np.asarray(line.weight)
    if line.centre is None:
        eta = np.asarray(X @ W)
    elif issparse(X):
        eta = np.asarray(X @ W) - np.asarray(line.centre) @ W
    else:
        eta = (X - line.centre) @ W
    if line.bias is not None:
        eta = eta + line.bias
    if offset is not None:
        eta = eta + offset[:, None]
    rest = np.broadcast_to(shared, (X.shape[0], len(shared)))
    return np.concatenate([eta, rest], axis=1)


def linear_of(phi: PyTree) -> Linear:
    """The line inside φ of any linear model."""
    model = phi.model
    while not isinstance(model, Linear):
        model = model.model
    return model
