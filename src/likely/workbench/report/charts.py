"""Charts as SVG text: small, without scripts, in the colours of the page."""

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

WIDTH, HEIGHT = 360, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 34


class Axes:
    """Axes of a chart; what is drawn is collected until `svg`."""

    def __init__(
        self,
        x: tuple[Any, Any],
        y: tuple[Any, Any],
        *,
        labels: tuple[str, str] = ("", ""),
        size: tuple[int, int] = (WIDTH, HEIGHT),
        left: int = LEFT,
    ):
        self.x, self.y = _widened(x), _widened(y)
        self.labels, (self.width, self.height), self.left = labels, size, left
        self.drawn: list[str] = []

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

    def svg(self, title: str, *, ticks: tuple[bool, bool] = (True, True)) -> str:
        """The chart as SVG; screen readers read the title."""
        parts = [*self._frame(ticks), *self.drawn]
        name = html.escape(title, quote=True)
        return (
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{name}"><title>{name}</title>{"".join(parts)}</svg>'
        )

    def _frame(self, ticks: tuple[bool, bool]) -> list[str]:
        found = []
        if ticks[0]:
            for value in nice_ticks(*self.x):
                (px,), (py,) = self.pixels([value], [self.y[0]])
                found.append(_rule(px, TOP, px, py))
                found.append(_text(px, py + 13, number(value), "middle"))
        if ticks[1]:
            for value in nice_ticks(*self.y):
                (px,), (py,) = self.pixels([self.x[0]], [value])
                found.append(_rule(px, py, self.width - RIGHT, py))
                found.append(_text(px - 5, py + 3.5, number(value), "end"))
        middle = (self.left + self.width - RIGHT) / 2
        if self.labels[0]:
            found.append(_text(middle, self.height - 5, self.labels[0], "middle"))
        if self.labels[1]:
            across = self.height / 2
            found.append(
                f'<text class="label" transform="translate(11 {across:.0f}) rotate(-90)" '
                f'text-anchor="middle">{html.escape(self.labels[1])}</text>'
            )
        return found


def rows_chart(
    rows: Sequence[tuple],
    *,
    title: str,
    label: str,
    marked: int | None = None,
) -> str:
    """A chart of rows (name, value, low, high): a dot, and a line from low to high."""
    n = len(rows)
    ends = [0.0, *(end for _, _, *both in rows for end in both if math.isfinite(end))]
    room = 0.04 * max(max(ends) - min(ends), 1e-12)
    x, y = (min(ends) - room, max(ends) + room), (n - 0.4, -0.6)
    size = 720, n * 24 + BOTTOM + TOP
    axes = Axes(x, y, labels=(label, ""), size=size, left=200)
    axes.line([0, 0], y[::-1], "zero")
    for i, (name, value, low, high) in enumerate(rows):
        _, (py,) = axes.pixels([0], [i])
        axes.text(190, py + 3.5, _short(name), "end")
        axes.line([low, high], [i, i], "whisker")
        axes.dots([value], [i], "dot best" if i == marked else "dot", 4)
    return axes.svg(title, ticks=(True, False))


def nice_ticks(low: float | int, high: float | int, limit: int = 6) -> list[float]:
    """At most so many round numbers between two ends."""
    low, high = min(low, high), max(low, high)
    raw = (high - low) / limit
    if not 1e-300 < raw < 1e300:
        return []
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def number(value: float | int) -> str:
    """A number as text, with at most four digits."""
    if value == 0 or abs(value) < 1e-300:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        return f"{value:.2g}".replace("e+0", "e").replace("e-0", "e-")
    return f"{value:.4g}"


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


def _short(name: str) -> str:
    return name if len(name) <= 30 else f"{name[:28]}…"
