"""Emissions of a hidden Markov model: what a state says about the observation.

There are normal ones (`normal_states`), probabilities of symbols, and any family of
`likely.families`. All have `log_prob`, the log-density of each observation in each state, and
`maximum`, the states of largest likelihood for weighted observations.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.base.marginal import family_of, fit_marginal, for_columns
from likely.core.checks import InputError
from likely.core.precision import float64
from likely.core.rows import pad_rows, size_class
from likely.families import AbstractFamily, Categorical, Normal, Predictive
from likely.latent.clusters.states.normal_states import NormalStates
from likely.latent.family_density import FAMILIES

MIN_SHARE = 1e-10
"""A state with less of all the weight has nothing to learn from, and stays as it was."""


class SymbolStates(NamedTuple):
    """The probabilities of the symbols 0, ..., c−1 in each of k states."""

    probs: np.ndarray
    """(k, c)"""

    def log_prob(self, X: np.ndarray, workers: int = 1) -> np.ndarray:
        """(positions, k) log p(x | z = j); −∞ for symbols that the fit has not seen."""
        with np.errstate(divide="ignore"):
            table = np.log(self.probs.T)
        unknown = np.full((1, table.shape[1]), -np.inf)
        known = (X[:, 0] >= 0) & (X[:, 0] < len(table)) & (X[:, 0] == np.floor(X[:, 0]))
        codes = np.where(known, X[:, 0], len(table)).astype(int)
        return np.concatenate([table, unknown])[codes]

    def maximum(self, X: np.ndarray, G: np.ndarray, workers: int = 1) -> "SymbolStates":
        """The shares of the symbols in each state."""
        codes, c = X[:, 0].astype(int), self.probs.shape[1]
        counts = np.stack([np.bincount(codes, g, minlength=c) for g in G.T])
        total = counts.sum(1, keepdims=True)
        seen = total > MIN_SHARE * total.sum()
        return SymbolStates(
            np.where(seen, counts / np.where(seen, total, 1.0), self.probs)
        )

    def draw(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, 1) a symbol for each of some states."""
        cumulative = np.cumsum(self.probs, 1)[states]
        u = rng.random(len(states))[:, None] * cumulative[:, -1:]
        return (u >= cumulative).sum(1, keepdims=True).astype(float)


class FamilyStates(NamedTuple):
    """A distribution of one family for each of k states."""

    family: AbstractFamily
    eta: np.ndarray
    """(k, n_eta)"""

    def log_prob(self, X: np.ndarray, workers: int = 1) -> np.ndarray:
        """(positions, k) log p(x | z = j); −∞ outside the support."""
        y = _targets(self.family, X)
        outside = self.family.outside(y)
        if outside.all():
            return np.full((len(X), len(self.eta)), -np.inf)
        if outside.any():
            y = y.copy()
            y[outside] = y[np.argmin(outside)]
        with float64():
            L = np.array(_log_probs(self.family, self.eta, pad_rows(y)))[: len(y)]
        L[outside] = -np.inf
        return L

    def maximum(self, X: np.ndarray, G: np.ndarray, workers: int = 1) -> "FamilyStates":
        """The maximum-likelihood η of each state, where it is better than the one before."""
        y, n = _targets(self.family, X), len(X)
        W = np.zeros((size_class(n), G.shape[1]))
        W[:n] = G
        seen = W.sum(0) > MIN_SHARE * W.sum()
        W[:, ~seen] = 1.0  # any weights: the result is not used
        with float64():
            found = np.asarray(_maxima(self.family, pad_rows(y), W))
        gain = (
            G * (FamilyStates(self.family, found).log_prob(X) - self.log_prob(X))
        ).sum(0)
        better = seen & (gain >= 0)
        return FamilyStates(self.family, np.where(better[:, None], found, self.eta))

    def draw(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, d) an observation for each of some states."""
        found = Predictive(self.family, self.eta[states]).sample(random_state=rng)
        return np.asarray(found, float).reshape(len(states), -1)


@eqx.filter_jit
def _log_probs(family: AbstractFamily, eta: Any, y: Any) -> Float[Array, "n k"]:
    k = len(eta)
    one = partial(_one_log_prob, family, jnp.asarray(y))
    return jax.vmap(one, out_axes=1)(jnp.asarray(eta)) if k else jnp.zeros((len(y), 0))


def _one_log_prob(family: AbstractFamily, y: Array, eta: Array) -> Float[Array, " n"]:
    return family.log_prob(jnp.broadcast_to(eta, (len(y), len(eta))), y)


@eqx.filter_jit
def _maxima(family: AbstractFamily, y: Any, W: Any) -> Float[Array, "k e"]:
    return jax.vmap(lambda w: family.marginal(jnp.asarray(y), w), 1)(jnp.asarray(W))


def _targets(family: AbstractFamily, X: np.ndarray) -> np.ndarray:
    return X if family.multivariate else X[:, 0]


def family_and_states(
    settings: Any, X: np.ndarray, w: np.ndarray
) -> tuple[AbstractFamily | None, Any]:
    """The family of an observation (None: jointly normal), and states that are all alike.

    Args:
        settings: the model, with `family`, `n_states` and those of normal emissions.
        X: (positions, d) observations.
        w: (positions,) their weights.
    """
    given, k, d = settings.family, settings.n_states, X.shape[1]
    if isinstance(given, Normal) or (isinstance(given, str) and given == "normal"):
        return None, NormalStates.overall(X, w, k, settings)
    if isinstance(given, str) and given == "categorical":
        given = Categorical(_n_symbols(X))
    family = for_columns(family_of(given, FAMILIES | {"categorical": Normal}), d, "X")
    try:
        family.check(_targets(family, X), w)
        if isinstance(family, Categorical):
            counts = np.bincount(X[:, 0].astype(int), w, minlength=family.n_eta)
            return family, SymbolStates(np.tile(counts / counts.sum(), (k, 1)))
        eta = fit_marginal(family, _targets(family, X), w)
    except InputError as error:  # a family speaks of y
        raise InputError(str(error).replace("y has", "X has", 1)) from None
    return family, FamilyStates(family, np.tile(eta, (k, 1)))


def _n_symbols(X: np.ndarray) -> int:
    """How many symbols there are: the largest, plus one."""
    if X.shape[1] > 1:
        raise InputError(
            f"categorical emissions are symbols, but each position of X has {X.shape[1]} "
            "numbers; give one column, or a Product of Categorical families."
        )
    bad = (X[:, 0] < 0) | (X[:, 0] != np.floor(X[:, 0])) | (X[:, 0] > 1e6)
    if bad.any():
        raise InputError(
            f"X has the symbol {X[np.argmax(bad), 0]:g}; categorical emissions are the whole "
            "numbers 0, 1, 2, ...: encode the symbols."
        )
    return int(X.max()) + 1
