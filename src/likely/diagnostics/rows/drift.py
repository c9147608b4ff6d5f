r"""Whether two tables come from one distribution: drift between training and new rows.

The classifier two-sample test: a model learns on half of the rows to tell table A from table
B, and is tried on the other half. If both have one distribution the labels of the other half
are exchangeable whatever the model, so the rank-sum test of its scores is exact; the area
under the ROC curve is the effect, ½ where nothing tells them apart. Both halves are used in
turn, and the smaller p-value counts twice. Tests of single columns stand beside it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone

from likely.core.checks import InputError
from likely.core.written_numbers import counted, listed, number, p_value, with_error
from likely.diagnostics.result import Result
from likely.diagnostics.rows.column_tests import ColumnTest, column_tests
from likely.diagnostics.rows.columns import ColumnValues, as_matrix, paired_columns
from likely.evaluate.delong import auc_interval
from likely.evaluate.splits import stratified_k_fold

MIN_ROWS = 10
"""Rows of each table from which on a classifier is tried."""
MAX_ROWS = 20_000
"""Rows of each table that a classifier learns from and is tried on."""
MAX_NAMED = 3
"""Columns that a verdict names."""


@dataclass(frozen=True, repr=False, eq=False)
class Drift(Result):
    """How two tables differ.

    Attributes:
        rows: of each table.
        auc: the area under the ROC curve of a classifier that tells them apart, on rows
            that it did not learn from; 0.5 where it cannot, NaN where there are too few rows.
        auc_error: its standard error.
        p_value: of the hypothesis that both tables have one distribution.
        columns: the tests of single columns, the most significant one first.
        level: the probability of calling tables different that are not.
    """

    rows: tuple[int, int]
    auc: float
    auc_error: float
    p_value: float
    columns: tuple[ColumnTest, ...]
    level: float

    @property
    def drifted(self) -> tuple[ColumnTest, ...]:
        """The columns that are shown to differ, corrected for their number."""
        return tuple(t for t in self.columns if t.adjusted < self.level / 2)

    @property
    def shown(self) -> bool:
        """Whether a difference is shown, by the classifier or by a column."""
        return bool(self.p_value < self.level / 2 or self.drifted)

    @property
    def verdict(self) -> str:
        """Whether the tables differ, by how much, and where."""
        told = ""
        if np.isfinite(self.auc):
            told = (
                "a classifier tells their rows apart with an area under the ROC curve of "
                f"{with_error(self.auc, self.auc_error)} (p {_p(self.p_value)})"
            )
        if not self.shown:
            told = f"{told}; " if told else ""
            if not told and not self.columns:
                few = counted(min(self.rows), "row")
                return f"No difference shown between the tables: {few} are too few to test."
            return (
                f"No difference shown between the tables: {told}none of "
                f"{counted(len(self.columns), 'test')} of columns is significant."
            )
        found, some = self.drifted, [_named(t) for t in self.drifted[:MAX_NAMED]]
        if not found:
            return f"The tables differ: {told}; no single column shows it."
        more = len(found) - len(some)
        listing = listed(some) + (f" and {more} more" if more else "")
        which = f"what differs is {listing}"
        return (
            f"The tables differ: {told}; {which}."
            if told
            else f"The tables differ: {which}."
        )

    def table(self) -> dict[str, Any]:
        """The tests of columns."""
        return {
            "column": [t.column for t in self.columns],
            "test": [t.kind for t in self.columns],
            "effect": [t.effect for t in self.columns],
            "± error": [t.error for t in self.columns],
            "p": [t.p_value for t in self.columns],
            "p, corrected": [t.adjusted for t in self.columns],
        }

    def plot(self) -> Any:
        """The effect of each column, those that are shown in colour."""
        from likely.plots import drift_effects

        return drift_effects(self)


def drift(
    A: Any,
    B: Any,
    *,
    classifier: Any = None,
    level: float = 0.05,
    random_state: int = 0,
) -> Drift:
    """Test whether two tables come from one distribution.

    Args:
        A: (n, d) rows, such as those a model was fitted to: an array, or a frame, which may
            hold words and missing values.
        B: (m, d) other rows with the same columns.
        classifier: tells the tables apart; boosted trees by default. It gets numbers, with
            codes for words and NaN for what is missing.
        level: the probability of calling tables different that are not; half of it is for
            the classifier, half for the columns together.
        random_state: a seed for the halves.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> A, B = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 1
        >>> lk.diagnostics.drift(A, B).p_value < 0.01
        True
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level}; give a number between 0 and 1.")
    pairs = paired_columns(A, B)
    if not pairs:
        raise InputError("the tables have no columns that can be compared.")
    sizes = len(pairs[0][0].values), len(pairs[0][1].values)
    if not min(sizes):
        raise InputError("one of the tables has no rows.")
    tests = sorted(column_tests(pairs), key=lambda t: t.p_value)
    area, error, p = float("nan"), float("nan"), float("nan")
    if min(sizes) >= MIN_ROWS:
        area, error, p = _told_apart(pairs, classifier, random_state)
    return Drift(sizes, area, error, p, tuple(tests), level)


def _told_apart(
    pairs: list[tuple[ColumnValues, ColumnValues]], classifier: Any, seed: int
) -> tuple[float, float, float]:
    """The area under the ROC curve, its error, and the p-value of one distribution."""
    rng = np.random.default_rng(seed)
    sides, words = [], []
    for columns in zip(*pairs, strict=True):
        X, words = as_matrix(list(columns))
        keep = np.sort(rng.permutation(len(X))[:MAX_ROWS])
        sides.append(X[keep])
    X = np.concatenate(sides)
    y = np.repeat([0, 1], [len(side) for side in sides])
    folds = stratified_k_fold(y, 2, random_state=rng)
    model = _default(words, len(X)) if classifier is None else classifier
    found = []
    for train, out in zip(folds.train > 0, folds.held_out > 0, strict=True):
        fitted: Any = clone(model)
        score = fitted.fit(X[train], y[train]).predict_proba(X[out])[:, 1]
        test: Any = stats.mannwhitneyu(
            score[y[out] == 1], score[y[out] == 0], alternative="greater"
        )
        area = auc_interval(y[out], score)
        found.append((area.value, area.error, float(test.pvalue)))
    areas, errors, p = np.array(found).T
    error = float(np.sqrt((errors**2).sum())) / 2
    return float(areas.mean()), error, float(min(2 * p.min(), 1.0))


def _default(words: list[int], n: int) -> Any:
    from likely.estimators import GradientBoostingClassifier

    return GradientBoostingClassifier(
        n_estimators=50,
        max_leaf_nodes=8,
        min_samples_leaf=max(5, min(20, n // 20)),
        learning_rate=0.1,
        categorical_features=words or None,
    )


def _named(test: ColumnTest) -> str:
    what = {"number": "gap", "category": "gap of shares", "missing": "gap of missing"}
    return f"{test.column!r} ({what[test.kind]} {number(test.effect)})"


def _p(p: float) -> str:
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"
