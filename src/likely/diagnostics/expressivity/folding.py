r"""Folding networks: ReLU networks that have as many linear regions as is known to be possible.

D ≥ 3 units make a zigzag of D + 1 pieces over [0, 1], each onto [0, 1]: kinks at
$t_i = (2i - 1)u$ with $u = 1/(2D + 1)$, slopes $1/u, -1/2u, 1/2u, \dots$ A sum of ReLUs that all
open to the right would be flat before its first kink; the third unit opens to the left, and the
slope change there, −1/u, is just what the first piece needs. One such zigzag on each coordinate
folds the unit cube onto itself $(D + 1)^{n_0}$ times: whatever the next layer draws on the cube
appears in every fold.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog

from likely.core.checks import InputError
from likely.diagnostics.expressivity.assembly import assembled
from likely.diagnostics.expressivity.region_bounds import region_bounds
from likely.models import MLP


class FoldingNetwork(NamedTuple):
    """A ReLU network with many linear regions inside the unit cube."""

    settings: MLP
    model: Any
    regions: int
    """The number of its linear regions inside the unit cube."""


class Zigzag(NamedTuple):
    """A piecewise linear map of [0, 1] onto itself: Σ c·relu(s·(x − t)) + b."""

    signs: Float[np.ndarray, " m"]
    kinks: Float[np.ndarray, " m"]
    weights: Float[np.ndarray, " m"]
    bias: float


def zigzag(units: int) -> Zigzag:
    """The zigzag with the most pieces that so many ReLUs can make.

    Args:
        units: the number of ReLUs.
    """
    if units < 1:
        raise InputError(f"units is {units}; give at least 1.")
    if units < 3:  # the first piece needs a unit of its own
        weights = np.array([1.0, -2.0])[:units] * units
        return Zigzag(np.ones(units), np.arange(units) / units, weights, 0.0)
    u = 1 / (2 * units + 1)
    kinks = u * (2 * np.arange(1, units + 1) - 1)
    slopes = np.append(1 / u, (-1.0) ** np.arange(1, units + 1) / (2 * u))
    signs = np.ones(units)
    signs[2] = -1.0
    return Zigzag(signs, kinks, np.diff(slopes), kinks[2] / u)


def folding_network(
    n_in: int, widths: Sequence[int], *, tilt: float = 0.0
) -> FoldingNetwork:
    """A ReLU network with as many regions in the unit cube as the bound from below says.

    All hidden layers but the last fold the cube; the last draws hyperplanes in general position
    into it.

    Args:
        n_in: the number of inputs.
        widths: units of each hidden layer: at least `n_in` to fold, more in the last one.
        tilt: how much the parallel folds of the first layer are turned. Then they meet, far
            away, which adds regions outside of the cube.
    """
    bounds = region_bounds(n_in, widths)
    if bounds.widths[-1] <= n_in:
        raise InputError(
            f"the last hidden layer has {bounds.widths[-1]} units; with {n_in} inputs give it "
            f"at least {n_in + 1}, or folds next to each other have flat parts in common."
        )
    if min(bounds.widths[:-1], default=n_in) < n_in:
        raise InputError(
            f"a layer that folds needs a unit for each of the {n_in} inputs; the widths are "
            f"{bounds.widths}."
        )
    W, b = np.eye(n_in), np.zeros(n_in)  # from the last layer to the coordinates
    layers = []
    for n in bounds.widths[:-1]:
        one = zigzag(n // n_in)
        inner = np.zeros((n_in, n))
        bias, outer = np.full(n, -1.0), np.zeros((n, n_in))  # units left over stay off
        for i in range(n_in):
            at = slice(i * len(one.kinks), (i + 1) * len(one.kinks))
            inner[i, at], bias[at] = one.signs, -one.signs * one.kinks
            outer[at, i] = one.weights
        layers.append((W @ inner, b @ inner + bias))
        W, b = outer, np.full(n_in, one.bias)
    normals, offsets = hyperplanes(bounds.widths[-1], n_in)
    layers.append((W @ normals, b @ normals + offsets))
    output = 1.0 + np.sqrt(np.arange(1, bounds.widths[-1] + 1))
    layers.append((output[:, None] * (-1.0) ** np.arange(len(output))[:, None], [0.0]))
    if tilt:
        first, bias = layers[0]
        turned = np.random.default_rng(0).normal(size=first.shape)
        layers[0] = first + tilt * turned, bias
    settings, model = assembled(layers)
    return FoldingNetwork(settings, model, bounds.lower)


def hyperplanes(
    n: int, n_in: int
) -> tuple[Float[np.ndarray, "d n"], Float[np.ndarray, " n"]]:
    """Hyperplanes x·w + b = 0 in general position, all meeting inside the unit cube.

    Args:
        n: how many.
        n_in: the dimension.
    """
    if n_in == 1:
        return _never_all_off(np.ones((1, n)), -(np.arange(n) + 1) / (n + 1))
    if n_in == 2:  # tangents of a circle: no three meet
        angle = np.pi * (np.arange(n) + 0.3) / n
        normals = np.stack([np.cos(angle), np.sin(angle)])
        distance = np.full(n, 0.4 * np.sin(np.pi / (2 * n)))
    else:
        rng = np.random.default_rng(0)
        normals = rng.normal(size=(n_in, n))
        normals /= np.linalg.norm(normals, axis=0)
        distance = rng.uniform(0.5, 1.5, n)
        meetings = [
            np.linalg.solve(normals[:, list(c)].T, distance[list(c)])
            for c in combinations(range(n), n_in)
        ]
        distance *= 0.4 / max((np.abs(m).max() for m in meetings), default=1.0)
    return _never_all_off(normals, -distance - 0.5 * normals.sum(0))


def _never_all_off(
    normals: Float[np.ndarray, "d n"], offsets: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "d n"], Float[np.ndarray, " n"]]:
    """The hyperplanes with signs such that at every point some unit is on.

    Otherwise the network would be flat there, and two folds could share the flat part.
    """
    rng, n = np.random.default_rng(0), len(offsets)
    signs = (-1.0) ** np.arange(n)
    while n > len(normals):
        all_off = linprog(
            np.zeros(len(normals)),
            A_ub=(signs * normals).T,
            b_ub=-signs * offsets,
            bounds=(None, None),
        )
        if not all_off.success:
            break
        signs = rng.choice([-1.0, 1.0], n)
    return signs * normals, signs * offsets
