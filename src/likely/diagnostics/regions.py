r"""The linear regions of a ReLU network, exactly.

A network whose activations have one kink, at 0, is linear wherever no unit changes its
sign. In one dimension the regions are intervals between *joints* (breakpoints), at most
D + 1 of them for one layer of D units; in two dimensions they are convex polygons. Both
are found layer by layer: the regions so far are split where a unit of the next layer is
zero.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.diagnostics.piecewise import Affine, piecewise_network, slopes_of


@dataclass(frozen=True)
class Pieces:
    """A piecewise linear function of one variable."""

    x: np.ndarray
    """The ends of the interval and the joints between them, ascending: (m,)."""
    y: np.ndarray
    """The outputs at x: (m, k)."""

    @property
    def joints(self) -> np.ndarray:
        """The points where the slope changes."""
        return self.x[1:-1]

    @property
    def slopes(self) -> np.ndarray:
        """The slope of each linear piece: (m − 1, k)."""
        return np.diff(self.y, axis=0) / np.diff(self.x)[:, None]

    def preimages(self, value: float | int) -> np.ndarray:
        """All x at which the first output has this value."""
        y, slope = self.y[:, 0] - value, self.slopes[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            at = self.x[:-1] - y[:-1] / slope
        inside = (y[:-1] * y[1:] < 0) | (y[:-1] == 0)
        return np.append(at[inside & (slope != 0)], self.x[-1:][y[-1:] == 0])


def linear_pieces(model: Any, low: float | int, high: float | int, **of: Any) -> Pieces:
    """The linear pieces of a network with one input, between two points.

    Args:
        model: a chain of dense layers and ReLUs (plain, leaky or with learned slopes), with
            batch norms, dropout and residual blocks; a fit of one by `recipe.fit`; or a
            fitted estimator, whose inputs are those of the data and whose outputs are those
            of its network.
        low: the lower end.
        high: the upper end.
        of: `state`, the running statistics of a plain model; `member`, the number of a
            network of an estimator with several.
    """
    x = np.array([low, high], float)
    h = x[:, None]
    for layer in _maps(model, 1, "linear_pieces", of):
        if isinstance(layer, Affine):
            h = h @ layer.weight + layer.bias
            continue
        before, after = h[:-1], h[1:]
        slope = slopes_of(layer, h.shape[1])
        i, unit = np.nonzero((before * after < 0) & (slope != 1))
        fraction = before[i, unit] / (before[i, unit] - after[i, unit])
        points = x[i] + fraction * (x[i + 1] - x[i])
        values = before[i] + fraction[:, None] * (after[i] - before[i])
        values[np.arange(len(i)), unit] = 0
        order = np.argsort(np.append(x, points), kind="stable")
        x, h = np.append(x, points)[order], np.concatenate([h, values])[order]
        h = np.where(h >= 0, h, slope * h)
    return _merged(x, h)


def _merged(x: np.ndarray, y: np.ndarray) -> Pieces:
    """The pieces without the points at which no slope changes."""
    new = np.append(True, np.diff(x) > 1e-12 * np.abs(x).max())
    x, y = x[new], y[new]
    slopes = np.diff(y, axis=0) / np.diff(x)[:, None]
    changes = (np.abs(np.diff(slopes, axis=0)) > 1e-9 * np.abs(slopes).max()).any(1)
    keep = np.concatenate([[True], changes, [True]])
    return Pieces(x[keep], y[keep])


@dataclass(frozen=True)
class Region:
    """A convex polygon on which the network is $xW + b$."""

    corners: np.ndarray
    """The corners in order: (m, 2)."""
    weight: np.ndarray
    bias: np.ndarray


def linear_regions(model: Any, box: Sequence, **of: Any) -> list[Region]:
    """The linear regions of a network with two inputs in a box (x₀, x₁, y₀, y₁).

    Args:
        model: a network, a fit or a fitted estimator, as `linear_pieces` takes them.
        box: the ends of both inputs.
        of: `state` and `member`, as for `linear_pieces`.
    """
    x0, x1, y0, y1 = box
    square = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], float)
    regions = [Region(square, np.eye(2), np.zeros(2))]
    for layer in _maps(model, 2, "linear_regions", of):
        if isinstance(layer, Affine):
            regions = [
                Region(r.corners, r.weight @ layer.weight,
                       r.bias @ layer.weight + layer.bias)
                for r in regions
            ]  # fmt: skip
        else:
            regions = [part for r in regions for part in _activated(r, layer)]
    return regions


def _activated(region: Region, kink: Any) -> Iterator[Region]:
    """The parts of a region on which no unit changes its sign, after the activation."""
    parts, slope = [region.corners], slopes_of(kink, len(region.bias))
    bent = slope != 1
    for w, b in zip(region.weight.T[bent], region.bias[bent], strict=True):
        parts = [half for corners in parts for half in _split(corners, corners @ w + b)]
    for corners in parts:
        middle = corners.mean(0) @ region.weight + region.bias
        factor = np.where(middle >= 0, 1.0, slope)
        yield Region(corners, region.weight * factor, region.bias * factor)


def _split(corners: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
    """A polygon split along z = 0, with z given at its corners."""
    small = 1e-9 * np.abs(z).max()
    if z.min() >= -small or z.max() <= small:
        return [corners]
    sides: dict[int, list] = {1: [], -1: []}
    after = np.roll(corners, -1, 0), np.roll(z, -1)
    for p, a, q, b in zip(corners, z, *after, strict=True):
        for sign, side in sides.items():
            if sign * a >= 0:
                side.append(p)
            if a * b < 0:
                side.append(p + a / (a - b) * (q - p))
    return [np.array(side) for side in sides.values()]


def _maps(model: Any, n_in: int, caller: str, of: dict[str, Any]) -> tuple[Any, ...]:
    """The affine maps of a network and the kinks between them."""
    found = piecewise_network(model, caller, **of)
    if found.n_in != n_in:
        raise InputError(
            f"{caller} takes networks with {n_in} input{'s'[: n_in > 1]}; this one has "
            f"{found.n_in}."
        )
    return found.maps
