r"""Lines of many rows: some of the rows are fitted first, and give a start and a metric.

The Hessian M of m rows differs from that of all by a part of about $\sqrt{p/m}$. So steps
$-M^{-1}g$ from the minimum of the m rows converge fast, faster still with the curvatures that
the last steps have met (L-BFGS with $M^{-1}$ in the middle); and each costs two products with
X, where a Hessian of all rows costs p.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from likely.core.threads import threads_for
from likely.estimators.linear.fitting.host_newton import (
    ROUNDING,
    Factor,
    Line,
    LineProblem,
    Losses,
    Rows,
    newton_line,
)

MIN_RATIO = 2
"""Rows, in units of those of the sample, from which a sample is worth while."""
MIN_SAMPLE, SAMPLE_ROWS = 2048, 32
"""Rows of a sample: this many, or so many for each coefficient."""
MAX_PAIRS, MAX_STEPS = 10, 60
METRIC_ERROR = 0.5
"""The tolerance in the metric of the sample, as a part of that in the metric of all rows."""


class _SampleRules(NamedTuple):
    """When the fit to a sample stops: close to where that to all rows is expected."""

    max_steps: int = 25
    tolerance: float = 0.03


def many_rows_line(
    rows: Rows,
    losses: Losses,
    *,
    alpha: float,
    intercept: bool,
    rules: Any,
    link: Callable[[float], float],
    enough: Callable[[np.ndarray], bool] | None = None,
) -> Line | None:
    """The line of least mean loss, or None where the compiled solver is needed.

    Args:
        rows: present rows.
        losses: the loss, without a dispersion that is learned.
        alpha: the strength of the penalty, for each unit of weight.
        intercept: whether there is a b.
        rules: the step limit and the tolerance of the compiled solver.
        link: η of a mean.
        enough: whether η is a reason to stop before there is a minimum.
    """
    start = link(rows.mean) if rows.mean > 0 else -np.inf
    if not np.isfinite(start):
        return None
    problem = LineProblem.of(rows, losses, alpha, intercept)
    b = problem.start(start)
    with threads_for(len(b)):
        found = sampled_line(problem, b, rules, enough)
        return found or newton_line(problem, b, rules, enough=enough)


def sampled_line(
    problem: LineProblem,
    b: np.ndarray,
    rules: Any,
    enough: Callable[[np.ndarray], bool] | None = None,
) -> Line | None:
    """The line of least mean loss; None where rows are few, or where it does not converge.

    Args:
        problem: of all rows.
        b: the start.
        rules: the tolerance.
        enough: whether η is a reason to stop before there is a minimum.
    """
    sample = max(MIN_SAMPLE, SAMPLE_ROWS * len(b))
    if len(problem.y) < MIN_RATIO * sample:
        return None
    part = problem.thinned(len(problem.y) // sample)
    first = newton_line(part, b, _SampleRules())
    if first is None:
        return None
    metric = part.factor(problem.losses.slopes(first.eta, 0.0, part.y)[1])
    return None if metric is None else _descend(problem, first.b, metric, rules, enough)


def _descend(
    problem: LineProblem,
    b: np.ndarray,
    metric: Factor,
    rules: Any,
    enough: Callable[[np.ndarray], bool] | None,
) -> Line | None:
    """Steps of L-BFGS around the metric."""
    at, before = problem.at(b, 0.0), np.inf
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    last = None
    for steps in range(1, MAX_STEPS + 1):
        if not np.isfinite(at.f):
            return None
        g = problem.gradient(at, problem.losses.slopes(at.eta, 0.0, problem.y)[0])
        if last is not None:
            s, y = at.b - last[0], g - last[1]
            pairs = [*pairs[-MAX_PAIRS + 1 :], (s, y)] if s @ y > 0 else pairs
        length = float(np.sqrt(max(g @ metric.solve(g), 0.0)))
        small = length < METRIC_ERROR * float(rules.tolerance)
        if small or ROUNDING > length >= before or (enough and enough(at.eta)):
            eta = problem.line(at.b) + problem.offset
            return Line(at.b, eta, 0.0, at.f, float(np.abs(g).max()), steps)
        step = -_inverse_times(g, pairs, metric)
        new = problem.moved(at, step, float(-g @ step)) if g @ step < 0 else None
        if new is None:
            return None
        last, at, before = (at.b, g), new, length
    return None


def _inverse_times(
    g: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]], metric: Factor
) -> np.ndarray:
    """The inverse Hessian of the pairs and the metric, times g (two loops)."""
    q, factors = g, []
    for s, y in reversed(pairs):
        a = (s @ q) / (s @ y)
        q = q - a * y
        factors.append(a)
    r = metric.solve(q)
    for (s, y), a in zip(pairs, reversed(factors), strict=True):
        r = r + s * (a - (y @ r) / (s @ y))
    return r
