"""Predictions on a log scale that do not run away from the targets that were seen.

A log-linear model multiplies where a column goes far outside of what it has seen, so that a
mean of 10⁴¹ is one outlying cell away; and where little is known about a row, e to an
uncertain η has a mean that is larger still. The centre of each distribution is moved into a
range here, and the spread of a logarithm is at most half of that range.
"""

from typing import Any

import numpy as np

from likely.families.compound import Exponentiated, Mixed
from likely.families.family import AbstractFamily
from likely.families.gamma import Gamma
from likely.families.huber import Huber
from likely.families.hurdle import Hurdle
from likely.families.hurdled import Hurdled
from likely.families.laplace import Laplace
from likely.families.log_normal import LogNormal
from likely.families.mixture import Mixture
from likely.families.negative_binomial import NegativeBinomial
from likely.families.normal import Normal
from likely.families.poisson import Poisson
from likely.families.predictive import Predictive
from likely.families.student import StudentT
from likely.families.tweedie import Tweedie
from likely.families.weibull import Weibull

LOG_MEANS = (Poisson, NegativeBinomial, Gamma, Weibull, Tweedie)
"""Families whose first entry of η is the logarithm of their mean or scale."""
OF_LOGARITHMS = (Normal, StudentT, Laplace, Huber)
"""Families of log y: their first entry is its centre, their second log of its spread."""


def within(dist: Any, low: float, high: float) -> Any:
    """The distribution with its centre between two numbers above zero.

    Distributions that are not on a log scale are returned as they are.

    Args:
        dist: what `predict_dist` returned.
        low: the least mean (or median, for log-normal ones).
        high: the largest mean.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Gamma(2.0), np.log([[1e9]]))
        >>> print(lk.families.within(dist, 0.1, 100.0).mean.round(1))
        [100.]
    """
    if isinstance(dist, Mixed):
        return Mixed([within(part, low, high) for part in dist.parts], dist.weights)
    if isinstance(dist, Hurdled):
        return Hurdled(within(dist.base, low, high), dist.zero)
    ends = np.log(low), np.log(high)
    if isinstance(dist, Exponentiated):
        if not isinstance(dist.base, Predictive):
            return dist
        found = _clipped(dist.base, OF_LOGARITHMS, ends)
        return dist if found is dist.base else Exponentiated(found)
    return _clipped(dist, LOG_MEANS, ends) if isinstance(dist, Predictive) else dist


def _clipped(dist: Predictive, kinds: tuple, ends: tuple[float, float]) -> Predictive:
    """The distribution with the entries of η that are a centre, or a spread, in range."""
    centres, spreads = _columns(dist.family, kinds, 0)
    eta = dist.eta.copy()
    eta[:, centres] = np.clip(eta[:, centres], *ends)
    most = max(ends[1] - ends[0], 1.0) / 2
    eta[:, spreads] = np.minimum(eta[:, spreads], np.log(most))
    if np.array_equal(eta, dist.eta):
        return dist
    return Predictive(dist.family, eta, dist.classes)


def _columns(
    family: AbstractFamily, kinds: tuple, first: int
) -> tuple[list[int], list[int]]:
    """The entries of η from `first` on that are centres, and those that are spreads."""
    if isinstance(family, Mixture):
        m, k = family.n_components, family.family.n_eta
        each = [_columns(family.family, kinds, first + m + j * k) for j in range(m)]
        return sum((c for c, _ in each), []), sum((s for _, s in each), [])
    if isinstance(family, Hurdle):
        return _columns(family.family, kinds, first + 1)
    if isinstance(family, LogNormal):
        return [first], [first + 1] if family.scale is None else []
    if not isinstance(family, kinds):
        return [], []
    spread = isinstance(family, OF_LOGARITHMS) and getattr(family, "scale", 0) is None
    return [first], [first + 1] if spread else []
