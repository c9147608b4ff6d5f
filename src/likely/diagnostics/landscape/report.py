"""A computed loss landscape: its numbers, its verdict, its picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.diagnostics.landscape.paths import ProjectedPath
from likely.diagnostics.result import Result


class Station(NamedTuple):
    """A point of a landscape, with its losses in nats."""

    point: Float[np.ndarray, " m"]
    """On the axes."""
    loss: float
    """Of the fitted weights that of all rows; of a lowest point the one that is lowest there."""
    error: float
    """The standard error of a mean over these rows."""
    excess: float
    """The loss of all rows here less that at their own lowest point."""
    excess_error: float
    """The standard error of this difference, on the same rows."""
    edge: bool
    """Whether it lies at the edge of the picture: beyond, the loss may be lower still."""


@dataclass(frozen=True, repr=False, eq=False)
class LossLandscape(Result):
    """The loss on a grid of weights."""

    axes: tuple[np.ndarray, ...]
    """The values on each axis: steps along a direction, or values of a chosen weight."""
    labels: tuple[str, ...]
    """What each axis is."""
    losses: Mapping[str, Float[np.ndarray, "..."]]
    """The loss at each point of the grid: of all rows, of a subset, with each penalty."""
    error: Float[np.ndarray, "..."]
    """The standard error of the loss of all rows, as a mean over rows."""
    stations: Mapping[str, Station]
    """The fitted weights, and the lowest point of each loss inside the limits."""
    paths: Mapping[str, ProjectedPath]
    """The ways of solvers, projected."""
    explained: Float[np.ndarray, " m"] | None
    """How much of the paths lies along each axis, of principal directions."""
    n_weightings: int
    """How many of the losses are of rows alone, without a penalty."""

    @property
    def loss(self) -> Float[np.ndarray, "..."]:
        """The loss of all rows at each point of the grid."""
        return self.losses["all rows"]

    @property
    def barrier(self) -> float:
        """How far the loss rises above a straight line between the ends of the first axis.

        Along a line from one model to another it is what separates them.
        """
        first = self.loss if self.loss.ndim == 1 else self._through_center()
        line = np.linspace(first[0], first[-1], len(first))
        return float(np.max(first - line, initial=0.0))

    def _through_center(self) -> np.ndarray:
        other = self.stations["fitted"].point[1]
        return self.loss[:, int(np.abs(self.axes[1] - other).argmin())]

    @property
    def verdict(self) -> str:
        """Where the loss is lowest, and how far the other lowest points are from there."""
        fitted = self.stations["fitted"]
        if fitted.excess <= 2 * fitted.excess_error or fitted.excess < 1e-6:
            first = (
                f"No weights in the picture are shown to be better than the fitted ones, whose "
                f"loss is {fitted.loss:.4g} ± {fitted.error:.2g} nats."
            )
        else:
            first = (
                f"The loss is {fitted.loss:.4g} ± {fitted.error:.2g} nats at the fitted weights "
                f"and {fitted.excess:.3g} ± {fitted.excess_error:.1g} lower at "
                f"{_point(self.stations['all rows'].point)}."
            )
        others = [n for n in self.losses if n != "all rows"]
        rest = [self._compared(name, i + 1) for i, name in enumerate(others)]
        return " ".join([first, *rest, *self._along()])

    def _compared(self, name: str, i: int) -> str:
        at = self.stations[name]
        what = (
            f"{name} alone have"
            if i < self.n_weightings
            else f"With {name} the loss has"
        )
        gap = f"{at.excess:.3g} ± {at.excess_error:.1g} nats"
        where = " (the edge of the picture)" if at.edge else ""
        return (
            f"{what} the lowest point at {_point(at.point)}{where}, where the loss of all rows "
            f"is {gap} above its minimum."
        )

    def _along(self) -> list[str]:
        if self.explained is None:
            return []
        share = 100 * float(self.explained.sum())
        return [f"The plane holds {share:.3g} % of the squared length of the path."]

    def table(self) -> dict[str, Any]:
        """The fitted weights and the lowest points."""
        found = list(self.stations.values())
        columns: dict[str, Any] = {"at": ["fitted weights", *[
            f"lowest, {n}" if i < self.n_weightings else f"lowest with {n}"
            for i, n in enumerate(self.losses)
        ]]}  # fmt: skip
        for j, label in enumerate(self.labels):
            columns[label] = [float(s.point[j]) for s in found]
        columns |= {
            "loss": [s.loss for s in found],
            "error": [s.error for s in found],
            "above the minimum": [s.excess for s in found],
            "its error": [s.excess_error for s in found],
        }
        return columns

    def plot(self) -> Any:
        """Contours of each loss (a curve on one direction), lowest points and paths."""
        from likely.plots import loss_landscape

        return loss_landscape(self)


def _point(point: np.ndarray) -> str:
    return f"({', '.join(f'{x:.3g}' for x in point)})"
