r"""The partition function $Z = \sum_v e^{-F(v)}$: enumerated, or by annealed importance sampling.

All states of the smaller layer are enumerated where they are few; the other layer is summed out
in closed form. Otherwise chains are drawn from a machine without weights, whose Z is known, and
moved step by step to the machine itself: machine β has weights βW and biases between the two.
Each chain gathers $w = \prod_k e^{F_{β_{k-1}}(v_k) - F_{β_k}(v_k)}$, and

$$\hat Z = Z_0 \cdot \tfrac1M \textstyle\sum_i w_i, \qquad E[\hat Z] = Z, \qquad
  E[\log \hat Z] \le \log Z .$$

So on average $\log \hat Z$ is too small, and log p(v) = −F(v) − log Z too large, by about half
the squared error; chains that do not reach all modes make it worse, unseen by that error.
Therefore chains are also moved the other way, from draws of the machine down to the one without
weights: that estimates $1/Z$, so that log Z comes out too large on average, as far as the draws
are right. The truth is most likely between both.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from likely.core.precision import float64
from likely.generative.energies.machine import BoltzmannMachine
from likely.typing import Key

MAX_EXACT_CELLS = 2**27
"""States of the smaller layer times units of the other one, up to which Z is enumerated."""
MAX_EXACT_UNITS = 22
BLOCK_STATES = 2**12
MAX_DOUBLE_WEIGHTS = 20_000
"""Weights up to which annealing runs in double precision."""


class LogPartition(NamedTuple):
    """log Z, with its error."""

    value: float
    error: float
    """The standard error; 0 where it was enumerated."""
    method: str
    """"enumeration" or "annealed importance sampling"."""
    effective_chains: float = np.inf
    """(Σw)²/Σw²: how many equally weighted chains the estimate is worth."""
    upper: float = np.nan
    """log Z from the other side, from the chains of a training; NaN where there are none."""

    @property
    def is_exact(self) -> bool:
        """Whether there is no error."""
        return self.method == "enumeration"


def can_enumerate(machine: BoltzmannMachine) -> bool:
    """Whether the smaller layer has few enough states; real units cannot be enumerated."""
    d, m = machine.weight.shape
    small, large = (min(d, m), max(d, m)) if machine.binary else (m, d)
    return small <= MAX_EXACT_UNITS and 2**small * large <= MAX_EXACT_CELLS


def exact_log_partition(machine: Any) -> LogPartition:
    """log Z by the sum over all states of the smaller layer, in double precision."""
    W, b, c = machine.weight, machine.visible_bias, machine.hidden_bias
    d, m = W.shape
    real = machine.log_scale is not None
    if not real and d < m:
        W, b, c, m = W.T, c, b, d
    total = -np.inf
    for start in range(0, 2**m, BLOCK_STATES):
        number = np.arange(start, min(start + BLOCK_STATES, 2**m))
        H = ((number[:, None] >> np.arange(m)) & 1).astype(np.float64)
        top = H @ W.T
        if real:
            scale = np.exp(machine.log_scale)
            logs = (
                top * (b / scale)
                + 0.5 * top**2
                + np.log(scale)
                + 0.5 * np.log(2 * np.pi)
            )
        else:
            logs = np.logaddexp(0.0, top + b)
        total = np.logaddexp(total, np.logaddexp.reduce(H @ c + logs.sum(1)))
    return LogPartition(float(total), 0.0, "enumeration")


class Annealing(NamedTuple):
    """The machine that annealing begins from: independent units without weights."""

    shift: Any
    """(d,) b of binary units, or mean/variance of real ones."""
    precision: Any
    """(d,) 1/variance of real ones; 0 of binary ones."""


def annealed_log_partition(
    machine: Any,
    base: Annealing,
    key: Key,
    *,
    n_chains: int,
    n_temperatures: int,
    draws: np.ndarray | None = None,
) -> LogPartition:
    """log Z by annealed importance sampling.

    Args:
        machine: in double precision.
        base: where it begins; best at the means (and variances) of the rows.
        key: of the chains.
        n_chains: M.
        n_temperatures: how many machines there are on the way.
        draws: (p, d) draws of the machine, from which Z is estimated the other way.
    """
    m = machine.weight.shape[1]
    if machine.binary:
        start = np.logaddexp(0.0, base.shift).sum() + m * np.log(2)
    else:
        own = 0.5 * base.shift**2 / base.precision - 0.5 * np.log(base.precision)
        start = own.sum() + 0.5 * len(own) * np.log(2 * np.pi) + m * np.log(2)
    with (
        float64()
        if machine.weight.size <= MAX_DOUBLE_WEIGHTS
        else jax.enable_x64(False)
    ):
        betas = jnp.linspace(0.0, 1.0, n_temperatures + 1)
        logs = _anneal(machine, base, betas, key, n_chains)
        logs = np.asarray(logs, np.float64)
        down = None
        if draws is not None:
            other = jax.random.fold_in(key, n_temperatures + 2)
            down = _anneal(machine, base, betas[::-1], other, jnp.asarray(draws))
            down = np.asarray(down, np.float64)
    if not machine.binary:
        b, scale = machine.visible_bias, np.exp(machine.log_scale)
        start -= 0.5 * ((b / scale) ** 2).sum()
    top = logs.max()
    w = np.exp(logs - top)
    value = float(start + top + np.log(w.mean()))
    error = float(w.std(ddof=1) / w.mean() / np.sqrt(len(w)))
    worth = float(w.sum() ** 2 / (w**2).sum())
    upper = np.nan if down is None else float(start - _log_mean(down))
    return LogPartition(value, error, "annealed importance sampling", worth, upper)


def _log_mean(logs: np.ndarray) -> float:
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).mean()))


@eqx.filter_jit
def _anneal(
    machine: Any, base: Annealing, betas: Array, key: Key, chains: Any
) -> Array:
    """(M,) the logarithms of the weights of the chains.

    Args:
        machine: at β = 1.
        base: at β = 0.
        betas: from 0 to 1, or from 1 to 0.
        key: of the draws.
        chains: how many there are; draws of the machine where β begins at 1.
    """
    W, c = jnp.asarray(machine.weight), jnp.asarray(machine.hidden_bias)
    b, dtype = jnp.asarray(machine.visible_bias), W.dtype
    shift, precision = jnp.asarray(base.shift), jnp.asarray(base.precision)
    if machine.log_scale is None:
        slope, curve, scaled = b, jnp.zeros_like(b), W
    else:
        inverse = jnp.exp(-jnp.asarray(machine.log_scale))
        slope, curve, scaled = b * inverse**2, inverse**2, inverse[:, None] * W

    def visible(beta, top, k):
        """v given the inputs from hidden units, at temperature β."""
        a = ((1 - beta) * shift + beta * slope)[None] + beta * top
        if machine.log_scale is None:
            return (jax.random.uniform(k, a.shape, dtype) < jax.nn.sigmoid(a)).astype(
                dtype
            )
        p = ((1 - beta) * precision + beta * curve)[None]
        return a / p + jax.random.normal(k, a.shape, dtype) / jnp.sqrt(p)

    def gain(v, inputs, now, then):
        """The logarithm of the ratio of two neighbouring machines at v."""
        own = v @ (slope - shift) - 0.5 * (v**2) @ (curve - precision)
        soft = jax.nn.softplus(then * inputs) - jax.nn.softplus(now * inputs)
        return (then - now) * own + soft.sum(1)

    def step(carry, pair):
        v, logs = carry
        now, then, number = pair
        k_move = jax.random.fold_in(key, number)
        if downward:  # a draw of the machine moves first
            v = move(v, v @ scaled + c[None], now, k_move)
            return (v, logs + gain(v, v @ scaled + c[None], now, then)), None
        inputs = v @ scaled + c[None]
        logs = logs + gain(v, inputs, now, then)
        return (move(v, inputs, then, k_move), logs), None

    def move(v, inputs, beta, k):
        """One step of Gibbs sampling of machine β."""
        k_hidden, k_visible = jax.random.split(k)
        p = jax.nn.sigmoid(beta * inputs)
        h = (jax.random.uniform(k_hidden, p.shape, dtype) < p).astype(dtype)
        return visible(beta, h @ scaled.T, k_visible)

    downward = not isinstance(chains, int)
    if downward:
        v = jnp.asarray(chains, dtype)
    else:
        first = jax.random.fold_in(key, len(betas))
        v = visible(jnp.zeros((), dtype), jnp.zeros((chains, len(b)), dtype), first)
    betas = betas.astype(dtype)
    pairs = betas[:-1], betas[1:], jnp.arange(len(betas) - 1)
    return jax.lax.scan(step, (v, jnp.zeros(len(v), dtype)), pairs)[0][1]
