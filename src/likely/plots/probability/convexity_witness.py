"""A function along a line, with what shows that it is not convex."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

GRID = 200


def convexity_witness(f: Callable, verdict: Any, *, title: str | None = None) -> Figure:
    """Draw a function along the line on which its convexity is refuted.

    The chord between two points, the tangent at one of them, or the parabola of negative
    curvature shows it, by whichever test was asked for.

    Args:
        f: the function of one point.
        verdict: from `analysis.convexity`, with a witness.
        title: the title of the figure; the verdict where None.
    """
    witness = verdict.witness
    if "x" not in witness:
        raise InputError(
            f"there is no witness to draw: the verdict is {verdict.answer!r}. Draw a function "
            "that was refuted."
        )
    x = np.asarray(witness["x"], float)
    step = np.asarray(witness["y"] if "y" in witness else x + witness["v"], float) - x

    def along(t: np.ndarray) -> np.ndarray:
        return np.array([float(np.squeeze(f(x + s * step))) for s in t])

    t = np.linspace(-0.25, 1.25, GRID) if "y" in witness else np.linspace(-1, 1, GRID)
    drawn, (ax,) = figure(6.4, 3.6, title or f"{verdict.claim}: {verdict.answer}")
    ax.plot(t, along(t), color=COLOURS[0], lw=2, label="f along the line")
    if "between" in witness:
        ends = along(np.array([0.0, 1.0]))
        at = 1 - witness["t"]  # t is the weight of x
        chord = ends[0] + (ends[1] - ends[0]) * at
        here = float(along(np.array([at]))[0])
        ax.plot([0, 1], ends, "o-", color=COLOURS[1], label="chord between x and y")
        ax.plot([at, at], [chord, here], color=INK, lw=1.5, label="f above the chord")
    elif "y" in witness:
        rise = (
            float(along(np.ones(1))[0]) - float(witness["gap"]) - along(np.zeros(1))[0]
        )
        start = float(along(np.zeros(1))[0])
        ax.plot(t, start + rise * t, color=COLOURS[1], label="tangent at x")
        ax.plot([0], [start], "o", color=COLOURS[1])
        top, below = start + rise, float(along(np.ones(1))[0])
        ax.plot([1, 1], [top, below], color=INK, lw=1.5, label="f below the tangent")
    else:
        _parabola(ax, along, float(witness["curvature"]), t)
    ax.axhline(0, color=SOFT, lw=0.5, zorder=0)
    ax.set_xlabel("position along the line, from x (0) to y (1)")
    if "y" not in witness:
        ax.set_xlabel("distance from x along the direction v")
    ax.set_ylabel("f")
    ax.legend(frameon=False, fontsize="small")
    return drawn


def _parabola(ax: Any, along: Callable, curvature: float, t: np.ndarray) -> None:
    """The value, slope and curvature of f at the point."""
    h = 1e-4
    before, here, after = along(np.array([-h, 0.0, h]))
    slope = (after - before) / (2 * h)
    near = t[np.abs(t) <= 0.6]
    values = here + slope * near + 0.5 * curvature * near**2
    ax.plot(near, values, color=COLOURS[1], label=f"curvature {curvature:.3g} at x")
    ax.plot([0], [here], "o", color=COLOURS[1])
