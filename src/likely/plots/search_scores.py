"""Scores of hyper-parameter settings: a curve, a map, or a line for each setting."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

MIN_LOG_RATIO = 30.0
"""Largest over smallest value from which an axis is logarithmic."""
MAX_TICKS = 12
COLOUR_MAP = "viridis"


class Parameter(NamedTuple):
    """The values of one parameter as places on an axis."""

    name: str
    places: np.ndarray
    """Numbers, or the numbers of the words."""
    words: list[str] | None
    """The words, where values are not numbers."""
    log: bool

    @classmethod
    def of(cls, name: str, values: Sequence[Any]) -> "Parameter":
        """A parameter from its value in each setting."""
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            places = np.array(values, float)
            low, high = places.min(), places.max()
            return cls(name, places, None, bool(low > 0 and high > MIN_LOG_RATIO * low))
        text = [str(value) for value in values]
        words = list(dict.fromkeys(text))
        return cls(name, np.array([words.index(t) for t in text], float), words, False)

    @property
    def scaled(self) -> np.ndarray:
        """The places from 0 to 1."""
        places = np.log(self.places) if self.log else self.places
        return (places - places.min()) / (np.ptp(places) or 1.0)

    def label(self, axis: Any, ax: Axes) -> None:
        """Name an axis, and its words."""
        which = "x" if axis is ax.xaxis else "y"
        ax.set(**{f"{which}label": self.name})
        if self.log:
            ax.set(**{f"{which}scale": "log"})
        if self.words is not None:
            axis.set_ticks(np.arange(len(self.words)), self.words)


def search_scores(
    settings: Sequence[Mapping[str, Any]],
    scores: np.ndarray,
    errors: np.ndarray | None = None,
    *,
    best: int | None = None,
    label: str = "score",
    title: str = "",
) -> Figure:
    """Draw the scores of settings over the parameters that differ between them.

    One parameter is a curve with error bars, two are a map, more are parallel axes with a
    line for each setting. Settings without a score are left out.

    Args:
        settings: the values of the parameters.
        scores: (m,) the mean score of each setting.
        errors: (m,) their standard errors.
        best: the number of the setting that was chosen.
        label: what the scores are.
        title: the title of the figure.
    """
    scores = np.asarray(scores, float)
    kept = np.flatnonzero(np.isfinite(scores)).tolist()
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    every = [
        Parameter.of(name, [settings[i].get(name) for i in kept]) for name in names
    ]
    every = every or [Parameter.of("setting", kept)]
    varied = [p for p in every if np.ptp(p.places) > 0] or every[:1]
    chosen = kept.index(best) if best in kept else None
    words: dict[str, Any] = {"chosen": chosen, "label": label, "title": title}
    scores = scores[kept]
    if len(varied) <= 1:
        errors = None if errors is None else np.asarray(errors, float)[kept]
        return _curve(varied[0], scores, errors, **words)
    if len(varied) == 2:
        return _map(varied[0], varied[1], scores, **words)
    return _parallel(varied, scores, **words)


def _curve(p: Parameter, scores, errors, *, chosen, label: str, title: str) -> Figure:
    drawn, (ax,) = figure(5.6, 3.8, title)
    order = np.argsort(p.places, kind="stable")
    style = "-o" if p.words is None else "o"
    bars = None if errors is None else np.nan_to_num(errors[order])
    ax.errorbar(
        p.places[order], scores[order], bars, fmt=style, color=COLOURS[0], ecolor=SOFT, ms=4
    )  # fmt: skip
    if chosen is not None:
        ax.plot(
            p.places[chosen],
            scores[chosen],
            "D",
            color=COLOURS[1],
            label="chosen",
            zorder=5,
        )
        ax.legend(frameon=False)
    p.label(ax.xaxis, ax)
    ax.set(ylabel=label if errors is None else f"{label} ± s.e.")
    return drawn


def _map(p: Parameter, q: Parameter, scores, *, chosen, label: str, title: str):
    drawn, (ax,) = figure(5.6, 4.0, title)
    xs, x = np.unique(p.places, return_inverse=True)
    ys, y = np.unique(q.places, return_inverse=True)
    if len(scores) == len(xs) * len(ys) == len(np.unique(x * len(ys) + y)):
        cells = np.full((len(ys), len(xs)), np.nan)
        cells[y, x] = scores
        painted = ax.imshow(cells, origin="lower", aspect="auto", cmap=COLOUR_MAP)
        _cell_ticks(ax.xaxis, xs, p)
        _cell_ticks(ax.yaxis, ys, q)
        ax.set(xlabel=p.name, ylabel=q.name)
        place = x, y
    else:
        painted = ax.scatter(p.places, q.places, c=scores, cmap=COLOUR_MAP, s=40)
        p.label(ax.xaxis, ax)
        q.label(ax.yaxis, ax)
        place = p.places, q.places
    if chosen is not None:
        ax.plot(
            place[0][chosen], place[1][chosen], "D", mfc="none", mec=COLOURS[1], ms=12, mew=2
        )  # fmt: skip
    drawn.colorbar(painted, ax=ax, label=label)
    return drawn


def _cell_ticks(axis: Any, values: np.ndarray, p: Parameter) -> None:
    """The value of each cell, or of some of them where they are many."""
    step = -(-len(values) // MAX_TICKS)
    shown = np.arange(0, len(values), step)
    text = [f"{values[i]:.3g}" if p.words is None else p.words[i] for i in shown]
    axis.set_ticks(shown, text)


def _parallel(ps: list[Parameter], scores, *, chosen, label: str, title: str):
    drawn, (ax,) = figure(1.5 * len(ps) + 2.4, 4.0, title)
    places = np.arange(len(ps))
    heights = np.stack([p.scaled for p in ps], 1)
    shade = (scores - scores.min()) / (np.ptp(scores) or 1.0)
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colours = colormaps[COLOUR_MAP]
    for i in np.argsort(scores):  # the best on top
        ax.plot(places, heights[i], color=colours(shade[i]), lw=1, alpha=0.8)
    if chosen is not None:
        ax.plot(places, heights[chosen], "-D", color=COLOURS[1], lw=2, label="chosen")
        ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    for place, p in enumerate(ps):
        ax.axvline(place, color=SOFT, lw=0.8)
        for height, value in _ends(p):
            ax.text(place + 0.03, height, value, color=INK, fontsize=8, va="center")
    ax.set_xticks(places, [p.name for p in ps])
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    norm = Normalize(scores.min(), scores.max())
    drawn.colorbar(ScalarMappable(norm, COLOUR_MAP), ax=ax, label=label)
    return drawn


def _ends(p: Parameter) -> list[tuple[float, str]]:
    """The words of an axis and their heights, or its smallest and largest number."""
    first = {float(h): i for i, h in reversed(list(enumerate(p.scaled)))}
    if p.words is not None:
        return [(h, p.words[int(p.places[i])]) for h, i in first.items()]
    return [(h, f"{p.places[first[h]]:.3g}") for h in (min(first), max(first))]
