r"""How many patterns a Hopfield network can store, measured and by theory.

For random patterns and Hebb's rule the noise of the other patterns decides. In the limit of many
units the overlap m of a recalled state with its pattern solves (Amit, Gutfreund, Sompolinsky)

$$m = \operatorname{erf}(y), \qquad
  y\Bigl(\sqrt{2α} + \tfrac{2}{\sqrt π} e^{-y^2}\Bigr) = \operatorname{erf}(y),$$

with α = patterns per unit. Above $α_c = 0.1379$ there is no solution but m = 0: memory is lost at
once. A dense memory with F(z) = eᶻ stores exponentially many.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import erf

from likely.base.settings import at_least
from likely.core.random import seed_of
from likely.generative.energies.hopfield import HopfieldNetwork

RECALLED = 0.95
"""The share of patterns that have to be recalled without an error."""


@dataclass(frozen=True)
class HopfieldCapacity:
    """Overlaps after recall, for several loads."""

    loads: np.ndarray
    """(l,) patterns per unit."""
    overlap: np.ndarray
    """(l,) mean of |ξ · x|/d after recall from a disturbed pattern."""
    error: np.ndarray
    """(l,) its standard error over networks."""
    perfect: np.ndarray
    """(l,) the share of patterns that are recalled without any error."""
    theory: np.ndarray
    """(l,) the overlap in the limit of many units, of Hebb's rule; NaN for others."""
    critical: float
    """The load at which the memory of Hebb's rule is lost, in the limit of many units."""


def hopfield_critical_load() -> float:
    """α_c: the largest load at which a memory of Hebb's rule is stable."""
    return float(_load_at(_critical_y()))


def hopfield_overlap(load: Any) -> np.ndarray:
    """The overlap of a recalled state with its pattern, in the limit of many units."""
    top = _critical_y()

    def one(alpha: float) -> float:
        if alpha <= 0:
            return 1.0
        if alpha > _load_at(top):
            return 0.0
        y = brentq(lambda y: _load_at(y) - alpha, top, 40.0)
        return float(erf(y))

    return np.vectorize(one, otypes=[float])(load)


def hopfield_capacity(
    n_units: Any = 200,
    loads: Any = (0.05, 0.1, 0.12, 0.14, 0.16, 0.2),
    *,
    rule: str = "hebbian",
    noise: float | int = 0.1,
    n_networks: int = 5,
    n_recalls: int = 20,
    random_state: Any = 0,
) -> HopfieldCapacity:
    """Measure how well random patterns are recalled.

    Args:
        n_units: d.
        loads: patterns per unit.
        rule: how they are stored.
        noise: the share of units that are turned before recall.
        n_networks: networks for each load, over which errors are taken.
        n_recalls: patterns of each network that are recalled, at most.
        random_state: seed of patterns and noise.
    """
    d = at_least("n_units", n_units, 2, whole=True)
    networks = at_least("n_networks", n_networks, 2, whole=True)
    rng = np.random.default_rng(seed_of(random_state))
    loads = np.atleast_1d(np.asarray(loads, np.float64))
    overlaps = np.empty((len(loads), networks))
    perfect = np.empty_like(overlaps)
    for i, load in enumerate(loads):
        for k in range(networks):
            found = _recall_once(
                d,
                max(1, round(load * d)),
                rule,
                noise=noise,
                n_recalls=n_recalls,
                rng=rng,
            )
            overlaps[i, k], perfect[i, k] = found.mean(), (found == 1.0).mean()
    theory = (
        hopfield_overlap(loads) if rule == "hebbian" else np.full(len(loads), np.nan)
    )
    error = overlaps.std(1, ddof=1) / np.sqrt(networks)
    return HopfieldCapacity(
        loads,
        overlaps.mean(1),
        error,
        perfect.mean(1),
        theory,
        hopfield_critical_load(),
    )


def hopfield_storage(
    n_units: Any,
    *,
    rule: str = "exponential",
    noise: float | int = 0.1,
    n_networks: int = 3,
    n_recalls: int = 50,
    most: int = 2**14,
    random_state: Any = 0,
) -> int:
    """The largest power of two of random patterns of which 95 % are recalled perfectly.

    Args:
        n_units: d.
        rule: how patterns are stored.
        noise: the share of units that are turned before recall.
        n_networks: that are averaged for each number.
        n_recalls: patterns of each that are recalled, at most.
        most: the largest number that is tried.
        random_state: seed of patterns and noise.
    """
    rng = np.random.default_rng(seed_of(random_state))
    d = at_least("n_units", n_units, 2, whole=True)
    best, p = 0, 1
    while p <= most:
        parts = [
            _recall_once(d, p, rule, noise=noise, n_recalls=n_recalls, rng=rng)
            for _ in range(n_networks)
        ]
        if (np.concatenate(parts) == 1.0).mean() < RECALLED:
            break
        best, p = p, 2 * p
    return best


def _recall_once(
    d: int, p: int, rule: str, *, noise: Any, n_recalls: int, rng: np.random.Generator
) -> np.ndarray:
    """The overlaps of some recalled patterns of one network."""
    P = rng.choice([-1.0, 1.0], (p, d))
    chosen = P[: min(p, n_recalls)]
    turned = np.argsort(rng.random(chosen.shape), axis=1) < round(float(noise) * d)
    seed = int(rng.integers(2**31))
    network = HopfieldNetwork(rule, random_state=seed).fit(P)
    states = network.recall(np.where(turned, -chosen, chosen)).states
    return np.abs((states * chosen).sum(1)) / d


def _load_at(y: Any) -> Any:
    """α at which y solves the equation."""
    root = erf(y) / y - 2 / np.sqrt(np.pi) * np.exp(-(y**2))
    return 0.5 * root**2


def _critical_y() -> float:
    found = minimize_scalar(
        lambda y: -_load_at(y),
        bounds=(0.5, 4.0),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return float(found.x)
