"""The coefficients of a linear model without a penalty, in the units of the table.

Numbers enter as they are, dates in years, truth values as 1 for yes; each level of a
category is compared with the commonest one, its reference level. So the estimates,
standard errors and p-values are those of any other program on the same columns.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

import likely as lk
from likely.core.checks import InputError
from likely.core.written_numbers import listed
from likely.data.columns import as_levels, as_numbers, as_timestamps
from likely.data.schema import Column
from likely.workbench.problem import GLMS
from likely.workbench.report.measured import Coefficient, Simple
from likely.workbench.table import Table

MAX_COLUMNS = 200
"""The largest number of columns that are worth reading."""
MAX_COEFFICIENTS = 600
"""The largest number of coefficients; each class has its own."""
MAX_LEVELS = 30
"""The largest number of levels of a category; rare ones are taken together."""
YEAR = 365.2425 * 86400e6
"""The microseconds of a year."""
SURVIVAL_TITLES = {
    "weibull": "Weibull regression",
    "lognormal": "log-normal regression",
    "exponential": "exponential regression",
}
TITLES = {
    "poisson": "Poisson regression (log link)",
    "negative_binomial": "negative binomial regression (log link)",
    "gamma": "gamma regression (log link)",
}


class DesignColumn(NamedTuple):
    """A column of the design matrix, and what it stands for."""

    name: str
    column: str
    values: Float[np.ndarray, " n"]
    level: str = ""
    reference: str = ""


class Chosen(NamedTuple):
    """The model of a kind of target."""

    model: Any
    y: np.ndarray
    title: str
    ratio: str = ""
    """What exp(estimate) is; empty where it has no meaning."""
    errors: str = "model"
    """Where they come from; robust ones where there is no likelihood."""


def simple_model(
    table: Table, columns: list[DesignColumn] | None = None, *, brief: bool = False
) -> Simple:
    """Fit a linear model to all rows; without coefficients, `refusal` says why.

    Args:
        table: the rows.
        columns: those of `design`, if they are known.
        brief: whether numbers with exact zeros get a model of their mean alone, whose
            errors are robust, instead of a whole distribution, which takes longer.
    """
    found = design(table) if columns is None else columns
    if len(found) > MAX_COLUMNS:
        return Simple(refusal=f"{len(found)} columns are too many to read.")
    several = len(table.target.classes) if table.target.kind != "ordinal" else 0
    numbers = len(found) * max(several - 1, 1)
    if numbers > MAX_COEFFICIENTS:
        return Simple(refusal=f"{numbers} coefficients are too many to read.")
    chosen = _model(table, brief)
    kept = _independent(np.stack([c.values for c in found], axis=1)) if found else []
    if not len(kept):
        return Simple(chosen.title, refusal="no column varies from row to row.")
    repeated = [c.name for j, c in enumerate(found) if j not in set(kept)]
    said = _repeated(table, repeated)
    return _fitted(table, chosen, [found[j] for j in kept], said)


def _repeated(table: Table, names: list[str]) -> tuple[tuple[str, str], ...]:
    """A sentence about columns that others determine."""
    if not names:
        return ()
    are = "is" if len(names) == 1 else "are"
    some = listed([repr(name) for name in names[:3]])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    sentence = (
        f"In a linear model {some}{more} {are} determined by other columns, and "
        f"{'has' if len(names) == 1 else 'have'} no coefficient."
    )
    return (("Repeated", sentence),)


def _fitted(
    table: Table,
    chosen: Chosen,
    columns: list[DesignColumn],
    said: tuple[tuple[str, str], ...],
) -> Simple:
    names = [column.name for column in columns]
    X = pa.table([pa.array(column.values) for column in columns], names=names)
    base = table.target.classes[0] if table.target.is_class else ""
    base = "" if table.target.kind == "ordinal" else base
    title = chosen.title
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted = chosen.model.fit(X, chosen.y, sample_weight=table.w)
            separated = getattr(fitted, "separation_", None)
            if separated and len(table.target.classes) == 2:
                title += " with Firth's correction, since the classes are separated"
                model = lk.LogisticRegression(firth=True)
                fitted = model.fit(X, chosen.y, sample_weight=table.w)
            elif separated:
                sentence = (*said, ("SeparationWarning", _sentence(separated)))
                return Simple(title, warnings=sentence, refusal=_sentence(separated))
            summary = fitted.summary(coverage=0.95, errors=chosen.errors)
            rows = _rows(summary, columns, table, bool(chosen.ratio))
            facts = _facts(summary.estimate, chosen.errors == "model")
        except InputError as error:
            why = str(error)
            return Simple(title, warnings=(*said, *_sentences(caught)), refusal=why)
        except np.linalg.LinAlgError:
            why = "its equations have no unique solution (columns repeat each other)."
            return Simple(title, warnings=(*said, *_sentences(caught)), refusal=why)
    kept = tuple(w for w in _sentences(caught) if "Separation" not in w[0])
    if separated:
        kept = (*kept, ("SeparationWarning", _sentence(separated)))
    return Simple(
        title, chosen.ratio, base, tuple(rows), facts, warnings=(*said, *kept)
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _sentences(caught: list) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({(w.category.__name__, str(w.message)) for w in caught}))


def _rows(
    summary: Any, columns: list[DesignColumn], table: Table, ratios: bool
) -> list[Coefficient]:
    """One row for each coefficient, class after class, the intercept of each first."""
    target = table.target
    labels = target.classes[1:] if target.is_class else ("",)
    nothing = np.zeros(len(table))
    intercept = DesignColumn("intercept", "", nothing)
    listed_ = [(c, label) for label in labels for c in (intercept, *columns)]
    if target.kind == "ordinal":  # one coefficient for all levels, then the thresholds
        between = zip(target.classes[:-1], target.classes[1:], strict=True)
        cuts = [DesignColumn(f"between {a} and {b}", "", nothing) for a, b in between]
        listed_ = [(c, "") for c in (*columns, *cuts)]
    spreads = [_spread(c.values, table.w) for c in columns]
    spread = dict(zip([c.name for c in columns], spreads, strict=True))
    numbers = zip(
        summary.coefficients,
        summary.standard_errors,
        *summary.intervals.T,
        summary.p_values,
        strict=True,
    )
    found = []
    for (column, label), (estimate, error, low, high, p) in zip(
        listed_, numbers, strict=False
    ):
        exp: Any = [None] * 3
        if ratios and column.column:
            exp = np.exp(np.clip([estimate, low, high], -700, 700))
        found.append(
            Coefficient(
                name=column.name,
                column=column.column,
                level=column.level,
                reference=column.reference,
                of_class=label,
                estimate=estimate,
                error=error,
                low=low,
                high=high,
                p=p,
                ratio=exp[0],
                ratio_low=exp[1],
                ratio_high=exp[2],
                spread=spread.get(column.name, 0.0),
            )
        )
    return found


def _spread(x: np.ndarray, w: np.ndarray) -> float:
    """The standard deviation, also of numbers whose squares are infinite."""
    top = max(float(np.abs(x).max()), 1e-300)
    return top * float(np.sqrt(np.cov(x / top, aweights=w)))


def _facts(estimate: Any, is_likely: bool) -> dict[str, float]:
    """Numbers about the fit; those of its likelihood where it has one."""
    found = {
        "observations": estimate.total,
        "residual df": estimate.df_residual,
    }
    if not is_likely:
        return found
    found |= {
        "log-likelihood": estimate.log_likelihood,
        "AIC": estimate.aic,
        "BIC": estimate.bic,
    }
    if estimate.r_squared is not None:
        found |= {"R²": estimate.r_squared[1], "adjusted R²": estimate.adjusted}
    else:
        found["pseudo-R² (McFadden)"] = estimate.mcfadden
    if estimate.kind == "t":
        found["residual standard error"] = float(np.sqrt(estimate.dispersion))
    return found


def design(table: Table) -> list[DesignColumn]:
    """The columns that are used, in their own units; missing numbers are the mean."""
    found = []
    for column in table.schema:
        if column.used:
            found += _columns(table, column)
    return _unique(found)


def _columns(table: Table, column: Column) -> list[DesignColumn]:
    name, values = column.name, table.frame[column.name]
    if column.kind in ("category", "code"):
        return _levels(name, as_levels(values, name), table.w)
    level = reference = ""
    label = name
    if column.kind == "date":
        times = as_timestamps(values, name)
        x = times.astype(np.int64).astype(float)
        x[np.isnat(times)] = np.nan
        x = (x - np.nanmin(x)) / YEAR
        label = f"{name} (years)"
    else:
        x = as_numbers(values, name)
        if column.kind == "boolean":
            level, reference = "yes", "no"
            label = f"{name} = yes"
    missing = ~np.isfinite(x)
    known = table.w * ~missing
    mean = float(known @ np.where(missing, 0.0, x) / max(known.sum(), 1e-300))
    found = [DesignColumn(label, name, np.where(missing, mean, x), level, reference)]
    if missing.any():
        found.append(_indicator(name, missing, "missing", "known"))
    return found


def _levels(name: str, levels: Any, w: np.ndarray) -> list[DesignColumn]:
    """One column for each level but the commonest; rare ones share one."""
    codes, categories = levels
    weight = np.bincount(codes[codes >= 0], w[codes >= 0], len(categories))
    order = [i for i in np.argsort(-weight, kind="stable") if weight[i] > 0]
    shown, rare = order[:MAX_LEVELS], order[MAX_LEVELS:]
    reference = categories[order[0]] if order else "missing"
    found = [
        _indicator(name, codes == i, categories[i], reference)
        for i in sorted(shown[1:], key=lambda i: categories[i])
    ]
    if rare:
        label = f"{len(rare)} rare levels"
        found.append(_indicator(name, np.isin(codes, rare), label, reference))
    if order and (codes < 0).any():
        found.append(_indicator(name, codes < 0, "missing", reference))
    return found


def _indicator(
    name: str, where: np.ndarray, level: str, reference: str
) -> DesignColumn:
    """1 in rows of one level."""
    x = where.astype(float)
    return DesignColumn(f"{name} = {level}", name, x, level, reference)


def _unique(columns: list[DesignColumn]) -> list[DesignColumn]:
    """The columns with different names."""
    seen: dict[str, int] = {}
    found = []
    for column in columns:
        seen[column.name] = count = seen.get(column.name, 0) + 1
        name = column.name if count == 1 else f"{column.name} ({count})"
        found.append(column._replace(name=name))
    return found


def _independent(X: np.ndarray) -> np.ndarray:
    """The columns that those before them, and the intercept, do not determine."""
    X = X / np.maximum(np.abs(X).max(0), 1e-300)  # squares of huge numbers are infinite
    centred = X - X.mean(0)
    length = np.linalg.norm(centred, axis=0)
    varying = np.flatnonzero(length > 1e-9)
    if not len(varying):
        return varying
    R = np.linalg.qr(centred[:, varying] / length[varying], mode="r")
    size = np.abs(np.diagonal(R))
    return varying[: len(size)][size > 1e-8]


def _model(table: Table, brief: bool) -> Chosen:
    target = table.target
    if target.is_class:
        y, ratio = table.y.astype(int), "odds ratio"
        if target.kind == "ordinal":
            title = "ordinal regression (proportional odds of a higher level)"
            return Chosen(lk.OrdinalRegression(), y, title, ratio)
        return Chosen(lk.LogisticRegression(), y, "logistic regression", ratio)
    if target.kind == "survival":
        title = f"{SURVIVAL_TITLES[target.family]} (accelerated failure time)"
        model = lk.SurvivalRegression(target.family)
        return Chosen(model, table.y, title, "time ratio")
    if target.family in GLMS:
        ratio = "rate ratio" if target.kind == "count" else "ratio of means"
        model = getattr(lk, GLMS[target.family])()
        return Chosen(model, table.y, TITLES[target.family], ratio)
    if target.kind == "nonnegative" and brief:
        title = "Poisson regression of the mean (log link, robust errors)"
        model = lk.PoissonRegressor()
        return Chosen(model, table.y, title, "ratio of means", "HC1")
    if target.kind == "nonnegative":
        title = "Tweedie regression (log link)"
        return Chosen(lk.TweedieRegressor(), table.y, title, "ratio of means")
    if target.kind == "positive":
        title = f"linear regression of log {target.name}"
        return Chosen(lk.LinearRegression(), np.log(table.y), title, "factor")
    return Chosen(lk.LinearRegression(), table.y, "linear regression")
