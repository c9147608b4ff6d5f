r"""Metropolis' algorithm: a random walk that needs values of the density only.

From z propose $z' = z + s L ε$, $ε \sim N(0, I)$, and accept with probability

$$\min\Bigl(1, \frac{p(z')}{p(z)}\Bigr),$$

so that p is the stationary law of the chain: detailed balance holds because the proposal is
symmetric. In the warm-up the scale s moves towards the acceptance rate that is best for a
random walk (0.44 in one dimension, 0.23 in many) and $LL^\top$ towards the covariance of
the draws; then both stay, for a chain that adapts forever has another stationary law.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.random import key_of
from likely.inference.mcmc.draws import Draws
from likely.inference.mcmc.target import check_starts, flat_target, log_densities

FIRST_STEPS = 100
"""Steps of the warm-up after which the covariance of the draws is used."""


class Walker(NamedTuple):
    """The state of one chain."""

    key: Any
    z: Float[Array | np.ndarray, " d"]
    log_p: Float[Array | np.ndarray, ""]
    log_scale: Float[Array | np.ndarray, ""]
    mean: Float[Array | np.ndarray, " d"]
    covariance: Float[Array | np.ndarray, "d d"]
    factor: Float[Array | np.ndarray, "d d"]


def acceptance_probability(log_p_new: Any, log_p_old: Any) -> Any:
    """The probability min(1, p(z′)/p(z)) of a move, from the logarithms of both.

    Examples:
        >>> round(float(lk.inference.acceptance_probability(-3.0, -2.0)), 3)
        0.368
    """
    return jnp.exp(jnp.minimum(0.0, log_p_new - log_p_old))


def metropolis(
    log_density: Callable[[Any], Any],
    start: PyTree,
    *,
    draws: int = 2000,
    warmup: int = 1000,
    chains: int = 4,
    thin: int = 5,
    scale: float = 1.0,
    propose: Callable[[Any, Any], Any] | None = None,
    jitter: float = 0.1,
    names: Sequence[str] | None = None,
    random_state: Any = 0,
) -> Draws:
    """Draws from exp(log_density) by a random walk that adapts in its warm-up.

    Args:
        log_density: from a tree like `start` to log p, up to a constant, in `jax.numpy`;
            it needs no derivative.
        start: an array or a tree of arrays from which chains start.
        draws: kept draws of each chain.
        warmup: steps of each chain before.
        chains: the number of chains.
        thin: steps for each draw that is kept.
        scale: the standard deviation of the first steps.
        propose: of (key, z), z as one vector: a symmetric proposal of your own, such as
            a step on whole numbers; nothing adapts then.
        jitter: starts are scattered around `start` with this standard deviation.
        names: of the numbers, for tables.
        random_state: the seed.
    """
    if min(draws, warmup, chains, thin) < 1 or draws < 4:
        raise InputError(
            "draws has to be 4 or more, warmup, chains and thin 1 or more."
        )
    density, z = flat_target(log_density, start, names)
    d = len(z)
    with float64():
        scatter, walk = jax.random.split(key_of(random_state))
        noise = jax.random.normal(scatter, (chains, d), jnp.float64)
        starts = jnp.asarray(z)[None] + (0.0 if propose else jitter) * noise
        log_p = log_densities(density, starts)
        check_starts(np.asarray(log_p))
        eye = jnp.broadcast_to(jnp.eye(d), (chains, d, d))
        log_scale = jnp.full(chains, np.log(scale))
        state = Walker(
            jax.random.split(walk, chains), starts, log_p, log_scale, starts, eye, eye
        )
        counts = (jnp.asarray(warmup), jnp.asarray(thin))
        found = _walk(density, propose, state, counts, int(draws))
    values, log_p, rate = (np.asarray(a) for a in found)
    return Draws(values, log_p, density.layout, "Metropolis", acceptance=rate.mean(1))


@partial(lean_jit, low=True)
def _walk(density, propose, state: Walker, counts: tuple, draws: int):
    """The draws of all chains, their log p, and how many steps were accepted."""
    warmup, thin = counts
    d = state.z.shape[1]
    target = 0.44 if d == 1 else 0.234

    def step(state: Walker) -> tuple[Walker, Array]:
        key, noise, coin = jax.random.split(state.key, 3)
        if propose is None:
            move = state.factor @ jax.random.normal(noise, (d,), state.z.dtype)
            new = state.z + jnp.exp(state.log_scale) * move
        else:
            new = jnp.asarray(propose(noise, state.z), state.z.dtype)
        log_p = density(new)
        rate = acceptance_probability(log_p, state.log_p)
        accept = jax.random.uniform(coin, (), rate.dtype) < rate
        z = jnp.where(accept, new, state.z)
        moved = state._replace(
            key=key, z=z, log_p=jnp.where(accept, log_p, state.log_p)
        )
        return moved, rate

    def adapt(i, state: Walker) -> Walker:
        state, rate = step(state)
        if propose is not None:
            return state
        gain = (i + 1.0) ** -0.6
        late = i >= FIRST_STEPS
        away = state.z - state.mean
        mean = state.mean + gain * away
        second = away[:, None] * away[None] - state.covariance
        covariance = state.covariance + gain * jnp.where(late, second, 0.0)
        size = jnp.maximum(jnp.diagonal(covariance).mean(), 1e-300)
        factor = jnp.linalg.cholesky(covariance + 1e-9 * size * jnp.eye(d))
        log_scale = state.log_scale + gain * (rate - target)
        return state._replace(
            log_scale=log_scale, mean=mean, covariance=covariance, factor=factor
        )

    def kept(state: Walker, _: Any):
        def again(_, carry):
            state, total = carry
            state, rate = step(state)
            return state, total + rate

        state, total = jax.lax.fori_loop(0, thin, again, (state, jnp.zeros(())))
        return state, (state.z, state.log_p, total / thin)

    def chain(state: Walker):
        state = jax.lax.fori_loop(0, warmup, adapt, state)
        return jax.lax.scan(kept, state, length=draws)[1]

    return jax.vmap(chain)(state)
