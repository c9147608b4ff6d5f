r"""Inception score: whether generated rows are clearly of one class, and classes vary.

$$\exp E_x\, \mathrm{KL}\bigl(p(y \mid x) \,\Vert\, p(y)\bigr) = \exp I(x; y)$$

from the class probabilities that a classifier gives generated rows: 1 at worst, the number of
classes at best. It never looks at real rows, so it does not see a class that looks wrong.
"""

from typing import Any

import numpy as np
from scipy.special import entr

from likely.core.checks import InputError
from likely.evaluate.scores import Score, present


def inception_score(probs: Any, w: Any = None) -> Score:
    """The inception score of class probabilities, with its jackknife error.

    Args:
        probs: (n, c) the probabilities of classes for each generated row.
        w: how often each row counts.

    Examples:
        >>> round(lk.evaluate.inception_score(np.eye(3)[[0, 1, 2, 0, 1, 2]]).value, 2)
        3.0
    """
    probs = np.asarray(probs, np.float64)
    if probs.ndim != 2 or not len(probs):
        raise InputError(f"probs has shape {probs.shape}; give a row of probabilities.")
    probs, w = present(probs, w=w)
    if not (probs >= 0).all() or np.abs(probs.sum(1) - 1).max() > 1e-4:
        raise InputError("probs must be at least 0 and sum to 1 in each row.")
    probs = probs / probs.sum(1, keepdims=True)
    total, entropy = w.sum(), entr(probs).sum(1)
    mean, within = w @ probs / total, w @ entropy / total
    value = float(np.exp(entr(mean).sum() - within))
    if total < 2:
        return Score(value, float("nan"))
    # each unit of weight is left out once: p̄ and the mean entropy without it
    rest = np.maximum(mean * total - probs, 0.0) / (total - 1)
    without = (within * total - entropy) / (total - 1)
    left_out = np.exp(entr(rest).sum(1) - without)
    centre = w @ left_out / total
    variance = (total - 1) / total * float(w @ (left_out - centre) ** 2)
    return Score(value, float(np.sqrt(variance)))
