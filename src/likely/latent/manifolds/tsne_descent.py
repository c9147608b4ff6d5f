r"""The map of t-SNE: places whose similarities are those of the rows.

$$\mathrm{KL} = \sum_{ij} p_{ij} \log \frac{p_{ij}}{q_{ij}}, \qquad
  q_{ij} = \frac{k_{ij}}{\sum_{a \ne b} k_{ab}}, \qquad k_{ij} = \frac{1}{1 + |y_i - y_j|^2}$$

is minimised by gradient descent with momentum and a step size for each coordinate. In the beginning
p is exaggerated, so that groups can pass through each other.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse import coo_matrix, csr_matrix

from likely.core.progress import Bar
from likely.core.threads import Workers, row_blocks
from likely.latent.manifolds.repulsion import GridRepulsion, direct_repulsion

EXAGGERATED_ITERATIONS = 250
EARLY_MOMENTUM, MOMENTUM = 0.5, 0.8
MIN_STEP_SIZE, MIN_GAIN = 50.0, 0.01
ITERATIONS_BETWEEN_LOOKS = 50
"""How often the loss is computed, and the progress told."""
MIN_BLOCK_ROWS = 64


def similarities(
    D: Float[np.ndarray, "n k"], found: Any, perplexity: float
) -> csr_matrix:
    r"""(n, n) $p_{ij} = (p_{j|i} + p_{i|j})/2n$ of rows and their neighbours; Σ = 1.

    Args:
        D: distances of neighbours, the nearest first.
        found: (n, k) which rows they are.
        perplexity: how many of them count, about.
    """
    from likely.latent.manifolds.tsne_kernel import conditional  # it loads numba

    n, k = D.shape
    P = np.empty((n, k))
    size = D.max(initial=0.0)
    conditional((D / size if size > 0 else D) ** 2, float(perplexity), P)
    heads = np.repeat(np.arange(n), k)
    directed = coo_matrix((P.ravel(), (heads, found.ravel())), shape=(n, n)).tocsr()
    both = (directed + directed.T).tocsr()
    both.sort_indices()
    both.data = both.data / both.data.sum()
    return both


def loss_and_forces(
    P: Any, grid: bool, workers: Workers
) -> Callable[..., tuple[float, np.ndarray]]:
    """A function of the places and an exaggeration: KL (where asked for), and its gradient.

    Args:
        P: similarities.
        grid: whether repulsion is by a grid, or pair by pair.
        workers: threads.
    """
    from likely.latent.manifolds.tsne_kernel import attract

    n = P.shape[0]
    edges = P.indptr.astype(np.int32), P.indices.astype(np.int32), P.data
    parts = row_blocks(n, min(4 * workers.count, 1 + n // MIN_BLOCK_ROWS))
    on_grid = GridRepulsion(workers)

    def evaluate(Y: np.ndarray, exaggeration: float, with_loss: bool):
        repelled, sums = (
            on_grid(Y, parts) if grid else direct_repulsion(Y, parts, workers)
        )
        Z = max(float(sums.sum()) - n, 1e-300)
        attracted, losses = np.empty_like(Y), np.full(1 + n, -1.0)
        losses[0] = 1.0 if with_loss else -1.0
        workers.map(
            lambda part: attract(Y, part[0], part[1], *edges, attracted, losses), parts
        )
        loss = float(losses[1:].sum() + np.log(Z)) if with_loss else np.nan
        return loss, 4 * (exaggeration * attracted - repelled / Z)

    return evaluate


def descend(
    P: csr_matrix,
    Y: Float[np.ndarray, "n q"],
    *,
    grid: bool,
    exaggeration: float,
    learning_rate: float | None,
    max_iter: int,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> tuple[Float[np.ndarray, "n q"], float]:
    """The places after all iterations, and their KL; the bits are those of any thread count.

    Args:
        P: similarities.
        Y: where the rows begin.
        grid: whether repulsion is by a grid.
        exaggeration: what P is multiplied by in the first 250 iterations.
        learning_rate: the step size; None: n/4, divided by the exaggeration, at least 50.
        max_iter: the number of iterations.
        n_jobs: the number of threads.
        verbose: whether to show a progress bar.
    """
    Y = np.array(Y, np.float64, order="C")
    change, gains = np.zeros_like(Y), np.ones_like(Y)
    with Workers(n_jobs) as workers, Bar(max_iter, enabled=verbose) as bar:
        evaluate = loss_and_forces(P, grid, workers)
        for turn in range(max_iter):
            early = turn < EXAGGERATED_ITERATIONS
            factor = exaggeration if early else 1.0
            rate = learning_rate or max(len(Y) / factor / 4, MIN_STEP_SIZE)
            look = verbose and (turn + 1) % ITERATIONS_BETWEEN_LOOKS == 0
            loss, g = evaluate(Y, factor, look)
            gains = np.where(change * g < 0, gains + 0.2, gains * 0.8)
            gains = np.maximum(gains, MIN_GAIN)
            momentum = EARLY_MOMENTUM if early else MOMENTUM
            change = momentum * change - rate * gains * g
            Y = Y + change
            Y = Y - Y.mean(axis=0)
            if look:
                bar.update(turn + 1, "fitting", detail=f"KL {loss:.3f}")
        loss, _ = evaluate(Y, 1.0, True)
    return Y, loss
