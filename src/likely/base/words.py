"""Columns of words: to codes that trees split as sets, learned from the rows of a fit.

Which columns hold words a frame says itself (text and categories); of an array they are
the columns that are no numbers. A word that the fit has not seen is missing, like None.
"""

from typing import Any

import numpy as np

from likely.core.checks import InputError

WORDS = ("Categorical", "Enum", "String")
DATES = ("Date", "Datetime", "Duration", "Time")
"""Types of columns, as narwhals calls them."""


def learn_words(estimator: Any, X: Any, sample_weight: Any = None) -> Any:
    """X with codes in the place of words, learned from these rows.

    Args:
        estimator: gets `category_columns_`, the numbers of the columns of words, and
            `category_words_`, the words of each in the order of their codes.
        X: a frame, or anything that is an array.
        sample_weight: how often each row counts; rows of weight 0 may hold anything.
    """
    estimator.category_columns_, estimator.category_words_ = [], []
    if hasattr(X, "dtype") and np.dtype(X.dtype).kind not in "OUS":
        return X
    X = _without_absent(X, sample_weight)
    columns = word_columns(X)
    if not columns:
        return X
    from likely.preprocess.levels import in_order, tally  # they load Arrow

    levels = _levels(X, columns)
    w = np.ones(len(levels[0].codes))
    if sample_weight is not None and np.shape(sample_weight) == w.shape:
        w = np.asarray(sample_weight, np.float64)
    found = [in_order(list(tally(column, w).weights)) for column in levels]
    estimator.category_columns_, estimator.category_words_ = columns, found
    return word_codes(estimator, X)


def word_codes(estimator: Any, X: Any) -> Any:
    """X with codes in the place of words, as the fit has learned them."""
    columns = vars(estimator).get("category_columns_")
    if not columns:
        return X
    names = _names(X)
    if names is None:
        X = np.asarray(X, dtype=object)
    if len(X.shape) != 2 or X.shape[1] <= max(columns):
        return X  # scikit-learn's check says what is wrong
    from likely.preprocess.levels import codes_among

    codes, each = [], zip(columns, estimator.category_words_, strict=True)
    for (place, words), levels in zip(each, _levels(X, columns), strict=True):
        own = codes_among(levels, words).astype(np.float64)
        own[own < 0] = np.nan
        name = place if names is None else repr(names[place])
        _refuse_others(_chosen(X, [place]), own, words, name)
        codes.append(own)
    if names is None:
        X = X.copy()
        X[:, columns] = np.stack(codes, axis=1)
        return X
    frame, nw = _frame(X), _narwhals()
    made = [
        nw.new_series(names[j], own, nw.Float64, backend=frame.implementation)
        for j, own in zip(columns, codes, strict=True)
    ]
    native = frame.with_columns(*made).to_native()
    if hasattr(X, "index") and hasattr(native, "index"):
        native.index = X.index
    return native


def word_columns(X: Any) -> list[int]:
    """The numbers of the columns that hold words."""
    names = _names(X)
    if names is None:
        X = np.asarray(X, dtype=object)
        columns = range(X.shape[1]) if X.ndim == 2 else ()
        return [j for j in columns if _holds_words(X[:, j])]
    frame, found = _frame(X), []
    for j, (name, kind) in enumerate(frame.schema.items()):
        kind = type(kind).__name__ if not isinstance(kind, type) else kind.__name__
        if kind in DATES:
            raise InputError(
                f"column {name!r} holds values of type {kind}, which are neither numbers "
                "nor words; preprocess.DateParts turns dates into numbers."
            )
        objects = kind == "Object"
        if kind in WORDS or (objects and _holds_words(frame[name].to_numpy())):
            found.append(j)
    return found


def words_by_column(estimator: Any) -> dict[int, list[str]]:
    """The words of each column of words, in the order of their codes."""
    columns = vars(estimator).get("category_columns_", [])
    return dict(zip(columns, vars(estimator).get("category_words_", []), strict=True))


def _holds_words(column: np.ndarray) -> bool:
    """Whether a column of objects holds text that is no number."""
    text = [value for value in column if isinstance(value, str)]
    try:
        np.array(text).astype(np.float64)
    except ValueError:
        return True
    return False


def _names(X: Any) -> list[str] | None:
    """The names of the columns of a frame; None for arrays, and where these are no names."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    if not _narwhals().dependencies.is_into_dataframe(X):
        return None
    names = list(_frame(X).columns)
    return names if all(isinstance(name, str) for name in names) else None


def _narwhals() -> Any:
    """The library for frames of any make, loaded where there is one."""
    import narwhals

    return narwhals


def _frame(X: Any) -> Any:
    """A frame as narwhals has it."""
    return _narwhals().from_native(X, eager_only=True)


def _chosen(X: Any, columns: list[int]) -> Any:
    """Some columns of a frame or an array."""
    if _names(X) is None:
        return np.asarray(X, dtype=object)[:, columns]
    return _frame(X)[:, columns].to_native()


def _levels(X: Any, columns: list[int]) -> list:
    """Columns of a frame or an array as levels."""
    from likely.data.columns import as_levels
    from likely.data.frames import to_arrow

    table = to_arrow(_chosen(X, columns))
    return [*map(as_levels, table.columns, table.column_names)]


def _without_absent(X: Any, sample_weight: Any) -> Any:
    """An array whose rows of weight 0 hold what a row with weight holds; or X itself."""
    if sample_weight is None or _names(X) is not None:
        return X
    found, w = np.asarray(X, dtype=object), np.asarray(sample_weight)
    if w.shape != found.shape[:1] or not (w == 0).any() or not (w > 0).any():
        return X
    mask = (w == 0).reshape((-1,) + (1,) * (found.ndim - 1))
    return np.where(mask, found[np.argmax(w > 0)], found)


def _refuse_others(column: Any, codes: np.ndarray, words: list[str], name: Any) -> None:
    """Numbers or dates in the place of words, none of them known, are a mistake."""
    if not np.isnan(codes).all() or not _holds_words(np.array(words, object)):
        return
    for value in np.asarray(column)[:, 0]:
        if not isinstance(value, str) and value is not None and value == value:
            raise InputError(
                f"column {name} held words in the fit, and holds {value} now; give "
                "words."
            )
