"""Gradient checks: automatic against numerical derivatives."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely.autodiff.numerical.differences import Call
from likely.autodiff.program.text import number, table


@dataclass(frozen=True)
class LeafCheck:
    """The comparison for one array of the arguments."""

    name: str
    checked: int
    size: int
    worst: float
    """The largest |automatic − numerical| / (1 + the larger of both)."""
    entry: str
    """The worst entry, such as w[2, 0]."""
    automatic: float
    numerical: float


@dataclass(frozen=True)
class GradientCheck:
    """The comparison of automatic with numerical derivatives, for each array."""

    leaves: tuple[LeafCheck, ...]
    tolerance: float

    @property
    def worst(self) -> LeafCheck:
        """The leaf with the worst entry."""
        return max(self.leaves, key=lambda leaf: np.nan_to_num(leaf.worst, nan=np.inf))

    @property
    def ok(self) -> bool:
        """Whether all checked entries agree."""
        return bool(self.worst.worst <= self.tolerance)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        head = ("argument", "checked", "worst error", "at", "automatic", "numerical")
        rows = [
            (
                leaf.name,
                f"{leaf.checked} of {leaf.size}",
                f"{leaf.worst:.1e}",
                leaf.entry,
                number(leaf.automatic, 7),
                number(leaf.numerical, 7),
            )
            for leaf in self.leaves
        ]
        worst = self.worst
        verdict = (
            f"agree: the worst entry is {worst.entry}, off by {worst.worst:.1e}"
            if self.ok
            else f"DIFFER at {worst.entry}: automatic {number(worst.automatic, 7)}, "
            f"numerical {number(worst.numerical, 7)}; the derivative is wrong, or there "
            "is a kink or a jump within the step"
        )
        return f"{table(head, rows)}\n{verdict}"

    __repr__ = __str__


def check_gradients(
    f: Callable,
    *args: Any,
    argnums: int | Sequence[int] | None = None,
    tolerance: float = 1e-6,
    entries: int = 500,
    has_aux: bool = False,
    **kwargs: Any,
) -> GradientCheck:
    """Compare JAX's derivative of a function with central differences, in float64.

    Args:
        f: any function JAX can trace, with or without custom derivatives.
        *args: arrays, numbers or pytrees; or all of them as one tuple.
        argnums: the arguments to check; all of them by default.
        tolerance: the largest accepted error, relative to 1 + the derivative.
        entries: the largest number of entries of each array to check, evenly spaced.
        has_aux: whether `f` returns (result, something else).
        **kwargs: further arguments, held constant.
    """
    call = Call(f, unpacked(f, args), kwargs, argnums=argnums, has_aux=has_aux)
    automatic = call.automatic()
    return GradientCheck(
        tuple(_check(call, k, exact, entries) for k, exact in enumerate(automatic)),
        tolerance,
    )


def unpacked(f: Callable, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments; a single tuple is unpacked if `f` cannot take it as one argument."""
    if len(args) != 1 or type(args[0]) is not tuple:
        return args
    try:
        inspect.signature(f).bind(*args)
    except TypeError:
        return args[0]
    except ValueError:  # no signature to ask
        pass
    return args


def _check(call: Call, k: int, exact: np.ndarray, entries: int) -> LeafCheck:
    leaf = call.leaves[k]
    chosen = np.unique(
        np.linspace(0, leaf.size - 1, min(entries, leaf.size)).astype(int)
    )
    rough = call.differences(k, "central", None, chosen)
    exact = exact.reshape(*rough.shape[:-1], leaf.size)[..., chosen]
    error = np.abs(exact - rough) / (1 + np.maximum(np.abs(exact), np.abs(rough)))
    worst = np.unravel_index(np.argmax(np.nan_to_num(error, nan=np.inf)), error.shape)
    *output, entry = map(int, worst)
    at = list(map(int, np.unravel_index(chosen[entry], leaf.shape)))
    shown = f"{call.names[k]}{at or ''}" + (f" of output {output}" if output else "")
    numbers = float(error[worst]), shown, float(exact[worst]), float(rough[worst])
    return LeafCheck(call.names[k], len(chosen), leaf.size, *numbers)
