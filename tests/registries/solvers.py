"""Every solver: a function that makes it from a tolerance, and problems it solves."""

from collections.abc import Callable
from typing import Any, NamedTuple

from likely import solvers as s

ROUND = ("quadratic, condition 1", "quadratic, condition 1e2")
QUADRATICS = (*ROUND, "quadratic, condition 1e4")
FALLING = s.ExponentialDecay(0.3, 0.99)


class Entry(NamedTuple):
    make: Callable[[float], Any]
    problems: tuple[str, ...]
    accuracy: float = 1e-6
    """Accuracy of the parameters at a tolerance of 1e-9."""


SOLVERS: dict[str, Entry] = {
    "adagrad": Entry(
        lambda t: s.AdaGrad(0.5, steps=4000, stop=s.GradientNorm(t)),
        (*ROUND, "saddle", "logistic"),
    ),
    "adam": Entry(
        lambda t: s.Adam(FALLING, steps=4000, stop=s.GradientNorm(t)),
        (*ROUND, "saddle", "logistic"),
    ),
    "bfgs": Entry(
        lambda t: s.BFGS(tolerance=t), (*QUADRATICS, "rosenbrock", "logistic")
    ),
    "block coordinate": Entry(
        lambda t: s.BlockCoordinate(s.LBFGS(tolerance=t / 10), tolerance=t),
        ("logistic",),
    ),
    "clipped descent": Entry(
        lambda t: s.GradientDescent(
            0.5, steps=4000, clip=s.ClipByNorm(1.0), stop=s.GradientNorm(t)
        ),
        (*ROUND[:1], "cliff"),
    ),
    "coordinate descent": Entry(
        lambda t: s.CoordinateDescent(tolerance=t / 1e6), ("least squares", "lasso")
    ),
    "genetic": Entry(lambda t: s.Genetic(2000, tolerance=t), ROUND[:1]),
    "gradient descent": Entry(
        lambda t: s.GradientDescent(1.0, steps=4000, stop=s.GradientNorm(t)),
        (*ROUND, "saddle", "logistic"),
    ),
    "lbfgs": Entry(
        lambda t: s.LBFGS(tolerance=t), (*QUADRATICS, "rosenbrock", "logistic")
    ),
    "least squares": Entry(lambda t: s.LeastSquares(), ("least squares",), 1e-12),
    "least squares, svd": Entry(
        lambda t: s.LeastSquares("svd"), ("least squares",), 1e-12
    ),
    "levenberg-marquardt": Entry(
        lambda t: s.LevenbergMarquardt(tolerance=t), ("least squares", "curve"), 1e-9
    ),
    "two stages": Entry(
        lambda t: s.Staged(s.LBFGS(3, t), s.Newton(tolerance=t)),
        (*QUADRATICS, "rosenbrock", "logistic"),
    ),
    "momentum": Entry(
        lambda t: s.Momentum(0.5, steps=4000, stop=s.GradientNorm(t)),
        (*ROUND, "saddle", "logistic"),
    ),
    "nesterov": Entry(
        lambda t: s.Nesterov(0.5, steps=4000, stop=s.GradientNorm(t)),
        (*ROUND, "saddle", "logistic"),
    ),
    "newton": Entry(
        lambda t: s.Newton(tolerance=t),
        (*QUADRATICS, "rosenbrock", "logistic", "curve"),
        1e-7,
    ),
    "proximal gradient": Entry(
        lambda t: s.ProximalGradient(tolerance=t),
        ("least squares", "logistic", "lasso"),
    ),
    "rmsprop": Entry(
        lambda t: s.RMSprop(FALLING, steps=4000, stop=s.GradientNorm(t)),
        (*ROUND, "saddle", "logistic"),
    ),
    "steepest descent": Entry(
        lambda t: s.SteepestDescent(2000, t, search="backtracking"),
        (*ROUND, "logistic"),
    ),
}

PAIRS = [
    (solver, problem) for solver in SOLVERS for problem in SOLVERS[solver].problems
]
