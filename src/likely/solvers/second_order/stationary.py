r"""Stationary points: their kind, from the eigenvalues of the Hessian.

All eigenvalues positive: a minimum; all negative: a maximum; of both signs: a saddle.
Where some are zero the second derivatives do not decide.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from likely.core.checks import concrete
from likely.core.precision import float64, to_numpy
from likely.solvers.flat import flatten, to_float64


class StationaryPoint(eqx.Module):
    """A point, its gradient and the eigenvalues of its Hessian; `str` is the sentence."""

    gradient: Float[Array | np.ndarray, " p"]
    eigenvalues: Float[Array | np.ndarray, " p"]
    """From the lowest to the highest."""
    directions: Float[Array | np.ndarray, "p p"]
    """One column for each eigenvalue."""
    tolerance: float = eqx.field(static=True)

    @property
    def kind(self) -> str:
        """One of minimum, maximum, saddle, degenerate, not stationary."""
        if np.max(np.abs(self.gradient), initial=0.0) > self.tolerance:
            return "not stationary"
        negative, zero, positive = self._counts
        if negative and positive:
            return "saddle"
        if zero:
            return "degenerate"
        return "minimum" if positive else "maximum"

    @property
    def _counts(self) -> tuple[int, int, int]:
        """The numbers of negative, zero (beside the largest) and positive eigenvalues."""
        values = np.asarray(self.eigenvalues)
        zeros = np.abs(values) <= 1e-8 * np.max(np.abs(values), initial=0.0)
        negative = int((values[~zeros] < 0).sum())
        return negative, int(zeros.sum()), int((~zeros).sum()) - negative

    def __str__(self) -> str:
        slope = np.max(np.abs(self.gradient), initial=0.0)
        low, high = self.eigenvalues[0], self.eigenvalues[-1]
        negative, zero, positive = self._counts
        p = len(self.eigenvalues)
        return {
            "not stationary": f"not stationary: the largest gradient entry is {slope:.3g}",
            "minimum": f"a minimum: all {p} eigenvalues of the Hessian are positive, "
            f"from {low:.3g} to {high:.3g}",
            "maximum": f"a maximum: all {p} eigenvalues of the Hessian are negative, "
            f"from {low:.3g} to {high:.3g}",
            "saddle": f"a saddle: of {p} eigenvalues of the Hessian {negative} negative "
            f"(lowest {low:.3g}) and {positive} positive (highest {high:.3g})",
            "degenerate": f"undecided: of {p} eigenvalues of the Hessian {zero} zero, "
            f"{negative} negative and {positive} positive",
        }[self.kind]


def classify(
    f: Callable[[PyTree], Any], x: PyTree, *, tolerance: float = 1e-6
) -> StationaryPoint:
    """What kind of point x is for f, in double precision.

    Args:
        f: from parameters to a number, in terms of `jax.numpy`.
        x: the point: an array or any tree of arrays.
        tolerance: the largest gradient entry of a stationary point.

    Examples:
        >>> found = lk.solvers.classify(lambda x: x[0] ** 2 - x[1] ** 2, np.zeros(2))
        >>> str(found).partition(":")[0]
        'a saddle'
    """
    with float64():
        x = to_float64(x)
        return to_numpy(StationaryPoint(*_derivatives(f, x), tolerance))


@eqx.filter_jit
def _derivatives(f: Callable, x: PyTree) -> tuple[Array, Array, Array]:
    """The gradient, and eigenvalues and directions of the Hessian."""
    point, rebuild = flatten(x)
    gradient = jax.grad(lambda x: f(rebuild(x)))
    values, V = jnp.linalg.eigh(jax.jacfwd(gradient)(point))
    return gradient(point), values, V


class StepForecast(eqx.Module):
    r"""The second-order Taylor polynomial of the loss after a gradient step.

    $$f(θ - ηg) \approx f - η\lVert g\rVert^2 + \tfrac{η^2}{2} g^\top H g .$$

    The loss rises where $\fracη2 g^\top H g > \lVert g\rVert^2$.
    """

    loss: Float[Array | np.ndarray, ""]
    """f(θ)."""
    slope: Float[Array | np.ndarray, ""]
    """‖g‖²."""
    curvature: Float[Array | np.ndarray, ""]
    """gᵀHg."""
    forecast: Float[Array | np.ndarray, ""]
    """The predicted loss after the step."""
    harmful: Bool[Array | np.ndarray, ""]
    """Whether the loss is predicted to rise."""
    best_rate: Float[Array | np.ndarray, ""]
    """‖g‖² / gᵀHg, which minimises the forecast (infinite without curvature)."""


def step_forecast(f: Callable[[PyTree], Any], x: PyTree, rate: Any) -> StepForecast:
    """The forecast for one step of gradient descent at this rate, in double precision.

    It costs two gradients.

    Args:
        f: from parameters to a number, in terms of `jax.numpy`.
        x: the parameters θ.
        rate: η.
    """
    if not concrete((x, rate)):
        return _forecast(f, x, rate)
    with float64():
        return to_numpy(_forecast(f, *to_float64((x, rate))))


@eqx.filter_jit
def _forecast(f: Callable, x: PyTree, rate: Array) -> StepForecast:
    point, rebuild = flatten(x)

    def loss(x: Float[Array, " p"]):
        return f(rebuild(x))

    value, g = jax.value_and_grad(loss)(point)
    _, Hg = jax.jvp(jax.grad(loss), (point,), (g,))
    slope, curvature = g @ g, g @ Hg
    curved = curvature > 0
    return StepForecast(
        value,
        slope,
        curvature,
        value - rate * slope + 0.5 * rate**2 * curvature,
        0.5 * rate * curvature > slope,
        jnp.where(curved, slope / jnp.where(curved, curvature, 1.0), jnp.inf),
    )
