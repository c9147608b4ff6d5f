r"""Bias and variance of the 0/1 loss, after Domingos (2000).

At a point x let $y^*$ be the most probable class, the *main prediction* $y_m$ the class that most
fits predict, $q_c$ the share of fits that predict c, and $p_c$ the true probability of c. Then

$$\underbrace{1 - \sum_c p_c q_c}_{\text{risk}} =
\underbrace{q_{y^*} - \sum_c p_c q_c}_{\text{noise}} + \underbrace{1[y_m \ne y^*]}_{\text{bias}}
+ \underbrace{(1 - q_{y^*}) - 1[y_m \ne y^*]}_{\text{net variance}}.$$

The net variance is the share of fits that differ from the main prediction where this is right,
minus the share that is right where the main prediction is wrong: there variance *helps*. The
noise is what the noise of the labels adds to the risk, $(2 q_{y^*} - 1)(1 - p_{y^*})$ for two
classes: less than the Bayes error $1 - p_{y^*}$, since a wrong prediction may meet a wrong label.

A main prediction has no unbiased estimate: these are the parts for the vote of the m fits. Their
errors are by the bootstrap over fits.
"""

import numpy as np
from jaxtyping import Float, Int

from likely.diagnostics.generalization.decomposition.parts import (
    UNKNOWN,
    Judged,
    Parts,
)
from likely.evaluate.scores import Score, mean_score
from likely.inference import resampled_weights

RESAMPLES = 100


def zero_one_parts(
    codes: Int[np.ndarray, "m t"],
    probs: Float[np.ndarray, "t c"],
    judged: Judged,
    *,
    known: bool,
) -> Parts:
    """The parts of the 0/1 loss.

    Args:
        codes: the number of the class that each fit predicts at each point.
        probs: the true probabilities; ones and zeros of what was observed where the truth is
            not known.
        judged: which fits count at which points.
        known: whether `probs` is the truth; if not, y* is what was observed, and the noise is
            a part of the bias and the variance.
    """
    (m, t), c = codes.shape, probs.shape[1]
    chosen = (codes[:, :, None] == np.arange(c)) & judged.here[:, :, None]
    rng = np.random.default_rng(0)
    again = resampled_weights(np.ones(m), RESAMPLES, rng) @ chosen.reshape(m, t * c)
    found = _parts(chosen.sum(0) / judged.counts[:, None], probs)
    spread = []
    for votes in again.reshape(RESAMPLES, t, c):
        total = votes.sum(1)
        share = np.where(total[:, None] > 0, votes / np.maximum(total, 1)[:, None], 0.0)
        some = np.where(total > 0, judged.v, 0.0)
        each = _parts(share, probs)
        spread.append({k: some @ v / some.sum() for k, v in each.items()})
    scores = {
        name: _score(values, judged, [draw[name] for draw in spread])
        for name, values in found.items()
    }
    main = ("risk", "noise", "bias", "variance")
    details = {k: v for k, v in scores.items() if k not in main}
    if not known:
        del details["bayes_error"]
    noise = scores["noise"] if known else UNKNOWN
    return Parts(scores["risk"], noise, scores["bias"], scores["variance"], details)


def _parts(
    q: Float[np.ndarray, "t c"], p: Float[np.ndarray, "t c"]
) -> dict[str, Float[np.ndarray, " t"]]:
    """The parts at each point, from the shares of votes and the true probabilities."""
    at = np.arange(len(q))
    best, main = p.argmax(1), q.argmax(1)
    wrong = 1 - q[at, best]
    biased = (main != best).astype(float)
    risk = 1 - (p * q).sum(1)
    return {
        "risk": risk,
        "noise": risk - wrong,
        "bias": biased,
        "variance": wrong - biased,
        "bayes_error": 1 - p[at, best],
        "unbiased_variance": np.where(biased, 0.0, 1 - q[at, main]),
        "biased_variance": np.where(biased, q[at, best], 0.0),
    }


def _score(values: Float[np.ndarray, " t"], judged: Judged, draws: list) -> Score:
    over_points = mean_score(values, judged.v)
    squared = 0.0 if judged.fixed else over_points.error**2
    return Score(over_points.value, float(np.sqrt(squared + np.var(draws, ddof=1))))
