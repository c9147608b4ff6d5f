r"""Does a model respect a change of its inputs?

Equivariant: $f(t(x)) = s(f(x))$, the answer moves along, as a convolution's does under
shifts. Invariant: $f(t(x)) = f(x)$, it stays, as that of a mean over all positions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def equivariance_error(
    f: Callable, t: Callable, X: Any, s: Callable | None = None
) -> float:
    r"""$\lVert f(t(X)) - s(f(X)) \rVert / \lVert f(X) \rVert$: 0 if f moves along.

    Args:
        f: from inputs to arrays, such as `lambda X: model(X)[0]`.
        t: what is done to the inputs.
        X: rows.
        s: what should happen to the answers; None for the same, t.
    """
    plain = np.asarray(f(X), np.float64)
    moved = np.asarray(f(t(X)), np.float64)
    expected = np.asarray((t if s is None else s)(plain), np.float64)
    size = float(np.linalg.norm(plain))
    return float(np.linalg.norm(moved - expected)) / (size if size > 0 else 1.0)


def invariance_error(f: Callable, t: Callable, X: Any) -> float:
    r"""$\lVert f(t(X)) - f(X) \rVert / \lVert f(X) \rVert$: 0 if f does not see t."""
    return equivariance_error(f, t, X, lambda answer: answer)
