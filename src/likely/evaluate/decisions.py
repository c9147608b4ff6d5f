r"""Decisions from probabilities: the action whose expected cost is lowest.

$C_{ij}$ is the cost of action i where the truth is class j; the rows of C are what is decided,
its columns what is true. With probabilities $p_j$ the best action is

$$\arg\min_i \sum_j C_{ij}\, p_j .$$

There may be more actions than classes ("ask a person"). With two classes and two actions this is
a threshold: decide for class 1 where

$$p_1 > \frac{C_{10} - C_{00}}{(C_{10} - C_{00}) + (C_{01} - C_{11})} .$$

A utility is a cost with the other sign. All this is right only for probabilities that are
calibrated: what they promise, `DecisionCost.promised`, is then what is paid.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from likely.core.checks import InputError
from likely.evaluate.scores import Score, coded, mean_score, paired_difference


def decide(probs: Any, cost: Any) -> Int[np.ndarray, " n"]:
    """The number of the action with the lowest expected cost, for each row.

    Args:
        probs: (n, c) class probabilities.
        cost: (k, c) what action i costs where class j is true; k = c where actions are
            predictions of classes.

    Examples:
        >>> cost = np.array([[0.0, 10.0], [1.0, 0.0]])  # to miss a case costs ten times more
        >>> lk.evaluate.decide(np.array([[0.95, 0.05], [0.8, 0.2]]), cost)
        array([0, 1])
    """
    return expected_costs(probs, cost).argmin(1)


def decide_by_utility(probs: Any, utility: Any) -> Int[np.ndarray, " n"]:
    """The number of the action with the highest expected utility, for each row.

    Args:
        probs: (n, c) class probabilities.
        utility: (k, c) what action i is worth where class j is true.

    Examples:
        >>> utility = np.array([[1.0, 0.0], [0.0, 5.0]])
        >>> lk.evaluate.decide_by_utility(np.array([[0.9, 0.1], [0.7, 0.3]]), utility)
        array([0, 1])
    """
    return decide(probs, -np.asarray(utility, np.float64))


def expected_costs(probs: Any, cost: Any) -> Float[np.ndarray, "n k"]:
    r"""The expected cost $\sum_j C_{ij} p_j$ of each action, for each row.

    Examples:
        >>> cost = np.array([[0.0, 10.0], [1.0, 0.0]])
        >>> lk.evaluate.expected_costs(np.array([[0.95, 0.05]]), cost)
        array([[0.5 , 0.95]])
    """
    probs = np.asarray(probs, np.float64)
    if probs.ndim != 2:
        raise InputError(
            f"probs has shape {probs.shape}; give the probabilities of all classes, "
            "shape (n, c)."
        )
    return probs @ _matrix(cost, probs.shape[1]).T


def cost_threshold(cost: Any) -> float:
    """The probability of class 1 above which deciding for it is cheaper, of a 2 x 2 cost.

    Args:
        cost: (2, 2) the cost of deciding for class i where class j is true.

    Examples:
        >>> round(lk.evaluate.cost_threshold(np.array([[0.0, 10.0], [1.0, 0.0]])), 3)
        0.091
    """
    C = _matrix(cost, 2)
    if len(C) != 2:
        raise InputError(f"cost has {len(C)} actions; a threshold is between two.")
    false_alarm, miss = C[1, 0] - C[0, 0], C[0, 1] - C[1, 1]
    if not (false_alarm >= 0 and miss >= 0 and false_alarm + miss > 0):
        raise InputError(
            "one of the two actions is never worse than the other, or being right costs "
            "more than being wrong, so there is no threshold; rows of cost are what is "
            "decided, columns what is true."
        )
    return float(false_alarm / (false_alarm + miss))


class DecisionCost(NamedTuple):
    """What the decisions by predicted probabilities cost on rows whose class is known."""

    action: Int[np.ndarray, " n"]
    """What was decided, for each row that counts."""
    cost: Score
    """The mean cost of a row, and its standard error."""
    promised: float
    """The mean cost that the probabilities themselves expected."""
    constant: int
    """The action that is cheapest on average where no row is looked at."""
    saved: Score
    """The mean cost of that action minus that of the decisions, on the same rows."""

    @property
    def verdict(self) -> str:
        """What the decisions are worth, in a sentence."""
        paid = f"Decisions cost {self.cost} a row (the probabilities promised "
        paid += f"{self.promised:.4g})"
        gain = f"{self.saved} less than action {self.constant} for every row"
        shown = abs(self.saved.value) > 2 * self.saved.error
        if not shown:
            return (
                f"{paid}; no difference shown to action {self.constant} for every row."
            )
        if self.saved.value < 0:
            more = Score(-self.saved.value, self.saved.error)
            return f"{paid}: {more} more than action {self.constant} for every row."
        return f"{paid}: {gain}."

    def __str__(self) -> str:
        return self.verdict


def decision_cost(codes: Any, probs: Any, cost: Any, w: Any = None) -> DecisionCost:
    """Decide by expected cost, and see what it costs where the classes are known.

    Args:
        codes: (n,) the class of each row, as a number from 0.
        probs: (n, c) class probabilities.
        cost: (k, c) what action i costs where class j is true.
        w: how often each row counts.

    Examples:
        >>> cost = np.array([[0.0, 10.0], [1.0, 0.0]])
        >>> probs = np.array([[0.95, 0.05], [0.2, 0.8]])
        >>> found = lk.evaluate.decision_cost(np.array([0, 1]), probs, cost)
        >>> print(found.action, found.cost)
        [0 1] 0 ± 0
    """
    codes, probs, w = coded(codes, probs, w)
    C = _matrix(cost, probs.shape[1])
    expected = expected_costs(probs, C)
    action = expected.argmin(1)
    paid = C[action, codes]
    constant = int((C[:, codes] @ w).argmin())
    return DecisionCost(
        action,
        mean_score(paid, w),
        float(w @ expected.min(1) / w.sum()),
        constant,
        paired_difference(C[constant, codes], paid, w),
    )


def cost_of_actions(codes: Any, actions: Any, cost: Any, w: Any = None) -> Score:
    """The mean cost of decisions that were made in any way, and its standard error.

    Args:
        codes: (n,) the class of each row, as a number from 0.
        actions: (n,) the number of the action of each row.
        cost: (k, c) what action i costs where class j is true.
        w: how often each row counts.

    Examples:
        >>> cost = np.array([[0.0, 10.0], [1.0, 0.0]])
        >>> print(lk.evaluate.cost_of_actions(np.array([0, 1, 1]), np.array([1, 1, 0]), cost))
        3.667 ± 3.2
    """
    codes, actions, w = coded(codes, actions, w)
    C = _matrix(cost, None)
    return mean_score(C[actions.astype(int), codes], w)


def _matrix(cost: Any, c: int | None) -> Float[np.ndarray, "k c"]:
    C = np.asarray(cost, np.float64)
    if C.ndim != 2 or c not in (None, C.shape[1]) or not np.isfinite(C).all():
        wanted = "(actions, classes)" if c is None else f"(actions, {c})"
        raise InputError(
            f"cost has shape {C.shape}; give finite numbers of shape {wanted}: rows are "
            "what is decided, columns what is true."
        )
    return C
