r"""Robust covariances: valid also where the variance is not that of the family.

$$C = B\,\Bigl(\sum_i w_i\, c_i\, u_i u_i^\top\Bigr) B, \qquad B = I^{-1},$$

with u the scores of rows and, for leverages $h_i = l_i''\, a_i^\top B\, a_i$,

    HC0   c = 1
    HC1   c = Σw / (Σw − p)
    HC2   c = 1 / (1 − h)
    HC3   c = 1 / (1 − h)²

Weights are counts: a row of weight 2 is two rows, each with its own leverage.
"""

import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError

KINDS = ("HC0", "HC1", "HC2", "HC3")


def sandwich(
    bread: Float[Array | np.ndarray, "q q"],
    scores: Float[Array | np.ndarray, "n q"],
    leverage: Float[Array | np.ndarray, " n"],
    w: Float[Array | np.ndarray, " n"],
    *,
    kind: str,
) -> Float[Array | np.ndarray, "q q"]:
    """The robust covariance B (Σ w c u uᵀ) B."""
    total = w.sum()
    if kind == "HC0":
        c = w
    elif kind == "HC1":
        c = w * total / (total - len(bread))
    elif kind in ("HC2", "HC3"):
        c = w / (1 - leverage) ** (1 if kind == "HC2" else 2)
    else:
        raise InputError(f"errors is {kind!r}; give one of {', '.join(KINDS)}.")
    U = scores @ bread
    return (U * c[:, None]).T @ U
