"""Length and bits of a text over the size of the vocabulary."""

from typing import Any

from matplotlib.figure import Figure

from likely.plots.style import INK, SOFT, figure, series


def vocabulary_study(
    study: Any, *, title: str = "Larger vocabularies, shorter sequences"
) -> Figure:
    """Draw the tokens of a held-out text, and its bits per byte, over the vocabulary.

    Args:
        study: from `text.vocabulary_study`.
        title: the title of the figure.
    """
    drawn, (left, right) = figure(9.0, 3.4, columns=2)
    left.plot(study.n_tokens, study.length, label="byte pairs", ms=4, **series(0))
    others = (("characters", study.characters), ("words", study.words))
    for marker, (name, (size, length)) in zip("sD", others, strict=True):
        left.plot(size, length, marker, color=SOFT, ms=6, label=name)
    left.set_yscale("log")
    left.set_ylabel("tokens of the held-out text")
    names = ("tokens alone", "after the token before")
    for i, name in enumerate(names):
        bits = study.bits_per_byte[:, i]
        right.plot(study.n_tokens, bits, label=name, ms=4, **series(i))
    right.set_ylabel("bits per byte, held out")
    right.set_ylim(bottom=0)
    for ax in (left, right):
        ax.set_xscale("log", base=2)
        ax.set_xlabel("tokens in the vocabulary")
        ax.legend(frameon=False, fontsize="small")
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
