"""The steps of EM for a mixture of any family, each one compiled program."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.rows import pad
from likely.families import AbstractFamily
from likely.latent.clusters.em import EMPath, em
from likely.typing import Batch

LEAST_WEIGHT = 1e-300


class MixtureComponents(NamedTuple):
    """(k,) weights π and (k, p) unconstrained parameters of each component."""

    weights: np.ndarray
    etas: np.ndarray


class MixtureSteps:
    """The rows of a fit, padded to few sizes, and the steps of EM on them."""

    def __init__(self, family: AbstractFamily, y: np.ndarray, w: np.ndarray):
        self.family, self.n = family, len(y)
        self.w, self.rows = w, pad(Batch(None, y, w))

    def log_joint(self, theta: MixtureComponents) -> np.ndarray:
        """(n, k) log π + log p(x | component)."""
        with float64():
            found = np.asarray(_log_prob(self.family, theta.etas, self.rows.y))
        return found[: self.n] + np.log(np.maximum(theta.weights, LEAST_WEIGHT))

    def maximize(self, q: np.ndarray, old: np.ndarray) -> MixtureComponents:
        """The components of largest likelihood for responsibilities q."""
        shares = np.zeros((q.shape[1], len(self.rows.w)))
        shares[:, : self.n] = (self.w[:, None] * q).T
        with float64():
            etas = np.asarray(_maximum(self.family, shares, old, self.rows.y))
        total = shares.sum(1)
        return MixtureComponents(total / total.sum(), etas)

    def start(self, labels: np.ndarray, k: int, soft: float) -> MixtureComponents:
        """Components of clusters, each of which has a part of the other rows too."""
        q = (1 - soft) * (labels[:, None] == np.arange(k)) + soft / k
        old = np.zeros((k, self.family.n_eta))
        return self.maximize(q, np.full_like(old, np.nan))

    def path(self, start: MixtureComponents, tol: float, max_iter: int) -> EMPath:
        """EM from these components."""
        current = [start]

        def log_joint(theta: MixtureComponents) -> np.ndarray:
            current[0] = theta
            return self.log_joint(theta)

        def maximize(q: np.ndarray) -> MixtureComponents:
            return self.maximize(q, current[0].etas)

        settings = {"tol": tol, "max_iter": max_iter, "sample_weight": self.w}
        return em(log_joint, maximize, start, **settings)


@lean_jit
def _log_prob(family: AbstractFamily, etas, y) -> Float[Array, "n k"]:
    y = jnp.asarray(y)

    def one(eta: Float[Array, " p"]) -> Float[Array, " n"]:
        return family.log_prob(jnp.broadcast_to(eta, (len(y), len(eta))), y)

    return jax.vmap(one)(jnp.asarray(etas)).T


@lean_jit
def _maximum(family: AbstractFamily, shares, old, y) -> Float[Array, "k p"]:
    """The best η of each component; the old one where none better is found."""
    y = jnp.asarray(y)

    def expected(eta: Float[Array, " p"], share: Float[Array, " n"]):
        values = family.log_prob(jnp.broadcast_to(eta, (len(y), len(eta))), y)
        return share @ jnp.where(share > 0, values, 0.0)

    def one(share: Float[Array, " n"], before: Float[Array, " p"]):
        eta = family.marginal(y, share)
        worse = ~(expected(eta, share) >= expected(before, share))
        stays = worse & jnp.isfinite(before).all()
        return jnp.where(stays, before, eta)

    return jax.vmap(one)(jnp.asarray(shares), jnp.asarray(old))
