"""Exact answers of a machine with few hidden units: the sum over all their states."""

import numpy as np
from scipy.special import logsumexp

from likely.generative.energies.divergence import all_states, hidden_terms
from likely.generative.energies.machine import BoltzmannMachine

MAX_HIDDEN = 12
"""Hidden units whose states are enumerated for each row."""
MAX_CELLS = 2**22
"""Rows times states that are done at once."""


def is_small(machine: BoltzmannMachine) -> bool:
    """Whether the hidden units are few enough."""
    return machine.weight.shape[1] <= MAX_HIDDEN


def log_joints(machine: BoltzmannMachine, V: np.ndarray) -> tuple[np.ndarray, float]:
    """(n, 2^m) log p(v, h) of what is observed, and log Z.

    Args:
        machine: in double precision.
        V: (n, d) values, NaN where missing.
    """
    missing = np.isnan(V)
    size = max(1, MAX_CELLS // 2 ** machine.weight.shape[1])
    parts, log_z = [], 0.0
    for start in range(0, len(V), size):
        rows = slice(start, start + size)
        v, gone = np.where(missing[rows], 0.0, V[rows]), missing[rows].astype(float)
        joint, z = hidden_terms(machine, v, gone, np)
        parts.append(joint - z)
        log_z = float(z)
    return np.concatenate(parts), log_z


def log_probs(machine: BoltzmannMachine, V: np.ndarray) -> np.ndarray:
    """(n,) log p of what is observed of each row."""
    return np.asarray(logsumexp(log_joints(machine, V)[0], axis=1))


def expected_visible(machine: BoltzmannMachine, V: np.ndarray) -> np.ndarray:
    """(n, d) E[v | what is observed] of every unit."""
    joint, _ = log_joints(machine, V)
    shares = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    return shares @ _means(machine)


def expected_hidden(machine: BoltzmannMachine, V: np.ndarray) -> np.ndarray:
    """(n, m) P(h = 1 | what is observed)."""
    joint, _ = log_joints(machine, V)
    shares = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    return shares @ all_states(machine.weight.shape[1])


def draw_visible(
    machine: BoltzmannMachine, V: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """(n, d) rows with every missing value drawn: hidden units first, then the values."""
    joint, _ = log_joints(machine, V)
    top = joint.max(1, keepdims=True)
    edges = np.cumsum(np.exp(joint - top), axis=1)
    place = rng.random(len(V)) * edges[:, -1]
    state = (place[:, None] >= edges[:, :-1]).sum(1)
    mean = _means(machine)[state]
    if machine.log_scale is None:
        drawn = (rng.random(mean.shape) < mean).astype(np.float64)
    else:
        drawn = mean + np.exp(machine.log_scale) * rng.normal(size=mean.shape)
    return np.where(np.isnan(V), drawn, V)


def _means(machine: BoltzmannMachine) -> np.ndarray:
    """(2^m, d) E[v | h] for all states h."""
    top = all_states(machine.weight.shape[1]) @ machine.weight.T
    if machine.log_scale is None:
        a = top + machine.visible_bias
        return np.exp(-np.logaddexp(0.0, -a))
    return np.asarray(machine.visible_bias + np.exp(machine.log_scale) * top)
