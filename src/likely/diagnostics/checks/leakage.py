"""LK101 and LK102: a column that tells the target, and results too good to be true."""

import numpy as np
from scipy import stats

from likely.core.written_numbers import listed, number, percent
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject
from likely.diagnostics.rows.columns import ColumnValues
from likely.evaluate import r_squared, random_folds

MIN_ROWS = 40
MIN_LEAK_SHARE = 0.98
"""The share of the target that a column has to explain alone to be called a leak."""
TOO_GOOD_R2, TOO_GOOD_ERROR = 0.995, 0.015
"""The R² from which a result is doubted, and the error rate that it is surely below."""
MIN_BASE_ERROR = 0.05
"""The least error rate of always predicting the commonest class, for that."""


def explained_share(
    x: np.ndarray, y: np.ndarray, half: np.ndarray, n_classes: int, *, is_code: bool
) -> float:
    """How much of the target in one half of the rows a column explains, by the other half.

    A category predicts by the mean target of its rows, a number by its nearest
    neighbours. The share is that of the variance, or of the errors of always predicting
    the commonest class.

    Args:
        x: numbers without NaN, or codes from 0.
        y: numbers, or codes of classes.
        half: the rows to learn from.
        n_classes: how many classes there are; 0 for numbers.
        is_code: whether x is a category.
    """
    test = ~half
    if is_code:
        predicted = _by_category(x, y, half, n_classes)
    else:
        order = np.argsort(x[half], kind="stable")
        known_x, known_y = x[half][order], y[half][order]
        if n_classes:
            i = np.clip(np.searchsorted(known_x, x[test]), 1, len(known_x) - 1)
            left_is_nearer = x[test] - known_x[i - 1] < known_x[i] - x[test]
            predicted = known_y[i - left_is_nearer]
        else:
            predicted = np.interp(x[test], known_x, known_y)
    truth = y[test]
    if n_classes:
        base = np.mean(truth != np.bincount(y[half].astype(int)).argmax())
        wrong = np.mean(predicted != truth)
        return float(1 - wrong / base) if base > 0 else 0.0
    spread = np.mean((truth - truth.mean()) ** 2)
    return float(1 - np.mean((truth - predicted) ** 2) / spread) if spread > 0 else 0.0


def leaks(subject: Subject) -> Finding | None:
    """A column, or whether it is missing, that alone tells the target almost exactly."""
    y, classes = subject.codes, subject.classes
    if len(y) < MIN_ROWS:
        raise DoesNotApply(f"there are fewer than {MIN_ROWS} rows")
    half = random_folds(len(y), 2, subject.options.random_state) == 0
    n_classes = 0 if classes is None else len(classes)
    shares = [(_share(c, y, half, n_classes), c.name) for c in subject.columns]
    for column in subject.columns:
        if column.missing.any():
            gone = column.missing.astype(int)
            share = explained_share(gone, y, half, n_classes, is_code=True)
            shares.append((share, f"whether {column.name!r} is missing"))
    share, name = max(shares)
    if share < MIN_LEAK_SHARE:
        return None
    what = name if name.startswith("whether") else f"Column {name!r}"
    return Finding(
        "leakage",
        "warning",
        f"{what[0].upper()}{what[1:]} alone tells the target almost exactly "
        f"({percent(share)} explained), so scores may be too good to be true.",
        "Is it known before the target is? If not, leave it out.",
        "" if name.startswith("whether") else name,
        first=True,
        numbers={"explained": share},
    )


def _share(column: ColumnValues, y: np.ndarray, half: np.ndarray, c: int) -> float:
    if column.levels is not None:
        codes = column.values + 1
        return explained_share(codes, y, half, c, is_code=True)
    gone = column.missing
    if gone.all():
        return 0.0
    x = np.where(gone, np.nanmean(column.values), column.values)
    return explained_share(x, y, half, c, is_code=False)


def too_good(
    is_class: bool, n: float, wrong: float, r2: float, base_error: float
) -> bool:
    """Whether a result is rare for real data.

    Args:
        is_class: whether the target is a class.
        n: the number of held-out rows.
        wrong: how many of them are predicted wrong.
        r2: the share of the variance that is explained, for numbers.
        base_error: the error rate of always predicting the commonest class.
    """
    if not is_class:
        return n >= MIN_ROWS and r2 >= TOO_GOOD_R2
    highest = float(stats.beta.ppf(0.95, wrong + 1, max(n - wrong, 1e-9)))
    return base_error >= MIN_BASE_ERROR and highest < TOO_GOOD_ERROR


def perfect(subject: Subject) -> Finding | None:
    """Held-out predictions that are almost all right."""
    rows = subject.held_out
    n, w = subject.n, rows.w
    is_class = subject.classes is not None
    wrong, r2, base = 0.0, 0.0, 0.0
    if subject.classes is not None:
        wrong = float(w @ rows.wrong)
        shares = np.bincount(rows.y.astype(int), w) / n
        base = 1 - float(shares.max())
        said = f"is right in {percent(1 - wrong / n)} of {number(n)} rows"
    else:
        r2 = r_squared(rows.y, rows.mean, w)
        said = f"explains {percent(r2)} of the variance"
    if not too_good(is_class, n, wrong, r2, base):
        return None
    known = [c.name for c in subject.columns][:2]
    ask = (
        f"Are columns such as {listed([repr(c) for c in known])}"
        if known
        else "Is it all"
    )
    return Finding(
        "too good",
        "warning",
        f"On rows that it did not learn from the model {said}, which is rare for real "
        "data.",
        f"{ask} known before the target is? Are test rows copies of training rows?",
        first=True,
        numbers={"explained": 1 - wrong / n / base if is_class else r2},
    )


def _by_category(x: np.ndarray, y: np.ndarray, half: np.ndarray, c: int) -> np.ndarray:
    """The commonest class, or the mean, of the rows of the same category."""
    size = int(x.max()) + 1
    if c:
        counts = np.zeros((size, c))
        np.add.at(counts, (x[half], y[half].astype(int)), 1)
        return counts.argmax(1)[x[~half]]
    weight = np.bincount(x[half], minlength=size)
    total = np.bincount(x[half], y[half], minlength=size)
    means = np.where(weight > 0, total / np.maximum(weight, 1), y[half].mean())
    return means[x[~half]]
