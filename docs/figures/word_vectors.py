"""Draw docs/images/word-vectors.svg: a map of words whose relations are known."""

from pathlib import Path

import matplotlib
import numpy as np

import likely as lk
from likely import data, plots

N_STEMS = 6
"""Stems on the map, the most frequent ones."""


def main() -> None:
    """Learn the vectors of made-up words and draw two forms of some stems."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    made = data.word_families(5000, random_state=0)
    vectors = lk.WordVectors(30).fit(made.texts)
    stems = [made.words[3 * k] for k in range(N_STEMS)]
    words = [stem + form for stem in stems for form in ("", "s")]
    figure = plots.map(
        vectors.embed(words),
        words,
        groups=np.repeat(stems, 2),
        lines=[(stem, f"{stem}s") for stem in stems],
        title="Stems and their plurals",
    )
    folder = Path(__file__).parents[1] / "images"
    figure.savefig(folder / "word-vectors.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
