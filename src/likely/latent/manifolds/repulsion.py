r"""How all places repel each other, in time that is linear in their number.

A charge of one at each place is shared by the nodes of a grid around it; the sums
$\sum_j k(y - y_j)$ at the nodes are convolutions, by fast Fourier transforms; the value at a place
is that of the cubics through the nodes (G. Linderman et al., Fast interpolation-based t-SNE, 2019).
"""

from typing import Any

import numpy as np
from scipy import fft as scipy_fft

from likely.core.threads import Workers

STEP = 0.4
"""The step of the grid: k(y) changes on the scale of 1."""
fft: Any = scipy_fft  # its stubs know less than it does
MIN_NODES, MAX_NODES = 48, 2000
"""In each dimension."""


class GridRepulsion:
    """Repulsion in the plane by a grid; the last grid's kernels are kept.

    Args:
        workers: threads.
    """

    def __init__(self, workers: Workers):
        self.workers = workers
        self._made: tuple[Any, Any] = (None, None)

    def __call__(self, Y: np.ndarray, parts: list) -> tuple[np.ndarray, np.ndarray]:
        """(n, 2) Σ k² (y − yⱼ) and (n,) Σ k, the row itself included."""
        from likely.latent.manifolds.tsne_kernel import from_grid, to_grid

        low, wide = Y.min(axis=0), float(np.ptp(Y, axis=0).max())
        step = float(np.clip(STEP, wide / MAX_NODES, max(wide, 1e-30) / MIN_NODES))
        nodes = 32 * -(-(int(wide / step) + 6) // 32)  # few sizes: the kernels are kept
        low = low - 2 * step
        size = fft.next_fast_len(2 * nodes, real=True)
        grid = np.zeros((nodes, nodes), np.float32)
        to_grid(Y, low, step, grid)
        charges = fft.fft(fft.rfft(grid, size, axis=1), size, axis=0)

        def field(kernel: np.ndarray) -> np.ndarray:
            rows = fft.ifft(charges * kernel, axis=0)[:nodes]
            return fft.irfft(rows, size, axis=1)[:, :nodes]

        fields = np.stack(self.workers.map(field, self._kernels(size, step)))
        forces, sums = np.empty_like(Y), np.empty(len(Y))
        self.workers.map(
            lambda part: from_grid(
                Y, part[0], part[1], low, step, fields, forces, sums
            ),
            parts,
        )
        return forces, sums

    def _kernels(self, size: int, step: float) -> list[np.ndarray]:
        """The transforms of k and of its forces in both directions."""
        if self._made[0] != (size, step):
            x = step * fft.fftfreq(size, 1 / size)[:, None]
            y = x.T
            k = 1 / (1 + x**2 + y**2)
            made = [
                fft.rfft2(a.astype(np.float32)).astype(np.complex64)
                for a in (k, x * k**2, y * k**2)
            ]
            self._made = (size, step), made
        return self._made[1]


def direct_repulsion(
    Y: np.ndarray, parts: list, workers: Workers
) -> tuple[np.ndarray, np.ndarray]:
    """The same, pair by pair, in any number of dimensions."""
    from likely.latent.manifolds.tsne_kernel import repel

    forces, sums = np.empty_like(Y), np.empty(len(Y))
    workers.map(lambda part: repel(Y, part[0], part[1], forces, sums), parts)
    return forces, sums
