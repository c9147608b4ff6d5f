r"""Adaptive prediction sets: classes from the most probable one on, until enough is gathered.

The score of class k is the probability of the classes before it, in falling order, and a random
part $U \sim [0, 1]$ of its own (Romano, Sesia and Candès 2020),

$$s(x, k) = \sum_{j:\, p_j > p_k} p_j + U p_k .$$

Scores $1 - p_k$ make the smallest sets on average, but cover easy rows too often and hard ones
too seldom; these sets grow where a row is hard. With random parts the scores have no ties and
coverage is exact, $\lceil (n+1)(1-α) \rceil / (n+1)$; without (U = 1) sets are larger.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float


def adaptive_scores(probs: Any, u: Any = None) -> Float[np.ndarray, "n c"]:
    """The score of every class, low for classes that are probable.

    Args:
        probs: (n, c) probabilities.
        u: (n,) the random part of each row, between 0 and 1; all of it where None.

    Examples:
        >>> lk.evaluate.adaptive_scores(np.array([[0.7, 0.2, 0.1]])).round(2)
        array([[0.7, 0.9, 1. ]])
    """
    probs = np.asarray(probs, np.float64)
    order = np.argsort(-probs, axis=1, kind="stable")
    ranked = np.take_along_axis(probs, order, axis=1)
    part = np.ones(len(probs)) if u is None else np.asarray(u, np.float64)
    reached = np.cumsum(ranked, axis=1) - (1 - part)[:, None] * ranked
    scores = np.empty_like(probs)
    np.put_along_axis(scores, order, reached, axis=1)
    return scores


def adaptive_sets(probs: Any, q: float, u: Any = None) -> Bool[np.ndarray, "n c"]:
    """The classes whose score is at most q.

    Args:
        probs: (n, c) probabilities.
        q: the radius of the scores of held-out rows.
        u: (n,) the random part of each row; without it the sets are the larger ones.

    Examples:
        >>> lk.evaluate.adaptive_sets(np.array([[0.7, 0.2, 0.1]]), 0.9)
        array([[ True,  True, False]])
    """
    return adaptive_scores(probs, u) <= q
