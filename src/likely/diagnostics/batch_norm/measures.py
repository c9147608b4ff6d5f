r"""Measures of a network with or without batch norm, at given weights, for each seed.

*Smoothness along the gradient*, after Santurkar and others: from weights φ with gradient g, steps
$φ - t g$ of different lengths t show how far the loss is from the forecast of its gradient,
$|L(φ - tg) - L(φ) + t\lVert g\rVert^2| / (t\lVert g\rVert^2)$ at most, the largest relative change
of the gradient $\lVert g(φ - tg) - g\rVert / \lVert g\rVert$, and the effective smoothness
$β = \max_t \lVert g(φ - tg) - g\rVert / (t \lVert g\rVert)$.

*Noise*: what a row's output depends on the other rows of its minibatch: its standard deviation
over minibatches of B rows, relative to that of the outputs over rows. Means of B rows vary like
$1/\sqrt B$, and so does the noise.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from likely.core.compiling import lean_jit
from likely.diagnostics.batch_norm.training import Arm, Runs
from likely.typing import Batch, Key

STEP_FACTORS = (0.5, 1.0, 2.0, 3.0, 4.0)
"""Lengths of the steps along the gradient, times the rate."""
NOISE_DRAWS = 48


class Smoothness(NamedTuple):
    """Of the loss along its gradient."""

    forecast_error: Float[Array, " s"]
    gradient_change: Float[Array, " s"]
    beta: Float[Array, " s"]


@lean_jit
def output_change(
    arm: Arm, runs: Runs, X: Float[Array, "n d"], key: Key
) -> Float[Array, " s"]:
    """The change of the outputs for changed inputs, relative to their spread over rows."""

    def one(run: Runs) -> Array:
        model = arm.model(run.params)

        def outputs(rows: Array) -> Array:
            again = jax.random.clone(key)
            return model(rows, w=arm.data.w, key=again, state=run.state)[0]

        before, after = outputs(arm.data.x[0]), outputs(X)
        spread = jnp.sqrt(((before - before.mean(0)[None]) ** 2).mean())
        return jnp.sqrt(((after - before) ** 2).mean()) / spread

    return jax.vmap(one)(runs)


@lean_jit
def smoothness(arm: Arm, runs: Runs, rate: Float[Array, ""], key: Key) -> Smoothness:
    """The smoothness of the training loss of all rows along its gradient."""

    def one(run: Runs) -> Smoothness:
        phi, rebuild = ravel_pytree(run.params)

        def loss(phi: Array) -> Array:
            again = jax.random.clone(key)
            model = arm.model(rebuild(phi))
            return arm.objective.objective(model, arm.rows, key=again, state=run.state)[
                0
            ]

        first, g = jax.value_and_grad(loss)(phi)
        t = rate * jnp.asarray(STEP_FACTORS)
        losses, changed = jax.lax.map(
            lambda t: jax.value_and_grad(loss)(phi - t * g), t
        )
        change = jnp.linalg.norm(changed - g[None], axis=1) / jnp.linalg.norm(g)
        forecast = t * (g @ g)
        missed = jnp.abs(losses - first + forecast) / forecast
        return Smoothness(missed.max(), change.max(), (change / t).max())

    return jax.vmap(one)(runs)


@lean_jit
def batch_noise(arm: Arm, runs: Runs, size: Array, key: Key) -> Float[Array, " s"]:
    """The spread of outputs over minibatches of some rows, relative to that over rows."""
    data = arm.rows
    order_key, model_key = jax.random.split(key)

    def mask(key: Key) -> Array:
        order = jax.random.permutation(key, len(data.w))
        return jnp.where(order < size, data.w, 0.0)

    masks = jax.vmap(mask)(jax.random.split(order_key, NOISE_DRAWS))

    def one(run: Runs) -> Array:
        model = arm.model(run.params)

        def outputs(w: Array) -> Array:
            again = jax.random.clone(model_key)
            return model(data.x, w=w, key=again, state=run.state)[0]

        eta = jax.lax.map(outputs, masks)  # draws, rows, k
        here = (masks > 0)[:, :, None]
        count = here.sum(0)
        mean = jnp.where(here, eta, 0.0).sum(0) / jnp.maximum(count, 1)
        squares = jnp.where(here, (eta - mean[None]) ** 2, 0.0).sum(0)
        often = count > 1
        within = jnp.where(often, squares / jnp.maximum(count - 1, 1), 0.0)
        spread = ((mean - mean.mean(0)[None]) ** 2).mean()
        return jnp.sqrt(within.sum() / (often.sum() * mean.shape[1]) / spread)

    return jax.vmap(one)(runs)


def moved(data: Batch, scale: float, shift: float) -> Batch:
    """The rows with all inputs multiplied and shifted by constants."""
    X, numbers = data.x
    return data._replace(x=(scale * X + shift, numbers))
