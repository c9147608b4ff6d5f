r"""How often labels contradict a model where it is surest.

Rows are ranked by the confidence of their held-out prediction; z is the normal score of the
rank. At the boundary between two classes a label agrees half of the time. If labels are right
agreement rises from there towards 1 at the sure end; if a share ρ of labels is wrong whatever
the inputs, it stops at 1 − ρ:

$$P(\text{label agrees} \mid z) = \tfrac12 + (\tfrac12 - ρ)\, σ(a + b z), \qquad b \ge 1.5 .$$

The likelihood ratio of ρ > 0 against ρ = 0 is evidence of noise that does not depend on how
the model spreads its probabilities: ranks are all it takes, so a model that has learned the
noise, and is never surer than 1 − ρ, is judged by the same curve. The least slope says what
is assumed: that somewhere the classes are nearly pure.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, logit

from likely.core.written_numbers import percent

MIN_ROWS = 40
BOUNDARY = 0.5
"""The agreement at the boundary between two classes."""
MIN_SLOPE = 1.5
"""The least slope b: where it is lower, agreement hardly depends on the confidence at all."""
STARTS = (0.02, 0.15)
"""Shares ρ to start from."""
BOUNDS = ((-15.0, 30.0), (-8.0, 4.0), (-20.0, 2.0))
"""Of a, the logarithm of b less its least value, and the log-odds of ρ."""


class Ceiling(NamedTuple):
    """The agreement that is never exceeded, and whether it is below 1."""

    share: float
    """ρ: how often labels contradict the model where it is surest."""
    error: float
    """Its standard error."""
    p_value: float
    """Of the hypothesis ρ = 0."""
    curve: tuple[float, float]
    """a and b."""
    skill: float = 0.0
    """The share of the errors of always predicting the commonest label that is avoided."""

    @property
    def sentence(self) -> str:
        """The share in words."""
        if np.isnan(self.share):
            return "there are too few rows to tell"
        return f"{percent(self.share)} ± {percent(self.error)} of labels contradict it"


def ceiling(
    codes: Int[np.ndarray, " n"],
    q: Float[np.ndarray, "n c"],
    w: Float[np.ndarray, " n"],
) -> Ceiling:
    """Fit the agreement over the rank of the confidence, with and without a ceiling.

    Args:
        codes: the label of each row.
        q: held-out probabilities.
        w: how often each row counts.
    """
    agrees, total = q.argmax(1) == codes, float(w.sum())
    if total < MIN_ROWS or not agrees.any():
        return Ceiling(float("nan"), float("nan"), 1.0, (0.0, MIN_SLOPE))
    if agrees.all():
        return Ceiling(0.0, 1 / total, 1.0, (0.0, MIN_SLOPE), 1.0)
    z = _normal_scores(q.max(1), w)
    loss = _loss_of(agrees, z, w)
    plain = _lowest(lambda t: loss((*t, -50.0)), [(-1.0, 0.0), (3.0, 0.0)])
    starts = [(*plain.x, logit(rho)) for rho in STARTS]
    starts += [(4.0, 1.0, logit(rho)) for rho in STARTS]
    best = _lowest(loss, starts)
    gain = max(float(plain.fun - best.fun), 0.0)
    rho = float(expit(best.x[2]))
    p = 0.5 * float(stats.chi2.sf(2 * gain, 1)) if gain > 0 else 1.0
    top = z > stats.norm.ppf(0.5)
    least = np.sqrt(max(rho, 1 / total) * (1 - rho) / max(float(w[top].sum()), 1.0))
    curve = float(best.x[0]), float(MIN_SLOPE + np.exp(best.x[1]))
    base = 1 - np.bincount(codes, w).max() / total
    skill = 1 - float(w @ ~agrees / total) / base if base > 0 else 0.0
    return Ceiling(rho, float(least), p, curve, float(skill))


def agreement(z: Any, curve: tuple[Any, Any], rho: Any) -> Any:
    """How likely a label agrees with the prediction of its row, over normal scores z."""
    a, b = curve
    return BOUNDARY + (1 - rho - BOUNDARY) * expit(a + b * z)


def _loss_of(agrees: np.ndarray, z: np.ndarray, w: np.ndarray) -> Callable:
    """−log-likelihood as a function of (a, log(b − the least slope), log-odds of ρ)."""

    def loss(theta: Any) -> Any:
        curve = theta[0], MIN_SLOPE + np.exp(min(theta[1], 8.0))
        P = np.clip(agreement(z, curve, expit(theta[2])), 1e-12, 1 - 1e-12)
        return -(w @ np.log(np.where(agrees, P, 1 - P)))

    return loss


def _lowest(loss: Callable, starts: list[tuple]) -> Any:
    found = [
        minimize(loss, s, method="L-BFGS-B", bounds=BOUNDS[: len(s)]) for s in starts
    ]
    return min(found, key=lambda f: f.fun)


def _normal_scores(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The normal quantiles of ranks; equal values have one rank."""
    _, place = np.unique(x, return_inverse=True)
    weight = np.bincount(place, w)
    middle = np.cumsum(weight) - weight / 2
    return stats.norm.ppf(middle / weight.sum())[place]
