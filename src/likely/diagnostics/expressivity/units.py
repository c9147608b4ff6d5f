r"""A shallow network taken apart: $z_j = xw_j + b_j$, $h_j = φ(z_j)$, $v_j h_j$, their sum y."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.diagnostics.expressivity.assembly import evaluated
from likely.diagnostics.piecewise import inner_chain
from likely.layers import Chain, Dense

POINTS, SIDE = 801, 121


class UnitContributions(NamedTuple):
    """What each hidden unit of a shallow network adds, on a grid of inputs."""

    axes: tuple[Float[np.ndarray, " g"], ...]
    """The grid along each input."""
    pre: Float[np.ndarray, "m ..."]
    """z of each unit."""
    hidden: Float[np.ndarray, "m ..."]
    """h of each unit."""
    weighted: Float[np.ndarray, "m k ..."]
    """h times its weight in each output."""
    output: Float[np.ndarray, "k ..."]
    joints: Float[np.ndarray, " j"]
    """Of one input, where a unit is 0."""

    def plot(self) -> Any:
        """A panel for each of the steps."""
        from likely.plots import unit_contributions

        return unit_contributions(self)


def unit_contributions(model: Any, low: Any, high: Any, **of: Any) -> UnitContributions:
    """Take a network of one hidden layer apart, on an interval or a square of inputs.

    Args:
        model: a dense layer, an activation, a dense layer; one or two inputs. A model, a fit
            by `recipe.fit`, or a fitted estimator, whose inputs are those of the data.
        low: the lower end of each input.
        high: the upper end of each input.
        of: `member`, the number of a network of an estimator with several.
    """
    inner = inner_chain(model, "unit_contributions", **of)
    chain = inner.chain
    dense = [layer for layer in chain.layers if isinstance(layer, Dense)]
    d = np.shape(dense[0].weight)[0] if dense else 0
    if len(chain.layers) != 3 or len(dense) != 2 or d not in (1, 2):
        raise InputError(
            "give a network of one hidden layer with one or two inputs: Dense, activation, Dense."
        )
    low, high = (np.broadcast_to(np.asarray(a, float), d) for a in (low, high))
    size = POINTS if d == 1 else SIDE
    axes = tuple(np.linspace(a, b, size) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    X, shape = grid.reshape(-1, d), grid.shape[:-1]
    first, second = Chain(*chain.layers[:1]), Chain(*chain.layers[:2])
    center, scale = (0.0, 1.0) if inner.center is None else (inner.center, inner.scale)
    Z = (X - center) / scale
    z, h, y = (evaluated(part, Z).T for part in (first, second, chain))
    outer = np.asarray(dense[1].weight, float)
    weighted = h[:, None] * outer[:, :, None]
    joints = np.zeros(0)
    if d == 1:
        W, b = (np.asarray(a, float).ravel() for a in (dense[0].weight, dense[0].bias))
        at = np.sort(np.ravel(-b[W != 0] / W[W != 0] * scale + center))
        joints = at[(at > low[0]) & (at < high[0])]
    return UnitContributions(
        axes,
        z.reshape(-1, *shape),
        h.reshape(-1, *shape),
        weighted.reshape(*weighted.shape[:2], *shape),
        y.reshape(-1, *shape),
        joints,
    )
