"""The growth of the costs of the modes with the size of a problem."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from likely.autodiff.modes.cost import Cost, Mode
from likely.autodiff.modes.trace import trace
from likely.autodiff.program.text import count, table


@dataclass(frozen=True)
class Growth:
    """The costs for several sizes, and the exponents of their growth."""

    sizes: tuple[int, ...]
    costs: tuple[Cost, ...] = field(repr=False)

    def exponent(self, mode: str, what: str = "flops") -> float:
        """The power p in cost ~ sizeᵖ, from the last two sizes."""
        (a, b), (s, t) = (self._column(mode, what)[-2:], self.sizes[-2:])
        return float(np.log(b / a) / np.log(t / s))

    def _column(self, mode: str, what: str) -> list[int | float]:
        modes = [_find(cost, mode) for cost in self.costs]
        return [getattr(m if what in m._fields else m.work, what) for m in modes]

    def __str__(self) -> str:
        names = [mode.name.partition(",")[0] for mode in self.costs[0].modes]
        names = [n for n in dict.fromkeys(names) if n != "value"]
        shown = [(name, what) for name in names for what in ("flops", "peak")]
        columns = [map(count, self._column(*which)) for which in shown]
        rows = zip(self.sizes, *columns, strict=True)
        powers = ("power", *(f"{self.exponent(*which):.2f}" for which in shown))
        return table(["size", *map(" ".join, shown)], [*rows, powers])

    __repr__ = __str__


def _find(cost: Cost, name: str) -> Mode:
    """The mode with this name; of several that begin with it, the last (all inputs)."""
    return [mode for mode in cost.modes if mode.name.startswith(name)][-1]


def growth(
    build: Callable[[int], tuple[Callable, Sequence[Any]]],
    sizes: Sequence[int],
    *,
    segments: int | None = None,
    **options: Any,
) -> Growth:
    """Count the cost of a program for each of several sizes.

    Args:
        build: maps a size to (function, arguments); arguments may be
            `jax.ShapeDtypeStruct`, since nothing is computed.
        sizes: the sizes, ascending.
        segments: the segments of checkpointing; by default the square root of the number
            of steps.
        **options: options of `trace`.
    """
    costs = []
    for size in sizes:
        f, arguments = build(size)
        costs.append(trace(f, *arguments, **options).cost(segments, xla=False))
    return Growth(tuple(sizes), tuple(costs))
