r"""Cross-entropy, the Kullback-Leibler divergence and Jensen and Shannon's.

$$H(p, q) = -\sum p \log q, \qquad KL(p, q) = \sum p \log \tfrac pq = H(p, q) - H(p) \ge 0,$$
$$JS(p, q) = \tfrac12 KL(p, m) + \tfrac12 KL(q, m), \qquad m = \tfrac12 (p + q).$$
"""

import warnings
from typing import Any

import numpy as np
from scipy.special import rel_entr, xlogy

from likely.core.checks import InputError
from likely.information.distributions import (
    distribution_cross_entropy,
    distribution_jensen_shannon,
    distribution_kl,
    is_distribution,
)
from likely.information.probabilities import (
    NATS_PER_UNIT,
    cell_name,
    in_unit,
    probabilities,
)


class SupportWarning(UserWarning):
    """A divergence is infinite: q excludes something that p does not."""


def cross_entropy(p: Any, q: Any, *, unit: str = "nats") -> Any:
    r"""The cross-entropy $H(p, q) = -\sum p \log q = H(p) + KL(p, q)$.

    In bits it is the mean length of an ideal code made for q that is used for p. The q that
    minimises it is p itself.

    Args:
        p: what happens: probabilities, a table, or a predictive distribution.
        q: what is believed, of the same shape or number of rows.
        unit: "nats" or "bits".

    Returns:
        A number for tables, infinite (with a `SupportWarning`) where q is 0 and p is not; an
        `Estimate` with an entry for each row of distributions.

    Examples:
        >>> p, q = np.array([0.5, 0.5]), np.array([0.9, 0.1])
        >>> round(float(lk.information.cross_entropy(p, q)), 3)
        1.204
    """
    in_unit(0.0, unit)
    if _both_distributions(p, q):
        return distribution_cross_entropy(p, q).scaled(1 / NATS_PER_UNIT[unit])
    P, Q = _pair(p, q)
    if _mismatch(p, P, Q, "the cross-entropy"):
        return float("inf")
    return in_unit(float(-xlogy(P, np.where(P > 0, Q, 1.0)).sum()), unit)


def kl(p: Any, q: Any, *, unit: str = "nats") -> Any:
    r"""The Kullback-Leibler divergence $KL(p, q) = \sum p \log(p/q) \ge 0$.

    It is zero only where p = q (Gibbs), and not symmetric. In bits it is what a code
    made for q costs above the best one.

    Args:
        p: what happens: probabilities, a table, or a predictive distribution.
        q: what is believed, of the same shape or number of rows.
        unit: "nats" or "bits".

    Returns:
        A number for tables, infinite where q is 0 and p is not: a `SupportWarning` then names
        the cell. An `Estimate` with an entry for each row of distributions.

    Examples:
        >>> round(float(lk.information.kl(np.array([0.5, 0.5]), np.array([0.9, 0.1]))), 3)
        0.511
    """
    in_unit(0.0, unit)
    if _both_distributions(p, q):
        return distribution_kl(p, q).scaled(1 / NATS_PER_UNIT[unit])
    P, Q = _pair(p, q)
    if _mismatch(p, P, Q, "KL(p, q)"):
        return float("inf")
    return in_unit(max(float(rel_entr(P, Q).sum()), 0.0), unit)


def jensen_shannon(p: Any, q: Any, *, unit: str = "nats") -> Any:
    r"""Jensen and Shannon's divergence: the mean KL to the mixture m = (p + q)/2.

    It is symmetric, finite whatever the supports are, and at most log 2 (one bit); its square
    root is a metric.

    Args:
        p: probabilities, a table, or a predictive distribution.
        q: another, of the same shape or number of rows.
        unit: "nats" or "bits".

    Returns:
        A number for tables; an `Estimate` with an entry for each row of distributions.

    Examples:
        >>> p, q = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        >>> round(float(lk.information.jensen_shannon(p, q, unit="bits")), 3)
        1.0
    """
    in_unit(0.0, unit)
    if _both_distributions(p, q):
        return distribution_jensen_shannon(p, q).scaled(1 / NATS_PER_UNIT[unit])
    P, Q = _pair(p, q)
    M = 0.5 * (P + Q)
    nats = 0.5 * float((rel_entr(P, M) + rel_entr(Q, M)).sum())
    return in_unit(max(nats, 0.0), unit)


def _both_distributions(p: Any, q: Any) -> bool:
    one, other = is_distribution(p), is_distribution(q)
    if one != other:
        raise InputError(
            "one of p and q is a predictive distribution and the other one is a table; give "
            "two of a kind."
        )
    return one


def _pair(p: Any, q: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both tables, checked, with equal shapes."""
    P, Q = probabilities(p, "p"), probabilities(q, "q")
    if P.shape != Q.shape:
        raise InputError(
            f"p has shape {P.shape} and q has shape {Q.shape}; give both over the same cells."
        )
    return P, Q


def _mismatch(p: Any, P: np.ndarray, Q: np.ndarray, what: str) -> bool:
    """Whether q is 0 where p is not; a warning says where."""
    cells = np.argwhere((P > 0) & (Q == 0))
    if not len(cells):
        return False
    where, value = cell_name(p, cells[0]), P[tuple(cells[0])]
    more = f", and {len(cells) - 1} more such cells" if len(cells) > 1 else ""
    warnings.warn(
        f"{what} is infinite: p is {value:g} and q is 0 at {where}{more}; give q some "
        "probability there, or compare by Jensen and Shannon's divergence.",
        SupportWarning,
        stacklevel=3,
    )
    return True
