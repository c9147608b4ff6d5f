"""All checks of a model: which found something, which did not, which do not apply."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

MAX_TEXT = 104
"""Letters of a finding that are written."""


def check_list(result: Any, titles: Mapping[str, str]) -> Figure:
    """Draw a line for each check, with a mark for what it found.

    Args:
        result: a `CheckReport`.
        titles: of all checks, by number.
    """
    found = {finding.code: finding for finding in result.findings}
    drawn, (ax,) = figure(10.0, 0.26 * len(titles) + 0.6, result.verdict)
    ax.set_axis_off()
    for y, (code, title) in enumerate(titles.items()):
        colour, mark, text, shade = COLOURS[2], "o", "", INK
        if code in result.not_run:
            colour, mark, shade = "white", "o", SOFT
            text = result.not_run[code]
        elif code in found:
            warns = found[code].level == "warning"
            colour, mark = (COLOURS[1], "X") if warns else (COLOURS[4], "D")
            text = found[code].text
        text = text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
        ax.plot(
            0, y, mark, ms=7, color=colour, mec=SOFT if colour == "white" else colour
        )
        ax.text(0.25, y, code, va="center", fontsize=8, color=shade, family="monospace")
        ax.text(0.85, y, title, va="center", fontsize=8, color=shade)
        ax.text(3.3, y, text, va="center", fontsize=7.5, color=shade)
    ax.set_xlim(-0.2, 10.3)
    ax.set_ylim(len(titles) - 0.4, -0.6)
    return drawn
