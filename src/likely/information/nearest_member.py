r"""The member of a family that is nearest to a distribution, by cross-entropy."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError
from likely.core.precision import float64
from likely.families import AbstractFamily, Predictive
from likely.information.divergence import cross_entropy, kl
from likely.information.entropies import entropy
from likely.information.weighted_values import weighted_values


class CrossEntropyFit(NamedTuple):
    """The result of `cross_entropy_fit`, in nats.

    Attributes:
        q: the fitted distribution, of one row.
        theta: its named parameters.
        cross_entropy: H(p, q), the lowest within the family.
        entropy: H(p), the lowest of all.
        kl: KL(p, q) = H(p, q) − H(p).
    """

    q: Predictive
    theta: dict[str, float]
    cross_entropy: float
    entropy: float
    kl: float


def cross_entropy_fit(p: Any, family: AbstractFamily) -> CrossEntropyFit:
    r"""Minimise $H(p, q_θ) = -E_p[\log q_θ(Y)]$ over a family: maximum likelihood with p as data.

    The observations are the values of p and their weights are its probabilities. For a
    Poisson law the optimum is $λ = E_p[Y]$.

    Args:
        p: a predictive distribution of one row (of counts, or with a density).
        family: the family of q.
    """
    if len(p) != 1:
        raise InputError(
            f"p has {len(p)} rows; give a distribution of one row, as p[:1]."
        )
    if bool(p.discrete) != bool(family.discrete):
        raise InputError(
            "one of p and the family is a density and the other one has probabilities; give two "
            "of a kind."
        )
    y, w = weighted_values(p)
    with float64():
        eta = np.asarray(family.marginal(jnp.asarray(y), jnp.asarray(w)))
    q = Predictive(family, eta[None])
    theta = {
        name: float(np.squeeze(v)) for name, v in q.theta.items() if np.size(v) == 1
    }
    found = (cross_entropy(p, q), entropy(p), kl(p, q))
    return CrossEntropyFit(q, theta, *map(float, found))
