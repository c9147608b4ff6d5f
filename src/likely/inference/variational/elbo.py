r"""The evidence lower bound, and the identity that makes it one.

For any distribution q of the latent z,

$$\log p(x) = \underbrace{E_q[\log p(x, z)] + H(q)}_{\mathrm{ELBO}(q)}
  + \mathrm{KL}(q \,\|\, p(z \mid x)),$$

so the ELBO is below log p(x) by exactly the KL divergence from the posterior, and equal to
it where q is the posterior. It is one functional in three forms: $E_q[\log p(x, z)] + H(q)$
as EM has it, $E_q[\log p(x \mid z)] - \mathrm{KL}(q \,\|\, p(z))$ as variational
autoencoders have it, and $E_q[\log p(z \mid x)] + \log p(x) + H(q)$.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, xlogy

from likely.core.checks import InputError


@dataclass(frozen=True)
class ElboIdentity:
    """The terms of log p(x) = ELBO + KL for a latent variable with finitely many states."""

    log_evidence: float
    """log p(x)."""
    elbo: float
    """E_q[log p(x, z)] + H(q)."""
    kl: float
    """The KL divergence of q from the posterior p(z | x)."""
    energy: float
    """E_q[log p(x, z)]."""
    entropy: float
    """H(q)."""
    reconstruction: float
    """E_q[log p(x | z)]."""
    kl_from_prior: float
    """The KL divergence of q from the prior p(z)."""
    posterior: np.ndarray
    """p(z | x)."""


def elbo_identity(q: Any, prior: Any, likelihood: Any) -> ElboIdentity:
    """The evidence, the ELBO and the KL divergence of a latent variable with k states.

    Args:
        q: (k,) probabilities of the states under q.
        prior: (k,) p(z).
        likelihood: (k,) p(x | z) of what was observed, in each state.

    Examples:
        >>> q, prior, likelihood = np.array([0.5, 0.5]), np.array([0.5, 0.5]), np.array([0.9, 0.1])
        >>> found = lk.inference.elbo_identity(q, prior, likelihood)
        >>> bool(np.isclose(found.elbo + found.kl, found.log_evidence))
        True
    """
    q, prior, likelihood = (np.asarray(a, float) for a in (q, prior, likelihood))
    for name, p in (("q", q), ("prior", prior)):
        if p.shape != q.shape or (p < 0).any() or not np.isclose(p.sum(), 1):
            raise InputError(f"{name} has to hold {len(q)} probabilities with sum one.")
    if likelihood.shape != q.shape or (likelihood < 0).any():
        raise InputError(f"likelihood has to hold {len(q)} numbers of at least 0.")
    with np.errstate(divide="ignore"):
        log_prior, log_likelihood = np.log(prior), np.log(likelihood)
    joint = log_prior + log_likelihood
    total: Any = logsumexp(joint)
    log_evidence = float(total)
    posterior = np.exp(joint - log_evidence)
    energy, entropy = _mean(q, joint), -float(xlogy(q, q).sum())
    with np.errstate(divide="ignore"):
        kl = -entropy - _mean(q, np.log(posterior))
    return ElboIdentity(
        log_evidence,
        energy + entropy,
        kl,
        energy,
        entropy,
        _mean(q, log_likelihood),
        -entropy - _mean(q, log_prior),
        posterior,
    )


def _mean(q: np.ndarray, values: np.ndarray) -> float:
    """E_q of values, where states that q excludes do not count."""
    return float(np.where(q > 0, q * np.where(q > 0, values, 0.0), 0.0).sum())
