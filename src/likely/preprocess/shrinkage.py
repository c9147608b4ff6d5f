r"""The mean of a target in each category, shrunk towards the overall mean.

$$e_c = λ_c\,\bar y_c + (1 - λ_c)\,\bar y, \qquad
  λ_c = \frac{n_c σ^2}{n_c σ^2 + s_c^2},$$

with $n_c$, $\bar y_c$ and $s_c^2$ the weight, mean and variance of y in category c, and
σ² the variance of y: an empirical-Bayes estimate.
"""

import numpy as np


def weighted_mean(targets: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(targets,) the means over the rows that have weight."""
    here = w > 0
    return w[here] @ targets[here] / w[here].sum()


def encoding(
    where: np.ndarray, k: int, targets: np.ndarray, w: np.ndarray, smooth: str | float
) -> np.ndarray:
    """(k + 1, targets): e of each category, the last for what is missing.

    Args:
        where: (n,) the category of each row, negative for what is missing.
        k: how many categories there are.
        targets: (n, targets).
        w: (n,) weights.
        smooth: "auto" for the λ above, or the weight of the overall mean.
    """
    here = w > 0
    where = np.where(where[here] < 0, k, where[here])
    targets, w = targets[here], w[here]
    return np.stack(
        [_shrunk(where, k + 1, y, w, smooth) for y in targets.T],
        axis=1,
    )


def _shrunk(where, k: int, y, w, smooth: str | float) -> np.ndarray:
    """λ ȳ_c + (1 − λ) ȳ."""
    mean = w @ y / w.sum()
    n = np.bincount(where, w, minlength=k)
    safe = np.where(n > 0, n, 1.0)
    means = np.bincount(where, w * y, minlength=k) / safe
    if smooth == "auto":
        spread = np.bincount(where, w * (y - means[where]) ** 2, minlength=k) / safe
        signal = n * (w @ (y - mean) ** 2 / w.sum())
        share = np.divide(signal, signal + spread, out=np.zeros(k), where=signal > 0)
    else:
        share = n / (n + float(smooth)) if smooth else (n > 0).astype(float)
    return share * means + (1 - share) * mean
