r"""Gradient flow, $\dot φ = -\nabla L(φ)$, by an ODE solver.

Gradient descent with rate η is its explicit Euler method: after n steps it is near φ(nη), by an
error of order η. The solver here is SciPy's of order 8 with adaptive steps, so its own error
is far below that.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.integrate import solve_ivp

from likely.core.checks import InputError
from likely.core.precision import float64

MAX_EVALUATIONS = 50_000
"""Gradients of one flow; stiff ones would take more."""


def gradient_flow(
    loss: Any,
    start: Float[np.ndarray, " p"],
    times: Float[np.ndarray, " t"],
    *,
    tolerance: float = 1e-10,
) -> Float[np.ndarray, "t p"]:
    """The weights of gradient flow at some times, the first of which may be 0.

    Args:
        loss: with the traced method `mean(φ)`, such as a `LossSurface` or a `ModifiedLoss`.
        start: the weights at time 0.
        times: ascending, from 0 on.
        tolerance: of the solver, relative to the largest weight.
    """
    start, times = np.asarray(start, np.float64), np.asarray(times, np.float64)
    if times.ndim != 1 or not len(times) or times[0] < 0 or (np.diff(times) < 0).any():
        raise InputError("times have to be ascending numbers from 0 on.")
    if times[-1] == 0:
        return np.tile(start, (len(times), 1))
    at, place = np.unique(times, return_inverse=True)
    count = 0

    def slope(_: float, phi: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        if count > MAX_EVALUATIONS:
            raise InputError(
                f"the flow is too stiff: {MAX_EVALUATIONS:,} gradients did not reach time "
                f"{times[-1]:g}; give a shorter time, or scale the inputs."
            )
        return np.asarray(_descent(loss, jnp.asarray(phi)))

    scale = max(float(np.abs(start).max(initial=0.0)), 1e-3)
    with float64():
        loss = jax.tree.map(  # to the device once, not for each gradient
            lambda a: jnp.asarray(a) if isinstance(a, np.ndarray) else a, loss
        )
        found = solve_ivp(
            slope,
            (0.0, float(times[-1])),
            start,
            method="DOP853",
            t_eval=at,
            rtol=max(tolerance, 3e-14),
            atol=tolerance * scale,
        )
    if not found.success or not np.isfinite(found.y).all():
        raise InputError(
            f"gradient flow has no finite path up to time {times[-1]:g}: {found.message}"
        )
    return found.y.T[place]


@eqx.filter_jit
def _descent(loss: Any, phi: Array) -> Array:
    return -jax.grad(loss.mean)(phi)
