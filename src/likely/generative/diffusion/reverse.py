r"""The way back from noise to rows, by all steps or some of them.

From a time t to an earlier one s, with the estimate x̂_0 and the noise ε̂ that follows from it:

$$x_s = \sqrt{\bar α_s}\,\hat x_0 + \sqrt{1 - \bar α_s - τ^2}\;\hat ε + τ z$$

With $τ^2 = \tilde β$, the variance of $q(x_s \mid x_t, x_0)$, and all steps these are the
ancestral draws of DDPM; with τ = 0 nothing is random and few steps are enough (DDIM), also
the other way, from a row to its noise.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from likely.generative.diffusion.denoising import Diffuser, shown
from likely.generative.diffusion.schedule import NoiseSchedule, posterior
from likely.generative.diffusion.targets import noise_of
from likely.generative.row_chunks import in_chunks

MAX_ROWS = 256
"""Rows that are drawn together."""


class Steps(eqx.Module):
    """The steps of one way, one entry each."""

    at: Int[np.ndarray, " s"]
    """Where a step begins, a time from 1 to T."""
    signal: Float[np.ndarray, " s"]
    """√ᾱ where it ends ..."""
    noise: Float[np.ndarray, " s"]
    """... the factor of ε̂, and ..."""
    fresh: Float[np.ndarray, " s"]
    """... that of new noise, τ."""


def steps_back(schedule: NoiseSchedule, n_steps: int, eta: float) -> Steps:
    """From T to 0.

    Args:
        schedule: the noise.
        n_steps: how many steps.
        eta: τ/√β̃: 1 for ancestral draws, 0 for none that are random.
    """
    times = schedule.times(n_steps)
    t, s = times[:-1], times[1:]
    _, _, variance = posterior(schedule, t, s)
    fresh = eta * np.sqrt(variance)
    rest = np.sqrt(np.maximum(schedule.noise[s] ** 2 - fresh**2, 0.0))
    return Steps(t, schedule.signal[s], rest, fresh)


def steps_forth(schedule: NoiseSchedule, n_steps: int) -> Steps:
    """From 0 (or rather 1) to T, without new noise: the way of a row to its latent numbers."""
    times = schedule.times(n_steps)[::-1]
    t, s = times[:-1], times[1:]
    return Steps(
        np.maximum(t, 1), schedule.signal[s], schedule.noise[s], np.zeros(len(s))
    )


def step_to_row(t: int) -> Steps:
    """The single step from a time to the estimate of x_0."""
    zero = np.zeros(1)
    return Steps(np.array([t]), zero + 1, zero, zero)


def walk(
    model: Diffuser,
    start: np.ndarray,
    given: np.ndarray,
    steps: Steps,
    *,
    seed: int = 0,
    guidance: float = 0.0,
    clip: float | None = None,
    frames: tuple[int, ...] = (),
) -> np.ndarray:
    """Rows at the end of a way; or (n, len(frames) + 1, ...) with some on the way first.

    Args:
        model: the trained denoiser.
        start: (n, ...) where to begin.
        given: (n, g) the design of their conditions.
        steps: the way.
        seed: of new noise.
        guidance: how much more the condition counts, 0 for as it is.
        clip: the largest size of a number of x̂_0, or None.
        frames: numbers of steps after which to keep rows.
    """
    rng = np.random.default_rng(seed)
    seeds = rng.integers(2**31, size=len(start))
    found = in_chunks(
        _walk,
        model,
        (start, given, seeds),
        double=False,
        max_rows=MAX_ROWS,
        steps=jax.tree.map(
            lambda a: a if a.dtype.kind == "i" else a.astype(np.float32), steps
        ),
        guidance=np.float32(guidance) if guidance else None,
        clip=clip,
        keep=bool(frames),
    )
    if not frames:
        return found[0]
    end, path = found
    picked = path[:, [f - 1 for f in frames]]
    return np.concatenate([picked, end[:, None]], 1)


Rows = tuple[Float[Array, "n ..."], Float[Array, "n g"], Int[Array, " n"]]


@eqx.filter_jit
def _walk(
    model: Diffuser,
    rows: Rows,
    *,
    steps: Steps,
    guidance: Any,
    clip: float | None,
    keep: bool,
) -> tuple[Array, Array | None]:
    """The rows after all steps, and after each; the seed of the first row is that of all."""
    start, given, seeds = rows
    c = shown(given)
    key = jax.random.key(seeds[0])

    def one(x: Array, step: tuple[Array, Steps]) -> tuple[Array, Array | None]:
        number, each = step
        t = jnp.full(len(x), each.at)
        row = model.row(x, t, c, guidance=guidance)
        row = row if clip is None else jnp.clip(row, -clip, clip)
        eps = noise_of(row, x, *model.levels(t, x))
        z = jax.random.normal(jax.random.fold_in(key, number), x.shape, x.dtype)
        x = each.signal * row + each.noise * eps + each.fresh * z
        return x, x if keep else None

    end, path = jax.lax.scan(one, start, (jnp.arange(len(steps.at)), steps))
    return end, None if path is None else jnp.moveaxis(path, 0, 1)
