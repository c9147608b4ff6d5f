r"""Which activations make networks universal: all that are not polynomials.

Networks of one hidden layer with random inner weights and the best output weights (least squares)
are fitted to a function, with more and more units. With an activation that is no polynomial the
largest error falls as far as one likes. With a polynomial of degree p every network is a polynomial
of degree p at most, however many units it has: its error stays above that of the best such
polynomial, which Remez' algorithm computes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from likely.analysis import minimax_polynomial
from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.core.precision import float64
from likely.core.random import seed_of
from likely.core.threads import one_thread
from likely.diagnostics.expressivity.approximation import Target
from likely.diagnostics.result import Result
from likely.layers import PolynomialActivation, activation

FIT_POINTS, CHECK_POINTS = 600, 4001
ACTIVATIONS = ("relu", "tanh", "sin", ("polynomial", 2), ("polynomial", 5))


@dataclass(frozen=True, repr=False, eq=False)
class ActivationStudy(Result):
    """Largest errors of networks of one hidden layer, by activation and width."""

    names: tuple[str, ...]
    widths: tuple[int, ...]
    error: Float[np.ndarray, "a w"]
    """The largest error, mean over draws of the inner weights."""
    spread: Float[np.ndarray, "a w"]
    """The standard error of this mean."""
    lowest: Float[np.ndarray, "a w"]
    """The lowest of the draws."""
    floor: Float[np.ndarray, " a"]
    """What no polynomial of the activation's degree can get below; 0 for other activations."""

    @property
    def verdict(self) -> str:
        """Which activations fail, and which do not."""
        parts = []
        for name, errors, low in zip(self.names, self.lowest, self.floor, strict=True):
            reached = f"{errors.min():.2g} with at most {self.widths[-1]} units"
            if low > 0:
                parts.append(f"with {name} no network gets below {low:.3g} ({reached})")
            else:
                parts.append(f"with {name} the largest error falls to {reached}")
        sentence = "; ".join(parts) + "."
        return sentence[0].upper() + sentence[1:]

    def table(self) -> dict[str, Any]:
        """Errors by activation and width."""
        pairs = [
            (i, j) for i in range(len(self.names)) for j in range(len(self.widths))
        ]
        return {
            "activation": [self.names[i] for i, _ in pairs],
            "units": [self.widths[j] for _, j in pairs],
            "largest error": [float(self.error[at]) for at in pairs],
            "error of it": [float(self.spread[at]) for at in pairs],
            "floor": [float(self.floor[i]) or None for i, _ in pairs],
        }

    def plot(self) -> Any:
        """Errors over units, with the floors of polynomials."""
        from likely.plots import activation_study

        return activation_study(self)


def activation_study(
    f: Callable,
    low: Any,
    high: Any,
    *,
    activations: Sequence[Any] = ACTIVATIONS,
    widths: Sequence[int] = (2, 4, 8, 16, 32, 64),
    n_draws: int = 8,
    random_state: Any = 0,
) -> ActivationStudy:
    """Fit networks with different activations to a function of a number.

    Args:
        f: a continuous function, called with (n,) arrays.
        low: the lower end of the interval.
        high: the upper end.
        activations: names of `layers.ACTIVATIONS`, (name, number), or functions.
        widths: numbers of hidden units.
        n_draws: draws of the inner weights.
        random_state: the seed of the inner weights.
    """
    target = Target(f, low, high)
    n_draws = at_least("n_draws", n_draws, 2, whole=True)
    widths = tuple(int(n) for n in widths)
    if not widths or min(widths) < 1 or not activations:
        raise InputError("give at least one activation, and widths of at least 1.")
    layers = [activation(a, 1) for a in activations]
    z = -np.cos(np.pi * (np.arange(FIT_POINTS) + 0.5) / FIT_POINTS)
    check = np.linspace(-1, 1, CHECK_POINTS)
    middle, half = (low + high) / 2, (high - low) / 2
    values, truth = (target((middle + half * a)[:, None]) for a in (z, check))
    rng = np.random.default_rng(seed_of(random_state))
    errors = np.zeros((len(layers), len(widths), n_draws))
    for k in range(n_draws):
        size = max(widths)
        kinks = rng.uniform(-1.05, 1.05, size)
        slopes = rng.choice([-1.0, 1.0], size) * np.exp(rng.uniform(0, 2.5, size))
        for i, layer in enumerate(layers):
            every = [_units(layer, slopes, kinks, a) for a in (z, check)]
            for j, n in enumerate(widths):
                errors[i, j, k] = _largest(every, n, values, truth)
    floors = [
        0.0 if p is None else minimax_polynomial(f, p, low, high).bound
        for p in map(_degree, layers)
    ]
    return ActivationStudy(
        tuple(map(_name, activations)),
        widths,
        errors.mean(2),
        errors.std(2, ddof=1) / np.sqrt(n_draws),
        errors.min(2),
        np.array(floors),
    )


def _units(
    layer: Any, slopes: np.ndarray, kinks: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """The outputs of hidden units, and a column of ones."""
    with float64():
        hidden = np.asarray(layer(jnp.asarray(slopes * (z[:, None] - kinks)))[0])
    return np.column_stack([np.ones(len(z)), hidden])


def _largest(every: list, n: int, values: np.ndarray, truth: np.ndarray) -> float:
    """The largest error of the network of the first n units."""
    fit, check = (columns[:, : n + 1] for columns in every)
    scale = np.linalg.norm(fit, axis=0)
    scale = np.where(scale > 0, scale, 1.0)  # units that are off everywhere
    with one_thread():
        weights = np.linalg.lstsq(fit / scale, values, rcond=1e-13)[0]
    return float(np.abs((check / scale) @ weights - truth).max())


def _degree(layer: Any) -> int | None:
    """The degree of an activation that is a polynomial."""
    if isinstance(layer, PolynomialActivation):
        return int(layer.power)
    return 1 if getattr(layer, "function", None) is jax.nn.identity else None


def _name(of: Any) -> str:
    if isinstance(of, str):
        return of
    if isinstance(of, tuple | list):
        return f"s^{of[1]}" if of[0] == "polynomial" else f"{of[0]} {of[1]:g}"
    return getattr(of, "__name__", type(of).__name__)
