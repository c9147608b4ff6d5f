r"""The nearest rows, exactly.

Few pairs are measured one by one. In few dimensions SciPy's k-d tree leaves most pairs out.
Otherwise $|x - q|^2 = |x|^2 + |q|^2 - 2\,x \cdot q$ is a matrix product, of single precision: it
names some rows more than are asked for, which are measured in double precision, and where the
rounded numbers cannot rule out that another row is nearer, all rows are measured.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

from likely.core.threads import row_blocks, thread_count, thread_map

MAX_SCANNED = 50_000_000
"""Differences of two numbers up to which all pairs are measured one by one."""
MAX_TREE_COLUMNS = 8
"""Dimensions up to which a tree leaves out most pairs."""
SPARE = 16
"""How many rows more than asked for are measured in double precision."""
BLOCK_NUMBERS = 16_000_000
"""How many products are computed at once."""


def nearest_rows(
    X: Float[np.ndarray, "n d"],
    Q: Float[np.ndarray, "m d"],
    k: int,
    own: Int[np.ndarray, " m"],
    n_jobs: int | None = None,
) -> tuple[Float[np.ndarray, "m k"], Int[np.ndarray, "m k"]]:
    """Squared distances of the k nearest rows of each query, and which rows they are.

    The nearest come first, and rows at the same distance in their order. The bits do not
    depend on the number of threads.

    Args:
        X: rows.
        Q: queries.
        k: how many; at most the number of rows that a query may find.
        own: a row that a query may not find, such as itself; −1 for none.
        n_jobs: the number of threads; as many as there are processors where None.
    """
    n, d = X.shape
    X, Q = np.ascontiguousarray(X), np.ascontiguousarray(Q)
    if n * len(Q) * d <= MAX_SCANNED:
        return _scanned(X, Q, k, own, n_jobs)
    if d <= MAX_TREE_COLUMNS:
        return _by_tree(X, Q, k, own, n_jobs)
    return _by_products(X, Q, k, own, n_jobs)


def _scanned(X, Q, k, own, n_jobs, which=None, found=None):  # noqa: PLR0917
    """All pairs one by one, for all queries or some."""
    from likely.models.neighbors.exact_kernel import scan  # it loads numba

    which = np.arange(len(Q)) if which is None else which
    D, rows = _empty(len(Q), k) if found is None else found
    threads = thread_count(n_jobs)
    parts = row_blocks(len(which), min(threads, max(1, len(which) * len(X) // 100_000)))
    thread_map(
        lambda part: scan(X, Q, which[slice(*part)], own, D, rows), parts, threads
    )
    return D, rows


def _by_tree(X, Q, k, own, n_jobs):
    """The answers of a k-d tree, without the rows that queries may not find."""
    extra = int((own >= 0).any())
    tree = KDTree(X, balanced_tree=False)
    distances, rows = tree.query(Q, np.arange(1, k + extra + 1), workers=n_jobs or -1)
    D = distances**2
    order = np.lexsort((rows, D, np.broadcast_to(rows == own[:, None], D.shape)))
    D, rows = (np.take_along_axis(a, order, 1)[:, :k] for a in (D, rows))
    return np.ascontiguousarray(D), np.ascontiguousarray(rows, np.int64)


def _by_products(X, Q, k, own, n_jobs):
    """Candidates by products of single precision, measured in double precision."""
    from likely.models.neighbors.exact_kernel import pick

    n, d = X.shape
    middle = X.mean(0)
    with np.errstate(over="ignore"):
        A, B = (X - middle).astype(np.float32), (Q - middle).astype(np.float32)
    squares = np.einsum("nd,nd->n", A, A)
    centred = X - middle, Q - middle
    D, found = _empty(len(Q), k)
    certain = np.zeros(len(Q), bool)
    error = (8 + 2 * np.sqrt(d)) * float(np.finfo(np.float32).eps)
    spare, threads = min(SPARE, n - k), thread_count(n_jobs)
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, len(Q), size):
        G = B[start : start + size] @ A.T

        def job(part, G=G, start=start):
            low, high = part
            pick(
                G[low:high], *centred, squares, own, start + low, spare, error,
                D, found, certain,
            )  # fmt: skip

        thread_map(job, row_blocks(len(G), min(threads, len(G))), threads)
    rest = np.flatnonzero(~certain)
    if len(rest):
        _scanned(*centred, k, own, n_jobs, rest, (D, found))
    return D, found


def _empty(m: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty((m, k)), np.empty((m, k), np.int64)
