"""Costs as a size grows: which mode scales with what."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from likely.autodiff.cost import Cost, Mode
from likely.autodiff.text import count, table
from likely.autodiff.trace import trace


@dataclass(frozen=True)
class Growth:
    """Costs as a size grows, and the powers they grow with."""

    sizes: tuple[int, ...]
    costs: tuple[Cost, ...] = field(repr=False)

    def exponent(self, mode: str, what: str = "flops") -> float:
        """The power p in cost ~ sizeᵖ, from the last two sizes."""
        (a, b), (s, t) = (self._column(mode, what)[-2:], self.sizes[-2:])
        return float(np.log(b / a) / np.log(t / s))

    def _column(self, mode: str, what: str) -> list[int | float]:
        modes = [_find(cost, mode) for cost in self.costs]
        if what in ("stored", "peak", "runs"):
            return [getattr(m, what) for m in modes]
        return [getattr(m.work, what) for m in modes]

    def __str__(self) -> str:
        names = [mode.name.partition(",")[0] for mode in self.costs[0].modes]
        names = [n for n in dict.fromkeys(names) if n != "value"]
        head = ["size", *(f"{n} {what}" for n in names for what in ("flops", "peak"))]
        rows = [
            [
                size,
                *(
                    count(self._column(n, w)[k])
                    for n in names
                    for w in ("flops", "peak")
                ),
            ]
            for k, size in enumerate(self.sizes)
        ]
        powers = [
            f"{self.exponent(n, w):.2f}" for n in names for w in ("flops", "peak")
        ]
        return table(head, [*rows, ["power", *powers]])


def _find(cost: Cost, name: str) -> Mode:
    """The mode of this name; of several that begin so, the last (all inputs)."""
    return [mode for mode in cost.modes if mode.name.startswith(name)][-1]


def growth(
    build: Callable[[int], tuple[Callable, Sequence[Any]]],
    sizes: Sequence[int],
    *,
    segments: int | None = None,
    **options: Any,
) -> Growth:
    """Count a family of programs, one for each size.

    Args:
        build: from a size to (function, arguments); `jax.ShapeDtypeStruct` will do for
            arguments, since nothing is computed.
        sizes: growing.
        segments: of checkpointing; the root of the number of steps by default.
        **options: of `trace`.
    """
    costs = []
    for size in sizes:
        f, arguments = build(size)
        costs.append(trace(f, *arguments, **options).cost(segments, xla=False))
    return Growth(tuple(sizes), tuple(costs))
