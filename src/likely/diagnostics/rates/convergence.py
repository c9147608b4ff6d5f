r"""Bounds on first-order methods beside the paths that solvers of the library take."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.diagnostics.rates.constants import SEARCHED, Constants
from likely.diagnostics.rates.methods import Method, methods_for, path_along
from likely.diagnostics.rates.problem import ConvexProblem, convex_problem
from likely.diagnostics.result import Result

MILLIONTH = 1e-6
MAX_WIDENINGS = 6
"""How often the ball of the constants grows until all paths are inside."""


@dataclass(frozen=True, eq=False)
class MeasuredRate:
    """One method: the loss above its minimum at each step, and what is proved about it."""

    method: str
    rate: float
    excess: Float[np.ndarray, " t"]
    """f − f* at each step, the start first."""
    bounds: dict[str, Float[np.ndarray, " t"]]
    """By formula."""
    linear: bool
    """Whether the loss is proved to fall by a factor each step (else by a power of t)."""
    slope: float
    """Fitted to the second half of the path: of log(f − f*) by t where `linear`, by log t else."""
    slope_error: float
    """The standard error of that fit."""
    rounding: float
    """What rounding may do to the excess."""

    @property
    def tightness(self) -> float:
        """The largest share of a bound that the path reaches: at most 1 if all bounds hold."""
        shares = [
            (np.maximum(self.excess - self.rounding, 0) / np.maximum(b, 1e-300)).max()
            for b in self.bounds.values()
        ]
        return float(max(shares))

    @property
    def steps_taken(self) -> int | None:
        """Steps until the excess is a millionth of that at the start; None if it never is."""
        reached = np.flatnonzero(self.excess <= MILLIONTH * self.excess[0])
        return int(reached[0]) if len(reached) else None

    @property
    def holds(self) -> bool:
        """Whether the path is below every bound at every step, up to rounding."""
        return self.tightness <= 1 + 1e-9


@dataclass(frozen=True, repr=False, eq=False)
class ConvergenceRates(Result):
    """Bounds and paths of several methods on one convex loss."""

    constants: Constants
    distance: float
    """D, from the start to the minimum."""
    start: float
    """Δ₀, the loss at the start above its minimum."""
    rates: tuple[MeasuredRate, ...]

    def __getitem__(self, method: str) -> MeasuredRate:
        """The method of this name."""
        for rate in self.rates:
            if rate.method == method:
                return rate
        raise InputError(f"there is no {method!r}; there are {self._names()}.")

    def _names(self) -> str:
        return ", ".join(repr(rate.method) for rate in self.rates)

    @property
    def holds(self) -> bool:
        """Whether every bound holds at every step."""
        return all(rate.holds for rate in self.rates)

    @property
    def verdict(self) -> str:
        """The constants, whether the bounds hold, and who is nearest to the minimum."""
        c, count = self.constants, sum(len(r.bounds) for r in self.rates)
        known = f"μ = {c.mu:.4g} and L = {c.L:.4g} ({c.origin}"
        known += ")" if c.quadratic else f", within {c.radius:.3g} of the minimum)"
        kind = (
            f"a condition of {c.condition:.4g}" if c.mu > 0 else "no strong convexity"
        )
        failed = [r.method for r in self.rates if not r.holds]
        held = (
            f"all {count} bounds hold at each of {self.steps} steps"
            if not failed
            else f"the bounds of {' and '.join(failed)} fail"
        )
        taken = [
            f"{r.method} {r.steps_taken or f'more than {self.steps}'}"
            for r in self.rates
        ]
        sentence = (
            f"With {known}, {kind}, {held}. Steps to a millionth of the excess at the start: "
            f"{'; '.join(taken)}."
        )
        if c.origin == SEARCHED:
            sentence += " L was searched for, so it may be too low: that is no proof."
        return sentence

    @property
    def steps(self) -> int:
        """The number of steps of each run."""
        return len(self.rates[0].excess) - 1

    def table(self) -> dict[str, Any]:
        """One row for each bound."""
        pairs = [(r, name) for r in self.rates for name in r.bounds]
        return {
            "method": [r.method for r, _ in pairs],
            "rate": [r.rate for r, _ in pairs],
            "bound": [name for _, name in pairs],
            "bound at the end": [float(r.bounds[name][-1]) for r, name in pairs],
            "measured": [max(float(r.excess[-1]), 0.0) for r, _ in pairs],
            "slope": [r.slope for r, _ in pairs],
            "of the bound": [
                fitted_slope(r.bounds[name], 0.0, r.linear)[0] for r, name in pairs
            ],
            "by": ["t" if r.linear else "log t" for r, _ in pairs],
            "holds": [
                "yes"
                if (r.excess <= r.bounds[name] * (1 + 1e-9) + r.rounding).all()
                else "no"
                for r, name in pairs
            ],
        }

    def plot(self) -> Any:
        """For each method the path, its bounds and the fitted slope, on log axes."""
        from likely.plots import convergence_rates

        return convergence_rates(self)


def convergence_rates(
    model: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    n_steps: int = 100,
    start: Any = None,
    **source: Any,
) -> ConvergenceRates:
    """Run first-order methods on a convex loss, beside the bounds that are proved for them.

    The settings are those of the bounds: η = 1/L for gradient descent and Nesterov's rules, and
    what is best on quadratics for momentum. μ and L hold on a ball that contains all paths.

    Args:
        model: a linear model, fitted or not (see `loss_surface`), with rows; or without rows a
            symmetric matrix A, for ½ φᵀAφ, or a convex function of a vector written in JAX.
        X: inputs.
        y: targets.
        sample_weight: how often each row counts.
        n_steps: of each run.
        start: the first weights; None is 0 for a model and ones for a matrix.
        source: more about the model: see `loss_surface`.
    """
    steps = at_least("n_steps", n_steps, 4, whole=True)
    problem = convex_problem(model, X, y, sample_weight, start=start, **source)
    for _ in range(MAX_WIDENINGS):
        methods = methods_for(problem.constants, steps)
        paths = [path_along(method, problem) for method in methods]
        far = max(
            float(np.linalg.norm(p - problem.minimum, axis=1).max())
            for pair in paths
            for p in pair
        )
        if far <= problem.constants.radius * (1 + 1e-9):
            break
        problem = problem.on(1.2 * far)
    else:
        raise InputError(
            "the paths leave every ball around the minimum on which μ and L were computed; "
            "begin nearer to the minimum."
        )
    rates = [
        _measured(method, problem, points)
        for method, (points, _) in zip(methods, paths, strict=True)
    ]
    begin = problem.begin
    return ConvergenceRates(
        problem.constants, begin.distance, begin.excess, tuple(rates)
    )


def _measured(method: Method, problem: ConvexProblem, points: Any) -> MeasuredRate:
    """The excess along a path, the bounds beside it, and their slopes."""
    t = np.arange(len(points), dtype=float)
    excess = problem.excess(points)
    found = {
        name: bound(problem.constants, problem.begin, t)
        for name, bound in method.bounds.items()
    }
    floor = problem.rounding
    slope, error = fitted_slope(excess, floor, method.linear)
    return MeasuredRate(
        method.name,
        method.rate,
        excess,
        found,
        method.linear,
        slope,
        error,
        floor,
    )


def fitted_slope(
    excess: Float[np.ndarray, " t"], floor: float, linear: bool
) -> tuple[float, float]:
    """The slope of log excess over the second half of what is above rounding, and its error.

    Args:
        excess: at the steps 0, 1, ...
        floor: what rounding does to it.
        linear: whether by t, or by log t.
    """
    above = np.flatnonzero(excess > 10 * max(floor, 1e-300))
    last = int(above[-1]) if len(above) else 0
    t = np.arange(max(1, last // 2), last + 1)
    t = t[excess[t] > 0]
    if len(t) < 3:
        return float("nan"), float("nan")
    x, y = (t if linear else np.log(t)).astype(float), np.log(excess[t])
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    left = y - y.mean() - slope * x
    return slope, float(np.sqrt(left @ left / (len(t) - 2) / (x @ x)))
