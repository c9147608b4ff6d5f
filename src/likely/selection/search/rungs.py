r"""The rungs of successive halving: how many candidates get how much at each.

With factor f, rung k fits $\lceil m / f^k \rceil$ candidates with $r_0 f^k$ rows, or
iterations, each. The m candidates are reduced to fewer than f; $r_0$ is chosen such that
the last rung is given all there is.
"""

from math import ceil, floor, log
from typing import Any, NamedTuple

import numpy as np

from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.evaluate.cross_validation import Splits
from likely.selection.search.evaluation import Evaluation

ROWS = "n_samples"
"""The resource that is rows."""
MIN_CLASS_ROWS = 2
"""Rows of each class and fold that the first rung has at least."""


class Rungs(NamedTuple):
    """Candidates and resources of each rung."""

    candidates: list[int]
    resources: list[int]

    @classmethod
    def of(cls, m: int, factor: float, least: int | None, most: int, floor_: int):
        """The rungs of m candidates.

        Args:
            m: candidates of the first rung.
            factor: by which their number falls, and what each is given grows.
            least: what each is given in the first rung; None for as much as lets the
                last rung have all.
            most: what each is given at most.
            floor_: the least that makes sense.
        """
        needed = 1 + _whole_log(m, factor)
        if least is None:
            least = min(most, max(floor_, floor(most / factor ** (needed - 1))))
        if least > most:
            raise InputError(
                f"min_resources is {least} and max_resources {most}; give a smaller one."
            )
        count = min(needed, 1 + _whole_log(most / least, factor))
        return cls(
            [max(1, ceil(m / factor**k - 1e-9)) for k in range(count)],
            [min(most, floor(least * factor**k + 1e-9)) for k in range(count)],
        )


def _whole_log(ratio: float | int, factor: float) -> int:
    """The largest k with factor^k ≤ ratio."""
    return max(0, floor(log(ratio) / log(factor) + 1e-9))


def limits(search: Any, evaluation: Evaluation) -> tuple[int | None, int, int]:
    """The least and the most that a fit is given, and the least that makes sense.

    Args:
        search: with `resource`, `min_resources` and `max_resources`.
        evaluation: the rows and folds.
    """
    rows = search.resource == ROWS
    known = search.estimator.get_params()
    if not rows and search.resource not in known:
        raise InputError(
            f"resource is {search.resource!r}; give 'n_samples' for rows, or a parameter "
            "of the estimator that counts iterations, such as 'max_iter'."
        )
    most, least = search.max_resources, search.min_resources
    if isinstance(most, str):
        most = int((evaluation.rows.w > 0).sum()) if rows else known[search.resource]
        if not isinstance(most, int):
            raise InputError(
                f"max_resources is 'auto' and {search.resource} of the estimator is "
                f"{most!r}; give max_resources as a number."
            )
    n = int((evaluation.rows.w > 0).sum())
    most = at_least("max_resources", most, 1, whole=True)
    most = min(most, n) if rows else most
    kinds = 1 if evaluation.labels is None else len(evaluation.labels)
    sense = MIN_CLASS_ROWS * len(evaluation.splits) * kinds if rows else 1
    if isinstance(least, str):
        return None, most, sense
    return at_least("min_resources", least, 1, whole=True), most, sense


def fewer_rows(evaluation: Evaluation, rows: int, seed: int) -> Splits:
    """Folds that learn from a share of their training rows; all held-out rows are judged.

    The rows of a rung are among those of the next one, and every class has its share.

    Args:
        evaluation: the rows and folds.
        rows: of all rows, how many there would be.
        seed: of the order in which rows are taken.
    """
    present = np.flatnonzero(evaluation.rows.w > 0)
    if rows >= len(present):
        return evaluation.splits
    place = np.full(len(evaluation.rows.w), np.inf)
    place[present] = _even_order(evaluation, present, seed)
    share = rows / len(present)
    found = []
    for train, held_out in evaluation.splits:
        known = np.asarray(train)[np.argsort(place[train], kind="stable")]
        keep = max(1, round(share * len(known)))
        found.append((np.sort(known[:keep]), held_out))
    return found


def _even_order(evaluation: Evaluation, present: np.ndarray, seed: int) -> np.ndarray:
    """Numbers by which rows are ordered at random, the classes evenly mixed."""
    random = np.random.default_rng(seed).random(len(present))
    if evaluation.labels is None:
        return random
    order = np.empty(len(present))
    y = evaluation.rows.y[present]
    for label in evaluation.labels:
        own = np.flatnonzero(y == label)
        ranks = np.argsort(np.argsort(random[own]))
        order[own] = (ranks + random[own]) / len(own)
    return order
