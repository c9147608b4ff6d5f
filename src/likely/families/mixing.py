r"""Mixtures of several predictions of one family: ensembles, bootstraps, quadratures.

$p(y \mid x) = \sum_j π_j\, p(y \mid η_j(x))$. For classes that is again one distribution over
the classes, with the mean of the probabilities; for numbers it is a `Mixture`, which has
quantiles, a mode and draws like any other family.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import log_expit, logsumexp

from likely.core.checks import InputError
from likely.families.bernoulli import Bernoulli
from likely.families.categorical import Categorical
from likely.families.compound import Mixed
from likely.families.family import AbstractFamily
from likely.families.mixture import Mixture
from likely.families.ordinal import CumulativeLogit
from likely.families.predictive import Predictive


def mix(
    family: AbstractFamily,
    etas: Float[np.ndarray, "m n k"],
    weights: Any = None,
    classes: Any = None,
) -> Predictive | Mixed:
    """The mixture of m predictions of one family.

    One prediction stays what it is; Bernoulli and categorical predictions become one of
    the same family; a mixture of mixtures becomes one mixture of all their components.

    Args:
        family: the distribution family of every prediction.
        etas: (m, n, k) the η of each prediction.
        weights: (m,) not negative, on any scale; equal unless given. Predictions of
            weight zero are left out.
        classes: labels for class numbers, where y is a class.

    Examples:
        >>> dist = lk.families.mix(lk.families.Normal(1.0), np.array([[[0.0]], [[4.0]]]))
        >>> print(dist.mean, dist.std.round(3))
        [2.] [2.236]
    """
    log_weights = np.zeros(len(etas))
    if weights is not None:
        used, log_weights = _log_weights(weights, len(etas))
        etas = etas if used.all() else etas[used]
    if not len(etas):
        raise InputError("there is no prediction to mix; give at least one.")
    if len(etas) == 1:
        return Predictive(family, etas[0], classes)
    if isinstance(family, Bernoulli):
        own = log_weights[:, None, None]
        yes: Any = logsumexp(log_expit(etas) + own, axis=0)
        no: Any = logsumexp(log_expit(-etas) + own, axis=0)
        return Predictive(family, yes - no, classes)
    if isinstance(family, CumulativeLogit):
        parts = [Predictive(family, eta).probs for eta in etas]
        etas = np.log(np.maximum(parts, np.finfo(np.float64).tiny))
        family = Categorical(family.n_eta + 1)
    if isinstance(family, Categorical):
        logs = etas - logsumexp(etas, axis=2, keepdims=True)
        sums: Any = logsumexp(logs + log_weights[:, None, None], axis=0)
        return Predictive(family, sums - np.log(np.exp(log_weights).sum()), classes)
    if family.multivariate:
        parts = [Predictive(family, eta) for eta in etas]
        return Mixed.of(parts, np.exp(log_weights))
    return _mixture(family, etas.swapaxes(0, 1), log_weights)


def _log_weights(weights: Any, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Which predictions have weight, and the logarithms of their shares of the total."""
    w = np.asarray(weights, np.float64)
    if w.shape != (m,):
        raise InputError(f"weights has shape {w.shape}; give one for each of {m}.")
    if not (np.isfinite(w) & (w >= 0)).all() or not w.sum() > 0:
        raise InputError(
            "weights must be finite and not negative, and some above zero."
        )
    used = w > 0
    return used, np.log(w[used] / w.sum())


def _mixture(
    family: AbstractFamily,
    etas: Float[np.ndarray, "n m k"],
    log_weights: Float[np.ndarray, " m"],
) -> Predictive:
    """A `Mixture` of all components; those of mixtures keep their own shares."""
    n, m, _ = etas.shape
    logits = np.broadcast_to(log_weights[:, None], (n, m, 1))
    if isinstance(family, Mixture):
        c = family.n_components
        own = etas[..., :c] - logsumexp(etas[..., :c], axis=2, keepdims=True)
        logits, etas, family = logits + own, etas[..., c:], family.family
    eta = np.concatenate([logits.reshape(n, -1), etas.reshape(n, -1)], axis=1)
    return Predictive(Mixture(family, logits.shape[1] * logits.shape[2]), eta)
