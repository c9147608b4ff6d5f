"""The cost of a run in seconds of one core, as formulas of the size of the table.

The factors were measured once and rounded up. A run is planned by these numbers and never
by the clock, so that the same table is always fitted by the same models.
`python -m benchmarks.budgets` prints planned seconds beside measured ones.
"""

import math

RUN = {"quick": 30.0, "normal": 120.0, "thorough": 600.0}
"""Seconds of a whole run on two cores, by effort."""
BUDGET = {"quick": 2.0, "normal": 12.0, "thorough": 150.0}
"""Seconds for one candidate model on one fold, by effort, where there is no plan."""
SPEED = 1.1
"""Seconds of one core that two cores compute in a second: most of a run has one thread."""
START = 4.0
"""Seconds to start, to read a small table, and to write the report."""
AFTER = 0.2
"""The share of a run that is kept for what comes after the comparison of models."""
IMPORTANCES, EFFECTS, COEFFICIENTS = 0.08, 0.06, 0.2
"""Shares of a run: for importances of columns, for effects, and at most for coefficients."""
COMPILING: dict[str, tuple[float, float, float, float]] = {
    "null": (0.2, 0.5, 0.2, 0.2),
    "linear": (0.5, 1.0, 2.3, 3.0),
    "penalised": (1.2, 4.0, 4.2, 5.0),
    "text": (1.2, 4.0, 5.0, 6.0),
    "spline": (6.0, 3.0, 7.3, 9.0),
    "neighbors": (0.1, 2.0, 0.1, 0.1),
    "svm": (0.4, 2.0, 0.4, 0.4),
    "forest": (1.2, 2.0, 0.1, 0.1),
    "boosting": (0.3, 1.0, 0.2, 0.3),
    "network": (8.0, 22.0, 6.5, 9.0),
}
"""Seconds to compile the fit of a model for numbers, counts, two classes, more."""
KERNEL_BASIS = (5.0, 4.0, 7.0, 9.0)
"""Seconds to compile a linear model on features of a kernel, likewise."""
PREDICTING = (3.2, 1.5, 0.3, 0.3)
"""Seconds to compile what all models need to be scored, likewise."""


def available(effort: str) -> float:
    """The seconds of one core that a run may take."""
    return SPEED * RUN[effort]


def _column(kind: str, family: str) -> int:
    """The column of `COMPILING`."""
    if kind in ("binary", "classes", "ordinal"):
        return 2 if kind == "binary" else 3
    return 0 if family in ("normal", "lognormal") else 1


def _by_kind(row: tuple[float, float, float, float], kind: str, family: str) -> float:
    if kind == "nonnegative":  # two models: of whether, and of how much
        return row[2] + row[0 if family == "hurdle_lognormal" else 1]
    return row[_column(kind, family)]


def compiling(name: str, kind: str, family: str, basis: bool = False) -> float:
    """The cost of compiling the fit of a model, perhaps on features of a kernel."""
    row = KERNEL_BASIS if basis else COMPILING.get(name, COMPILING["linear"])
    return _by_kind(row, kind, family)


def compiling_scores(kind: str, family: str) -> float:
    """The cost of compiling what all models need to be scored."""
    return _by_kind(PREDICTING, kind, family)


def reading(n: int, columns: int) -> float:
    """The cost of reading a table and looking at its columns."""
    return 4e-7 * n * columns + 2e-4 * columns


def encoding(n: int, columns: int) -> float:
    """The cost of encoding a table once in two ways."""
    return 1.5e-7 * n * columns + 2e-4 * columns


def encoding_text(characters: int, n: int, words: int) -> float:
    """The cost of counting the words of texts, and of n rows with so many columns of them."""
    return 1.5e-7 * characters + 2e-9 * n * words


def scoring(n: int, classes: int, kind: str) -> float:
    """The cost of quantiles or probabilities of n held-out rows."""
    if classes:
        return 3e-7 * n * classes
    return (6e-5 if kind == "count" else 3e-5) * n


def tree(n: int, tried: float, classes: int = 0) -> float:
    """The cost of a fully grown tree that tries so many columns at each split."""
    return 8e-9 * n * math.log2(n + 2) * tried * (1 + 0.15 * classes)


def boosting_round(n: int, d: int, outputs: int, special: bool = False) -> float:
    """The cost of a boosting round: a tree of 31 leaves for each output.

    Args:
        n: rows.
        d: columns.
        outputs: trees.
        special: whether derivatives have special functions, as those of counts have.
    """
    histograms = 2e-5 * d * outputs
    return 1e-3 + histograms + (1.2e-8 if special else 6e-9) * n * d * outputs


def binning(d: int) -> float:
    """The cost of the bins of d columns, for boosting."""
    return 8e-4 * d


def epoch(n: int, d: int, hidden: int) -> float:
    """The cost of an epoch of a network with one hidden layer."""
    return 5e-10 * n * d * hidden + 2e-6 * n


def dispersion(n: int) -> float:
    """The cost of the dispersion of counts around the predictions of a regressor."""
    return 0.05 + 4e-5 * n


def distances(n: int, d: int) -> float:
    """The cost of the distances from every fourth row to every row."""
    return 0.25e-9 * n * n * (d + 20)


def support_vectors(n: int, d: int, fits: int) -> float:
    """The cost of support vector machines by the dual."""
    return 2.5e-8 * n * n * (1 + d / 50) * fits


def linear(n: int, p: int, fits: int, repeated: bool = False) -> float:
    """The cost of least squares.

    Args:
        n: rows.
        p: columns.
        fits: penalties times folds.
        repeated: whether each fit has a decomposition of its own, as on a basis; else
            one decomposition serves all penalties of a fold.
    """
    if repeated:
        return fits * (0.6 + 2e-10 * n * p * p)
    return (2e-10 * n * p * p + 2e-9 * p**3) * (1 + fits / 40)


MAX_NEWTON, MAX_SHARED_NEWTON = 128, 512
"""The coefficients up to which logistic regressions are fitted by Newton's method, and those
of models with parameters that all rows share, such as thresholds of ordered classes."""


def newton(
    n: int,
    q: int,
    fits: int,
    p: int | None = None,
    *,
    counts: bool = False,
    shared: bool = False,
) -> float:
    """The cost of generalised linear models, for each penalty and fold.

    Args:
        n: rows.
        q: coefficients.
        fits: penalties times folds.
        p: columns; as many as coefficients where None.
        counts: whether a dispersion is fitted too, in turns.
        shared: whether other parameters that all rows share are fitted too.
    """
    p = q if p is None else p
    limit = MAX_SHARED_NEWTON if shared else MAX_NEWTON
    if counts:
        return fits * 10 * (5e-4 + n * (1.5e-6 + 2e-10 * q * q) + 1e-9 * q**3)
    if q <= limit:
        return (
            fits * 12 * (2 if shared else 1) * (2e-4 + 1e-10 * n * q * q + 3e-10 * q**3)
        )
    whitening = 1e-10 * n * p * p + 1e-9 * p**3
    return fits * (whitening + 40 * (2e-4 + 5e-10 * n * q))


def descent(n: int, p: int, classes: int, fits: int) -> float:
    """The cost of logistic regressions of p columns by gradients alone."""
    q = p if classes <= 2 else 1.6 * p * classes
    return fits * 60 * (2e-4 + 5e-10 * n * q)


def features(n: int, d: int, m: int) -> float:
    """The cost of Nyström features with m landmarks."""
    return 2e-10 * n * m * (d + m) + 1e-8 * m**3 + 1e-7 * n * d


def tweedie(n: int) -> float:
    """The cost of a Tweedie regression, whose likelihood is a series."""
    return 2e-4 * n


def curves(n: int, columns: int) -> float:
    """The cost of a spline: moments of ten functions of each column, a hundred solves."""
    q = 10 * columns
    return 0.1 + 1e-10 * n * q * q + 3e-8 * q**3


def prediction(name: str, rows: int, n: int, d: int) -> float:
    """The cost of the likelihoods of some rows by a model of n rows and d columns."""
    per_entry = {"neighbors": 1e-9 * n, "svm": 1e-9 * min(n, 2000)}
    return 5e-3 + rows * (1e-5 + d * (7e-8 + per_entry.get(name, 0.0)))


def coefficients(n: int, d: int, classes: int, kind: str, family: str) -> float:
    """The cost of a linear model of all rows with standard errors."""
    if classes:
        return 4.0 + 1.1e-8 * n * d * d * max(1, classes - 1)
    if kind == "nonnegative":
        return 9.0 + tweedie(n)
    if _column(kind, family) == 1:
        return 2.0 + 5e-9 * n * d * d
    return 3.0 + 1e-9 * n * d * d
