r"""The Kaplan–Meier estimate of a survival curve, from times some of which are censored.

At each time $t_j$ of an event, $d_j$ of the $n_j$ rows that were still watched have it:

$$S(t) = \prod_{t_j \le t} \Bigl(1 - \frac{d_j}{n_j}\Bigr), \qquad
  \operatorname{var} S(t) = S(t)^2 \sum_{t_j \le t} \frac{d_j}{n_j (n_j - d_j)},$$

the second of which is Greenwood's formula. A row that is censored at the time of an event
was still watched then. Weights are counts.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from likely.core.checks import InputError, check_weights


class KaplanMeier(NamedTuple):
    """A survival curve: steps at the times of events."""

    times: Float[np.ndarray, " m"]
    """Times of events, sorted."""
    survival: Float[np.ndarray, " m"]
    """P(T > t) from each of them on."""
    errors: Float[np.ndarray, " m"]
    """Greenwood's standard errors."""
    at_risk: Float[np.ndarray, " m"]
    """Rows that were still watched just before."""
    events: Float[np.ndarray, " m"]
    """Events at each time."""
    last: float
    """The largest time, censored or not: the curve is not known beyond it."""

    def at(self, time: Any) -> np.ndarray:
        """P(T > t); beyond the last time that of the last time."""
        steps = np.searchsorted(self.times, np.asarray(time, float), side="right")
        return np.r_[1.0, self.survival][steps]

    def quantile(self, q: float) -> float:
        """The first time at which a share q has had the event; infinite where it is unknown."""
        reached = np.flatnonzero(1 - self.survival >= q - 1e-12)
        return float(self.times[reached[0]]) if len(reached) else float("inf")

    @property
    def median(self) -> float:
        """The time at which half have had the event."""
        return self.quantile(0.5)

    def interval(self, coverage: float = 0.95) -> Float[np.ndarray, "m 2"]:
        """Confidence intervals of the curve, on the scale of log(−log S): within 0 and 1."""
        z = norm.ppf((1 + coverage) / 2)
        inside = (self.survival > 0) & (self.survival < 1)
        S = np.where(inside, self.survival, 0.5)
        half = z * self.errors / np.abs(S * np.log(S))
        ends = np.stack([S ** np.exp(half), S ** np.exp(-half)], axis=1)
        return np.where(inside[:, None], ends, self.survival[:, None])


def kaplan_meier(time: Any, event: Any = None, w: Any = None) -> KaplanMeier:
    """The Kaplan–Meier curve.

    Args:
        time: (n,) times until the event, or until the watch ended.
        event: (n,) whether the event happened; without it all did.
        w: (n,) how often each row counts.

    Examples:
        >>> time, event = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 1, 0, 1])
        >>> curve = lk.evaluate.kaplan_meier(time, event)
        >>> print(curve.times, curve.survival)
        [1. 2. 4.] [0.75 0.5  0.  ]
    """
    time = np.asarray(time, float)
    n = len(time)
    event = np.ones(n, bool) if event is None else np.asarray(event).astype(bool)
    w = check_weights(np.ones(n) if w is None else w, n)
    keep = w > 0
    time, event, w = time[keep], event[keep], w[keep]
    if np.isnan(time).any():
        raise InputError("time must not be missing in rows that count.")
    times = np.unique(time[event])
    place = np.searchsorted(times, time[event])
    events = np.bincount(place, w[event], minlength=len(times))
    order = np.argsort(time, kind="stable")
    gone = np.r_[0.0, np.cumsum(w[order])]
    at_risk = gone[-1] - gone[np.searchsorted(time[order], times, side="left")]
    survival = np.cumprod(np.maximum(1 - events / at_risk, 0.0))
    left = at_risk - events
    terms = np.where(
        left > 1e-9 * at_risk, events / (at_risk * np.where(left > 0, left, 1.0)), 0.0
    )
    errors = survival * np.sqrt(np.cumsum(terms))
    return KaplanMeier(times, survival, errors, at_risk, events, float(time.max()))
