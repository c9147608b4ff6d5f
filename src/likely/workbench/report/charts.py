"""Charts as SVG text: small, without scripts, in the colours of the page."""

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from likely.core.written_numbers import tick_labels, ticks

WIDTH, HEIGHT = 360, 240
RIGHT, TOP, BOTTOM = 14, 10, 36
LETTER = 6.1
"""The width of a letter of a label, in pixels."""
MAX_DATES = 5
"""The largest number of labels of an axis of dates."""


class Axes:
    """Axes of a chart; what is drawn is collected until `svg`.

    Args:
        x: the ends of the horizontal axis.
        y: the ends of the vertical axis.
        labels: of the two axes.
        size: width and height in pixels.
        left: the room on the left; as much as the labels need where None.
        dates: whether x is in microseconds since 1970.
        shown: which axes have ticks.
    """

    def __init__(
        self,
        x: tuple[Any, Any],
        y: tuple[Any, Any],
        *,
        labels: tuple[str, str] = ("", ""),
        size: tuple[int, int] = (WIDTH, HEIGHT),
        left: int | None = None,
        dates: bool = False,
        shown: tuple[bool, bool] = (True, True),
    ):
        self.x, self.y, self.labels = _widened(x), _widened(y), labels
        self.width, self.height = size
        self.x_ticks, self.y_ticks = [], []
        if shown[1]:
            values = ticks(*self.y, limit=max(2, self.height // 40))
            self.y_ticks = [*zip(values, tick_labels(values), strict=True)]
        longest = max((len(text) for _, text in self.y_ticks), default=0)
        room = LETTER * longest + (24 if labels[1] else 10)
        self.left = left if left is not None else round(room)
        if shown[0]:
            self.x_ticks = _date_ticks(*self.x) if dates else self._number_ticks()
        self.drawn: list[str] = []

    def _number_ticks(self) -> list[tuple[float, str]]:
        """As many ticks as have room for their labels."""
        room = self.width - self.left - RIGHT
        for limit in (7, 6, 5, 4, 3, 2):
            values = ticks(*self.x, limit=limit)
            texts = tick_labels(values)
            longest = max(map(len, texts), default=0)
            if (LETTER * longest + 10) * len(texts) <= room:
                break
        return [*zip(values, texts, strict=True)]

    def pixels(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """The pixel coordinates of points."""
        px = (np.asarray(x, float) - self.x[0]) / (self.x[1] - self.x[0])
        py = (np.asarray(y, float) - self.y[0]) / (self.y[1] - self.y[0])
        px = self.left + px * (self.width - self.left - RIGHT)
        return px, self.height - BOTTOM - py * (self.height - TOP - BOTTOM)

    def _points(self, x: Any, y: Any) -> str:
        pairs = zip(*self.pixels(x, y), strict=True)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)

    def line(self, x: Any, y: Any, style: str = "line") -> None:
        """Draw a line through points."""
        self.drawn.append(f'<polyline class="{style}" points="{self._points(x, y)}"/>')

    def band(self, x: Any, low: Any, high: Any) -> None:
        """Draw the area between two lines."""
        points = self._points([*x, *x[::-1]], [*low, *high[::-1]])
        self.drawn.append(f'<polygon class="band" points="{points}"/>')

    def dots(self, x: Any, y: Any, style: str = "dot", r: float | int = 3) -> None:
        """Draw a disc at each point."""
        for a, b in zip(*self.pixels(x, y), strict=True):
            self.drawn.append(
                f'<circle class="{style}" cx="{a:.1f}" cy="{b:.1f}" r="{r}"/>'
            )

    def bars(self, x: Any, width: float | int, y: Any) -> None:
        """Draw bars from zero."""
        zero = max(self.y[0], 0.0)
        for a, value in zip(np.asarray(x, float), np.asarray(y, float), strict=True):
            (x0, x1), (y0, y1) = self.pixels([a, a + width], [zero, value])
            self.drawn.append(
                f'<rect class="bar" x="{x0:.1f}" y="{min(y0, y1):.1f}" '
                f'width="{max(x1 - x0 - 1, 0.5):.1f}" height="{abs(y1 - y0):.1f}"/>'
            )

    def text(self, x: Any, y: Any, text: str, anchor: str = "middle") -> None:
        """Write text at a pixel."""
        self.drawn.append(_text(x, y, text, anchor))

    def svg(self, title: str, style: str = "") -> str:
        """The chart as SVG; screen readers read the title."""
        parts = [*self._frame(), *self.drawn]
        name = html.escape(title, quote=True)
        kind = f' class="{style}"' if style else ""
        return (
            f'<svg{kind} viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{name}"><title>{name}</title>{"".join(parts)}</svg>'
        )

    def _frame(self) -> list[str]:
        found = []
        for value, text in self.x_ticks:
            (px,), (py,) = self.pixels([value], [self.y[0]])
            found.append(_rule(px, TOP, px, py))
            half = LETTER * len(text) / 2
            inside = min(max(px, half), self.width - half)
            found.append(_text(inside, py + 13, text, "middle"))
        for value, text in self.y_ticks:
            (px,), (py,) = self.pixels([self.x[0]], [value])
            found.append(_rule(px, py, self.width - RIGHT, py))
            found.append(_text(px - 5, py + 3.5, text, "end"))
        middle = (self.left + self.width - RIGHT) / 2
        if self.labels[0]:
            most = int((self.width - 8) / LETTER)
            text = shortened(self.labels[0], most)
            half = LETTER * len(text) / 2
            middle = min(max(middle, half + 2), max(self.width - half - 2, half + 2))
            found.append(_text(middle, self.height - 5, text, "middle"))
        if self.labels[1]:
            across = (self.height - BOTTOM + TOP) / 2
            text = shortened(self.labels[1], int((self.height - BOTTOM) / LETTER))
            found.append(
                f'<text class="label" transform="translate(11 {across:.0f}) rotate(-90)" '
                f'text-anchor="middle">{html.escape(text)}</text>'
            )
        return found


def _date_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """A few dates between two, as years, months or days."""
    ends = np.array([low, high]).astype(np.int64).astype("datetime64[us]")
    for unit, digits in (("Y", 4), ("M", 7), ("D", 10)):
        first, last = ends.astype(f"datetime64[{unit}]").astype(int)
        if last - first >= 3 or unit == "D":
            step = max(1, -(-(last - first) // (MAX_DATES - (digits == 10))))
            days = np.arange(first, last + 1, step).astype(f"datetime64[{unit}]")
            found = [
                (
                    float(day.astype("datetime64[us]").astype(np.int64)),
                    str(day)[:digits],
                )
                for day in days
            ]
            return [pair for pair in found if low <= pair[0] <= high]
    return []


def rows_chart(
    rows: Sequence[tuple],
    *,
    title: str,
    label: str,
    marked: int | None = None,
    zero: bool = True,
    size: int = 440,
    ends: tuple[Any, Any] | None = None,
) -> str:
    """A chart of rows (name, value, low, high): a dot, and a line from low to high."""
    n = len(rows)
    found = [e for _, _, *both in rows for e in both if math.isfinite(e)]
    found = [*found, *([0.0] if zero else [])] or [0.0]
    room = 0.04 * max(max(found) - min(found), 1e-12)
    x = ends or (min(found) - room, max(found) + room)
    y = (n - 0.4, -0.6)
    most = 24 if size > WIDTH else 18
    names = [shortened(str(row[0]), most) for row in rows]
    left = round(LETTER * max(map(len, names), default=0)) + 16
    axes = Axes(
        x, y, labels=(label, ""), size=(size, n * 24 + BOTTOM + TOP), left=left,
        shown=(True, False),
    )  # fmt: skip
    if zero:
        axes.line([0, 0], y[::-1], "zero")
    for i, (name, (_, value, low, high)) in enumerate(zip(names, rows, strict=True)):
        _, (py,) = axes.pixels([0], [i])
        axes.text(left - 10, py + 3.5, name, "end")
        axes.line([low, high], [i, i], "whisker")
        axes.dots([value], [i], "dot best" if i == marked else "dot", 4)
    return axes.svg(title)


def shortened(name: str, most: int = 30) -> str:
    """A text of at most so many letters."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _widened(ends: tuple[Any, Any]) -> tuple[Any, Any]:
    """Two different, finite ends of an axis."""
    a, b = (float(e) if math.isfinite(e) else 0.0 for e in ends)
    room = max(0.5, 1e-6 * abs(a))
    return (a, b) if a != b else (a - room, a + room)


def _rule(x0: float | int, y0: float | int, x1: float | int, y1: float | int) -> str:
    return (
        f'<line class="grid" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>'
    )


def _text(x: float | int, y: float | int, text: str, anchor: str) -> str:
    safe = html.escape(text)
    return f'<text class="label" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{safe}</text>'
