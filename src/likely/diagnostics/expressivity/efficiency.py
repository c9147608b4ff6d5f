"""How many units constructions need for an error, and how the number grows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from likely.core.checks import InputError
from likely.diagnostics.expressivity.approximation import Approximation
from likely.diagnostics.expressivity.splines import bernstein_network, spline_network
from likely.diagnostics.expressivity.steps import interval_network
from likely.diagnostics.result import Result

EPSILONS = (0.2, 0.1, 0.05, 0.025)


@dataclass(frozen=True, repr=False, eq=False)
class ApproximationStudy(Result):
    """Units and errors of networks that were built for the same function."""

    names: tuple[str, ...]
    epsilons: Float[np.ndarray, " e"]
    units: Int[np.ndarray, "c e"]
    errors: Float[np.ndarray, "c e"]
    networks: tuple[tuple[Approximation, ...], ...]

    @property
    def orders(self) -> Float[np.ndarray, " c"]:
        """By which power of 1/ε the number of units grows, of each construction."""
        logs = np.log(self.units.astype(float))
        return np.array([np.polyfit(-np.log(self.epsilons), row, 1)[0] for row in logs])

    @property
    def verdict(self) -> str:
        """Whether all promises were kept, and how the numbers of units grow."""
        kept = all(a.kept for row in self.networks for a in row)
        growth = "; ".join(
            f"{name} like ε^−{order:.2g}"
            for name, order in zip(self.names, self.orders, strict=True)
        )
        how = "Every network keeps its promise" if kept else "Some networks break it"
        return f"{how}. Units grow with {growth}."

    def table(self) -> dict[str, Any]:
        """Units and errors by construction and ε."""
        flat = [a for row in self.networks for a in row]
        names = [name for name in self.names for _ in self.epsilons]
        return {
            "construction": names,
            "promised error": [a.epsilon for a in flat],
            "found": [a.error for a in flat],
            "promised units": [a.promised_units for a in flat],
            "units": [sum(a.units) for a in flat],
        }

    def plot(self) -> Any:
        """Units over errors on log axes."""
        from likely.plots import approximation_study

        return approximation_study(self)


def approximation_study(
    f: Callable,
    low: Any,
    high: Any,
    *,
    epsilons: Sequence[float] = EPSILONS,
    lipschitz: Any = None,
    curvature: Any = None,
) -> ApproximationStudy:
    """Build networks for a function of a number by three constructions, at several errors.

    Args:
        f: a smooth function, called with (n,) arrays.
        low: the lower end of the interval.
        high: the upper end.
        epsilons: the errors that are promised.
        lipschitz: the Lipschitz constant of f; None measures it on a grid.
        curvature: a bound on |f''|; None measures it on a grid.
    """
    if len(epsilons) < 2:
        raise InputError(
            "give at least two errors, to see how the numbers of units grow."
        )
    found = {
        "steps of sigmoids": [
            interval_network(f, low, high, e, lipschitz=lipschitz) for e in epsilons
        ],
        "lines of ReLUs": [
            spline_network(f, low, high, e, curvature=curvature) for e in epsilons
        ],
        "Bernstein by ReLUs": [
            bernstein_network(f, low, high, e, lipschitz=lipschitz) for e in epsilons
        ],
    }
    networks = tuple(map(tuple, found.values()))
    return ApproximationStudy(
        tuple(found),
        np.asarray(epsilons, float),
        np.array([[sum(a.units) for a in row] for row in networks]),
        np.array([[a.error for a in row] for row in networks]),
        networks,
    )
