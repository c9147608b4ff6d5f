"""Entropy and divergences of predictive distributions, one number for each row."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from likely.core.checks import InputError
from likely.information.closed_forms import (
    closed_entropy,
    closed_kl,
    independent_parts,
    uncensored,
)
from likely.information.estimate import Estimate
from likely.information.expectation import expectation, log_prob_at

CLOSED = "a closed form"


@runtime_checkable
class Distribution(Protocol):
    """What is asked of a predictive distribution: a density and quantiles for each row."""

    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) of each row."""
        ...

    def quantile(self, q: Any) -> np.ndarray:
        """The quantiles of each row."""
        ...

    def __len__(self) -> int: ...


def is_distribution(p: Any) -> bool:
    """Whether p is a predictive distribution, and not a table."""
    return isinstance(p, Distribution)


def distribution_entropy(p: Any) -> Estimate:
    """−E_p[log p] for each row."""
    p = uncensored(p)
    found = closed_entropy(p)
    if found is not None:
        return Estimate(found, np.zeros(len(p)), CLOSED)
    parts = independent_parts(p)
    if parts is not None:
        return _total([distribution_entropy(part) for part in parts])
    return expectation(p, lambda rows, y: -log_prob_at(p, rows, y))


def distribution_cross_entropy(p: Any, q: Any) -> Estimate:
    """−E_p[log q] for each row."""
    p, q = _checked(p, q)
    closed, entropy = closed_kl(p, q), closed_entropy(p)
    if closed is not None and entropy is not None:
        return Estimate(entropy + closed, np.zeros(len(p)), CLOSED)
    parts, others = independent_parts(p), independent_parts(q)
    if parts is not None and others is not None:
        pairs = zip(parts, others, strict=True)
        return _total([distribution_cross_entropy(*pair) for pair in pairs])
    return expectation(p, lambda rows, y: -log_prob_at(q, rows, y), also=q)


def distribution_kl(p: Any, q: Any) -> Estimate:
    """E_p[log p − log q] for each row."""
    p, q = _checked(p, q)
    closed = closed_kl(p, q)
    if closed is not None:
        return Estimate(np.maximum(closed, 0.0), np.zeros(len(p)), CLOSED)
    parts, others = independent_parts(p), independent_parts(q)
    if parts is not None and others is not None:
        return _total(
            [distribution_kl(*pair) for pair in zip(parts, others, strict=True)]
        )

    def gap(rows, y):
        return log_prob_at(p, rows, y) - log_prob_at(q, rows, y)

    return expectation(p, gap, also=q)


def distribution_jensen_shannon(p: Any, q: Any) -> Estimate:
    """½ E_p[log p − log m] + ½ E_q[log q − log m] for each row, m = (p + q)/2."""
    p, q = _checked(p, q)

    def gap_of(own: Any):
        def gap(rows, y):
            logs = log_prob_at(p, rows, y), log_prob_at(q, rows, y)
            return log_prob_at(own, rows, y) - np.logaddexp(*logs) + np.log(2.0)

        return gap

    halves = [expectation(p, gap_of(p), also=q), expectation(q, gap_of(q), also=p)]
    return _total(halves).scaled(0.5)


def _total(parts: list[Estimate]) -> Estimate:
    """The sum of several estimates; its method is that of the least exact one."""
    worst = max(parts, key=lambda part: float(np.max(part.error)))
    value = np.sum([part.value for part in parts], axis=0)
    error = np.sum([part.error for part in parts], axis=0)
    return Estimate(value, error, worst.method)


def _checked(p: Any, q: Any) -> tuple[Any, Any]:
    """Both distributions, of as many rows and one kind; of times that are not censored."""
    if len(p) != len(q):
        raise InputError(
            f"p has {len(p)} rows and q has {len(q)}; give both for the same rows."
        )
    kinds = [bool(getattr(dist, "discrete", False)) for dist in (p, q)]
    if kinds[0] != kinds[1]:
        raise InputError(
            "one of p and q is a density and the other one has probabilities; their "
            "divergence has no meaning."
        )
    return uncensored(p), uncensored(q)
