r"""The cost of decisions by a threshold δ on the probability of class 1, at every δ.

With calibrated probabilities the lowest cost is at `cost_threshold`, whatever the rows are;
where another threshold is much cheaper on rows that were held out, the probabilities are wrong.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.evaluate.assignment import random_folds
from likely.evaluate.decisions import cost_threshold
from likely.evaluate.scores import Score, paired_difference, present


class CostCurve(NamedTuple):
    """The mean cost of "class 1 where p > δ", at t rising thresholds δ."""

    threshold: Float[np.ndarray, " t"]
    cost: Float[np.ndarray, " t"]
    error: Float[np.ndarray, " t"]
    """The standard error of each cost."""
    by_cost: float
    """The threshold that the costs alone ask for, right for calibrated probabilities."""
    cost_there: float
    """The mean cost at that threshold."""
    excess: Score
    """How much more that is than at a threshold chosen by data: the one that is cheapest
    on one half of the rows, judged on the other half."""

    @property
    def best(self) -> float:
        """The threshold with the lowest cost on these rows."""
        return float(self.threshold[np.argmin(self.cost)])

    @property
    def verdict(self) -> str:
        """Whether another threshold than that of the costs is cheaper, in a sentence."""
        at = f"the threshold of the costs, {self.by_cost:.3g}"
        here = f"{self.cost_there:.4g} a row, the lowest is {self.cost.min():.4g} at "
        here += f"{self.best:.3g}"
        if not self.excess.value > 2 * self.excess.error:
            return f"No threshold is shown to be cheaper than {at} ({here})."
        return (
            f"A threshold chosen by data costs {self.excess} less than {at} ({here}): the "
            "probabilities are not calibrated."
        )


def cost_curve(
    y: Any, p: Any, cost: Any, w: Any = None, *, random_state: Any = 0
) -> CostCurve:
    """The mean cost at every threshold that changes a decision, with standard errors.

    The best of many thresholds looks cheaper on the rows it was chosen on than it is;
    `excess` is judged on other rows.

    Args:
        y: (n,) truths, 1 for positive and 0 for negative.
        p: (n,) the predicted probability of being positive.
        cost: (2, 2) the cost of deciding for class i where class j is true.
        w: how often each row counts.
        random_state: seed or NumPy generator of the two halves.

    Examples:
        >>> y, p = np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.6, 0.9])
        >>> curve = lk.evaluate.cost_curve(y, p, np.array([[0.0, 5.0], [1.0, 0.0]]))
        >>> float(curve.cost.min())
        0.0
    """
    by_cost = cost_threshold(cost)
    C = np.asarray(cost, np.float64)
    y, p, w = present(y, p, w=w)
    if not np.isin(y, (0, 1)).all() or np.isnan(p).any():
        raise InputError("give 0 or 1 for each y, and a number for each p.")
    code = y.astype(int)
    paid = np.stack([C[0, code], C[1, code]])  # of each row, decided for 0 and for 1
    threshold, mean, error = _curve(p, paid, w)
    decided = np.where(p > by_cost, paid[1], paid[0])
    other, half = decided.copy(), random_folds(len(p), 2, random_state)
    for own in (half == 0, half == 1):
        if own.any() and not own.all():
            delta, costs, _ = _curve(p[own], paid[:, own], w[own])
            chosen = p > delta[np.argmin(costs)]
            other = np.where(own, other, np.where(chosen, paid[1], paid[0]))
    there = float(w @ decided / w.sum())
    excess = paired_difference(decided, other, w)
    return CostCurve(threshold, mean, error, by_cost, there, excess)


def _curve(p: np.ndarray, paid: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """Thresholds, and the mean cost at each with its standard error."""
    levels, index = np.unique(p, return_inverse=True)
    below, above = paid
    total = w.sum()

    def means(power: int) -> np.ndarray:
        """The mean with all rows up to each level decided for class 0."""
        change = np.bincount(index, w * (below**power - above**power), len(levels))
        return (w @ above**power + np.concatenate([[0.0], np.cumsum(change)])) / total

    mean = means(1)
    variance = np.maximum(means(2) - mean**2, 0.0) / max(total - 1, 1e-12)
    between = (levels[1:] + levels[:-1]) / 2
    threshold = np.concatenate([[levels[0] - 1e-9], between, [levels[-1]]])
    return threshold, mean, np.sqrt(variance)
