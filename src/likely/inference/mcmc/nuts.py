r"""Hamiltonian Monte Carlo and NUTS, through NumPyro.

A draw z gets a random momentum $r \sim N(0, M)$, and the pair moves along a path of
constant energy $H(z, r) = -\log p(z) + \frac12 r^\top M^{-1} r$ by leapfrog steps; the end
is accepted with probability $\min(1, e^{H - H'})$. HMC takes paths of one length, NUTS goes
on until the path turns back. In the warm-up the step is fitted to an acceptance rate and M
to the covariance of the draws.

All chains are one program, which takes as many steps as it is asked for: another number of
draws, other data in a module, another seed compile nothing. Define a plain function once: a
new function is a new program.
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
from likely.core.progress import Bar
from likely.core.random import key_of
from likely.inference.mcmc.draws import Draws
from likely.inference.mcmc.target import FlatDensity, check_starts, flat_target

CHUNK = 100
"""Steps of all chains between two updates of the progress bar."""
MAX_DENSE = 50
"""Numbers up to which the mass matrix learns correlations too."""


class Kernel(NamedTuple):
    """What a program is compiled for."""

    algorithm: str
    warmup: int
    dense: bool
    max_depth: int


class Moved(NamedTuple):
    """What a chunk of steps leaves behind, for each chain."""

    z: Any
    log_density: Any
    acceptance: Any
    divergent: Any
    steps: Any


def nuts(
    log_density: Callable[[Any], Any],
    start: PyTree,
    *,
    draws: int = 1000,
    warmup: int = 500,
    chains: int = 4,
    jitter: float = 0.1,
    target_acceptance: float = 0.8,
    max_depth: int = 10,
    dense: bool | None = None,
    names: Sequence[str] | None = None,
    verbose: bool = False,
    random_state: Any = 0,
) -> Draws:
    """Draws from exp(log_density) by the no-U-turn sampler.

    Args:
        log_density: from a tree like `start` to log p, up to a constant, in `jax.numpy`
            and differentiable.
        start: an array or a tree of arrays from which chains start, one for all.
        draws: kept draws of each chain.
        warmup: steps of each chain before, in which the sampler adapts.
        chains: the number of chains; R̂ compares them.
        jitter: starts are scattered around `start` with this standard deviation.
        target_acceptance: the acceptance rate to adapt the step to; nearer 1 for shorter
            steps, where paths diverge.
        max_depth: a path has at most 2^max_depth steps.
        dense: whether the mass matrix learns correlations; by default for up to 50 numbers.
        names: of the numbers, for tables.
        verbose: whether to show a progress bar.
        random_state: the seed.
    """
    density, z = flat_target(log_density, start, names)
    dense = len(z) <= MAX_DENSE if dense is None else bool(dense)
    kernel = Kernel("NUTS", _whole("warmup", warmup), dense, int(max_depth))
    numbers = (target_acceptance, 2 * np.pi)
    run = _Run(kernel, numbers, "NUTS", draws, chains, jitter, verbose, random_state)
    return _sample(density, z, run)


def hmc(
    log_density: Callable[[Any], Any],
    start: PyTree,
    *,
    length: float = 2 * np.pi,
    draws: int = 1000,
    warmup: int = 500,
    chains: int = 4,
    jitter: float = 0.1,
    target_acceptance: float = 0.8,
    dense: bool | None = None,
    names: Sequence[str] | None = None,
    verbose: bool = False,
    random_state: Any = 0,
) -> Draws:
    """Draws from exp(log_density) by Hamiltonian Monte Carlo with paths of one length.

    Args:
        log_density: from a tree like `start` to log p, up to a constant, in `jax.numpy`
            and differentiable.
        start: an array or a tree of arrays from which chains start, one for all.
        length: of a path, in units of the mass matrix; π/2 is a quarter turn of a normal.
        draws: kept draws of each chain.
        warmup: steps of each chain before, in which the sampler adapts.
        chains: the number of chains; R̂ compares them.
        jitter: starts are scattered around `start` with this standard deviation.
        target_acceptance: the acceptance rate to adapt the step to.
        dense: whether the mass matrix learns correlations; by default for up to 50 numbers.
        names: of the numbers, for tables.
        verbose: whether to show a progress bar.
        random_state: the seed.
    """
    density, z = flat_target(log_density, start, names)
    dense = len(z) <= MAX_DENSE if dense is None else bool(dense)
    kernel = Kernel("HMC", _whole("warmup", warmup), dense, 10)
    numbers = (target_acceptance, length)
    run = _Run(kernel, numbers, "HMC", draws, chains, jitter, verbose, random_state)
    return _sample(density, z, run)


class _Run(NamedTuple):
    kernel: Kernel
    numbers: tuple[float, float]
    method: str
    draws: int
    chains: int
    jitter: float
    verbose: bool
    random_state: Any


def _whole(name: str, value: Any, least: int = 1) -> int:
    if int(value) != value or value < least:
        raise InputError(f"{name} is {value}; give a whole number of at least {least}.")
    return int(value)


def _sample(density: FlatDensity, z: np.ndarray, run: _Run) -> Draws:
    draws, chains = _whole("draws", run.draws, 4), _whole("chains", run.chains)
    total = run.kernel.warmup + draws
    if not 0 < run.numbers[0] < 1:
        raise InputError(
            f"target_acceptance is {run.numbers[0]}; give a number between 0 and 1."
        )
    with float64(), Bar(total, enabled=run.verbose, transient=True) as bar:
        scatter, walk = jax.random.split(key_of(run.random_state))
        noise = jax.random.normal(scatter, (chains, len(z)), jnp.float64)
        starts = jnp.asarray(z)[None] + run.jitter * noise
        numbers = tuple(jnp.asarray(v, jnp.float64) for v in run.numbers)
        keys = jax.random.key_data(
            jax.random.split(walk, chains)
        )  # as NumPyro has them
        state = _start(density, keys, starts, numbers, run.kernel)
        check_starts(-np.asarray(state.potential_energy), np.asarray(state.z_grad))
        parts, done = [], 0
        while done < total:
            count = min(
                CHUNK, (run.kernel.warmup if done < run.kernel.warmup else total) - done
            )
            state, moved = _advance(
                density, state, jnp.asarray(count), numbers, run.kernel
            )
            if done >= run.kernel.warmup:
                parts.append([np.asarray(a)[:, :count] for a in moved])
            done += count
            phase = "warm-up" if done < run.kernel.warmup else "drawing"
            bar.update(done, phase)
    values, log_p, acceptance, divergent, steps = (
        np.concatenate(part, axis=1) for part in zip(*parts, strict=True)
    )
    longest = 2**run.kernel.max_depth - 1
    nuts_only = run.kernel.algorithm == "NUTS"
    return Draws(
        values,
        log_p,
        density.layout,
        run.method,
        acceptance=acceptance.mean(1),
        divergent=divergent > 0,
        saturated=steps >= longest if nuts_only else None,
        details={"steps": steps},
    )


def _algorithm(density: Callable, numbers: tuple, kernel: Kernel):
    """NumPyro's start and step of one chain."""
    from numpyro.infer.hmc import hmc as algorithm

    init, step = algorithm(lambda z: -density(z), algo=kernel.algorithm)
    options = {
        "num_warmup": kernel.warmup,
        "dense_mass": kernel.dense,
        "target_accept_prob": numbers[0],
        "max_tree_depth": kernel.max_depth,
        "trajectory_length": numbers[1],
    }
    return partial(init, **options), step


@partial(lean_jit, low=True)
def _start(
    density,
    keys,
    starts: Float[Array | np.ndarray, "chains d"],
    numbers,
    kernel: Kernel,
):
    """The state of every chain before its first step."""
    init, _ = _algorithm(density, numbers, kernel)
    return jax.vmap(lambda key, z: init(z, rng_key=key))(keys, starts)


@partial(lean_jit, low=True)
def _advance(density, state: Any, count, numbers, kernel: Kernel) -> tuple[Any, Moved]:
    """Every chain after so many steps, at most `CHUNK`, and what it passed."""
    init, step = _algorithm(density, numbers, kernel)

    def chain(state: Any) -> tuple[Any, Moved]:
        init(state.z, rng_key=state.rng_key)  # NumPyro's step needs its settings

        def body(i, carry):
            state, moved = carry
            state = step(state)
            now = Moved(
                state.z,
                -state.potential_energy,
                state.accept_prob,
                state.diverging,
                state.num_steps,
            )
            return state, jax.tree.map(lambda all, a: all.at[i].set(a), moved, now)

        blank = jnp.zeros(CHUNK)
        passed = Moved(jnp.zeros((CHUNK, *state.z.shape)), blank, blank, blank, blank)
        return jax.lax.fori_loop(0, count, body, (state, passed))

    return jax.vmap(chain)(state)
