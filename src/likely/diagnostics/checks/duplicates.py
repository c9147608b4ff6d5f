r"""LK103: rows of which an exact copy is on the other side of a split.

A copy that was learned from is no test. Whether equal rows are copies or chance depends on
how many values the columns have: with the probability $c_j$ that two rows agree in column j,
two rows would agree in all of them with probability $\prod_j c_j$ if columns were independent.
Columns depend on each other, so half of these bits are taken for redundant, and no more rows
agree in all columns than in any one of them:
$\binom n2 \min(\sqrt{\prod_j c_j}, \min_j c_j)$ pairs are expected by chance at most. Where
nearly all different rows have a value of their own, $c_j$ is that of different rows.
"""

from typing import Any

import numpy as np
from scipy import stats

from likely.core.written_numbers import counted, percent
from likely.diagnostics.checks.finding import Finding
from likely.diagnostics.checks.subject import Subject
from likely.diagnostics.rows.columns import ColumnValues, paired_columns

MIN_COPIES, MIN_COPIED_SHARE = 3, 0.01
"""The least number of copies, and their least share of the rows."""
LEVEL = 1e-4
SINGLE_SHARE = 0.9
"""The least share of different values among different rows of a nearly continuous column."""


def row_groups(columns: list[np.ndarray]) -> np.ndarray:
    """(n,) the number of each row among the different rows of some codes."""
    group = np.zeros(len(columns[0]), int)
    for codes in columns:
        pair = group * (int(codes.max()) + 2) + codes + 1
        group = np.unique(pair, return_inverse=True)[1]
    return group


def chance_pairs(columns: list[np.ndarray], pairs: float | int) -> float:
    """How many of some pairs of rows would agree in all columns by chance, at most."""
    different = np.unique(row_groups(columns), return_index=True)[1]
    agree = np.array([_agreement(codes, different) for codes in columns])
    return pairs * min(float(np.sqrt(agree.prod())), float(agree.min()))


def _agreement(codes: np.ndarray, different: np.ndarray) -> float:
    """How likely two rows have one value, of different rows where most values are single."""
    own = codes[different]
    if len(np.unique(own)) >= SINGLE_SHARE * len(own):
        codes = own
    n, counts = len(codes), np.unique(codes, return_counts=True)[1]
    all_pairs = max(n * (n - 1) / 2, 1.0)
    return min(max(float((counts * (counts - 1) / 2).sum()), 1.0) / all_pairs, 1.0)


def copied_rows(columns: list[np.ndarray], level: float = LEVEL) -> np.ndarray:
    """(n,) booleans: rows that have an exact copy, where these are too many for chance.

    Args:
        columns: (n,) codes of each column, the target among them.
        level: the probability of so many by chance, below which they are no chance.
    """
    n = len(columns[0])
    group = row_groups(columns)
    size = np.bincount(group)
    copied = size[group] > 1
    found = float((size * (size - 1) / 2).sum())
    expected = chance_pairs(columns, n * (n - 1) / 2)
    enough = copied.sum() >= max(MIN_COPIES, MIN_COPIED_SHARE * n)
    chance = float(stats.poisson.sf(found - 1, expected))
    return copied if enough and chance < level else np.zeros(n, bool)


def copies(subject: Subject) -> Finding | None:
    """Copies of training rows among the test rows, or within the rows of the fit."""
    y = ColumnValues("", subject.codes.astype(float)).codes
    if subject.new is None:
        columns = [c.codes for c in subject.columns]
        copied = copied_rows([*columns, y])
        if not copied.any():
            return None
        k, share = int(copied.sum()), copied.mean()
        text = (
            f"{counted(k, 'row')} ({percent(share)}) have an exact copy elsewhere in the "
            "table, target and all, so that folds at random test on rows that the model "
            "has seen."
        )
        return _finding(text, k, share)
    found = _shared(subject)
    if found is None:
        return None
    k, share = found
    text = (
        f"{counted(k, 'test row')} ({percent(share)}) are exact copies of rows of the fit, "
        "target and all."
    )
    return _finding(text, k, share)


def _shared(subject: Subject) -> tuple[int, float] | None:
    """How many test rows are copies, and their share."""
    new: Any = subject.new
    if subject.classes is None:
        other = np.asarray(new.y, np.float64)
    else:
        other = np.searchsorted(subject.classes, new.y)
    pairs = paired_columns(subject.known.X, new.X)
    joined = [
        a._replace(values=np.concatenate([a.values, b.values])).codes for a, b in pairs
    ]
    target = np.unique(np.concatenate([subject.codes, other]), return_inverse=True)[1]
    columns = [*joined, target]
    n = len(subject.codes)
    group = row_groups(columns)
    known, size = group[:n], np.bincount(group[:n], minlength=group.max() + 1)
    copied = size[group[n:]] > 0
    found = float(size[group[n:]].sum())
    expected = chance_pairs(columns, len(known) * len(copied))
    enough = copied.sum() >= max(MIN_COPIES, MIN_COPIED_SHARE * len(copied))
    if not enough or stats.poisson.sf(found - 1, expected) >= LEVEL:
        return None
    return int(copied.sum()), float(copied.mean())


def _finding(text: str, k: int, share: float) -> Finding:
    advice = (
        "Keep one of each, or give the copies one group (groups=), and judge again."
    )
    numbers = {"copies": float(k), "share": float(share)}
    return Finding("duplicates", "warning", text, advice, first=True, numbers=numbers)
