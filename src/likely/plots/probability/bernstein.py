"""A function with polynomials that approximate it, and their largest errors."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, figure, series

GRID = 400


def bernstein(
    f: Callable,
    polynomials: Sequence[Any],
    errors: Sequence[float],
    *,
    title: str = "Polynomials that approach a function",
) -> Figure:
    """Draw a function with its Bernstein polynomials, and the largest error by degree.

    Args:
        f: the function of a number.
        polynomials: of `analysis.BernsteinPolynomial`, from the lowest degree up.
        errors: the largest error of each, as from `analysis.uniform_error`.
        title: the title of the figure.
    """
    drawn, (left, right) = figure(9.0, 3.4, columns=2)
    first = polynomials[0]
    x = np.linspace(first.low, first.high, GRID)
    left.plot(x, [float(f(at)) for at in x], color=INK, lw=2, label="f")
    for i, one in enumerate(polynomials):
        colour = COLOURS[i % len(COLOURS)]
        left.plot(x, one(x), color=colour, lw=1.3, label=f"degree {one.n}")
    left.set_xlabel("x")
    left.legend(frameon=False, fontsize="small")
    degrees = np.array([one.n for one in polynomials], float)
    right.plot(degrees, errors, ms=5, label="largest error", **series(0))
    if min(errors) > 0:
        guide = errors[0] * np.sqrt(degrees[0] / degrees)
        right.plot(degrees, guide, ":", color=INK, lw=1, label="1/√degree")
        right.set_yscale("log")
    right.set_xscale("log")
    right.set_xlabel("degree")
    right.set_ylabel("largest error")
    right.legend(frameon=False, fontsize="small")
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
