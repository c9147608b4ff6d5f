r"""Deep networks for targets that are compositions, beside shallow ones of the same error.

**The square** on [0, 1] (Yarotsky): with the tent $g(x) = 2\min(x, 1 - x)$ and its s-fold
composition $g_s$,

$$x^2 \approx x - \sum_{s=1}^m 4^{-s} g_s(x), \qquad \text{error } 4^{-m-1} \text{ at most}.$$

Three units in each of m layers compute it: two for the tent of the tent, one that carries the
sum. One hidden layer needs $2^m$ pieces for the same error, so $2^m + 1$ units.

**The sawtooth** of a folding network with K layers of D units has $(D + 1)^K$ pieces; a shallow
network has at most one piece more than units.

**A line through random values** at n + 1 points is no composition of anything: its values are
n + 1 free numbers, and a network with fewer parameters, of any depth, reaches almost none of
them exactly (the image of fewer dimensions has measure 0). A shallow network with n + 1 units
has about 3n parameters: no depth can gain more than a factor of three.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likely.autodiff.networks.depth import parameter_count
from likely.base.settings import at_least
from likely.core.random import seed_of
from likely.diagnostics.expressivity.approximation import (
    Approximation,
    Target,
    approximation_of,
)
from likely.diagnostics.expressivity.assembly import evaluated
from likely.diagnostics.expressivity.folding import folding_network
from likely.diagnostics.expressivity.splines import polygonal_network, spline_network
from likely.diagnostics.regions import linear_pieces
from likely.diagnostics.result import Result


def square_network(n_layers: int) -> Approximation:
    """A deep ReLU network that is within 4^(−m−1) of x² on [0, 1].

    Args:
        n_layers: the number m of hidden layers, of three units each.
    """
    m = at_least("n_layers", n_layers, 1, whole=True)
    tent = np.array([2.0, -4.0, 0.0])  # g of the last layer from its three units
    layers: list[tuple[Any, Any]] = [(np.ones((1, 3)), [0.0, -0.5, 0.0])]
    for s in range(1, m + 1):
        total = np.array([0.0, 0.0, 1.0]) - tent / 4**s
        if s == m:
            layers.append((total[:, None], [0.0]))
        else:
            layers.append((np.stack([tent, tent, total], axis=1), [0.0, -0.5, 0.0]))
    return approximation_of(
        Target(np.square, 0.0, 1.0),
        layers,
        "relu",
        kind=f"{m} layers of sawteeth",
        epsilon=4.0 ** (-m - 1) * (1 + 1e-9),
        promised_units=3 * m,
    )


class DepthRow(NamedTuple):
    """A target, and how large a deep and a shallow network for it are."""

    target: str
    depth: int
    error: float
    """The largest error of both, at most."""
    deep_units: int
    shallow_units: int
    deep_parameters: int
    shallow_parameters: int
    least_parameters: int | None
    """Parameters that a network of any depth needs at least, where that is known."""


@dataclass(frozen=True, repr=False, eq=False)
class DepthTable(Result):
    """Sizes of deep and shallow networks for the same target and error."""

    rows: tuple[DepthRow, ...]

    @property
    def verdict(self) -> str:
        """Where depth wins, and where it cannot."""
        parts = []
        for name in dict.fromkeys(row.target for row in self.rows):
            last = [row for row in self.rows if row.target == name][-1]
            ratio = last.shallow_parameters / last.deep_parameters
            if last.least_parameters is not None:
                most = last.shallow_parameters / last.least_parameters
                parts.append(
                    f"for a {name} no depth can save more than {most:.2g} times"
                )
            else:
                parts.append(
                    f"for the {name} a shallow network needs {ratio:.2g} times the parameters of "
                    f"a deep one of {last.depth} layers"
                )
        sentence = "; ".join(parts) + "."
        return sentence[0].upper() + sentence[1:]

    def table(self) -> dict[str, Any]:
        """All rows."""
        fields = DepthRow._fields
        names = [name.replace("_", " ") for name in fields]
        return {
            name: [getattr(row, field) for row in self.rows]
            for name, field in zip(names, fields, strict=True)
        }

    def plot(self) -> Any:
        """Parameters of deep and shallow networks over the depth."""
        from likely.plots import depth_table

        return depth_table(self)


def depth_table(
    depths: Sequence[int] = (2, 4, 6, 8), *, width: int = 3, random_state: Any = 0
) -> DepthTable:
    """Build deep and shallow networks for three targets, and compare their sizes.

    Every network is built and its error measured on a fine grid.

    Args:
        depths: hidden layers of the deep networks.
        width: units of each layer of the folding networks.
        random_state: the seed of the line through random values.
    """
    rng = np.random.default_rng(seed_of(random_state))
    rows = [_square(m) for m in depths]
    rows += [_sawtooth(k, width) for k in depths if (width + 1) ** k <= 20_000]
    rows += [_random_line(2**m, rng) for m in depths]
    return DepthTable(tuple(rows))


def _square(m: int) -> DepthRow:
    deep = square_network(m)
    shallow = spline_network(np.square, 0.0, 1.0, deep.epsilon, curvature=2.0)
    error = max(deep.error, shallow.error)
    return _row("square", error, deep.units, shallow.units, None)


def _sawtooth(k: int, width: int) -> DepthRow:
    folded = folding_network(1, (width,) * k)
    pieces = linear_pieces(folded.model, 0, 1)
    shallow = polygonal_network(pieces.x, pieces.y[:, 0])
    x = pieces.x[:, None]
    gaps = np.abs(evaluated(folded.model, x) - evaluated(shallow.model, x))
    return _row(
        "sawtooth", float(gaps.max()), folded.settings.hidden, shallow.units, None
    )


def _random_line(n: int, rng: np.random.Generator) -> DepthRow:
    line = polygonal_network(np.arange(n + 1) / n, rng.normal(size=n + 1))
    return _row("random line", line.error, line.units, line.units, n + 1)


def _row(
    target: str,
    error: float,
    deep: tuple[int, ...],
    shallow: tuple[int, ...],
    least: int | None,
) -> DepthRow:
    counts = [parameter_count((1, *units, 1)) for units in (deep, shallow)]
    return DepthRow(
        target, len(deep), error, sum(deep), sum(shallow), counts[0], counts[1], least
    )
