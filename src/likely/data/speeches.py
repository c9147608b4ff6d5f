"""Who says it: speeches of Shakespeare's plays, each with the name of its speaker."""

from collections import Counter
from os import PathLike

import numpy as np

from likely.core.checks import InputError
from likely.data.dataset import Dataset
from likely.data.remote import tinyshakespeare

TEST_SHARE = 0.2
"""The share of each speaker's speeches, the last ones, that are for testing."""


def speakers(
    split: str = "train",
    n_speakers: int = 10,
    *,
    path: str | PathLike | None = None,
) -> Dataset:
    """Speeches (texts, X) by the speakers with most of them in tiny Shakespeare (y).

    Speakers meet in one play only, so that a split by position alone would part speakers, not
    speeches. For testing are the last fifth of each speaker's speeches: later scenes.

    Args:
        split: "train" or "test".
        n_speakers: how many speakers, those with most speeches.
        path: a text file to read instead.
    """
    if split not in ("train", "test"):
        raise InputError(f"split is {split!r}; give 'train' or 'test'.")
    speeches = _speeches(tinyshakespeare(path=path))
    counts = Counter(name for name, _ in speeches)
    if not 2 <= n_speakers <= len(counts):
        raise InputError(
            f"n_speakers is {n_speakers}; there are {len(counts)}: give 2 to {len(counts)}."
        )
    names = tuple(sorted(name for name, _ in counts.most_common(n_speakers)))
    number, texts, codes = {name: i for i, name in enumerate(names)}, [], []
    so_far: Counter[str] = Counter()
    for name, text in speeches:
        if name not in number:
            continue
        so_far[name] += 1
        later = so_far[name] > (1 - TEST_SHARE) * counts[name]
        if later == (split == "test"):
            texts.append(text)
            codes.append(number[name])
    title = f"Speeches of {n_speakers} of Shakespeare's characters ({split})"
    return Dataset(np.array(texts, object), np.array(codes), ("speech",), names, title)


def _speeches(plays: str) -> list[tuple[str, str]]:
    """The speaker and the text of each speech, in order."""
    found = []
    for block in plays.split("\n\n"):
        name, _, text = block.strip("\n").partition("\n")
        if name.endswith(":") and text:
            found.append((name[:-1], text))
    return found
