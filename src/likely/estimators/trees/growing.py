"""Growing a forest in threads, and judging rows by the trees that have not seen them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.base.held_out import fit_parts, twin_groups
from likely.base.progress import Rounds
from likely.base.rows import Rows
from likely.base.settings import at_least
from likely.core.random import seed_of
from likely.core.threads import thread_count, thread_map
from likely.estimators.trees.bootstrap import bootstrap_counts, bootstrap_size
from likely.estimators.trees.held_out import spread_and_scale
from likely.estimators.trees.limits import bin_rows, tree_limits
from likely.models.trees import Grown, Trees
from likely.models.trees.fitting import Task, grow

TREES_PER_BLOCK = 16
"""Out-of-bag predictions are summed in fixed blocks: the same sums at any thread count."""
MAX_JUDGED_ROWS = 1000
"""The largest number of rows by which probabilities are calibrated."""
MAX_SCALED_ROWS = 500
"""The largest number of rows by which s and τ are chosen."""
MAX_JUDGING_TREES = 30
"""Trees of a forest without bootstraps that are grown again, on a part of the rows."""


class Forest(NamedTuple):
    """A grown forest, and the draws of its trees.

    Attributes:
        trees: the trees.
        seed: of the bootstraps.
        size: draws of each bootstrap, or None where every tree has all rows.
        judged: (m,) the rows that are judged by trees they are new to.
        unseen: (m, trees) which trees these are.
    """

    trees: Trees
    seed: int
    size: int | None
    judged: Int[np.ndarray, " m"]
    unseen: Bool[np.ndarray, "m t"]


class Judged(NamedTuple):
    """Rows in the leaves of trees, and which of these are new to the row.

    Attributes:
        trees: the trees.
        leaves: (m, trees) the leaf of each row.
        unseen: (m, trees) whether a tree has not seen a row; each row has such a tree.
        y: (m,) the targets.
        w: (m,) the weights.
    """

    trees: Trees
    leaves: Int[np.ndarray, "m t"]
    unseen: Bool[np.ndarray, "m t"]
    y: Float[np.ndarray, " m"]
    w: Float[np.ndarray, " m"]


def grow_forest(
    estimator: Any,
    rows: Rows,
    task: Task,
    values: Callable[[Task, np.ndarray], np.ndarray],
    n_trees: int | None = None,
) -> Forest:
    """Grow the trees in threads, each from its own seed.

    Args:
        estimator: with the settings of a forest.
        rows: rows that all have weight.
        task: the same rows as a tree has them.
        values: from the sums of statistics of each node to its values.
        n_trees: the number of trees, where it is not the estimator's.
    """
    n, d = rows.X.shape
    total = at_least("n_estimators", estimator.n_estimators, 1, whole=True)
    total = total if n_trees is None else n_trees
    bins, codes = bin_rows(estimator, rows)
    limits, seed = tree_limits(estimator, d, rows.w), seed_of(estimator.random_state)
    size = bootstrap_size(estimator.max_samples, n) if estimator.bootstrap else None
    most = MAX_JUDGED_ROWS if task.n_classes else MAX_SCALED_ROWS
    judged = np.linspace(0, n - 1, min(n, most)).astype(int)
    twins = None if size is None else twin_groups(rows.X, rows.w)
    unseen = np.zeros((total, len(judged)), bool)
    with Rounds(total, estimator.verbose if n_trees is None else False) as rounds:

        def one(t: int) -> Grown:
            own = task
            if size is not None:
                counts = bootstrap_counts(seed, t, n, size)
                own = task.drawn(counts)
                drawn = counts if twins is None else np.bincount(twins, counts)[twins]
                unseen[t] = drawn[judged] == 0
            tree_seed = (seed + 0x9E3779B97F4A7C15 * (t + 1)) % 2**64
            tree = grow(bins, codes, own, limits, tree_seed, values)
            rounds.update({"round": t + 1})
            return tree

        grown = thread_map(one, range(total), thread_count(estimator.n_jobs))
    trees = Trees.of(bins, grown, np.zeros(grown[0].value.shape[1]))
    return Forest(trees, seed, size, judged, unseen.T)


def out_of_bag(
    forest: Forest, X: np.ndarray, n_jobs: int | None
) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, " n"]]:
    """The sum of the leaves of each row over the trees it is new to, and their number."""
    (n, total), k = (len(X), len(forest.trees)), forest.trees.value.shape[1]

    def judge(block: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        sums, counts = np.zeros((n, k)), np.zeros(n)
        for t in range(*block):
            if forest.size is None:
                continue
            unseen = bootstrap_counts(forest.seed, t, n, forest.size) == 0
            sums[unseen] += forest.trees.eta_of(t, X[unseen])
            counts += unseen
        return sums, counts

    ends = [*range(0, total, TREES_PER_BLOCK), total]
    blocks = zip(ends[:-1], ends[1:], strict=True)
    sums, counts = np.zeros((n, k)), np.zeros(n)
    for own, count in thread_map(judge, blocks, thread_count(n_jobs)):
        sums += own
        counts += count
    return sums, counts


def judged_rows(
    estimator: Any,
    rows: Rows,
    forest: Forest,
    make_task: Callable[[Rows], Task],
    values: Callable[[Task, np.ndarray], np.ndarray],
) -> list[Judged]:
    """Rows by trees that are new to them: out of bag, or by trees on a part of the rows.

    Args:
        estimator: with the settings of a forest.
        rows: rows that all have weight.
        forest: the forest that was grown on them.
        make_task: from rows to what trees are grown on.
        values: from the sums of statistics of each node to its values.
    """
    if forest.size is not None:
        part = _judged(forest.trees, rows, forest.judged, forest.unseen, estimator)
        return [part] if len(part.y) else []
    found = []
    for share in fit_parts(rows.X, rows.y, rows.w, max_rows=MAX_SCALED_ROWS):
        kept = rows._replace(w=rows.w * (1 - share)).present()
        n_trees = min(len(forest.trees), MAX_JUDGING_TREES)
        part = grow_forest(estimator, kept, make_task(kept), values, n_trees)
        out = np.flatnonzero(share)[:: max(1, int(share.sum()) // MAX_JUDGED_ROWS)]
        everywhere = np.ones((len(out), n_trees), bool)
        own = rows._replace(w=rows.w * share)
        found.append(_judged(part.trees, own, out, everywhere, estimator))
    return found


def _judged(
    trees: Trees, rows: Rows, part: np.ndarray, unseen: np.ndarray, estimator: Any
) -> Judged:
    """Some of the rows, without those that every tree has seen."""
    known = unseen.any(axis=1)
    part, unseen = part[known], unseen[known]
    leaves = trees.leaves(rows.X[part], estimator.n_jobs)
    return Judged(trees, leaves, unseen, rows.y[part], rows.w[part])


def judged_votes(
    judged: list[Judged], c: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(m, c) the mean frequencies over the trees that are new to a row, its class and weight."""
    votes, codes, w = [np.zeros((0, c))], [np.zeros(0)], [np.zeros(0)]
    for part in judged:
        sums = np.zeros((len(part.y), c))
        for leaf, unseen in zip(part.leaves.T, part.unseen.T, strict=True):
            sums[unseen] += part.trees.value[leaf[unseen]]
        votes.append(sums / part.unseen.sum(axis=1, keepdims=True))
        codes.append(part.y)
        w.append(part.w)
    return np.concatenate(votes), np.concatenate(codes).astype(int), np.concatenate(w)


def forest_spread_and_scale(rows: Rows, judged: list[Judged]) -> tuple[float, float]:
    """s and τ of largest likelihood, each row judged by the trees it is new to."""
    if not judged:
        nothing = np.zeros((0, 1))
        unseen = np.zeros((0, 1), bool)
        return spread_and_scale(rows, rows.y[:0], rows.w[:0], unseen, nothing)
    moments = [part.trees.value[part.leaves].transpose(2, 0, 1) for part in judged]
    mean, variance = np.concatenate(moments, axis=1)
    return spread_and_scale(
        rows,
        np.concatenate([part.y for part in judged]),
        np.concatenate([part.w for part in judged]),
        np.concatenate([part.unseen for part in judged]),
        mean,
        variance,
        np.concatenate([part.trees.weight[part.leaves] for part in judged]),
    )
