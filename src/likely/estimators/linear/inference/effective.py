r"""Effective degrees of freedom where rows and columns are too many to decompose.

$$\operatorname{tr} H = \operatorname{tr}\,(Z^\top D Z)(Z^\top D Z + P)^{-1}$$

is the mean of $u^\top D^{1/2} Z (Z^\top D Z + P)^{-1} Z^\top D^{1/2} u$ over random signs u
(Hutchinson), each of which is one linear system for conjugate gradients. Without a penalty it
is the number of directions in which the rows can vary.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse

from likely.solvers.second_order.newton_cg import Columns, conjugate_gradients

MAX_WORK = 2e10
"""Products of two numbers up to which rows are decomposed."""
N_PROBES = 8
"""Vectors of random signs."""
RESIDUAL = 1e-4
"""The residual of their linear systems: less than what so few vectors leave open."""


def is_large(X: Any) -> bool:
    """Whether rows are not decomposed: sparse ones, or too many for so many columns."""
    n, d = X.shape
    return issparse(X) or float(n) * d * min(n, d) > MAX_WORK


def effective_slopes(
    X: Any, D: Float[np.ndarray, " n"], penalty: float, *, intercept: bool
) -> float:
    """tr H less the intercept.

    Args:
        X: the columns, maybe sparse.
        D: the information of each row.
        penalty: P.
        intercept: whether there is one.
    """
    n, d = X.shape
    if not penalty:
        return float(min(n - intercept, d))
    total = D.sum()
    columns = Columns.of(X, D / total, intercept)
    slopes = slice(0, d)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(n, N_PROBES))
    g = columns.gradient(np.sqrt(D)[:, None] * signs)[slopes]
    squares = columns.diagonal(D[:, None])[slopes] + penalty

    def product(V: np.ndarray) -> np.ndarray:
        wide = np.concatenate([V, np.zeros((1, V.shape[1]))]) if intercept else V
        Z = columns.times(wide)
        return columns.gradient(D[:, None] * Z)[slopes] + penalty * V

    solved = -conjugate_gradients(product, g, squares, RESIDUAL)
    return float(np.clip((g * solved).sum() / N_PROBES, 0.0, min(n, d)))


def active_columns(X: Any, active: np.ndarray) -> np.ndarray:
    """The columns whose coefficients are not 0, as a dense matrix."""
    part = X[:, np.flatnonzero(active)]
    return part.toarray() if issparse(part) else part
