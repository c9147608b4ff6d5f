r"""What several networks say together: the mixture of their distributions.

$p(y \mid x) = \frac1m \sum_j p(y \mid η_j(x))$. Of classes that is the mean of the
probabilities; of numbers a `Mixture`, which has quantiles, a mode and draws as any family.
"""

from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp

from likely.families import (
    AbstractFamily,
    Bernoulli,
    Categorical,
    Mixed,
    Mixture,
    Predictive,
)


def mixed(family: AbstractFamily, etas: np.ndarray, classes: Any = None) -> Any:
    """Equal parts of m members of a family.

    Args:
        family: p(y | θ).
        etas: (m, n, k) the members' η.
        classes: labels, where y is a class.
    """
    m, n, _ = etas.shape
    if m == 1:
        return Predictive(family, etas[0], classes)
    if isinstance(family, Bernoulli):
        yes: Any = logsumexp(log_expit(etas), axis=0)
        no: Any = logsumexp(log_expit(-etas), axis=0)
        return Predictive(family, yes - no, classes)
    if isinstance(family, Categorical):
        logs = etas - logsumexp(etas, axis=2, keepdims=True)
        return Predictive(family, logsumexp(logs, axis=0) - np.log(m), classes)
    if family.multivariate:
        parts = [Predictive(family, eta) for eta in etas]
        return Mixed(parts, np.full(m, 1 / m))
    log_weights, components = np.zeros((n, m, 1)), etas.swapaxes(0, 1)
    if isinstance(family, Mixture):  # a mixture of mixtures is a mixture
        c = family.n_components
        logits = components[..., :c]
        log_weights = logits - logsumexp(logits, axis=2, keepdims=True)
        components, family = components[..., c:], family.family
    parts = log_weights.shape[1] * log_weights.shape[2]
    eta = np.concatenate(
        [log_weights.reshape(n, -1), components.reshape(n, -1)], axis=1
    )
    return Predictive(Mixture(family, parts), eta)
