"""Is a gradient right, and how small should the step of a difference be (G1)?"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from likely.autodiff.numerical import STEPS, Call
from likely.autodiff.text import number, table
from likely.core.checks import InputError
from likely.core.precision import float64


@dataclass(frozen=True)
class LeafCheck:
    """One array of the arguments, compared entry by entry."""

    name: str
    checked: int
    size: int
    worst: float
    """|automatic − numerical| / (1 + the larger of both), at the worst entry."""
    entry: str
    """The worst entry: w[2, 0]."""
    automatic: float
    numerical: float


@dataclass(frozen=True)
class GradientCheck:
    """Automatic against numerical derivatives."""

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
        f: any function JAX can trace, with derivatives of its own or without.
        *args: arrays, numbers or pytrees; or all of them as one tuple.
        argnums: the arguments to check; all of them by default.
        tolerance: the error that is still good, relative to 1 + the derivative.
        entries: at most this many of each array are checked, evenly spread.
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
    """The arguments, also where they came as one tuple that `f` cannot take whole."""
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
    place = np.unravel_index(np.argmax(np.nan_to_num(error, nan=np.inf)), error.shape)
    at = np.unravel_index(chosen[place[-1]], leaf.shape) if leaf.shape else ()
    index = f"[{', '.join(str(int(i)) for i in at)}]" if leaf.shape else ""
    of = (
        f" of output [{', '.join(str(int(i)) for i in place[:-1])}]"
        if place[:-1]
        else ""
    )
    return LeafCheck(
        call.names[k],
        len(chosen),
        leaf.size,
        float(error[place]),
        call.names[k] + index + of,
        float(exact[place]),
        float(rough[place]),
    )


@dataclass(frozen=True)
class StepAdvice:
    """The error of each difference for many steps, and the best step of each."""

    steps: np.ndarray = field(repr=False)
    errors: dict[str, np.ndarray] = field(repr=False)
    """Relative error by method."""

    @property
    def best(self) -> dict[str, float]:
        """The step whose neighbourhood has the least error, by method."""
        found = {}
        for method, error in self.errors.items():
            wide = np.pad(error, 1, mode="edge")
            around = np.maximum(np.maximum(wide[:-2], wide[1:-1]), wide[2:])
            found[method] = float(self.steps[np.argmin(around)])
        return found

    def __str__(self) -> str:
        rows = [
            (f"{h:.0e}", *(f"{e[k]:.1e}" for e in self.errors.values()))
            for k, h in enumerate(self.steps)
        ]
        advice = "; ".join(
            f"{m}: best near {h:.0e} (the rule says {STEPS[m]:.0e})"
            for m, h in self.best.items()
        )
        return f"{table(('step', *self.errors), rows)}\n{advice}"


def step_advice(f: Callable, *args: Any, **options: Any) -> StepAdvice:
    """Measure how the error of differences depends on the step.

    The true derivative is JAX's. Large steps cut off the Taylor series, small ones
    drown in rounding; the best lies between.

    Args:
        f: a function of floats to a float.
        *args: arrays, numbers or pytrees.
        **options: `argnums`, `has_aux` and keyword arguments of `f`.
    """
    argnums, has_aux = options.pop("argnums", None), options.pop("has_aux", False)
    call = Call(f, args, options, argnums=argnums, has_aux=has_aux)
    steps = 10.0 ** -np.arange(1, 15)
    leaves = call.leaves
    scale = [np.maximum(1.0, np.abs(leaf)) for leaf in leaves]
    with float64():
        value, slope = jax.jvp(call.value, leaves, scale)
        if np.shape(value):
            raise InputError("step_advice needs a function that returns one number.")

        @jax.jit
        def run(h):
            pairs = zip(leaves, scale, strict=True)
            return call.value(*(x + h * s for x, s in pairs))

        ahead = np.array([run(h) for h in steps])
        behind = np.array([run(-h) for h in steps])
    slopes = {
        "forward": (ahead - np.asarray(value)) / steps,
        "central": (ahead - behind) / (2 * steps),
    }
    size = max(abs(float(slope)), np.finfo(float).tiny)
    return StepAdvice(
        steps,
        {name: np.abs(found - float(slope)) / size for name, found in slopes.items()},
    )
