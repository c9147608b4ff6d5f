"""Answers about negative binomials and their mixtures in NumPy, without compiling.

Predictions of counts have many shapes (held-out rows, rows of an effect, rows of a chart),
and the programs of these few formulas would take seconds to compile for each of them.
"""

from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, log_softmax

from likely.families.family import AbstractFamily
from likely.families.mixture import Mixture
from likely.families.negative_binomial import NegativeBinomial
from likely.families.negative_binomial_slopes import MAX_LOG

ANSWERS = ("theta", "mean", "cdf")


def answer_on_host(
    family: AbstractFamily, name: str, eta: np.ndarray, *rows: np.ndarray
) -> Any:
    """What a method of the family gives; None for other families, methods and numbers.

    Args:
        family: p(y | θ).
        name: one of `ANSWERS`.
        eta: (n, k).
        rows: y, for the cdf.
    """
    part = family.family if isinstance(family, Mixture) else family
    if type(part) is not NegativeBinomial or name not in ANSWERS:
        return None
    if not np.abs(eta).max(initial=0.0) < MAX_LOG:
        return None
    m = family.n_components if isinstance(family, Mixture) else 0
    if name == "cdf" and not m:  # the quantile of one is compiled, and is its inverse
        return None
    parts = eta[:, m:].reshape(len(eta), max(m, 1), -1)
    log_mean = parts[..., 0]
    fixed = part.concentration
    log_r = parts[..., 1] if fixed is None else np.full_like(log_mean, np.log(fixed))
    log_share = log_softmax(eta[:, :m], axis=1) if m else np.zeros((len(eta), 1))
    if name == "theta":
        theta = {"mean": np.exp(log_mean), "concentration": np.exp(log_r)}
        if m:
            return {"mixture_logits": log_share, **theta}
        return {key: value[:, 0] for key, value in theta.items()}
    share = np.exp(log_share)
    each = np.exp(log_mean) if name == "mean" else _cdf(log_mean, log_r, rows[0])
    answer = (share * each).sum(1) / share.sum(1)
    return answer if name == "mean" else np.minimum(answer, 1.0)


def _cdf(log_mean: np.ndarray, log_r: np.ndarray, y: np.ndarray) -> np.ndarray:
    """I(p; r, ⌊y⌋ + 1) at p = r/(r + μ), from the smaller of p and 1 − p."""
    y = np.broadcast_to(y[:, None], log_mean.shape)
    some = np.isfinite(y) & (y >= 0)
    k, r = np.where(some, np.floor(y), 0.0) + 1, np.exp(log_r)
    p, rest = (1 / (1 + np.exp(gap)) for gap in (log_mean - log_r, log_r - log_mean))
    inside = np.where(p < rest, betainc(r, k, p), betaincc(k, r, rest))
    return np.where(some, inside, np.where(y < 0, 0.0, 1.0))
