"""The expected cost of every action over the probability of class 1, and the best one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

POINTS = 401


def decision_costs(
    cost: Any,
    *,
    actions: Sequence[str] | None = None,
    classes: Sequence[str] = ("0", "1"),
    title: str = "The cheapest action",
) -> Figure:
    """Draw the table of costs, and the expected cost of each action over p₁.

    Vertical lines are the probabilities at which another action becomes the best one.

    Args:
        cost: (k, 2) what action i costs where class j is true.
        actions: the names of the k actions; numbers unless given.
        classes: the names of both classes.
        title: the title of the figure.
    """
    C = np.asarray(cost, np.float64)
    if C.ndim != 2 or C.shape[1] != 2:
        raise InputError(f"cost has shape {C.shape}; give (actions, 2): two classes.")
    names = [str(i) for i in range(len(C))] if actions is None else list(actions)
    p = np.linspace(0, 1, POINTS)
    lines = np.stack([1 - p, p], axis=1) @ C.T
    best = lines.argmin(1)
    drawn, (left, ax) = figure(8.0, 3.6, title, columns=2)
    _draw_table(left, C, names, list(classes))
    for i, (name, line) in enumerate(zip(names, lines.T, strict=True)):
        colour = COLOURS[i % len(COLOURS)]
        ax.plot(p, line, color=colour, lw=1.8, label=name)
        ax.fill_between(p, 0, 1, where=best == i, color=colour, alpha=0.12, lw=0,
                        transform=ax.get_xaxis_transform())  # fmt: skip
    for change in np.flatnonzero(np.diff(best)):
        i, j = best[change], best[change + 1]
        here = _crossing(C[i], C[j])
        ax.axvline(here, color=SOFT, lw=1.0, ls="dashed")
        ax.annotate(
            f" {here:.4g}", (here, 0.92), xycoords=("data", "axes fraction"),
            color=INK, fontsize="small",
        )  # fmt: skip
    ax.set(xlim=(0, 1), xlabel=f"probability of {classes[1]}", ylabel="expected cost")
    ax.legend(title="decision", frameon=False, fontsize="small", loc="center right")
    return drawn


def _crossing(a: np.ndarray, b: np.ndarray) -> float:
    """The p at which two actions cost the same."""
    gap = a - b
    return float(gap[0] / (gap[0] - gap[1]))


def _draw_table(ax: Any, C: np.ndarray, actions: list[str], classes: list[str]) -> None:
    """The costs, decisions down and truths across."""
    ax.set_axis_off()
    table = ax.table(
        [[f"{value:g}" for value in row] for row in C],
        rowLabels=[f"decide {name}" for name in actions],
        colLabels=[f"true {name}" for name in classes],
        cellLoc="center", bbox=(0.35, 0.3, 0.6, 0.2 * (len(C) + 1)),
    )  # fmt: skip
    for cell in table.get_celld().values():
        cell.set_edgecolor(SOFT)
        cell.get_text().set_color(INK)
