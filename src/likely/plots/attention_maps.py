"""Attention maps: a row of panels for each layer, a column for each head."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import INK, SOFT

MAX_LABELS = 24
"""The largest number of positions whose labels are readable."""


def attention_maps(
    maps: Any,
    *,
    row: int = 0,
    tokens: Sequence[Any] = (),
    sources: Sequence[Any] | None = None,
    title: str = "",
) -> Figure:
    """Draw who looks at whom: dark is much, each row of a panel sums to 1.

    Args:
        maps: (layers, rows, heads, t, s) from `diagnostics.attention_maps`, or (rows, t, s)
            from `diagnostics.attention_rollout`.
        row: which of the rows to show.
        tokens: a label for each position that looks.
        sources: a label for each position that is looked at; `tokens` where None.
        title: the title of the figure.
    """
    maps = np.asarray(maps, np.float64)
    if maps.ndim == 3:
        maps = maps[None, :, None]
    if maps.ndim != 5:
        raise InputError(
            f"the maps have {maps.ndim} axes; give (layers, rows, heads, t, s) or "
            "(rows, t, s)."
        )
    if not -maps.shape[1] <= row < maps.shape[1]:
        raise InputError(
            f"there are maps of {maps.shape[1]} rows, so none of row {row}."
        )
    shown = maps[:, row]
    n_layers, n_heads, t, s = shown.shape
    side = 1.7 if max(t, s) <= MAX_LABELS and not tokens else 2.4
    drawn = Figure(
        figsize=(side * n_heads + 0.9, side * n_layers + 0.5), layout="constrained"
    )
    axes = drawn.subplots(n_layers, n_heads, squeeze=False)
    sources = tokens if sources is None else sources
    for layer, panels in enumerate(axes):
        for head, ax in enumerate(panels):
            ax.imshow(shown[layer, head], cmap="Blues", vmin=0, vmax=1)
            ax.spines[:].set_color(SOFT)
            ax.set(xticks=[], yticks=[])
            if len(tokens) and t <= MAX_LABELS and head == 0:
                ax.set_yticks(range(t), list(map(str, tokens)), fontsize=7)
            if len(sources) and s <= MAX_LABELS and layer == n_layers - 1:
                ax.set_xticks(
                    range(s), list(map(str, sources)), fontsize=7, rotation=90
                )
            if n_layers * n_heads > 1:
                ax.set_title(f"layer {layer}, head {head}", fontsize=8, color=INK)
    axes[-1, 0].set(xlabel="is looked at", ylabel="looks")
    drawn.colorbar(
        axes[0, 0].images[0], ax=list(axes.flat), shrink=0.7, label="attention"
    )
    if title:
        drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
