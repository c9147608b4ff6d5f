"""Growing a forest in threads, and judging rows by the trees that have not seen them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from likely.base.progress import Rounds
from likely.base.rows import Rows
from likely.base.settings import at_least
from likely.core.random import seed_of
from likely.core.threads import thread_count, thread_map
from likely.estimators.trees.bootstrap import bootstrap_counts, bootstrap_size
from likely.estimators.trees.limits import bin_rows, tree_limits
from likely.models.trees import Grown, Trees
from likely.models.trees.fitting import Task, grow

TREES_PER_BLOCK = 16
"""Out-of-bag predictions are summed in fixed blocks: the same sums at any thread count."""
SPREADS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The values of s that are tried."""
SCALE_SHARES = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2)
"""The values of τ² that are tried, as shares of the squared error out of bag."""
MAX_JUDGED_ROWS = 500
"""The largest number of rows by which s and τ are chosen."""


class Forest(NamedTuple):
    """A grown forest and its out-of-bag predictions.

    Attributes:
        trees: the trees.
        sums: (n, k) the sum of the leaves of each row over the trees it is new to.
        counts: (n,) how many trees a row is new to.
        seed: of the bootstraps.
        size: draws of each bootstrap, or None where every tree has all rows.
    """

    trees: Trees
    sums: Float[np.ndarray, "n k"]
    counts: Float[np.ndarray, " n"]
    seed: int
    size: int | None

    def unseen(self, t: int) -> Bool[np.ndarray, " n"]:
        """The rows that tree t has not drawn."""
        n = len(self.counts)
        if self.size is None:
            return np.zeros(n, bool)
        return bootstrap_counts(self.seed, t, n, self.size) == 0


def grow_forest(
    estimator: Any,
    rows: Rows,
    task: Task,
    values: Callable[[Task, np.ndarray], np.ndarray],
) -> Forest:
    """Grow the trees in threads, each from its own seed.

    Args:
        estimator: with the settings of a forest.
        rows: rows that all have weight.
        task: the same rows as a tree has them.
        values: from the sums of statistics of each node to its values.
    """
    n, d = rows.X.shape
    total = at_least("n_estimators", estimator.n_estimators, 1, whole=True)
    bins, codes = bin_rows(estimator, rows)
    limits, seed = tree_limits(estimator, d, rows.w), seed_of(estimator.random_state)
    size = bootstrap_size(estimator.max_samples, n) if estimator.bootstrap else None
    workers = thread_count(estimator.n_jobs)
    with Rounds(total, estimator.verbose) as rounds:

        def one(t: int) -> Grown:
            own = task
            if size is not None:
                own = task.drawn(bootstrap_counts(seed, t, n, size))
            tree_seed = (seed + 0x9E3779B97F4A7C15 * (t + 1)) % 2**64
            tree = grow(bins, codes, own, limits, tree_seed, values)
            rounds.update({"round": t + 1})
            return tree

        grown = thread_map(one, range(total), workers)
    k = grown[0].value.shape[1]
    trees = Trees.of(bins, grown, np.zeros(k))
    forest = Forest(trees, np.zeros((n, k)), np.zeros(n), seed, size)
    if size is None or not (estimator.oob_score or task.n_classes == 0):
        return forest
    return _judged_out_of_bag(forest, rows.X, workers)


def _judged_out_of_bag(forest: Forest, X: np.ndarray, workers: int) -> Forest:
    """The forest with the sums and counts of its out-of-bag predictions."""
    total = len(forest.trees)

    def judge(block: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        sums, counts = np.zeros_like(forest.sums), np.zeros_like(forest.counts)
        for t in range(*block):
            unseen = forest.unseen(t)
            sums[unseen] += forest.trees.eta_of(t, X[unseen])
            counts += unseen
        return sums, counts

    ends = [*range(0, total, TREES_PER_BLOCK), total]
    blocks = zip(ends[:-1], ends[1:], strict=True)
    sums, counts = np.zeros_like(forest.sums), np.zeros_like(forest.counts)
    for own, count in thread_map(judge, blocks, workers):
        sums += own
        counts += count
    return forest._replace(sums=sums, counts=counts)


def spread_and_scale(
    forest: Forest, rows: Rows, n_jobs: int | None
) -> tuple[float, float]:
    """s and τ of largest likelihood, each row judged by the trees it is new to.

    Where no row is new to any tree, s is 1 and τ the standard deviation of y.
    """
    n, total = len(rows.y), len(forest.trees)
    part = np.linspace(0, n - 1, min(n, MAX_JUDGED_ROWS)).astype(int)
    unseen = np.stack([forest.unseen(t)[part] for t in range(total)], axis=1)
    is_judged = unseen.any(axis=1)
    part, unseen = part[is_judged], unseen[is_judged]
    if not len(part):
        return 1.0, float(np.std(rows.y)) or 1.0
    y, w = rows.y[part], rows.w[part]
    leaves = forest.trees.leaves(rows.X[part], n_jobs)
    mean, variance = forest.trees.value[leaves].transpose(2, 0, 1)
    weight = forest.trees.weight[leaves]
    centre = np.average(mean, axis=1, weights=unseen)
    error = float(np.average((y - centre) ** 2, weights=w))
    error = max(error, np.finfo(float).tiny)
    unit = error / float((1 / (weight + 1)).mean())
    best = (np.inf, 1.0, 1.0)
    for s in SPREADS:
        square = (y[:, None] - centre[:, None] - s * (mean - centre[:, None])) ** 2
        for share in SCALE_SHARES:
            v = (variance * weight + share * unit) / (weight + 1)
            logs = np.where(unseen, -0.5 * (square / v + np.log(v)), -np.inf)
            top = logs.max(axis=1)
            nats = -top - np.log(np.exp(logs - top[:, None]).sum(axis=1))
            loss = float(np.average(nats, weights=w))
            best = min(best, (loss, s, float(np.sqrt(share * unit))))
    return best[1], best[2]
