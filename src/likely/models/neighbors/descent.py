r"""The nearest rows, approximately, in time that grows little faster than their number.

Random projection trees propose the first neighbours; then neighbours of neighbours are offered to
every row until few are accepted (W. Dong, M. Charikar, K. Li, Efficient k-nearest neighbor graph
construction for generic similarity measures, 2011). New rows are looked up by walking along the
graph, from a leaf of each tree, to rows that are nearer and nearer.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import coo_matrix

from likely.core.threads import row_blocks, thread_count, thread_map

N_TREES = 8
LEAF_ROWS = 40
MIN_NEIGHBORS = 20
"""How many neighbours a graph has at least: with fewer the descent gets stuck."""
MAX_CANDIDATES = 40
"""How many neighbours of a row are looked at in a round."""
MAX_ROUNDS = 20
MIN_ACCEPTED = 0.001
"""The share of new neighbours in a round below which the descent ends."""
SEARCH_TREES = 4
"""How many trees a search starts from."""


def descend(
    X: Float[np.ndarray, "n d"], k: int, seed: int, n_jobs: int | None = None
) -> tuple[Int[np.ndarray, "n k"], dict[str, Any]]:
    """About the k nearest other rows of each row, and what a search of new rows needs.

    Args:
        X: rows; more than k and than 40 of them.
        k: how many neighbours.
        seed: of the random numbers.
        n_jobs: the number of threads; the bits do not depend on it.
    """
    from likely.models.neighbors import descent_kernel as kernels

    X32 = single(X, X)
    n, threads = len(X), thread_count(n_jobs)
    trees = _trees(X32, seed, threads)
    size = min(max(k, MIN_NEIGHBORS), n - 1)
    D, found = np.empty((n, size), np.float32), np.empty((n, size), np.int32)
    blocks = row_blocks(n, min(n, 4 * threads))
    leaves = trees["orders"], trees["spans"], trees["leaf_of"]
    thread_map(
        lambda part: kernels.from_leaves(X32, *part, *leaves, D, found), blocks, threads
    )
    fresh = np.ones(found.shape, bool)
    lists = np.empty((2, n, min(size, MAX_CANDIDATES)), np.int32)
    for turn in range(MAX_ROUNDS):
        seed_of_turn = np.uint64((seed + turn) % 2**63)
        kernels.candidates(found, fresh, seed_of_turn, lists.shape[2], lists)
        accepted = thread_map(
            lambda part: kernels.improve(X32, *part, lists, D, found, fresh),
            blocks,
            threads,
        )
        if sum(accepted) <= MIN_ACCEPTED * n * size:
            break
    order = np.argsort(D, axis=1, kind="stable")
    found = np.take_along_axis(found, order, 1)
    return found[:, :k].astype(np.int64), _index(trees, found)


def search_rows(
    X: Float[np.ndarray, "n d"],
    Q: Float[np.ndarray, "m d"],
    k: int,
    index: dict[str, Any],
    n_jobs: int | None = None,
) -> Int[np.ndarray, "m k"]:
    """About the k nearest rows of each query.

    Args:
        X: the rows of `descend`.
        Q: queries.
        k: how many.
        index: what `descend` gave.
        n_jobs: the number of threads.
    """
    from likely.models.neighbors.descent_kernel import search

    X32, Q32, threads = single(X, X), single(Q, X), thread_count(n_jobs)
    found = np.empty((len(Q), k), np.int32)
    width = min(len(X), max(2 * k, 48))
    trees = index["orders"], index["nodes"], index["spans"]
    starts, links = index["starts"], index["links"]
    blocks = row_blocks(len(Q), min(len(Q), threads))

    def job(part: tuple[int, int]) -> None:
        search(X32, Q32, part[0], part[1], *trees, starts, links, width, found)

    thread_map(job, blocks, threads)
    return found.astype(np.int64)


def single(rows: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Rows in single precision, as far from the middle and in the unit of X."""
    middle, size = X.mean(0), np.abs(X - X.mean(0)).max(initial=1e-300)
    return np.ascontiguousarray((rows - middle) / size, np.float32)


def _trees(X: np.ndarray, seed: int, threads: int) -> dict[str, np.ndarray]:
    """Random projection trees."""
    from likely.models.neighbors.trees_kernel import grow

    n = len(X)
    orders, leaf_of = (np.empty((N_TREES, n), np.int32) for _ in range(2))
    nodes = np.zeros((N_TREES, 2 * n, 3), np.int32)
    spans = np.zeros((N_TREES, 2 * n, 2), np.int32)

    def job(t: int) -> int:
        own = np.uint64((seed * N_TREES + t) % 2**63)
        return grow(X, own, LEAF_ROWS, orders[t], nodes[t], spans[t], leaf_of[t])

    most = max(thread_map(job, range(N_TREES), threads))
    return {
        "orders": orders,
        "nodes": np.ascontiguousarray(nodes[:, :most]),
        "spans": np.ascontiguousarray(spans[:, :most]),
        "leaf_of": leaf_of,
    }


def _index(trees: dict[str, np.ndarray], found: np.ndarray) -> dict[str, np.ndarray]:
    """Some trees, and a graph in which neighbours know each other."""
    n, k = found.shape
    heads = np.repeat(np.arange(n), k)
    directed = coo_matrix((np.ones(n * k, bool), (heads, found.ravel())), shape=(n, n))
    graph = (directed + directed.T).tocsr()
    some = {
        name: np.ascontiguousarray(trees[name][:SEARCH_TREES])
        for name in ("orders", "nodes", "spans")
    }
    return some | {
        "starts": graph.indptr.astype(np.int32),
        "links": graph.indices.astype(np.int32),
    }
