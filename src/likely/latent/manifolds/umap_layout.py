r"""The map of UMAP: places whose graph is like that of the rows.

With $q_{ij} = 1/(1 + a |y_i - y_j|^{2b})$ the cross-entropy

$$-\sum_{ij} \bigl[μ_{ij} \log q_{ij} + (1 - μ_{ij}) \log(1 - q_{ij})\bigr]$$

is made smaller by stochastic gradients: an edge has its turn in a share μ of the epochs, and
for each turn a few rows drawn at random stand for all that are not connected.
"""

import numpy as np
from jaxtyping import Float
from scipy.optimize import curve_fit
from scipy.sparse import csr_matrix

from likely.core.progress import Bar
from likely.core.threads import Workers, row_blocks

MIN_BLOCK_ROWS = 256
"""Fewer rows are not worth another thread."""


def curve(min_dist: float, spread: float) -> tuple[float, float]:
    r"""The a and b of a curve that is 1 at small distances and falls off at large ones.

    $1/(1 + a s^{2b})$ is fitted to 1 up to the distance `min_dist` and $e^{-(s - m)/r}$ beyond,
    with m of `min_dist` and r of `spread`.
    """
    s = np.linspace(0, 3 * spread, 300)
    wanted = np.where(s < min_dist, 1.0, np.exp(-(s - min_dist) / spread))
    (a, b), _ = curve_fit(lambda s, a, b: 1 / (1 + a * s ** (2 * b)), s, wanted)
    return float(a), float(b)


def lay_out(
    graph: csr_matrix,
    Y: Float[np.ndarray, "n q"],
    Z: Float[np.ndarray, "m q"] | None,
    *,
    curve: tuple[float, float],
    epochs: int,
    step: float,
    negatives: int,
    seed: int,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Float[np.ndarray, "n q"]:
    """The places after some epochs; the bits do not depend on the number of threads.

    Args:
        graph: (n, m) how surely each row belongs to the rows that attract it.
        Y: where the rows begin.
        Z: places that attract and repel and do not move; None for the rows themselves.
        curve: a and b.
        epochs: how many times all rows move.
        step: the first step size; it falls linearly to 0.
        negatives: how many rows are drawn for each turn of an edge.
        seed: of the random numbers.
        n_jobs: the number of threads.
        verbose: whether to show a progress bar.
    """
    from likely.latent.manifolds.umap_kernel import epoch_of_rows, force_tables

    n = len(Y)
    rates = np.ascontiguousarray(graph.data / graph.data.max(initial=1e-300))
    starts, ends = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)
    forces, seed64 = force_tables(*curve), np.uint64(seed)
    now, new = np.array(Y, np.float32, order="C"), np.empty(Y.shape, np.float32)
    still = None if Z is None else np.ascontiguousarray(Z, np.float32)
    with Workers(n_jobs) as workers, Bar(epochs, enabled=verbose) as bar:
        parts = row_blocks(n, min(4 * workers.count, 1 + n // MIN_BLOCK_ROWS))
        for epoch in range(epochs):
            others = now if still is None else still

            def job(part: tuple, epoch=epoch, places=(now, others), out=new) -> None:
                epoch_of_rows(
                    places[0], places[1], part[0], part[1], starts, ends, rates, epoch, seed64,
                    forces, np.float32(step * (1 - epoch / epochs)), negatives, out,
                )  # fmt: skip

            workers.map(job, parts)
            now, new = new, now
            bar.update(epoch + 1, "fitting")
    return now
