"""Families of the entries of a table: log p(x | η) with two derivatives, NumPy in and out.

The usual ones (normal, Bernoulli, Poisson) are written out and compile nothing; any other family
of `likely.families` with one number η is differentiated by JAX.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit, gammaln

from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.rows import size_class
from likely.families import AbstractFamily, Bernoulli, Normal, Poisson, Predictive

NAMES = {"normal": Normal, "bernoulli": Bernoulli, "poisson": Poisson}
MIN_CURVATURE = 1e-8
"""The least curvature of −log p, where a family has less."""


class Terms(NamedTuple):
    """log p(x | η) of each entry, its slope in η, and minus its second derivative."""

    log_prob: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray


class EntryFamily(ABC):
    """How an entry is distributed, given η."""

    @abstractmethod
    def terms(self, eta: np.ndarray, x: np.ndarray) -> Terms:
        """log p(x | η) and its derivatives, entry by entry."""

    @abstractmethod
    def mean(self, eta: np.ndarray) -> np.ndarray:
        """E[x | η]."""

    @abstractmethod
    def sample(self, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A draw of each entry."""


class NormalEntries(EntryFamily):
    """Real numbers with the mean η and a variance of their own."""

    def __init__(self, variance: float):
        self.variance = variance

    def terms(self, eta: np.ndarray, x: np.ndarray) -> Terms:
        """The normal log-density."""
        s2, gap = self.variance, x - eta
        log_prob = -0.5 * (np.log(2 * np.pi * s2) + gap**2 / s2)
        return Terms(log_prob, gap / s2, np.full_like(eta, 1 / s2))

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """The mean is η."""
        return eta

    def sample(self, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Normal draws."""
        return eta + np.sqrt(self.variance) * rng.normal(size=eta.shape)


class BernoulliEntries(EntryFamily):
    """Zeros and ones with the log-odds η."""

    def terms(self, eta: np.ndarray, x: np.ndarray) -> Terms:
        """x η − log(1 + exp η)."""
        p = expit(eta)
        return Terms(x * eta - np.logaddexp(0, eta), x - p, p * (1 - p))

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """The probability of 1."""
        return expit(eta)

    def sample(self, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws of 0 or 1."""
        return (rng.random(eta.shape) < expit(eta)).astype(float)


class PoissonEntries(EntryFamily):
    """Counts with the log-rate η."""

    def terms(self, eta: np.ndarray, x: np.ndarray) -> Terms:
        """x η − exp η − log x!."""
        rate = np.exp(np.minimum(eta, 500.0))
        return Terms(x * eta - rate - gammaln(x + 1), x - rate, rate)

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """The rate."""
        return np.exp(np.minimum(eta, 500.0))

    def sample(self, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Poisson draws."""
        return rng.poisson(np.exp(np.minimum(eta, 40.0))).astype(float)


class AnyEntries(EntryFamily):
    """Any family of one number η, differentiated by JAX."""

    def __init__(self, family: AbstractFamily):
        self.family = family

    def terms(self, eta: np.ndarray, x: np.ndarray) -> Terms:
        """log p and its derivatives, in double precision."""
        flat, given = eta.ravel(), np.broadcast_to(x, eta.shape).ravel()
        more = size_class(len(flat)) - len(flat)
        flat, given = (np.pad(a, (0, more), mode="edge") for a in (flat, given))
        with float64():
            found = _derivatives(self.family, flat, given)
            values, slope, curvature = (
                np.asarray(a)[: eta.size].reshape(eta.shape) for a in found
            )
        return Terms(values, slope, np.maximum(curvature, MIN_CURVATURE))

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """The mean of the family."""
        found = Predictive(self.family, eta.reshape(-1, 1)).mean
        return np.asarray(found).reshape(eta.shape)

    def sample(self, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws of the family."""
        found = Predictive(self.family, eta.reshape(-1, 1)).sample(1, random_state=rng)
        return np.asarray(found, float).reshape(eta.shape)


@lean_jit
def _derivatives(family: AbstractFamily, eta, x):
    def log_prob(e, v):
        return family.log_prob(e[None, None], v[None])[0]

    slope = jax.grad(log_prob)
    curvature = jax.grad(slope)
    values = family.log_prob(eta[:, None], x)
    return values, jax.vmap(slope)(eta, x), -jax.vmap(curvature)(eta, jnp.asarray(x))


def entries_of(family: AbstractFamily, variance: float) -> EntryFamily:
    """The family of entries; a normal one with this variance."""
    if isinstance(family, Normal):
        return NormalEntries(variance)
    if type(family) is Bernoulli:
        return BernoulliEntries()
    return PoissonEntries() if type(family) is Poisson else AnyEntries(family)


def check_entries(family: AbstractFamily, X: Any) -> None:
    """Refuse values that the family cannot have, and families with more than one η."""
    name = type(family).__name__
    if family.multivariate or (family.n_eta != 1 and not isinstance(family, Normal)):
        raise InputError(
            f"{name} has {family.n_eta} parameters for an observation; give a family with "
            "one, such as Poisson()."
        )
    there = ~np.isnan(X)
    bad = np.zeros(X.shape, bool)
    bad[there] = family.outside(X[there])
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"X has {X[row, column]:g} in row {row}, column {column}, but {name} needs "
            f"{family.needs}. {family.remedy}"
        )
