"""A plane through fitted weights: its limits, and the lowest points of losses in it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.diagnostics.landscape.directions import Directions
from likely.diagnostics.landscape.evaluation import Evaluation, Values, lowest

RISE = 0.5
"""Nats by which the loss rises, about, from the centre to the edge of a picture of chosen
weights."""
MARGIN = 0.15
"""Of the width of what is shown, on either side."""
STEPS = {True: (-1.0, 1.0), False: (-0.5, 1.5)}
"""Limits of random directions, and of given ones, where a step of 1 arrives somewhere."""


class Plane(NamedTuple):
    """Points $φ + aD_1 + bD_2$, by their coordinates (a, b); or a line, by a."""

    evaluation: Evaluation
    directions: Directions

    @property
    def dimension(self) -> int:
        """2, or 1 for a line."""
        return len(self.directions.vectors)

    def weights(self, points: Float[np.ndarray, "k m"]) -> Float[np.ndarray, "k p"]:
        """The weights at these points."""
        center = self.evaluation.surface.center
        return center + (points @ self.directions.vectors).astype(center.dtype)

    def __call__(self, points: Float[np.ndarray, "k m"]) -> Values:
        """The loss at these points."""
        blocks = [
            self.evaluation(self.weights(points[at : at + 1024]))
            for at in range(0, len(points), 1024)
        ]
        return Values(*(np.concatenate(a) for a in zip(*blocks, strict=True)))

    def limits(
        self, given: Any, paths: Sequence[np.ndarray], *, origin: bool
    ) -> Float[np.ndarray, "m 2"]:
        """The box of the picture, in coordinates.

        Args:
            given: what was asked for: (low, high), one such pair for each axis, or None.
            paths: projected paths, which are to be seen.
            origin: whether the origin of chosen weights is to be seen.
        """
        m, shifts = self.dimension, self.directions.shifts
        if given is not None:
            box = np.broadcast_to(np.asarray(given, float), (m, 2)) - shifts[:, None]
            if not np.isfinite(box).all() or not (box[:, 0] < box[:, 1]).all():
                raise InputError(
                    f"limits are {given!r}; give (low, high) with low < high, for both "
                    "axes or for each."
                )
            return box
        if self.directions.explained is not None:
            seen = [*paths]
        else:
            seen = [*paths, self._usual().T]
        seen = np.concatenate([*seen, *([-shifts[None]] if origin else [])])
        low, high = seen.min(0), seen.max(0)
        wider = MARGIN * np.where(high > low, high - low, 1.0)
        grow = bool(paths) or origin
        return np.stack([low - grow * wider, high + grow * wider], 1)

    def _usual(self) -> Float[np.ndarray, "m 2"]:
        """Limits that show the loss around the centre."""
        random = self.directions.labels[0].startswith(("random", "filter"))
        chosen = self.directions.chosen
        sides = []
        for i, vector in enumerate(self.directions.vectors):
            if not chosen[i]:
                sides.append(STEPS[random])
                continue
            surface = self.evaluation.surface
            h = float(vector @ surface.hessian_product(vector))
            width = np.sqrt(2 * RISE / h) if h > 0 else np.inf
            most = 10 * (1 + abs(self.directions.shifts[i]))
            sides.append((-min(width, most), min(width, most)))
        return np.array(sides)

    def lowest(
        self, grid: Float[np.ndarray, "k m"], values: Values, spacing: np.ndarray
    ) -> Float[np.ndarray, "t m"]:
        """The lowest point of each loss and penalised loss.

        Args:
            grid: points that were computed.
            values: what was found there.
            spacing: the distance of neighbours.
        """
        found = targets(values)
        found = np.where(np.isfinite(found), found, np.inf)
        start = grid[found.argmin(1)]
        box = np.stack([grid.min(0), grid.max(0)], 1)
        t = len(start)

        def at(points: Float[np.ndarray, "t k m"]) -> Float[np.ndarray, "t k"]:
            every = targets(self(points.reshape(-1, points.shape[-1])))
            return every.reshape(t, t, -1)[np.arange(t), np.arange(t)]

        chosen = np.array(self.directions.chosen)
        kinks = np.where(chosen, -self.directions.shifts, np.nan)
        return lowest(at, start, spacing, box, kinks if chosen.any() else None)


def targets(values: Values) -> Float[np.ndarray, "t k"]:
    """All losses at k points: of each weighting of the rows, then with each penalty."""
    return np.concatenate([values.loss.T, (values.loss[:, :1] + values.penalty).T])
