r"""Equivariance and invariance of a model under a transformation of its inputs.

Equivariant: $f(t(x)) = s(f(x))$, the output is transformed too, as that of a convolution
under shifts. Invariant: $f(t(x)) = f(x)$, the output does not change, as that of a mean
over all positions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def equivariance_error(
    f: Callable, t: Callable, X: Any, s: Callable | None = None
) -> float:
    r"""$\lVert f(t(X)) - s(f(X)) \rVert / \lVert f(X) \rVert$: 0 if f is equivariant.

    Args:
        f: a function from inputs to arrays, such as `lambda X: model(X)[0]`.
        t: the transformation of the inputs.
        X: rows.
        s: the transformation of the outputs; None is t.
    """
    plain = np.asarray(f(X), np.float64)
    transformed = np.asarray(f(t(X)), np.float64)
    expected = np.asarray((t if s is None else s)(plain), np.float64)
    size = float(np.linalg.norm(plain))
    return float(np.linalg.norm(transformed - expected)) / (size if size > 0 else 1.0)


def invariance_error(f: Callable, t: Callable, X: Any) -> float:
    r"""$\lVert f(t(X)) - f(X) \rVert / \lVert f(X) \rVert$: 0 if f is invariant."""
    return equivariance_error(f, t, X, lambda output: output)
