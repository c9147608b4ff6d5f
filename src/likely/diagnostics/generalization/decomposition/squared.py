r"""Bias and variance of the squared loss.

For fits $f_1, \dots, f_m$ to independent training sets and $y = μ(x) + ε$ with
$\operatorname{Var} ε = σ^2$,

$$\underbrace{E_D E_y (y - f_D)^2}_{\text{risk}} = σ^2 + (\bar f - μ)^2 + E_D (f_D - \bar f)^2,
\qquad \bar f = E_D f_D.$$

With $\hat f$ the mean of the m fits at a point and $s^2$ their sample variance (with m − 1), the
estimates are $s^2$ for the variance and $(\hat f - μ)^2 - s^2/m$ for the squared bias. Both are
unbiased, and $σ^2$, they and nothing else sum to the mean of $(μ - f_j)^2 + σ^2$ over the fits: the
identity holds for the m fits at hand, not only in the limit. An unbiased estimate of a squared
bias near zero may be negative.
"""

import numpy as np
from jaxtyping import Float

from likely.diagnostics.generalization.decomposition.parts import (
    UNKNOWN,
    Judged,
    Parts,
)


def squared_parts(
    F: Float[np.ndarray, "m t"],
    mu: Float[np.ndarray, " t"],
    noise: Float[np.ndarray, " t"] | None,
    judged: Judged,
) -> Parts:
    """The parts of the squared loss.

    Args:
        F: predictions of m fits at t points.
        mu: E[y | x], or y itself where that is not known.
        noise: Var[y | x]; None where it is not known and `mu` is y, so that it is a part of
            the bias.
        judged: which fits count at which points.
    """
    m = judged.counts
    error = np.where(judged.here, (F - mu) ** 2, 0.0)
    mean = judged.mean(F)
    D = np.where(judged.here, F - mean, 0.0)
    squares = (D**2).sum(0)
    s2 = squares / (m - 1)
    bias = (mean - mu) ** 2 - s2 / m
    # without fit j: its mean, its sum of squares, its variance
    left = np.where(judged.here, m - 1, m)
    s2_left = (squares - D**2 * m / (m - 1)) / (left - 1)
    bias_left = (mean - D / (m - 1) - mu) ** 2 - s2_left / left
    known = 0.0 if noise is None else noise
    risk = error.sum(0) / m + known
    return Parts(
        judged.score(risk, judged.without(error) + known),
        UNKNOWN if noise is None else judged.score(noise, None),
        judged.score(bias, bias_left),
        judged.score(s2, s2_left),
        {},
    )
