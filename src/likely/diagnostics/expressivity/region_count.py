r"""The number of linear regions of a ReLU network with one or two inputs, counted exactly.

`linear_regions` cuts a box where a unit changes its sign; neighbours on which the network is
the same affine function (a unit changed that nothing depends on) are one linear region. Far away
regions are unbounded; a box is large enough when ten and a hundred times its size add none.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.diagnostics.piecewise import piecewise_network
from likely.diagnostics.regions import Region, linear_pieces, linear_regions

GROWTH, MAX_GROWTHS = 10.0, 8
DIGITS = 7
"""Relative digits to which two affine maps have to agree to be the same."""


class RegionCount(NamedTuple):
    """The linear regions of a network in a box."""

    linear: int
    """The largest connected parts on which the network is affine."""
    maps: int
    """The different affine functions among them."""
    box: tuple[float, ...]


def count_regions(model: Any, box: Any = None, **of: Any) -> RegionCount:
    """Count the linear regions of a ReLU network with one or two inputs.

    Args:
        model: a network, a fit or a fitted estimator, as `linear_pieces` takes them.
        box: (low, high), or (x₀, x₁, y₀, y₁); None for the whole line or plane.
        of: `state` and `member`, as for `linear_pieces`.
    """
    n_in = piecewise_network(model, "count_regions", **of).n_in
    if n_in > 2:
        raise InputError(
            f"the network has {n_in} inputs; regions are counted exactly for 1 or 2."
        )
    if box is not None:
        return _counted(model, of, n_in, tuple(map(float, box)))
    reach, found = 10.0, []
    for _ in range(MAX_GROWTHS):
        found.append(_counted(model, of, n_in, (-reach, reach) * n_in))
        if len(found) > 2 and len({f.linear for f in found[-3:]}) == 1:
            return found[-3]
        reach *= GROWTH
    return found[-1]


def _counted(
    model: Any, of: dict[str, Any], n_in: int, box: tuple[float, ...]
) -> RegionCount:
    if n_in == 1:
        pieces = linear_pieces(model, *box, **of)
        slopes = pieces.slopes
        maps = np.hstack([slopes, pieces.y[:-1] - slopes * pieces.x[:-1, None]])
        return RegionCount(len(slopes), len(set(_rounded(maps))), box)
    regions = linear_regions(model, box, **of)
    groups: dict[tuple, list[Region]] = {}
    for region, key in zip(regions, _keys(regions), strict=True):
        groups.setdefault(key, []).append(region)
    linear = sum(_components(group) for group in groups.values())
    return RegionCount(linear, len(groups), box)


def _keys(regions: list[Region]) -> list[tuple]:
    """The affine map of each region."""
    maps = np.stack([np.append(r.weight.ravel(), r.bias) for r in regions])
    return _rounded(maps)


def _rounded(maps: Float[np.ndarray, "m k"]) -> list[tuple]:
    """Affine maps, rounded to some digits of the largest entry."""
    scale = np.abs(maps).max(0)
    rounded = np.round(maps / np.where(scale > 0, scale, 1.0), DIGITS) + 0.0
    return [tuple(row) for row in rounded]


def _components(group: list[Region]) -> int:
    """The connected parts of regions with the same map."""
    n = len(group)
    parent = list(range(n))

    def root(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    for i in range(n):
        for j in range(i):
            if root(i) != root(j) and _share_an_edge(
                group[i].corners, group[j].corners
            ):
                parent[root(i)] = root(j)
    return len({root(i) for i in range(n)})


def _share_an_edge(a: Float[np.ndarray, "m 2"], b: Float[np.ndarray, "k 2"]) -> bool:
    """Whether two convex polygons have a common piece of border that is no point."""
    size = max(np.ptp(a, 0).max(), np.ptp(b, 0).max())
    p, d = a, np.roll(a, -1, 0) - a
    length = np.linalg.norm(d, axis=1)
    keep = length > 1e-9 * size
    p, d = p[keep], d[keep] / length[keep, None]
    length = length[keep]
    q, e = b, np.roll(b, -1, 0)
    for start, unit, reach in zip(p, d, length, strict=True):
        across = (q - start) @ [-unit[1], unit[0]], (e - start) @ [-unit[1], unit[0]]
        on = (np.abs(across[0]) < 1e-9 * size) & (np.abs(across[1]) < 1e-9 * size)
        along = np.sort(np.stack([(q - start) @ unit, (e - start) @ unit]), axis=0)
        common = np.minimum(along[1], reach) - np.maximum(along[0], 0.0)
        if (on & (common > 1e-7 * min(size, reach))).any():
            return True
    return False
