r"""Step limits of gradient descent: up to 1/L, up to 2/L, and beyond.

Near a minimum each eigenvector of the Hessian goes its own way, $a_i \leftarrow (1 - ηλ_i)\,a_i$:
up to η = 1/L, the rate with the best guarantee, all shrink without changing sign; up to 2/L the
steepest one swings from side to side and still shrinks; at 2/L it swings for ever; beyond it
grows by the factor ηL − 1. What happens then is not local any more: a quadratic diverges, a
network may settle where it is flatter.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.base.settings import above_zero, at_least
from likely.core.checks import InputError
from likely.core.lanczos import lanczos, ritz_pairs
from likely.core.precision import float64
from likely.core.random import seed_of
from likely.diagnostics.dynamics.losses import Vector, gradient, loss_of, values
from likely.diagnostics.result import Result
from likely.solvers import Constant, GradientDescent
from likely.solvers.function import NO_ROWS

FACTORS = (0.1, 0.5, 1.0, 1.5, 1.9, 1.99, 2.01, 2.1, 2.5, 3.0)
LANCZOS_STEPS = 40
MEASURED_STEPS = 4
"""Steps over which the growth along the steepest direction is measured: still near."""
DIVERGED_LOSS = 1e4
"""Losses above this, in units of 1 and of the lowest loss, count as diverged."""
CONVERGED, SWINGING, ELSEWHERE, DIVERGED = "converges", "stays", "leaves", "diverges"


@dataclass(frozen=True, repr=False, eq=False)
class StepLimits(Result):
    """Gradient descent from near a minimum, at several learning rates."""

    L: float
    """The largest eigenvalue of the Hessian at the minimum."""
    residual: float
    """To which it was found."""
    factors: Float[np.ndarray, " k"]
    """ηL of each run."""
    measured: Float[np.ndarray, " k"]
    """The factor of each step along the steepest direction, with its sign."""
    rising: Float[np.ndarray, " k"]
    """The share of steps that raised the loss."""
    start: float
    """The loss at the start, above that at the minimum."""
    lowest: float
    """The loss at the minimum."""
    excess: Float[np.ndarray, "k t"]
    """The loss above that at the minimum at each step kept; not finite after divergence."""
    steps: Float[np.ndarray, " t"]
    """The numbers of these steps."""
    sharpness: Float[np.ndarray, " k"]
    """The largest eigenvalue where each run ended; NaN after divergence."""

    @property
    def rates(self) -> Float[np.ndarray, " k"]:
        """η of each run."""
        return self.factors / self.L

    @property
    def predicted(self) -> Float[np.ndarray, " k"]:
        """1 − ηL."""
        return 1 - self.factors

    @property
    def fates(self) -> list[str]:
        """What became of each run: "converges", "stays", "leaves" or "diverges"."""
        return [_fate(row, self.start, self.lowest) for row in self.excess]

    @property
    def verdict(self) -> str:
        """Up to where the runs converge, how far the factors are from 1 − ηL, and beyond."""
        runs = list(zip(self.factors, self.fates, strict=True))
        held = all(fate in (CONVERGED, SWINGING) for f, fate in runs if f < 2)
        gap = float(np.nanmax(np.abs(self.measured - self.predicted)))
        beyond = [f"at {f:g}/L it {fate}" for f, fate in runs if f >= 2]
        inside = (
            "no run leaves the minimum"
            if held
            else "some runs leave the minimum all the same"
        )
        return (
            f"The largest curvature is L = {self.L:.4g}: gradient descent needs a rate below "
            f"2/L = {2 / self.L:.4g}. Below it {inside}"
            + "".join(f"; {part}" for part in beyond)
            + f". The factors of a step differ from 1 − ηL by at most {gap:.2g}."
        )

    def table(self) -> dict[str, Any]:
        """One row for each rate."""
        last = [row[np.isfinite(row)] for row in self.excess]
        return {
            "ηL": self.factors.tolist(),
            "rate": self.rates.tolist(),
            "1−ηL": self.predicted.tolist(),
            "measured": self.measured.tolist(),
            "steps uphill": self.rising.tolist(),
            "excess at the end": [float(r[-1]) for r in last],
            "sharpness there": self.sharpness.tolist(),
            "fate": self.fates,
        }

    def plot(self) -> Any:
        """The loss over the steps for each rate, and the factors over ηL."""
        from likely.plots import step_limits

        return step_limits(self)


def _fate(excess: np.ndarray, start: float, lowest: float) -> str:
    """What became of a run, by its losses."""
    last = excess[-1]
    if not np.isfinite(excess).all() or last > DIVERGED_LOSS * (
        1 + abs(lowest) + start
    ):
        return DIVERGED
    if abs(last) < 0.5 * start:
        return CONVERGED
    return SWINGING if 0 < last <= 2 * start else ELSEWHERE


def step_limits(
    model: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    factors: Any = FACTORS,
    n_steps: int = 300,
    distance: float | int = 1e-4,
    random_state: Any = 0,
    **source: Any,
) -> StepLimits:
    """Gradient descent from near a minimum at rates below and above 2/L, as one program.

    Args:
        model: a fitted linear model or network with its rows (see `loss_surface`); or without
            rows a symmetric matrix A, for ½ φᵀAφ, or a function with `start`, its minimiser.
        X: inputs.
        y: targets.
        sample_weight: how often each row counts.
        factors: ηL of each run.
        n_steps: of each run.
        distance: of the start from the minimum, along the steepest direction and as far in a
            random one.
        random_state: the seed of that direction.
        source: more about the model: see `loss_surface`.
    """
    distance = above_zero("distance", distance)
    steps = at_least("n_steps", n_steps, 20, whole=True)
    c = np.array([above_zero("a factor", f) for f in factors])
    if not len(c):
        raise InputError("factors is empty; give at least one, such as 1.0.")
    loss, center = loss_of(model, X, y, sample_weight, **source)
    if X is None and not callable(model):
        center = np.zeros_like(center)
    rng = np.random.default_rng([seed_of(random_state), 1])
    L, residual, v = steepest_curvature(loss, center, rng)
    if not L > 0:
        raise InputError(
            f"the largest curvature is {L:.3g}: the weights are at no minimum."
        )
    _check_level(loss, center, L, distance)
    u = rng.normal(size=len(center))
    start = center + distance * (v + u / np.linalg.norm(u))
    kept = np.unique(np.linspace(0, steps, min(steps, 100) + 1).round().astype(int))
    with float64():
        lows = _runs(loss, jnp.asarray(start), jnp.asarray(c / L), steps)
        losses, ends, early = map(np.asarray, lows)
    lowest = float(values(loss, center[None])[0])
    excess = losses - lowest
    sharp = [
        steepest_curvature(loss, end, rng)[0] if np.isfinite(end).all() else np.nan
        for end in ends
    ]
    a = (early - center) @ v  # (k, t)
    growth = np.abs(a[:, -1] / a[:, 0]) ** (1 / MEASURED_STEPS)
    measured = np.sign(a[:, 1] / a[:, 0]) * growth
    with np.errstate(invalid="ignore"):
        rising = np.mean(np.diff(losses, axis=1) > 1e-15 * (1 + abs(lowest)), axis=1)
    return StepLimits(
        L,
        residual,
        c,
        measured,
        rising,
        float(excess[0, 0]),
        lowest,
        excess[:, kept],
        kept.astype(float),
        np.array(sharp),
    )


def _check_level(loss: Any, center: np.ndarray, L: float, distance: float) -> None:
    g = float(np.linalg.norm(gradient(loss, center)))
    if g > 0.1 * L * distance:
        raise InputError(
            f"the weights are not at a minimum: the gradient is {g:.2g}, which moves them as far "
            f"as the runs begin from there ({distance:g}). Fit the model to its end (an L-BFGS "
            f"solver, more steps), or give distance={20 * g / L:.1g}."
        )


def steepest_curvature(
    loss: Any, phi: np.ndarray, rng: np.random.Generator
) -> tuple[float, float, Float[np.ndarray, " p"]]:
    """The largest eigenvalue of the Hessian, its residual and its eigenvector, by Lanczos."""
    with float64():
        begin = jnp.asarray(rng.normal(size=len(phi)))
        m = min(LANCZOS_STEPS, len(phi))
        alpha, beta, V = map(np.asarray, _lanczos(loss, jnp.asarray(phi), begin, m))
    pairs = ritz_pairs(alpha, beta)
    v = pairs.coordinates[:, -1] @ V[: len(pairs.values)]
    return float(pairs.values[-1]), float(pairs.residuals[-1]), v / np.linalg.norm(v)


@eqx.filter_jit
def _lanczos(loss: Any, phi: Array, begin: Array, m: int) -> Any:
    def product(v: Array) -> Array:
        return jax.jvp(jax.grad(loss.mean), (phi,), (v,))[1]

    return lanczos(product, begin, m)


@eqx.filter_jit
def _runs(loss: Any, start: Array, rates: Array, steps: int) -> tuple[Array, ...]:
    """The losses of each run, its end, and its first few points."""

    def one(rate: Array) -> tuple[Array, Array, Array]:
        def descend(n: int, path: bool) -> Any:
            solver = GradientDescent(Constant(rate), steps=n, path=path)
            return solver.minimize(Vector(loss), start, NO_ROWS, key=None)

        whole, early = descend(steps, False), descend(MEASURED_STEPS, True)
        first = early.trace.model[: MEASURED_STEPS + 1]
        return whole.trace.loss[: steps + 1], whole.model, first

    return jax.vmap(one)(rates)
