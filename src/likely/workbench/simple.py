"""The coefficients of an unpenalised linear model, with intervals and p-values."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

import likely as lk
from likely.core.checks import InputError
from likely.workbench.ladder import Fold
from likely.workbench.table import Table

MAX_COLUMNS = 200
"""The largest number of columns that are worth reading."""
MAX_COEFFICIENTS = 600
"""The largest number of coefficients; each class has its own."""


class SimpleModel(NamedTuple):
    """The coefficients of an unpenalised linear model, columns scaled to variance 1."""

    title: str = ""
    rows: Sequence[dict[str, Any]] = ()
    facts: Sequence[tuple[str, str]] = ()
    warnings: Sequence[tuple[str, str]] = ()
    """(class, sentence) of each warning of the fit."""
    refusal: str = ""


def simple_model(table: Table) -> SimpleModel:
    """Fit a linear model to all rows; without p-values, `refusal` says why."""
    fold = Fold(table, None)
    X, _ = fold.encoded("scaled")
    names = fold.encoders["scaled"].get_feature_names_out()
    if X.shape[1] > MAX_COLUMNS:
        return SimpleModel(refusal=f"{X.shape[1]} columns are too many to read")
    numbers = X.shape[1] * max(len(table.target.classes) - 1, 1)
    if numbers > MAX_COEFFICIENTS:
        return SimpleModel(refusal=f"{numbers} coefficients are too many to read")
    kept = _independent(X)
    model, y, title = _model(table)
    if not len(kept):
        return SimpleModel(title, refusal="no column varies from row to row.")
    X, names = X[:, kept], [str(name) for name in names[kept]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            frame = pa.table(dict(zip(names, X.T, strict=True)))
            fitted = model.fit(frame, y, sample_weight=table.w)
            summary = fitted.summary(coverage=0.95)
            rows, facts = _rows(summary), list(summary.facts)
        except InputError as error:
            found = _sentences(caught) or [(type(error).__name__, str(error))]
            return SimpleModel(title, warnings=found, refusal=str(error))
        except np.linalg.LinAlgError:
            why = "its equations have no unique solution (columns repeat each other)."
            return SimpleModel(title, warnings=_sentences(caught), refusal=why)
    return SimpleModel(title, rows, facts, _sentences(caught))


def _rows(summary: Any) -> list[dict[str, Any]]:
    """One row for each coefficient."""
    columns = {
        "name": summary.names,
        "estimate": summary.coefficients,
        "error": summary.standard_errors,
        "low": summary.intervals[:, 0],
        "high": summary.intervals[:, 1],
        "p": summary.p_values,
    }
    cells = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in cells]


def _sentences(caught: list) -> list[tuple[str, str]]:
    return sorted({(w.category.__name__, str(w.message)) for w in caught})


def _independent(X: np.ndarray) -> np.ndarray:
    """The largest set of linearly independent columns, for one-hot blocks are not."""
    from scipy.linalg import qr

    centred = X - X.mean(0)
    length = np.linalg.norm(centred, axis=0)
    varying = np.flatnonzero(length > 1e-9)
    R, order = cast(
        tuple, qr(centred[:, varying] / length[varying], mode="r", pivoting=True)
    )[-2:]
    size = np.abs(np.diagonal(R))
    rank = int((size > 1e-8 * size[0]).sum()) if size.size else 0
    return np.sort(varying[order[:rank]])


def _model(table: Table) -> tuple[Any, np.ndarray, str]:
    target = table.target
    if target.is_class:
        return lk.LogisticRegression(), table.y.astype(int), "logistic regression"
    if target.kind == "positive":
        title = f"linear regression of log {target.name}"
        return lk.LinearRegression(), np.log(table.y), title
    if target.kind == "count":
        return lk.PoissonRegressor(), table.y, "Poisson regression (log link)"
    return lk.LinearRegression(), table.y, "linear regression"
