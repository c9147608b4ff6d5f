"""First-order methods with the settings for which a bound is proved, and their paths."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.diagnostics.dynamics.losses import descend, path_of
from likely.diagnostics.rates import bounds
from likely.diagnostics.rates.constants import Constants
from likely.diagnostics.rates.problem import ConvexProblem
from likely.solvers import Constant, GradientDescent, Momentum, Nesterov


class Method(NamedTuple):
    """A solver of the library, the points that its bounds are about, and the bounds."""

    name: str
    solver: Any
    """With `path=True`."""
    rate: float
    bounds: dict[str, Callable]
    """By formula; each is a function of (constants, start, t)."""
    points: str
    """"steps": of the solver; "means": running means of these; "behind": x of Nesterov's rule,
    whose y, the points ahead, are the solver's."""
    linear: bool
    """Whether the first bound falls by a factor each step."""


def methods_for(c: Constants, steps: int) -> list[Method]:
    """The methods that have a bound with these constants.

    Args:
        c: the constants of the loss.
        steps: of each run.
    """
    run, strong = {"steps": steps, "path": True}, c.mu > 0
    eta = 1 / c.L
    slow = {"2LD²/(t+1)": bounds.convex, "LD²/(4t+2), sharp": bounds.sharp_convex}
    fast = {
        "(1−μ/L)ᵗΔ₀": bounds.strongly_convex,
        "(1−μ/L)²ᵗΔ₀, sharp": bounds.sharp_strongly_convex,
    }
    plain = GradientDescent(Constant(eta), **run)
    found = [
        Method(
            "gradient descent",
            plain,
            eta,
            fast | slow if strong else slow,
            "steps",
            strong,
        ),
        _momentum(c, run),
        Method(
            "Nesterov, growing",
            Nesterov(Constant(eta), form="accelerated", **run),
            eta,
            {"2LD²/(t+1)²": bounds.accelerated},
            "behind",
            False,
        ),
    ]
    if strong:
        root = np.sqrt(c.condition)
        gamma = float((root - 1) / (root + 1))
        found.append(
            Method(
                "Nesterov, constant",
                Nesterov(Constant(eta), gamma, **run),
                eta,
                {"(1−√(μ/L))ᵗ(Δ₀+μD²/2)": bounds.accelerated_strongly_convex},
                "behind",
                True,
            )
        )
    return found


def _momentum(c: Constants, run: dict) -> Method:
    """Momentum at its best on a quadratic, or so that the mean of its points converges."""
    if c.quadratic and c.mu > 0:
        eta, beta = bounds.momentum_of(c)
        proved = {"βᵗ(1+t(1+√β))²Δ₀": bounds.quadratic_momentum}
        return Method(
            "momentum", Momentum(Constant(eta), beta, **run), eta, proved, "steps", True
        )
    beta = bounds.SAFE_DECAY
    eta = (1 - beta) / c.L
    proved = {"(LD²/2+βΔ₀/(1−β))/(t+1)": bounds.averaged_momentum}
    solver = Momentum(Constant(eta), beta, **run)
    return Method("momentum, mean point", solver, eta, proved, "means", False)


def path_along(
    method: Method, problem: ConvexProblem
) -> tuple[Float[np.ndarray, "t p"], Float[np.ndarray, "t p"]]:
    """The points that the bounds are about, and those where gradients were taken."""
    path = path_of(descend(method.solver, problem.loss, problem.start))
    if method.points == "means":
        t = np.arange(1, len(path) + 1)[:, None]
        return np.cumsum(path, axis=0) / t, path
    if method.points == "behind":
        return _behind(path, method), path
    return path, path


def _behind(ahead: Float[np.ndarray, "t p"], method: Method) -> np.ndarray:
    """x of Nesterov's rule from y: y_t = x_t + γ_t (x_t − x_{t−1}), x₀ = y₀."""
    t = np.arange(len(ahead))
    if method.solver.form == "accelerated":
        gammas = np.where(t > 0, (t - 1) / (t + 2), 0.0)
    else:
        gammas = np.full(len(ahead), float(method.solver.decay))
    found = ahead.copy()
    for k in t[1:]:
        found[k] = (ahead[k] + gammas[k] * found[k - 1]) / (1 + gammas[k])
    return found
