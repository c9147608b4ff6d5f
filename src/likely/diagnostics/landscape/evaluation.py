r"""The loss at many weights, by one compiled program, and its lowest point in a plane.

At each point the mean loss over rows has the standard error
$\sqrt{\sum w (l - \bar l)^2 / ((\sum w - 1) \sum w)}$, and so has its difference from the loss at
reference weights on the same rows, which is mostly much less noisy.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.precision import precision_of
from likely.diagnostics.landscape.surface import LossSurface

MAX_BLOCK_POINTS = 64
"""Points of one call of the program."""
MAX_BLOCK_ENTRIES = 2**22
"""Numbers in the weights of one call."""
MAX_PARALLEL_ROWS = 2**14
"""Rows times points that are computed side by side."""
ZOOM_POINTS, ZOOM_ROUNDS = 7, 17
"""Points of each axis, and rounds of the search for the lowest point: each narrows the
distance between points to a third."""


class Values(NamedTuple):
    """The loss at k points, for r weightings of the rows, and the penalties of q priors."""

    loss: Float[np.ndarray, "k r"]
    error: Float[np.ndarray, "k r"]
    """Its standard error."""
    rise_error: Float[np.ndarray, "k r"]
    """The standard error of its difference from the loss at the reference."""
    penalty: Float[np.ndarray, "k q"]


class Evaluation(NamedTuple):
    """A loss surface with weightings of its rows, priors, and reference losses."""

    surface: LossSurface
    w: Float[np.ndarray, "r n"]
    priors: tuple
    reference: Float[np.ndarray, " n"]

    @classmethod
    def of(
        cls, surface: LossSurface, w: np.ndarray, priors: Sequence[Any]
    ) -> "Evaluation":
        """With the losses at the centre as reference."""
        return cls(surface, w, tuple(priors), row_losses(surface, surface.center))

    def __call__(self, phi: Float[np.ndarray, "k p"]) -> Values:
        """The values at these weights."""
        k, p = phi.shape
        size = min(MAX_BLOCK_POINTS, max(1, MAX_BLOCK_ENTRIES // p))
        side_by_side = max(1, min(size, MAX_PARALLEL_ROWS // self.w.shape[1]))
        blocks = []
        with precision_of(self.surface.model):
            for at in range(0, k, size):
                block = phi[at : at + size]
                filled = np.concatenate([block, phi[:1].repeat(size - len(block), 0)])
                found = _values(self, jnp.asarray(filled), side_by_side)
                blocks.append([np.asarray(a)[: len(block)] for a in found])
        loss, error, rise, penalty = map(np.concatenate, zip(*blocks, strict=True))
        return Values(loss, error, rise, penalty[:, :-1])


def row_losses(surface: LossSurface, phi: Any) -> Float[np.ndarray, " n"]:
    """The loss of each row at these weights."""
    with precision_of(surface.model):
        return np.asarray(_losses(surface, jnp.asarray(phi, surface.center.dtype)))


@eqx.filter_jit
def _losses(surface: LossSurface, phi: Array) -> Array:
    return surface.losses(phi)


@eqx.filter_jit
def _values(evaluation: Evaluation, points: Array, side_by_side: int) -> Any:
    surface, W, priors, reference = evaluation
    W = jnp.asarray(W)
    total = W.sum(1)

    def one(phi: Array) -> tuple[Array, ...]:
        losses = surface.losses(phi)
        mean, error = _moments(losses, W, total)
        _, rise_error = _moments(losses - reference, W, total)
        model = surface.at(phi)
        penalties = [-prior.log_prob(model) / total[0] for prior in priors]
        none = jnp.zeros((), phi.dtype)  # an array of no numbers cannot be mapped
        return mean, error, rise_error, jnp.stack([*penalties, none])

    return jax.lax.map(one, points, batch_size=side_by_side)


def _moments(values: Array, W: Array, total: Array) -> tuple[Array, Array]:
    """Means with several weightings, and their standard errors."""
    mean = jnp.where(W > 0, W * values[None], 0.0).sum(1) / total
    squares = jnp.where(W > 0, W * (values[None] - mean[:, None]) ** 2, 0.0).sum(1)
    return mean, jnp.sqrt(squares / ((total - 1) * total))


def lowest(
    values: Callable[[Float[np.ndarray, "t k m"]], Float[np.ndarray, "t k"]],
    start: Float[np.ndarray, "t m"],
    spacing: Float[np.ndarray, " m"],
    limits: Float[np.ndarray, "m 2"],
    kinks: Float[np.ndarray, " m"] | None = None,
) -> Float[np.ndarray, "t m"]:
    """The lowest points of t functions inside a box, by grids that get ever finer.

    Where the best point lies at the edge of its grid, the grid moves before it narrows.

    Args:
        values: from k points for each of t functions to the values there.
        start: the best points so far.
        spacing: the distance of points on the grid that these come from.
        limits: of the box.
        kinks: coordinates at which the functions may have a kink: they are tried exactly.
    """
    t, m = start.shape
    offsets = np.linspace(-1.0, 1.0, ZOOM_POINTS)
    grid = np.stack(np.meshgrid(*[offsets] * m, indexing="ij"), -1).reshape(-1, m)
    inside = np.abs(grid).max(1) < 1
    best, half = start.copy(), np.tile(spacing, (t, 1))
    for _ in range(ZOOM_ROUNDS):
        points = best[:, None] + grid * half[:, None]
        points = np.clip(points, limits[:, 0], limits[:, 1])
        if kinks is not None:  # the nearest points on them
            near = np.abs(points - kinks) <= half[:, None] / ZOOM_POINTS
            points = np.concatenate([points, np.where(near, kinks, points)], 1)
        found = values(points)
        found = np.where(np.isfinite(found), found, np.inf)
        at = found.argmin(1)
        best = points[np.arange(t), at]
        narrow = np.tile(inside, len(points[0]) // len(grid))[at]
        half = np.where(narrow[:, None], half / 3, half)
    return best
