r"""ReLU networks of one input as polygonal lines, and functions within ε of one.

**Any polygonal line** through $(t_0, y_0), \dots, (t_n, y_n)$ with slopes $m_1, \dots, m_n$,
continued straight at both ends, is

$$y_0 - m_1 \operatorname{relu}(t_0 - x) + m_1 \operatorname{relu}(x - t_0)
  + \sum_{i=1}^{n-1} (m_{i+1} - m_i) \operatorname{relu}(x - t_i),$$

exactly: a unit for each joint, and two for the straight line.

**A smooth function** with $|f''| \le M$ is within $M w^2/8$ of the line through its values at a
distance w: N = ⌈(b − a)√(M/8ε)⌉ pieces, where steps need about $L(b - a)/ε$.

**Any continuous function**, by Bernstein's polynomial: $|B_n f - f| \le \frac{LW}{2\sqrt n}$ on an
interval of width W for f with Lipschitz constant L, and $B_n f$ is smooth, with
$|(B_n f)''| \le n(n-1) \max_k |f_{k+2} - 2f_{k+1} + f_k| / W^2$. Half of ε pays for either step.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.analysis import BernsteinPolynomial
from likely.core.checks import InputError
from likely.diagnostics.expressivity.approximation import (
    Approximation,
    Target,
    approximation_of,
    checked_epsilon,
)

MAX_PIECES, MAX_DEGREE = 20_000, 200_000
MAX_ENTRIES = 2**22
"""Points times degree of a polynomial that are computed together."""


def polygonal_network(t: Any, y: Any) -> Approximation:
    """The ReLU network that is a given polygonal line.

    Args:
        t: (n,) joints and ends, ascending.
        y: (n,) the values there.
    """
    t, y = (np.asarray(a, np.float64).ravel() for a in (t, y))
    if len(t) < 2 or t.shape != y.shape or not (np.diff(t) > 0).all():
        raise InputError("give at least two ascending joints, and a value for each.")
    if not (np.isfinite(t).all() and np.isfinite(y).all()):
        raise InputError("joints and values have to be finite numbers.")
    target = Target(lambda x: np.interp(x, t, y), t[0], t[-1])
    rounding = 1e-12 * len(t) * (1 + np.abs(y).max())
    return approximation_of(
        target,
        polygonal_layers(t, y),
        "relu",
        kind=f"a line of {len(t) - 1} pieces",
        epsilon=rounding,
        promised_units=len(t),
        critical=t[:, None],
    )


def polygonal_layers(
    t: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]
) -> list[tuple[np.ndarray, Any]]:
    """Weights and biases of the network that is a polygonal line, continued at both ends."""
    slopes = np.diff(y) / np.diff(t)
    signs = np.r_[-1.0, np.ones(len(t) - 1)]
    kinks = np.r_[t[0], t[:-1]]
    outer = np.r_[-slopes[0], slopes[0], np.diff(slopes)]
    return [(signs[None], -signs * kinks), (outer[:, None], [y[0]])]


def spline_network(
    f: Callable,
    low: Any,
    high: Any,
    epsilon: Any,
    *,
    curvature: Any = None,
) -> Approximation:
    """A ReLU network of one hidden layer within ε of a smooth function on an interval.

    Args:
        f: a function with a bounded second derivative, called with (n,) arrays.
        low: the lower end.
        high: the upper end.
        epsilon: the largest error that is allowed.
        curvature: a bound on |f''|; None measures it on a grid.
    """
    target, epsilon = Target(f, low, high), checked_epsilon(epsilon)
    M, assumed = target.curvature(curvature)
    n = piece_count(float(target.width[0]), M, epsilon)
    t = np.linspace(low, high, n + 1)
    return approximation_of(
        target,
        polygonal_layers(t, target(t[:, None])),
        "relu",
        kind=f"a line of {n} pieces",
        epsilon=epsilon,
        promised_units=n + 1,
        assumed=assumed,
        critical=(t[:-1, None] + np.diff(t)[:, None] / 2),
    )


def piece_count(width: float, curvature: float, epsilon: float) -> int:
    """The pieces of a line within ε of a function with this second derivative at most."""
    n = max(1, int(np.ceil(width * np.sqrt(curvature / (8 * epsilon)) * (1 - 1e-12))))
    if n > MAX_PIECES:
        raise InputError(
            f"this error takes {n:,} pieces; give a larger epsilon (at most {MAX_PIECES:,})."
        )
    return n


def bernstein_network(
    f: Callable,
    low: Any,
    high: Any,
    epsilon: Any,
    *,
    lipschitz: Any = None,
) -> Approximation:
    """A ReLU network within ε of any Lipschitz function, by way of Bernstein's polynomial.

    Args:
        f: a continuous function, called with (n,) arrays.
        low: the lower end.
        high: the upper end.
        epsilon: the largest error that is allowed.
        lipschitz: the Lipschitz constant of f; None measures it on a grid.
    """
    target, epsilon = Target(f, low, high), checked_epsilon(epsilon)
    L, assumed = target.lipschitz(lipschitz)
    W = float(target.width[0])
    n = max(2, int(np.ceil((L * W / epsilon) ** 2 * (1 - 1e-12))))
    if n > MAX_DEGREE:
        raise InputError(
            f"this error takes a polynomial of degree {n:,}; give a larger epsilon (at most "
            f"degree {MAX_DEGREE:,}), or `spline_network` for a smooth function."
        )
    nodes = np.linspace(low, high, n + 1)
    values = target(nodes[:, None])
    polynomial = _Polynomial(values, low, high)
    M = n * (n - 1) * np.abs(np.diff(values, 2)).max(initial=0.0) / W**2
    pieces = piece_count(W, max(M, 1e-12), epsilon / 2)
    t = np.linspace(low, high, pieces + 1)
    return approximation_of(
        target,
        polygonal_layers(t, polynomial(t)),
        "relu",
        kind=f"Bernstein's polynomial of degree {n} by {pieces} pieces",
        epsilon=epsilon,
        promised_units=pieces + 1,
        assumed=assumed,
        critical=t[:, None],
    )


class _Polynomial:
    """Bernstein's polynomial with known values at its nodes."""

    def __init__(self, values: Float[np.ndarray, " n"], low: Any, high: Any):
        self.inner = BernsteinPolynomial(lambda x: 0 * x, len(values) - 1, low, high)
        self.inner.coefficients = values

    def __call__(self, x: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        rows = max(1, MAX_ENTRIES // self.inner.n)
        parts = [self.inner(x[at : at + rows]) for at in range(0, len(x), rows)]
        return np.concatenate(parts)
