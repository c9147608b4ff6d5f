"""The style of the figures: colours that the colour-blind can tell apart, open axes."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = (  # Okabe and Ito
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
MARKERS = "osD^vPX"
INK, SOFT = "#222222", "#888888"


def figure(
    width: float, height: float, title: str = "", *, columns: int = 1
) -> tuple[Figure, list[Axes]]:
    """An empty figure of this size in inches, and its axes side by side.

    A title stands above the first of them.
    """
    drawn = Figure(figsize=(width, height), layout="constrained")
    axes = [drawn.add_subplot(1, columns, i + 1) for i in range(columns)]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(SOFT)
        ax.tick_params(color=SOFT, labelcolor=INK)
    axes[0].set_title(title, loc="left", color=INK)
    return drawn, axes


def series(i: int) -> dict:
    """The colour and marker of the i-th series."""
    return {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
