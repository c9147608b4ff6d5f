"""A network that was built to approximate a function, its promise, and what was measured."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.diagnostics.expressivity.assembly import assembled, evaluated
from likely.diagnostics.result import Result
from likely.models import MLP

GRID_POINTS = {1: 20_001, 2: 161**2, 3: 31**3}
"""Points at which the largest error is looked for, by the number of inputs."""
SAFETY = 1.05
"""What a constant that was measured on a grid is multiplied by."""


@dataclass(frozen=True, repr=False, eq=False)
class Approximation(Result):
    """A perceptron that approximates a function: what was promised and what was found."""

    kind: str
    """How it was built."""
    settings: MLP
    model: Any
    """The network, a chain in double precision."""
    function: Callable
    low: Float[np.ndarray, " d"]
    high: Float[np.ndarray, " d"]
    epsilon: float
    """The promised bound on the largest error."""
    error: float
    """The largest error that was found, on a fine grid that includes the critical places."""
    at: Float[np.ndarray, " d"]
    """Where it is."""
    units: tuple[int, ...]
    """Units of each hidden layer."""
    promised_units: int
    """How many units in all the construction needs at most."""
    assumed: str | None = None
    """What the promise assumes and was not given, but measured."""

    def __call__(self, x: Any) -> np.ndarray:
        """The output of the network at points: (n,) numbers of one input, or (n, d)."""
        X = np.asarray(x, np.float64)
        return evaluated(self.model, X.reshape(-1, len(self.low)))[:, 0]

    @property
    def kept(self) -> bool:
        """Whether the promise was kept: the error and the number of units."""
        return self.error <= self.epsilon and sum(self.units) <= self.promised_units

    @property
    def verdict(self) -> str:
        """The error beside the promise, and the number of units."""
        how = "keeps" if self.kept else "breaks"
        units = " + ".join(f"{n:,}" for n in self.units)
        end = f" The promise takes {self.assumed}." if self.assumed else ""
        return (
            f"The network ({self.kind}, {units} units of {self.promised_units:,} promised) {how} "
            f"its promise: its largest error is {self.error:.3g}, promised {self.epsilon:.3g}."
            f"{end}"
        )

    def table(self) -> dict[str, Any]:
        """The promise and what was found."""
        return {
            "": ["largest error", "units"],
            "promised": [self.epsilon, self.promised_units],
            "found": [self.error, sum(self.units)],
        }

    def plot(self) -> Any:
        """The function and the network, and the error between them."""
        from likely.plots import approximation

        return approximation(self)


class Target:
    """A function of d numbers on a box, called on many points at once.

    Args:
        function: of an (n,) array where there is one input, else of an (n, d) array.
        low: the lower ends.
        high: the upper ends.
    """

    def __init__(self, function: Callable, low: Any, high: Any):
        self.function = function
        self.low, self.high = (np.atleast_1d(np.asarray(a, float)) for a in (low, high))
        if self.low.shape != self.high.shape or not (self.low < self.high).all():
            raise InputError(
                f"the box from {low} to {high} is empty; give low < high for each input."
            )

    @property
    def dimension(self) -> int:
        """The number of inputs."""
        return len(self.low)

    @property
    def width(self) -> np.ndarray:
        """The widths of the box."""
        return self.high - self.low

    def __call__(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The values at points."""
        given = X[:, 0] if self.dimension == 1 else X
        values = np.asarray(self.function(given), np.float64)
        if values.shape != (len(X),):
            values = np.array([float(self.function(x)) for x in given])
        if not np.isfinite(values).all():
            bad = X[int(np.argmin(np.isfinite(values)))]
            raise InputError(
                f"the function is not finite at {bad.tolist()}; only continuous functions on "
                "the whole box can be approximated."
            )
        return values

    def grid(self, count: int) -> Float[np.ndarray, "n d"]:
        """A grid of about so many points of the box."""
        side = max(2, round(count ** (1 / self.dimension)))
        sides = [
            np.linspace(a, b, side) for a, b in zip(self.low, self.high, strict=True)
        ]
        return np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(
            -1, self.dimension
        )

    def lipschitz(self, given: Any) -> tuple[float, str | None]:
        """The Lipschitz constant that was given, or one measured on a fine grid, and a note."""
        side = {1: 20_001, 2: 301, 3: 41}[min(self.dimension, 3)]
        values = self(self.grid(side**self.dimension))
        cube = values.reshape((side,) * self.dimension)
        steps = self.width / (side - 1)
        slopes = [
            np.abs(np.diff(cube, axis=i)).max() / step for i, step in enumerate(steps)
        ]
        if given is not None:
            return _at_least("lipschitz", given, max(slopes), "a slope"), None
        found = SAFETY * float(np.linalg.norm(slopes)) or 1e-12
        return (
            found,
            f"a Lipschitz constant of {found:.3g}, which was measured on a grid",
        )

    def curvature(self, given: Any) -> tuple[float, str | None]:
        """A bound on |f''| of a function of one number: given, or measured."""
        x = self.grid(2001)
        second = np.abs(np.diff(self(x), 2)) / (x[1, 0] - x[0, 0]) ** 2
        if given is not None:
            most = float(second.max())
            return _at_least("curvature", given, most, "a second derivative"), None
        found = SAFETY * float(second.max()) or 1e-12
        return found, f"a second derivative of at most {found:.3g}, measured on a grid"


def _positive(name: str, value: Any) -> float:
    if not 0 < value < np.inf:
        raise InputError(f"{name} is {value}; give a positive number.")
    return float(value)


def _at_least(name: str, given: Any, found: float, of: str) -> float:
    """A constant that was given, refused where the function is seen to exceed it."""
    given = _positive(name, given)
    if found > given * (1 + 1e-6) + 1e-6:
        raise InputError(
            f"{name} is {given:g}, and the function has {of} of {found:.4g} on a grid: the promise "
            f"would not hold. Give at least that, or None to have it measured; a function with "
            "corners or jumps has no such bound."
        )
    return given


def checked_epsilon(epsilon: Any) -> float:
    """The largest error that is allowed, refused unless it is positive."""
    return _positive("epsilon", epsilon)


def approximation_of(
    target: Target,
    layers: Any,
    activation: Any,
    *,
    kind: str,
    epsilon: Any,
    promised_units: int,
    assumed: str | None = None,
    critical: Float[np.ndarray, "m d"] | None = None,
    points: Float[np.ndarray, "m d"] | None = None,
) -> Approximation:
    """The assembled network with its measured error.

    Args:
        target: the function.
        layers: weights and biases.
        activation: of the hidden units.
        kind: how it was built.
        epsilon: the promised error.
        promised_units: the promised number of units.
        assumed: what was measured and not given.
        critical: further points to look at, such as those beside steep walls.
        points: the only points to look at, where the promise is about no others.
    """
    settings, model = assembled(layers, activation)
    if points is None:
        points = target.grid(GRID_POINTS[min(target.dimension, 3)])
        if critical is not None:
            inside = ((critical >= target.low) & (critical <= target.high)).all(1)
            points = np.concatenate([points, critical[inside]])
    gaps = np.abs(evaluated(model, points)[:, 0] - target(points))
    worst = int(np.argmax(gaps))
    return Approximation(
        kind,
        settings,
        model,
        target.function,
        target.low,
        target.high,
        float(epsilon),
        float(gaps[worst]),
        points[worst],
        settings.hidden,
        promised_units,
        assumed,
    )
