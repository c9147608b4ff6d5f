r"""Harrell's concordance: how often the row that lasts longer is predicted to.

A pair of rows can be compared where it is known which event came first: the earlier time
ends with an event. Of two rows with the same time, a censored one lasts longer than an
event; two events at the same time are not compared. The concordance is the share of
comparable pairs whose predictions are in the right order; equal predictions count half.
It is 1 for a perfect order, ½ for none.

Pairs are counted by the binary digits of the ranks of times: two ranks differ first at
one digit, so all pairs of a digit are counted by one sort.
"""

from typing import Any

import numpy as np

from likely.core.checks import InputError, check_weights


def concordance(time: Any, predicted: Any, event: Any = None, w: Any = None) -> float:
    """The share of comparable pairs in the right order; NaN where no pair is comparable.

    Args:
        time: (n,) times until the event, or until the watch ended.
        predicted: (n,) predicted times, or anything that is larger for longer times.
        event: (n,) whether the event happened; without it all did.
        w: (n,) how often each row counts.

    Examples:
        >>> time, predicted = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
        >>> round(float(lk.evaluate.concordance(time, predicted)), 3)
        0.667
    """
    time, predicted = np.asarray(time, float), np.asarray(predicted, float)
    n = len(time)
    event = np.ones(n, bool) if event is None else np.asarray(event).astype(bool)
    w = check_weights(np.ones(n) if w is None else w, n)
    if predicted.shape != (n,) or event.shape != (n,):
        raise InputError(f"time has {n} rows; give a prediction and an event for each.")
    keep = w > 0
    time, predicted, event, w = time[keep], predicted[keep], event[keep], w[keep]
    if np.isnan(time).any() or np.isnan(predicted).any():
        raise InputError("time and predicted must not be missing in rows that count.")
    rank = np.unique(
        2 * np.unique(time, return_inverse=True)[1] + ~event, return_inverse=True
    )
    order = np.unique(predicted, return_inverse=True)[1]
    right, tied, total = _pairs(rank[1], order, event, w)
    return (right + 0.5 * tied) / total if total > 0 else float("nan")


def _pairs(
    rank: np.ndarray, order: np.ndarray, event: np.ndarray, w: np.ndarray
) -> tuple[float, float, float]:
    """Weights of pairs in the right order, of ties and of all, the first one an event."""
    size, found = int(order.max(initial=0)) + 1, np.zeros(3)
    for digit in range(int(rank.max(initial=0)).bit_length()):
        later = (rank >> digit) & 1 == 1
        block = (rank >> digit) >> 1
        key = block * size + order
        place = np.argsort(key[later], kind="stable")
        keys = key[later][place]
        reached = np.r_[0.0, np.cumsum(w[later][place])]
        first = ~later & event
        own, start = key[first], block[first] * size
        left, past = (
            reached[np.searchsorted(keys, own, side)] for side in ("left", "right")
        )
        low, high = (
            reached[np.searchsorted(keys, start)],
            reached[np.searchsorted(keys, start + size)],
        )
        parts = high - past, past - left, high - low
        found += [float(w[first] @ part) for part in parts]
    return float(found[0]), float(found[1]), float(found[2])
