r"""Bias and variance of the log loss, by Kullback-Leibler divergences.

For predicted probabilities $p_D(y)$ and the truth $p(y)$ at a point x, with
$\bar p(y) = e^{E_D \log p_D(y)} / Z$ the normalised geometric mean of the predictions,

$$E_D E_y[-\log p_D(y)] = \underbrace{H(p)}_{\text{noise}}
+ \underbrace{KL(p \,\|\, \bar p)}_{\text{bias}}
+ \underbrace{E_D KL(\bar p \,\|\, p_D)}_{\text{variance}}, \qquad
\text{variance} = -\log Z, \quad Z = \sum_y e^{E_D \log p_D(y)} \le 1.$$

$\bar p$ is the prediction that is nearest to all others in the mean, as the average is for the
squared loss. From m fits, $-\log Z$ is too small by a share of about 1/m; the jackknife removes
this, and what the variance gains the bias loses, so that the parts still sum to the measured loss.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp, xlogy

from likely.diagnostics.generalization.decomposition.parts import (
    UNKNOWN,
    Judged,
    Parts,
)
from likely.evaluate.scores import Score


def log_parts(
    L: Float[np.ndarray, "m t c"],
    probs: Float[np.ndarray, "t c"],
    judged: Judged,
    *,
    known: bool,
) -> Parts:
    """The parts of the log loss, in nats.

    Args:
        L: log-probabilities of c classes by m fits at t points.
        probs: the true probabilities; ones and zeros of what was observed where the truth is
            not known.
        judged: which fits count at which points.
        known: whether `probs` is the truth.
    """
    losses = -_times(probs, L)
    if not np.isfinite(losses[judged.here]).all():
        infinite = Score(float("inf"), float("nan"))
        return Parts(infinite, _noise(probs, judged, known), UNKNOWN, UNKNOWN, {})
    L = np.maximum(L, -1e300)  # a class that is impossible in truth and in every fit
    m = judged.counts
    entropy = -xlogy(probs, probs).sum(1)
    risk, risk_left = judged.mean(losses), judged.without(losses)
    plain = -np.asarray(logsumexp(judged.mean(L), axis=1))
    left = -np.asarray(logsumexp(judged.without(L), axis=2))
    variance = m * plain - (m - 1) * judged.mean(left)
    return Parts(
        judged.score(risk, risk_left),
        _noise(probs, judged, known),
        judged.score(risk - entropy - variance, risk_left - entropy - left),
        judged.score(variance, left),
        {},
    )


def _noise(probs: Float[np.ndarray, "t c"], judged: Judged, known: bool) -> Score:
    if not known:
        return UNKNOWN
    return judged.score(-xlogy(probs, probs).sum(1), None)


def _times(
    probs: Float[np.ndarray, "t c"], L: Float[np.ndarray, "m t c"]
) -> Float[np.ndarray, "m t"]:
    """Σ p log p_D over classes; what is impossible in truth costs nothing."""
    return np.where(probs > 0, probs * np.where(probs > 0, L, 0.0), 0.0).sum(2)
