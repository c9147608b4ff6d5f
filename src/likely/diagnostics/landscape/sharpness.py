r"""Sharpness: how much the loss can rise near the fitted weights.

- the largest eigenvalue $λ$ of the Hessian: the curvature of the steepest direction;
- $\max_{\lVert ε\rVert \le ρ} L(φ + ε) - L(φ)$, the rise that sharpness-aware minimisation (SAM)
  holds down, found by projected gradient ascent, so a bound from below; beside it the rise after
  SAM's single step $ε = ρ\,g/\lVert g\rVert$;
- *adaptive*: the same with $\lVert ε / |φ|\,\rVert \le ρ$, relative to each weight: multiplying one
  ReLU layer by c and dividing the next by c changes nothing of the function and nothing of this
  number, while λ may become anything;
- *random*: the mean rise where each weight is changed by a normal error of a part of itself.

The rises are means over rows, and have standard errors over these.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.base.settings import at_least
from likely.core.precision import precision_of
from likely.core.random import key_of
from likely.diagnostics.landscape.curvature import MAX_EXACT, eigenpairs, row_errors
from likely.diagnostics.landscape.evaluation import row_losses
from likely.diagnostics.landscape.sources import loss_surface
from likely.diagnostics.landscape.surface import LossSurface
from likely.diagnostics.result import Result
from likely.evaluate.scores import Score, mean_score, paired_difference
from likely.solvers.flat import flatten


@dataclass(frozen=True, repr=False, eq=False)
class Sharpness(Result):
    """How much the loss of a model rises near its weights, in nats."""

    loss: Score
    """At the fitted weights."""
    largest_eigenvalue: Score
    """Of the Hessian; the error is over rows."""
    residual: float
    """To which this eigenvalue was found."""
    gradient: float
    """The norm of the gradient, which is 0 at a minimum."""
    rho: float
    """The radius of the ball around the weights."""
    rise: Score
    """The largest rise found within ρ."""
    sam_rise: Score
    """The rise after one step of length ρ along the gradient."""
    adaptive_rho: float
    """The radius where each weight is its own unit."""
    adaptive_rise: Score
    noise: float
    """The standard deviation of the random changes, relative to each weight."""
    random_rise: Score
    """The mean rise by random changes; the error is over draws."""

    @property
    def quadratic(self) -> float:
        """ρ|g| + ½ρ²λ: the rise within ρ is at most this if the loss is quadratic."""
        curved = 0.5 * self.rho**2 * max(self.largest_eigenvalue.value, 0.0)
        return self.rho * self.gradient + curved

    @property
    def verdict(self) -> str:
        """The rise within ρ, beside that of a quadratic, and the adaptive one."""
        return (
            f"Within {self.rho:g} of the weights the loss rises by up to {self.rise.value:.3g} ± "
            f"{self.rise.error:.1g} nats (a quadratic with the same gradient and largest "
            f"eigenvalue, {self.largest_eigenvalue.value:.3g}, by at most {self.quadratic:.3g}); "
            f"with changes relative to each weight, within {self.adaptive_rho:g}, by up to "
            f"{self.adaptive_rise.value:.3g} ± {self.adaptive_rise.error:.1g}."
        )

    def table(self) -> dict[str, Any]:
        """All measures."""
        rows = {
            "loss at the weights": self.loss,
            "largest eigenvalue": self.largest_eigenvalue,
            f"rise within {self.rho:g}": self.rise,
            f"rise by one step of SAM, {self.rho:g}": self.sam_rise,
            f"rise within {self.adaptive_rho:g}, adaptive": self.adaptive_rise,
            f"mean rise, random changes of {100 * self.noise:g} %": self.random_rise,
        }
        return {
            "measure": list(rows),
            "value": [score.value for score in rows.values()],
            "error": [score.error for score in rows.values()],
        }

    def plot(self) -> Any:
        """Bars of the rises with their errors."""
        from likely.plots import sharpness

        return sharpness(self)


class _Search(NamedTuple):
    """What the ascent needs: directions to begin with, their units, the radius."""

    starts: Float[np.ndarray, "s p"]
    scale: Float[np.ndarray, " p"]
    rho: float


def sharpness(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    rho: float = 0.05,
    adaptive_rho: float = 0.1,
    noise: float = 0.05,
    n_steps: int = 20,
    n_draws: int = 32,
    random_state: Any = 0,
    **source: Any,
) -> Sharpness:
    """How much the loss can rise near fitted weights, by several measures.

    Args:
        model: a fitted network or linear model, or what else `loss_landscape` takes.
        X: inputs.
        y: targets.
        sample_weight: how often each row counts.
        rho: the largest length of a change of the weights.
        adaptive_rho: the same where each weight is its own unit.
        noise: the standard deviation of random changes, relative to each weight.
        n_steps: steps of the ascent.
        n_draws: random changes.
        random_state: the seed of the start of Lanczos' method and of the random changes.
        source: more about the model: see `loss_surface`.
    """
    rho, adaptive_rho = at_least("rho", rho), at_least("adaptive_rho", adaptive_rho)
    noise, n_steps = (
        at_least("noise", noise),
        at_least("n_steps", n_steps, 1, whole=True),
    )
    n_draws = at_least("n_draws", n_draws, 2, whole=True)
    surface = loss_surface(
        model, X, y, sample_weight, random_state=random_state, **source
    )
    center, w = surface.center, surface.w
    exact = surface.n_parameters <= MAX_EXACT // 4
    top = eigenpairs(surface, 1, exact=exact, n_starts=0, random_state=random_state)
    g, v = surface.gradient(), top.vectors[0]
    base = row_losses(surface, center)
    starts = np.stack([g if g.any() else v, v, -v])

    def rise(search: _Search) -> Score:
        losses = row_losses(surface, center + _ascent(surface, search, n_steps))
        return paired_difference(losses, base, w)

    one, size = np.ones_like(center), np.abs(center)
    step = rho * starts[0] / np.linalg.norm(starts[0])
    draws = _random_rises(surface, noise, n_draws, random_state)
    return Sharpness(
        mean_score(base, w),
        Score(float(top.values[0]), float(row_errors(surface, top.vectors)[0])),
        float(top.residuals[0]),
        float(np.linalg.norm(g)),
        rho,
        rise(_Search(starts, one, rho)),
        paired_difference(row_losses(surface, center + step), base, w),
        adaptive_rho,
        rise(_Search(starts, size, adaptive_rho)),
        noise,
        Score(float(draws.mean()), float(draws.std(ddof=1) / np.sqrt(n_draws))),
    )


def _ascent(surface: LossSurface, search: _Search, n_steps: int) -> np.ndarray:
    """The change ε with the highest loss that the ascent finds."""
    with precision_of(surface.model):
        starts, scale, rho = (jnp.asarray(a, surface.center.dtype) for a in search)
        return np.asarray(_highest(surface, (starts, scale, rho), n_steps))


@eqx.filter_jit
def _highest(surface: LossSurface, search: tuple, n_steps: int) -> Array:
    """Steps of 2ρ/n along the gradient in units of `scale`, back into the ball after each."""
    starts, scale, rho = search
    center = flatten(surface.model)[0]
    value = jax.value_and_grad(lambda u: surface.mean(center + scale * u))

    def unit(u: Array) -> Array:
        size = jnp.linalg.norm(u)
        return u / jnp.where(size > 0, size, 1.0)

    def step(_: Any, carry: Any) -> Any:
        u, best, highest = carry
        loss, g = value(u)
        higher = loss > highest
        best, highest = jnp.where(higher, u, best), jnp.where(higher, loss, highest)
        u = u + 2 * rho / n_steps * unit(g)
        return u * jnp.minimum(1.0, rho / jnp.linalg.norm(u)), best, highest

    def one(start: Array) -> tuple[Array, Array]:
        u = rho * unit(scale * start)
        begin = u, jnp.zeros_like(u), value(jnp.zeros_like(u))[0]
        _, best, highest = jax.lax.fori_loop(0, n_steps + 1, step, begin)
        return best, highest

    found, losses = jax.lax.map(one, starts)
    return scale * found[jnp.argmax(losses)]


def _random_rises(
    surface: LossSurface, noise: float, n_draws: int, random_state: Any
) -> Float[np.ndarray, " s"]:
    """The rise of the mean loss by each of several random changes of the weights."""
    with precision_of(surface.model):
        level = jnp.asarray(noise, surface.center.dtype)
        keys = jax.random.split(jax.random.fold_in(key_of(random_state), 1), n_draws)
        return np.asarray(_perturbed(surface, level, keys), np.float64)


@eqx.filter_jit
def _perturbed(surface: LossSurface, noise: Array, keys: Array) -> Array:
    center = flatten(surface.model)[0]

    def one(key: Any) -> Array:
        z = jax.random.normal(key, center.shape, center.dtype)
        return surface.mean(center * (1 + noise * z))

    return jax.lax.map(one, keys) - surface.mean(center)
