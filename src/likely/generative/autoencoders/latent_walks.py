"""What codes decode to: codes drawn at random, and codes around that of a row.

A plain autoencoder has no order in its codes: random ones decode to nothing in particular, and
neighbours of a code may change abruptly. A variational one is trained so that both make sense.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.settings import at_least
from likely.core.checks import InputError


def decode_random(
    model: Any, n: int = 16, *, X: Any = None, given: Any = None, random_state: Any = 0
) -> np.ndarray:
    """The rows of n random codes.

    Args:
        model: a fitted `Autoencoder` or `VAE`.
        n: how many.
        X: rows; codes are drawn from a normal with the mean and deviation of theirs. None
            draws from N(0, I), the prior of a `VAE`.
        given: what the rows of a `VAE` are conditioned on.
        random_state: seed.
    """
    check_is_fitted(model)
    rng, k = np.random.default_rng(random_state), int(model.n_components)
    n = at_least("n", n, 1, whole=True)
    Z = rng.normal(size=(n, k))
    if X is not None:
        codes = model.transform(X)
        Z = codes.mean(0) + codes.std(0) * Z
    return _decoded(model, Z, given)


def decode_neighbors(
    model: Any,
    row: Any,
    distances: Any,
    n: int = 1,
    *,
    given: Any = None,
    random_state: Any = 0,
) -> list[Any]:
    """The rows of codes at growing distances from the code of a row.

    Args:
        model: a fitted `Autoencoder` or `VAE`.
        row: one row, with an axis of rows: X[:1].
        distances: from its code, in the units of codes.
        n: how many directions, the same at every distance.
        given: what the rows of a `VAE` are conditioned on.
        random_state: seed of the directions.

    Returns:
        For each distance the n rows that are decoded there.
    """
    check_is_fitted(model)
    known = {} if given is None else {"given": given}
    code = model.transform(row, **known)
    if len(code) != 1:
        raise InputError(f"row has {len(code)} rows; give one, as X[:1].")
    rng = np.random.default_rng(random_state)
    directions = rng.normal(size=(at_least("n", n, 1, whole=True), code.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return [
        _decoded(model, code + float(distance) * directions, given)
        for distance in np.ravel(distances)
    ]


def _decoded(model: Any, Z: np.ndarray, given: Any) -> Any:
    """Rows of codes: the means of their cells."""
    if hasattr(model, "decode"):
        return model.decode(Z, given=given, means=True)
    return model.inverse_transform(Z)
