"""Which columns of a design are combinations of others, in the user's names."""

import warnings
from typing import cast

import numpy as np
from jaxtyping import Float
from scipy.linalg import lstsq, qr

MAX_SIZE = 20_000_000


class CollinearityWarning(UserWarning):
    """Columns are linearly dependent: some coefficients are not determined."""


def warn_collinear(
    X: Float[np.ndarray, "n d"], names: np.ndarray | None, intercept: bool
) -> None:
    """Warn, naming a dependent column and the columns it is made of."""
    what = dependence_sentence(X, names, intercept)
    if what is None:
        what = f"the {X.shape[1]} columns are linearly dependent"
    warnings.warn(
        f"{what}, so the data do not determine all coefficients; this is the solution "
        "of least norm. Drop the column, or use Ridge.",
        CollinearityWarning,
        stacklevel=6,
    )


def warn_wide(n: int, d: int) -> None:
    """Warn that the coefficients are more than the rows."""
    warnings.warn(
        f"there are {d} columns and {n} rows, so the data do not determine all "
        "coefficients; this is the solution of least norm, which goes through every "
        "row that it can. Use fewer columns, or Ridge.",
        CollinearityWarning,
        stacklevel=6,
    )


def dependence_sentence(
    X: Float[np.ndarray, "n d"], names: np.ndarray | None, intercept: bool
) -> str | None:
    """Which column is a combination of which others, or None if none is."""
    culprit, parts = _dependence(X, intercept)
    label = [
        f"column {j}" if names is None else repr(names[j]) for j in range(X.shape[1])
    ]
    if culprit is None:
        return None
    if parts:
        others = ", ".join(label[j] for j in parts)
        return f"{label[culprit]} is a linear combination of {others}"
    return f"{label[culprit]} is {'constant' if intercept else 'zero'}"


def _dependence(X: np.ndarray, intercept: bool) -> tuple[int | None, list[int]]:
    """A dependent column and the few others that make it up, if n is not too large."""
    if X.size > MAX_SIZE:
        return None, []
    size = np.abs(X).max(0, initial=0.0)
    X = X / np.where(size > 0, size, 1.0)  # now no column is larger than 1
    X = X - X[0] if intercept else X
    X = X - X.mean(0) if intercept else X
    length = np.linalg.norm(X, axis=0)
    rounding = 4 * np.finfo(float).eps * np.sqrt(len(X))
    still = np.flatnonzero(length <= (rounding if intercept else 0.0))
    if still.size:
        return int(still[0]), []
    R, order = cast(tuple, qr(X / length, mode="r", pivoting=True))
    diagonal = np.abs(np.diagonal(R))
    rank = int((diagonal > 1e-10 * diagonal[0]).sum())
    if rank == X.shape[1]:
        return None, []
    culprit = order[rank]
    kept = np.sort(order[:rank])
    solved = cast(tuple, lstsq(X[:, kept] / length[kept], X[:, culprit]))
    share = solved[0] / length[culprit]
    return int(culprit), [int(j) for j in kept[np.abs(share) > 1e-8]]
