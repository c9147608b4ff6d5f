r"""The order of the error with which a flow follows the steps of gradient descent.

Over a fixed time T, gradient descent in T/η steps is O(η) away from gradient flow and O(η²) away
from the flow on the modified loss. Over one epoch of B batches the mean of stochastic descent
over all B! orders is O(η²) away from gradient flow, also from that with GD's term alone, and
O(η³) from the flow on the modified loss with the batch term. The slopes of the errors over η, on
log axes, are these orders.
"""

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.base.settings import above_zero
from likely.core.checks import InputError
from likely.core.precision import float64
from likely.diagnostics.dynamics.flow import gradient_flow
from likely.diagnostics.dynamics.losses import Vector, loss_of
from likely.diagnostics.implicit.modified_loss import ModifiedLoss, batch_weights
from likely.diagnostics.rates.step_limits import steepest_curvature
from likely.diagnostics.result import Result
from likely.solvers import Constant, GradientDescent
from likely.solvers.first_order.stochastic import descend
from likely.solvers.function import NO_ROWS

MAX_BATCHES = 5
"""Batches whose orders are all taken: 120 of them."""
DEFAULT_STEPS = tuple(10.0 ** np.arange(-4, -0.9, 0.5))
"""ηL over three decades."""
DURATION = 1.0
"""The time of the runs, in units of 1/L."""
ACCURACY = 1e-13
"""Of the ODE solver."""
MAX_SLOPE_GAP = 0.15
"""How near a slope is to the order that it confirms."""


@dataclass(frozen=True, repr=False, eq=False)
class ImplicitRegularization(Result):
    """Distances of flows from the steps of gradient descent, over the learning rate."""

    n_batches: int | None
    """Of stochastic descent, in the mean over all orders; None for the full gradient."""
    L: float
    """The largest curvature at the start, which sets the scale of the rates."""
    rates: Float[np.ndarray, " k"]
    flows: tuple[str, ...]
    """What each flow goes down."""
    orders: tuple[int, ...]
    """The order of the error that theory gives each flow."""
    errors: Float[np.ndarray, "f k"]
    """The distance of the weights at the end from those of descent."""
    moved: float
    """How far descent with the smallest rate went: distances are to be seen beside it."""
    rounding: float
    """Distances below are rounding, and do not count for the slopes."""

    @property
    def slopes(self) -> Float[np.ndarray, " f"]:
        """The fitted slopes of the errors over the rates, on log axes."""
        return np.array([self._slope(e)[0] for e in self.errors])

    @property
    def slope_errors(self) -> Float[np.ndarray, " f"]:
        """Their standard errors."""
        return np.array([self._slope(e)[1] for e in self.errors])

    def _slope(self, errors: np.ndarray) -> tuple[float, float]:
        seen = errors > 10 * self.rounding
        if seen.sum() < 3:
            return float("nan"), float("nan")
        x, y = np.log(self.rates[seen]), np.log(errors[seen])
        x = x - x.mean()
        slope = float(x @ y / (x @ x))
        left = y - y.mean() - slope * x
        return slope, float(np.sqrt(left @ left / (len(x) - 2) / (x @ x)))

    @property
    def holds(self) -> bool:
        """Whether every slope is within 0.15 of its order."""
        return bool((np.abs(self.slopes - self.orders) <= MAX_SLOPE_GAP).all())

    @property
    def verdict(self) -> str:
        """The orders that were measured, and what the modified loss gains."""
        who = (
            "gradient descent"
            if self.n_batches is None
            else f"stochastic descent (the mean over all orders of {self.n_batches} batches)"
        )
        parts = [
            f"from the flow on {name} by η^{slope:.2f} (theory {order})"
            for name, slope, order in zip(
                self.flows, self.slopes, self.orders, strict=True
            )
        ]
        gain = self.errors[0, -1] / max(self.errors[-1, -1], 1e-300)
        end = (
            f"At η = {self.rates[-1]:.3g} the modified loss is {gain:.3g} times nearer."
        )
        if not self.holds:
            end += (
                " A slope is off its order: the loss may not be smooth along the path (ReLU has "
                "kinks), or the largest rates are too large."
            )
        return f"{who[0].upper()}{who[1:]} departs {', '.join(parts)}. {end}"

    def table(self) -> dict[str, Any]:
        """One row for each flow."""
        return {
            "flow on": list(self.flows),
            "order": list(self.orders),
            "slope": self.slopes.tolist(),
            "its error": self.slope_errors.tolist(),
            f"error at η={self.rates[0]:.2g}": self.errors[:, 0].tolist(),
            f"error at η={self.rates[-1]:.2g}": self.errors[:, -1].tolist(),
        }

    def plot(self) -> Any:
        """The errors over the rate on log axes, with their slopes."""
        from likely.plots import implicit_regularization

        return implicit_regularization(self)


def implicit_regularization(
    model: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    n_batches: int | None = None,
    rates: Any = None,
    start: Any = None,
    random_state: Any = 0,
    **source: Any,
) -> ImplicitRegularization:
    """Measure how far gradient flow, plain and on modified losses, is from descent.

    Args:
        model: any smooth model with its rows, from whose weights the paths begin (see
            `loss_surface`); or without rows a symmetric matrix or a function of a vector.
        X: inputs.
        y: targets.
        sample_weight: how often each row counts.
        n_batches: 2 to 5, for stochastic descent by as many batches: the mean over all orders
            after one epoch. None: gradient descent by all rows.
        rates: learning rates; None takes 1e-4/L to 0.1/L, over an epoch as much.
        start: the first weights; None takes those of the model, and ones for a matrix.
        random_state: the seed of which row is in which batch.
        source: more about the model: see `loss_surface`.
    """
    if X is None and callable(model):
        source["start"] = start
    loss, center = loss_of(model, X, y, sample_weight, **source)
    if start is not None:
        center = np.atleast_1d(np.asarray(start, np.float64))
    L = _curvature(loss, center)
    if n_batches is not None and not 2 <= n_batches <= MAX_BATCHES:
        raise InputError(
            f"n_batches is {n_batches}; give 2 to {MAX_BATCHES}, of which all orders are taken."
        )
    default = np.array(DEFAULT_STEPS) / (L * (n_batches or 1))
    eta = np.sort(
        [above_zero("a rate", r) for r in (default if rates is None else rates)]
    )
    if eta[-1] * L >= 2:
        raise InputError(
            f"a rate of {eta[-1]:.3g} is beyond 2/L = {2 / L:.3g}, where descent leaves every "
            "flow; give smaller rates."
        )
    if n_batches is None:
        ends, errors, names, orders = _full(loss, center, eta, DURATION / L)
    else:
        batches = batch_weights(loss, n_batches, random_state)
        ends, errors, names, orders = _stochastic(loss, center, eta, batches)
    if not np.isfinite(ends).all():
        raise InputError(
            f"descent diverged at a rate of {eta[-1]:.3g}; give smaller rates."
        )
    size = float(np.abs(center).max(initial=0.0)) + float(np.abs(ends).max())
    rounding = 4 * np.finfo(float).eps * size * np.sqrt(len(center))
    moved = float(np.linalg.norm(ends[0] - center))
    return ImplicitRegularization(
        n_batches, L, eta, names, orders, errors, moved, rounding
    )


def _curvature(loss: Any, center: np.ndarray) -> float:
    L, _, _ = steepest_curvature(loss, center, np.random.default_rng(0))
    if not L > 0:
        raise InputError(
            f"the largest curvature at the start is {L:.3g}, which gives rates no scale; begin "
            "elsewhere, or give rates."
        )
    return L


def _full(loss: Any, center: np.ndarray, eta: np.ndarray, time: float) -> tuple:
    """Gradient descent over a fixed time, and its distances from two flows."""
    steps = np.maximum(np.round(time / eta).astype(int), 1)
    ends = np.stack(
        [
            _descended(loss, center, float(e), int(n))
            for e, n in zip(eta, steps, strict=True)
        ]
    )
    flows = [
        [
            gradient_flow(f, center, np.array([n * e]), tolerance=ACCURACY)[-1]
            for f in (loss, ModifiedLoss(loss, e))
        ]
        for e, n in zip(eta, steps, strict=True)
    ]
    errors = _distances(ends, *np.stack(flows, axis=1))
    return ends, errors, ("L", "L + η/4 |∇L|²"), (1, 2)


def _stochastic(
    loss: Any, center: np.ndarray, eta: np.ndarray, batches: np.ndarray
) -> tuple:
    """The mean over all orders after one epoch, and its distances from three flows."""
    B = len(batches)
    orders = np.array(list(permutations(range(B))))
    with float64():
        phi, W, P = jnp.asarray(center), jnp.asarray(batches), jnp.asarray(orders)
        ends = np.stack(
            [np.asarray(_epochs(loss, phi, jnp.asarray(e), W, P)) for e in eta]
        )
    flows = []
    for e in eta:
        losses = loss, ModifiedLoss(loss, e), ModifiedLoss(loss, e, batches)
        flows.append(
            [
                gradient_flow(f, center, np.array([B * e]), tolerance=ACCURACY)[-1]
                for f in losses
            ]
        )
    errors = _distances(ends, *np.stack(flows, axis=1))
    names = ("L", "L + η/4 |∇L|²", "L + η/4 |∇L|² + batches")
    return ends, errors, names, (2, 2, 3)


def _distances(ends: np.ndarray, *flows: np.ndarray) -> np.ndarray:
    return np.stack([np.linalg.norm(ends - flow, axis=1) for flow in flows])


def _descended(loss: Any, center: np.ndarray, rate: float, steps: int) -> np.ndarray:
    """The end of gradient descent, by one program for any number of steps."""
    solver = GradientDescent(Constant(rate), steps=int(steps))
    with float64():
        found = descend(
            solver, Vector(loss), jnp.asarray(center), NO_ROWS, key=None, state=None, capacity=2
        )  # fmt: skip
        return np.asarray(found.model)


@eqx.filter_jit
def _epochs(loss: Any, phi: Array, rate: Array, W: Array, orders: Array) -> Array:
    """The mean over orders of the weights after one step on each batch."""
    gradient = jax.grad(lambda p, w: loss.mean(p, w))

    def one(order: Array) -> Array:
        return jax.lax.fori_loop(
            0, len(order), lambda i, p: p - rate * gradient(p, W[order[i]]), phi
        )

    # changes are averaged, not weights: fewer digits are lost
    return phi + jax.lax.map(lambda order: one(order) - phi, orders).mean(0)
