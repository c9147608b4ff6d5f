r"""Gradients, directional derivatives, Jacobian layouts and Taylor models.

Numerator layout: $J_{ij} = \partial y_i/\partial x_j$, so row i is the gradient of
output i, column j the effect of input j, $J \sim (m, n)$ for $f: R^n \to R^m$ and
$J_{g \circ f} = J_g J_f$. Denominator layout is the transpose, (n, m), and the chain
rule runs the other way: $J_f J_g$.

Everything is computed in float64 and returned as NumPy arrays.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import scipy

from likely.core.checks import InputError
from likely.core.precision import float64

LAYOUTS = ("numerator", "denominator")


def gradient(f: Callable, x: Any) -> np.ndarray:
    """The gradient ∇f(x), shaped like x."""
    with float64():
        return np.asarray(jax.grad(f)(_double(x)))


def directional_derivative(f: Callable, x: Any, v: Any) -> np.ndarray:
    r"""$D_v f(x) = \nabla f(x) \cdot v$: computed by one run of forward mode."""
    with float64():
        return np.asarray(jax.jvp(f, (_double(x),), (_double(v),))[1])


def jacobian(f: Callable, x: Any, layout: str = "numerator") -> np.ndarray:
    """The matrix of partial derivatives of a function of one vector.

    Args:
        f: a function from n numbers to m numbers.
        x: the point, (n,).
        layout: `numerator` (m, n) or `denominator` (n, m).
    """
    _check_layout(layout)
    with float64():
        matrix = np.atleast_2d(np.asarray(jax.jacobian(f)(_double(x))))
    return matrix if layout == "numerator" else matrix.T


def chain_rule(outer: Any, inner: Any, layout: str = "numerator") -> np.ndarray:
    """The Jacobian of outer ∘ inner from the two Jacobians, all in this layout."""
    _check_layout(layout)
    return outer @ inner if layout == "numerator" else inner @ outer


def _check_layout(layout: str) -> None:
    if layout not in LAYOUTS:
        raise InputError(f"layout={layout!r} is unknown; give {' or '.join(LAYOUTS)}.")


def _double(x: Any) -> np.ndarray:
    return np.asarray(x, np.float64)


@dataclass(frozen=True)
class TaylorModel:
    r"""$f(a) + J (x-a) \,[\, + \tfrac12 (x-a)^\top H (x-a)]$: the Taylor model of f at a."""

    f: Callable = field(repr=False)
    at: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    """The Jacobian: axes of f, then axes of x."""
    curvature: np.ndarray | None
    """The Hessian: axes of f, then axes of x twice; None for order 1."""

    @property
    def order(self) -> int:
        """The order of the model, 1 or 2."""
        return 1 if self.curvature is None else 2

    def __call__(self, x: Any) -> np.ndarray:
        """The value of the model at x."""
        step = _double(x) - self.at
        axes = step.ndim
        value = self.value + np.tensordot(self.slope, step, axes)
        if self.curvature is not None:
            product = np.tensordot(self.curvature, step, axes)
            value = value + 0.5 * np.tensordot(product, step, axes)
        return np.asarray(value)

    def remainder(self, x: Any) -> np.ndarray:
        """The measured remainder f(x) − model(x)."""
        with float64():
            return np.asarray(self.f(_double(x)) - self(x))

    def remainder_order(self, direction: Any, steps: tuple = (2e-2, 1e-2)) -> float:
        """The measured order of the remainder in the step: order + 1 if f is smooth."""
        far, near = (
            np.linalg.norm(self.remainder(self.at + h * _double(direction)))
            for h in steps
        )
        return float(np.log(far / near) / np.log(steps[0] / steps[1]))


def taylor(f: Callable, at: Any, order: int = 2) -> TaylorModel:
    """The first- or second-order Taylor model of a function.

    Args:
        f: a function of one array to a number or an array.
        at: the point of expansion.
        order: 1 (linearisation) or 2.
    """
    if order not in (1, 2):
        raise InputError(
            f"order={order}; give 1 or 2, or use taylor_series for a scalar."
        )
    at = _double(at)
    with float64():
        value, slope = np.asarray(f(at)), np.asarray(jax.jacobian(f)(at))
        curvature = np.asarray(jax.hessian(f)(at)) if order == 2 else None
    return TaylorModel(f, at, value, slope, curvature)


@dataclass(frozen=True)
class TaylorSeries:
    r"""$\sum_{k \le n} f^{(k)}(x_0)(x-x_0)^k/k!$ for a function of one number."""

    f: Callable = field(repr=False)
    at: float
    derivatives: tuple[float, ...]
    """f(x₀), f'(x₀), ..., f⁽ⁿ⁾(x₀)."""
    next_derivative: Callable = field(repr=False)
    """The derivative f⁽ⁿ⁺¹⁾ as a function."""

    @property
    def order(self) -> int:
        """The degree n of the polynomial."""
        return len(self.derivatives) - 1

    def __call__(self, x: float) -> float:
        """The value of the polynomial at x."""
        step = x - self.at
        terms = (
            d * step**k / math.factorial(k) for k, d in enumerate(self.derivatives)
        )
        return float(sum(terms))

    def remainder(self, x: float) -> float:
        """The measured remainder f(x) − polynomial(x)."""
        with float64():
            return float(self.f(_double(x))) - self(x)

    def integral_remainder(self, x: float) -> float:
        r"""$\int_{x_0}^x f^{(n+1)}(t)\,(x-t)^n/n!\, dt$: the remainder as an integral."""

        def integrand(t: float) -> float:
            with float64():
                top = float(self.next_derivative(_double(t)))
            return top * (x - t) ** self.order / math.factorial(self.order)

        return float(scipy.integrate.quad(integrand, self.at, x, epsabs=1e-12)[0])


def taylor_series(f: Callable, at: float, order: int) -> TaylorSeries:
    """The Taylor polynomial of a function of one number, with its integral remainder."""
    functions = [f]
    for _ in range(order + 1):
        functions.append(jax.grad(functions[-1]))
    with float64():
        values = tuple(float(g(_double(at))) for g in functions[:-1])
    return TaylorSeries(f, float(at), values, jax.jit(functions[-1]))
