r"""From votes to probabilities: a temperature and a share of the base rates.

Votes f (the frequencies in a leaf, among neighbours or over trees; a posterior that counts
the same evidence twice) are zero too often and one too often. Their order is kept, their
size is learned from rows that were not learned from:

$$p_c = (1 - λ)\, \frac{f_c^{1/T}}{\sum_b f_b^{1/T}} + λ\, π_c.$$

T and λ are those of largest likelihood on the rows held out (T is 1 unless another one gains
two nats), of which there are two more in thought, one drawn from each part of the mixture:
so that no class is impossible because it never happened. π are the base rates, raised where
a class has more votes than another one that is more frequent (all that tie for the most
votes to the same rate); so the class with the most votes remains the most probable one.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from likely.base.held_out import effective_rows

INVERSE_TEMPERATURES = 2.0 ** np.arange(-7, 2.5, 0.5)
"""The values of 1/T that are tried."""
SHARES = 1 / (1 + np.exp(-np.linspace(-11, 4, 46)))
"""The values of λ that are tried."""
LEAST_GAIN = 2.0
"""The nats that a temperature other than 1 has to gain on all rows held out together."""
SHARE_UNKNOWN = 0.5
"""λ where no row could be held out."""


class Calibration(NamedTuple):
    """How votes become probabilities.

    Attributes:
        temperature: T.
        share: λ.
        rates: π, the base rates of the classes.
    """

    temperature: float
    share: float
    rates: Float[np.ndarray, " c"]

    def probabilities(
        self, log_votes: Float[np.ndarray, "n c"]
    ) -> Float[np.ndarray, "n c"]:
        """p of each row, from the logarithms of its votes."""
        q = softmax(log_votes / self.temperature, axis=1)
        return (1 - self.share) * q + self.share * rates_in_order(self.rates, log_votes)


def rates_in_order(
    rates: Float[np.ndarray, " c"], log_votes: Float[np.ndarray, "n c"]
) -> Float[np.ndarray, "n c"]:
    """The base rates, raised where a class has more votes than a more frequent one."""
    first = log_votes == log_votes.max(1, keepdims=True)
    if len(rates) == 2:
        kept = first.sum(1) == 1
        kept &= rates[first.argmax(1)] == rates.max()
        return np.where(kept[:, None], rates, 0.5)
    by_rate = np.argsort(rates, kind="stable")  # ties of votes stay in this order
    order = by_rate[np.argsort(log_votes[:, by_rate], axis=1, kind="stable")]
    raised = np.empty(log_votes.shape)
    np.put_along_axis(raised, order, np.maximum.accumulate(rates[order], axis=1), 1)
    raised = np.where(first, raised.max(1, keepdims=True), raised)
    return raised / raised.sum(1, keepdims=True)


def calibrate(
    log_votes: Float[np.ndarray, "m c"],
    codes: Int[np.ndarray, " m"],
    w: Float[np.ndarray, " m"],
    rates: Float[np.ndarray, " c"],
) -> Calibration:
    """The calibration of largest likelihood on rows that were held out.

    Args:
        log_votes: the logarithms of their votes.
        codes: their classes.
        w: their weights.
        rates: the base rates of the classes.
    """
    m = effective_rows(w)
    if m == 0:
        return Calibration(1.0, SHARE_UNKNOWN, rates)
    w = w * (m / w.sum())
    every = np.arange(len(codes))
    base = rates_in_order(rates, log_votes)[every, codes]
    prior = -np.log(SHARES) - np.log1p(-SHARES)
    best: Any = (np.inf, 1.0, SHARE_UNKNOWN)
    for inverse in INVERSE_TEMPERATURES:
        q = softmax(log_votes * inverse, axis=1)[every, codes]
        p = (1 - SHARES) * q[:, None] + SHARES * base[:, None]
        nats = prior + 0.5 * np.log(inverse) ** 2 - w @ np.log(np.maximum(p, 1e-300))
        nats = nats if inverse == 1 else nats + LEAST_GAIN
        at = int(nats.argmin())
        best = min(best, (float(nats[at]), float(1 / inverse), float(SHARES[at])))
    return Calibration(best[1], best[2], rates)


def log_of(votes: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
    """The logarithms of votes; −∞ where there are none."""
    with np.errstate(divide="ignore"):
        return np.log(votes)


def keep(estimator: Any, found: Calibration) -> None:
    """Set `temperature_`, `base_share_` and `base_rates_` on a classifier."""
    estimator.temperature_, estimator.base_share_, estimator.base_rates_ = found


def probabilities(
    estimator: Any, log_votes: Float[np.ndarray, "n c"]
) -> Float[np.ndarray, "n c"]:
    """p of each row by what `keep` has set; the votes where it was not called."""
    if "temperature_" not in vars(estimator):
        return softmax(log_votes, axis=1)
    T, share, rates = (
        estimator.temperature_,
        estimator.base_share_,
        estimator.base_rates_,
    )
    return Calibration(T, share, rates).probabilities(log_votes)


def votes_of(estimator: Any, X: Any) -> np.ndarray:
    """(n, c) the votes of a fitted classifier; of one without votes its probabilities."""
    if hasattr(estimator, "votes"):
        return estimator.votes(X)
    return estimator.predict_proba(X)
