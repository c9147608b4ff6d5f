r"""Whether a column has the same distribution in two tables.

    numbers      Kolmogorov and Smirnov: the largest gap of the distribution functions
    categories   χ² over levels, rare ones pooled; the effect is the total variation distance
    missing      Fisher's exact test of how often a value is missing

Of m tests the p-values are corrected by Holm's method: the probability that any column is
called different where none is stays below the level, whatever the dependence.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from likely.diagnostics.rows.columns import ColumnValues

MAX_NUMBER_LEVELS = 10
"""Numbers with so few different values are tested as categories."""
MIN_EXPECTED = 5.0
"""The least expected count of a level in the smaller table; rarer ones are pooled."""


class ColumnTest(NamedTuple):
    """The test of one column."""

    column: str
    kind: str
    """number, category or missing."""
    effect: float
    """The largest gap of distribution functions, or the share of rows that would have to
    change their level: from 0 to 1."""
    error: float
    """About the standard error of the effect."""
    p_value: float
    adjusted: float = float("nan")
    """The p-value after Holm's correction for all tests."""


def column_tests(
    pairs: list[tuple[ColumnValues, ColumnValues]],
) -> list[ColumnTest]:
    """The tests of all columns, of values and of what is missing, corrected together."""
    found = [t for a, b in pairs for t in (_value_test(a, b), _missing_test(a, b)) if t]
    adjusted = holm([test.p_value for test in found])
    return [t._replace(adjusted=p) for t, p in zip(found, adjusted, strict=True)]


def holm(p: Any) -> list[float]:
    """p-values corrected for how many there are, by Holm's method."""
    p = np.asarray(p, np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * np.arange(len(p), 0, -1)
    found = np.empty(len(p))
    found[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return found.tolist()


def _value_test(a: ColumnValues, b: ColumnValues) -> ColumnTest | None:
    x, y = a.values[~a.missing], b.values[~b.missing]
    if not len(x) or not len(y):
        return None
    both = np.concatenate([x, y])
    size = np.sqrt(1 / len(x) + 1 / len(y)) / 2
    if a.levels is None and len(np.unique(both)) > MAX_NUMBER_LEVELS:
        found: Any = stats.ks_2samp(x, y)
        effect = float(found.statistic)
        return ColumnTest(a.name, "number", effect, size, float(found.pvalue))
    values, codes = np.unique(both, return_inverse=True)
    counts = np.stack(
        [
            np.bincount(part, minlength=len(values))
            for part in (codes[: len(x)], codes[len(x) :])
        ]
    )
    pooled = _pooled(counts)
    if pooled.shape[1] < 2:
        return None
    found = stats.chi2_contingency(pooled, correction=False)
    shares = counts / counts.sum(1, keepdims=True)
    effect = 0.5 * float(np.abs(shares[0] - shares[1]).sum())
    return ColumnTest(a.name, "category", effect, size, float(found.pvalue))


def _pooled(counts: np.ndarray) -> np.ndarray:
    """The counts with levels together that are too rare for a test."""
    expected = counts.sum(0) * counts.sum(1).min() / counts.sum()
    common = expected >= MIN_EXPECTED
    rest = counts[:, ~common].sum(1, keepdims=True)
    kept = counts[:, common]
    return np.concatenate([kept, rest], 1) if rest.sum() else kept


def _missing_test(a: ColumnValues, b: ColumnValues) -> ColumnTest | None:
    gone = [int(c.missing.sum()) for c in (a, b)]
    total = [len(c.values) for c in (a, b)]
    if not sum(gone):
        return None
    table = [[g, n - g] for g, n in zip(gone, total, strict=True)]
    shares = np.array(gone) / total
    error = np.sqrt((shares * (1 - shares) / total).sum())
    found: Any = stats.fisher_exact(table)
    effect = float(abs(shares[0] - shares[1]))
    return ColumnTest(a.name, "missing", effect, float(error), float(found.pvalue))
