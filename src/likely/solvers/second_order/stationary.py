r"""Stationary points: where the gradient vanishes, the Hessian says what it is.

All eigenvalues positive: a minimum; all negative: a maximum; of both signs: a saddle.
Where some are zero the second derivatives cannot tell.
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
from likely.solvers.flat import doubles, flatten


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
        falls, flat, rises = self._counts
        if falls and rises:
            return "saddle"
        if flat:
            return "degenerate"
        return "minimum" if rises else "maximum"

    @property
    def _counts(self) -> tuple[int, int, int]:
        """How many eigenvalues are negative, zero (beside the largest) and positive."""
        values = np.asarray(self.eigenvalues)
        zero = np.abs(values) <= 1e-8 * np.max(np.abs(values), initial=0.0)
        flat = int(zero.sum())
        falls = int((values[~zero] < 0).sum())
        return falls, flat, len(values) - flat - falls

    def __str__(self) -> str:
        slope = np.max(np.abs(self.gradient), initial=0.0)
        low, high = self.eigenvalues[0], self.eigenvalues[-1]
        falls, flat, rises = self._counts
        p = len(self.eigenvalues)
        return {
            "not stationary": f"not stationary: the largest gradient entry is {slope:.3g}",
            "minimum": f"a minimum: all {p} eigenvalues of the Hessian are positive, "
            f"from {low:.3g} to {high:.3g}",
            "maximum": f"a maximum: all {p} eigenvalues of the Hessian are negative, "
            f"from {low:.3g} to {high:.3g}",
            "saddle": f"a saddle: of {p} eigenvalues of the Hessian {falls} negative "
            f"(lowest {low:.3g}) and {rises} positive (highest {high:.3g})",
            "degenerate": f"undecided: of {p} eigenvalues of the Hessian {flat} zero, "
            f"{falls} negative and {rises} positive",
        }[self.kind]


def classify(
    f: Callable[[PyTree], Any], x: PyTree, *, tolerance: float = 1e-6
) -> StationaryPoint:
    """What kind of point x is for f, in double precision.

    Args:
        f: from parameters to a number, in terms of `jax.numpy`.
        x: the point: an array or any tree of arrays.
        tolerance: the largest gradient entry of a stationary point.
    """
    with float64():
        x = doubles(x)
        return to_numpy(StationaryPoint(*_derivatives(f, x), tolerance))


@eqx.filter_jit
def _derivatives(f: Callable, x: PyTree) -> tuple[Array, Array, Array]:
    """The gradient, and eigenvalues and directions of the Hessian."""
    point, rebuild = flatten(x)
    slope = jax.grad(lambda x: f(rebuild(x)))
    values, V = jnp.linalg.eigh(jax.jacfwd(slope)(point))
    return slope(point), values, V


class StepForecast(eqx.Module):
    r"""What the second-order Taylor polynomial says of a gradient step.

    $$f(θ - ηg) \approx f - η\lVert g\rVert^2 + \tfrac{η^2}{2} g^\top H g .$$

    Curvature undoes the step where $\fracη2 g^\top H g > \lVert g\rVert^2$. (The notes divide
    $g^\top H g$ by $\lVert g\rVert^2$ in the one and replace it by that in the other.)
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
    """Whether it is predicted to rise."""
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
        return to_numpy(_forecast(f, *doubles((x, rate))))


@eqx.filter_jit
def _forecast(f: Callable, x: PyTree, rate: Array) -> StepForecast:
    point, rebuild = flatten(x)

    def loss(x: Float[Array, " p"]):
        return f(rebuild(x))

    value, g = jax.value_and_grad(loss)(point)
    _, bend = jax.jvp(jax.grad(loss), (point,), (g,))
    slope, curvature = g @ g, g @ bend
    bent = curvature > 0
    return StepForecast(
        value,
        slope,
        curvature,
        value - rate * slope + 0.5 * rate**2 * curvature,
        0.5 * rate * curvature > slope,
        jnp.where(bent, slope / jnp.where(bent, curvature, 1.0), jnp.inf),
    )
