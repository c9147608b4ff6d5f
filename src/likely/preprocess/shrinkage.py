r"""The mean of a target in each category, shrunk towards the overall mean.

$$e_c = λ_c\,\bar y_c + (1 - λ_c)\,\bar y, \qquad
  λ_c = \frac{n_c σ^2}{n_c σ^2 + s_c^2},$$

with $n_c$, $\bar y_c$ and $s_c^2$ the weight, mean and variance of y in category c, and
σ² the variance of y: an empirical-Bayes estimate.
"""

import numpy as np


def weighted_mean(targets: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(targets,) the means over the rows that have weight."""
    present = w > 0
    return w[present] @ targets[present] / w[present].sum()


def encoding(
    codes: np.ndarray, k: int, targets: np.ndarray, w: np.ndarray, smooth: str | float
) -> np.ndarray:
    """(k + 1, targets): e of each category, and last that of missing values.

    Args:
        codes: (n,) the category of each row, negative where it is missing.
        k: the number of categories.
        targets: (n, targets).
        w: (n,) weights.
        smooth: "auto" for the λ above, or the weight of the overall mean.
    """
    present = w > 0
    codes = np.where(codes[present] < 0, k, codes[present])
    targets, w = targets[present], w[present]
    means = [_shrunk_means(codes, k + 1, y, w, smooth) for y in targets.T]
    return np.stack(means, axis=1)


def _shrunk_means(codes, k: int, y, w, smooth: str | float) -> np.ndarray:
    """(k,) the means λ ȳ_c + (1 − λ) ȳ."""
    mean = w @ y / w.sum()
    n = np.bincount(codes, w, minlength=k)
    safe = np.where(n > 0, n, 1.0)
    means = np.bincount(codes, w * y, minlength=k) / safe
    if smooth == "auto":
        spread = np.bincount(codes, w * (y - means[codes]) ** 2, minlength=k) / safe
        signal = n * (w @ (y - mean) ** 2 / w.sum())
        share = np.divide(signal, signal + spread, out=np.zeros(k), where=signal > 0)
    else:
        share = n / (n + float(smooth)) if smooth else (n > 0).astype(float)
    return share * means + (1 - share) * mean
