"""Wrong labels: how likely each label is wrong, and which labels are suggested instead."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

MAX_CLASSES = 15
"""Classes up to which the numbers of candidates are written."""


def label_noise_map(result: Any) -> Figure:
    """Draw how likely labels are wrong, and the candidates by label and suggestion.

    Args:
        result: a `LabelNoise`.
    """
    drawn, (left, right) = figure(8.6, 3.8, "How likely labels are wrong", columns=2)
    p = np.sort(result.probability)[::-1]
    rank = np.arange(1, len(p) + 1)
    left.plot(rank, p, color=COLOURS[0])
    k = len(result.candidates)
    left.fill_between(rank[:k], p[:k], color=COLOURS[1], alpha=0.35, lw=0)
    left.axhline(0.5, color=SOFT, lw=0.8, ls="--")
    left.set(
        xlabel="rows, the surest first", ylabel="P(the label is wrong)", ylim=(0, 1.02)
    )
    left.set_xlim(1, max(3 * k, 20))
    names = [str(c) for c in result.classes]
    place = {name: i for i, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)))
    for row in result.candidates:
        i, j = str(result.labels[row]), str(result.suggested[row])
        counts[place[i], place[j]] += 1
    right.imshow(counts, cmap="Blues", vmin=0)
    if len(names) <= MAX_CLASSES:
        for (i, j), count in np.ndenumerate(counts):
            if count:
                dark = count > 0.6 * counts.max()
                right.text(
                    j, i, f"{count:.0f}", ha="center", va="center", fontsize=8,
                    color="white" if dark else INK,
                )  # fmt: skip
    right.set_xticks(range(len(names)), names)
    right.set_yticks(range(len(names)), names)
    right.set(xlabel="suggested label", ylabel="label")
    right.set_title("Candidates", loc="left", color=INK)
    return drawn
