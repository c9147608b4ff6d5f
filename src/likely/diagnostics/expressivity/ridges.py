r"""From one dimension to several: sums of ridge functions $g_j(θ_j \cdot x)$.

A ridge function varies in one direction only. If units φ(wx + b) can approximate every function of
a number, then units φ(θ·x + b) can approximate every function of d numbers: polynomials are sums of
ridge polynomials, $xy = \frac14((x + y)^2 - (x - y)^2)$, and come close to every continuous
function; and each $g_j$ is a function of the number $θ_j \cdot x$. All of it is one hidden layer:

1. directions $θ_1, \dots, θ_J$, as many as homogeneous polynomials of the degree need;
2. $\sum_j g_j(θ_j \cdot x)$ with polynomials $g_j$ by least squares on a grid, of the lowest degree
   at which the largest error is below ε/2 (0.45 ε on the grid);
3. each $g_j$ as a polygonal line with an error of ε/2J at most, by a bound on its second
   derivative.
"""

from collections.abc import Callable
from itertools import product
from math import comb
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev

from likely.core.checks import InputError
from likely.core.threads import one_thread
from likely.diagnostics.expressivity.approximation import (
    Approximation,
    Target,
    approximation_of,
    checked_epsilon,
)
from likely.diagnostics.expressivity.splines import piece_count, polygonal_layers

FIT_POINTS = {2: 41**2, 3: 13**3}
CHECK_POINTS = {2: 81**2, 3: 21**3}
MAX_DEGREE = {2: 16, 3: 8}


def ridge_network(f: Callable, low: Any, high: Any, epsilon: Any) -> Approximation:
    """A ReLU network of one hidden layer within ε of a smooth function of 2 or 3 numbers.

    Args:
        f: a function, called with (n, d) arrays.
        low: the lower ends of the box.
        high: the upper ends.
        epsilon: the largest error that is allowed.
    """
    target, epsilon = Target(f, low, high), checked_epsilon(epsilon)
    d = target.dimension
    if d not in FIT_POINTS:
        raise InputError(
            f"the function has {d} inputs; ridge functions are built for 2 or 3."
        )
    middle, half = (target.low + target.high) / 2, target.width / 2
    fit, check = target.grid(FIT_POINTS[d]), target.grid(CHECK_POINTS[d])
    values, truth = target(fit), target(check)
    fit, check = ((points - middle) / half for points in (fit, check))
    with one_thread():
        degree = _degree(fit, values, check, truth, 0.45 * epsilon)
        theta = ridge_directions(d, degree)
        scale = np.abs(theta).sum(0)  # |θ·z| is at most this on the cube
        columns = _ridges(fit, theta / scale, degree)
        coefficients = np.linalg.lstsq(columns, values, rcond=None)[0]
    gaps = _ridges(check, theta / scale, degree) @ coefficients - truth
    error = float(np.abs(gaps).max())
    polynomials = coefficients.reshape(degree + 1, -1)
    layers, units = _network(
        polynomials, theta / scale / half[:, None], middle, epsilon - error
    )
    return approximation_of(
        target,
        layers,
        "relu",
        kind=f"{theta.shape[1]} ridge functions of degree {degree}",
        epsilon=epsilon,
        promised_units=units,
        assumed=f"{max(error, 1e-12):.2g} for the polynomial, which was measured on a grid",
    )


def _degree(
    fit: np.ndarray,
    values: np.ndarray,
    check: np.ndarray,
    truth: np.ndarray,
    most: float,
) -> int:
    """The lowest degree at which a polynomial is near enough."""
    d, error = fit.shape[1], np.inf
    for degree in range(1, MAX_DEGREE[d] + 1):
        powers = [p for p in product(range(degree + 1), repeat=d) if sum(p) <= degree]
        columns, others = (_tensors(Z, powers, degree) for Z in (fit, check))
        coefficients = np.linalg.lstsq(columns, values, rcond=None)[0]
        error = float(np.abs(others @ coefficients - truth).max())
        if error <= most:
            return degree
    raise InputError(
        f"polynomials up to degree {MAX_DEGREE[d]} are off by {error:.3g}; ridge functions by "
        "polynomials need a smooth function, or a larger epsilon."
    )


def _tensors(Z: Float[np.ndarray, "n d"], powers: list, degree: int) -> np.ndarray:
    """Products of Chebyshev polynomials of the coordinates."""
    each = chebyshev.chebvander(Z, degree)  # n, d, degree + 1
    return np.stack([each[:, range(Z.shape[1]), p].prod(1) for p in powers], axis=1)


def ridge_directions(d: int, degree: int) -> Float[np.ndarray, "d j"]:
    """Directions of which sums of powers (θ·x)^k are all polynomials of a degree.

    Args:
        d: the number of inputs.
        degree: the degree.
    """
    count = comb(degree + d - 1, d - 1)
    if d == 2:
        angle = np.pi * np.arange(count) / count
        return np.stack([np.cos(angle), np.sin(angle)])
    k = np.arange(count) + 0.5  # evenly over half of the sphere
    height, turn = k / count, np.pi * (1 + 5**0.5) * k
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), height])


def _ridges(
    Z: Float[np.ndarray, "n d"], theta: Float[np.ndarray, "d j"], degree: int
) -> Float[np.ndarray, "n p"]:
    """Chebyshev polynomials of θ·z up to a degree, for every direction."""
    return np.concatenate(
        [
            chebyshev.chebval(Z @ theta, np.eye(degree + 1)[k])
            for k in range(degree + 1)
        ],
        axis=1,
    )


def _network(
    polynomials: Float[np.ndarray, "k j"],
    theta: Float[np.ndarray, "d j"],
    middle: Float[np.ndarray, " d"],
    epsilon: float,
) -> tuple[list, int]:
    """One hidden layer for all polygonal lines, and the promised number of units."""
    inner, bias, outer, constant = [], [], [], 0.0
    J = polynomials.shape[1]
    for direction, g in zip(theta.T, polynomials.T, strict=True):
        second = np.abs(chebyshev.chebder(g, 2)).sum() if len(g) > 2 else 0.0
        n = piece_count(2.0, max(float(second), 1e-12), epsilon / J)
        t = np.linspace(-1.0, 1.0, n + 1)
        (signs, offsets), (weights, end) = polygonal_layers(t, chebyshev.chebval(t, g))
        inner.append(direction[:, None] * signs)
        bias.append(offsets - (middle @ direction) * signs[0])
        outer.append(weights)
        constant += end[0]
    layers = [
        (np.hstack(inner), np.concatenate(bias)),
        (np.vstack(outer), [constant]),
    ]
    return layers, sum(len(b) for b in bias)
