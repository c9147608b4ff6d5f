r"""Formulas: `LinearRegression.from_formula("price ~ area + C(town)", frame)`.

The formula is read by formulaic (Wilkinson's notation: `+` adds columns, `C(x)` makes
indicators, `a:b` a product, `a*b` all three, `- 1` drops the intercept). The fitted model
takes frames with the same variables, and refuses levels that the fit did not have.

A `Formula` is plain data: the text, and what was learned from the rows of the fit (levels,
means, knots). So it is kept in copies, pickles and files. What the text says is checked
whenever it is evaluated (`syntax`), so a file cannot make it run anything else.
"""

import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from likely.core.checks import InputError
from likely.estimators.linear.formulas.syntax import variables_of

INTERCEPT = "Intercept"


class Formula(NamedTuple):
    """A formula with what it learned from the rows of the fit."""

    text: str
    columns_of_frame: list[str]
    """The columns that `.` stands for, beside those of the left-hand side."""
    exposure: str | None = None
    """The column that holds the exposure of each row."""
    offset: str | None = None
    """The column that holds the offset of each row."""
    state: dict | None = None
    """What the functions of the formula learned, by the expression; None before a fit."""
    levels: dict | None = None
    """The levels of each factor of categories; None before a fit."""

    def unlearned(self) -> "Formula":
        """The formula without what it learned."""
        return self._replace(state=None, levels=None)

    def learn(self, X: Any, w: np.ndarray) -> tuple["Formula", Any]:
        """The formula with what it learns from rows, and their design.

        Args:
            X: a frame with the variables of the formula.
            w: (n,) how often each row counts; the design of absent rows is NaN.
        """
        rows = np.flatnonzero(w > 0)
        frame = self._frame(X).iloc[rows]
        left, right = self._sides()
        state, levels = {}, {}
        self._evaluate(left, frame, (w[rows], rows), state, levels)
        found = self._evaluate(right, frame, (w[rows], rows), state, levels)
        design = found.reset_index(drop=True).set_axis(rows).reindex(range(len(w)))
        return self._replace(state=state, levels=levels), _without_intercept(design)

    def columns(self, X: Any, names: list[str]) -> Any:
        """The columns of the right-hand side of a frame that does not have them yet."""
        if not hasattr(X, "columns") or list(X.columns) == names or self.levels is None:
            return X
        frame, right = self._frame(X), self._sides()[1]
        self._check_numbers(right, frame)
        rows = np.ones(len(frame)), np.arange(len(frame))
        state, levels = copy.deepcopy((self.state or {}, self.levels))
        found = self._evaluate(right, frame, rows, state, levels)
        found = _without_intercept(found)
        if list(found.columns) != names:
            raise InputError(
                f"the formula {self.text!r} makes the columns {list(found.columns)} of "
                f"these rows, but those of the fit were {names}."
            )
        return found

    def response(self, X: Any, w: np.ndarray | None = None) -> np.ndarray:
        """The left-hand side: a column of labels as it is, anything else as numbers."""
        frame, left = self._frame(X), self._sides()[0]
        if self._response_name(left) is not None:
            return self._needed(frame, left)[self._response_name(left)].to_numpy()
        w = np.ones(len(frame)) if w is None else w
        rows = np.flatnonzero(w > 0)
        state, levels = copy.deepcopy((self.state or {}, self.levels or {}))
        part = frame.iloc[rows]
        found = self._evaluate(left, part, (w[rows], rows), state, levels).to_numpy()
        if found.shape[1] != 1:
            raise InputError(
                f"the left-hand side of {self.text!r} makes several columns."
            )
        y = np.full(len(frame), found[0, 0], float)
        y[rows] = found[:, 0]
        return y

    def check_response(self, X: Any, y: Any, w: np.ndarray) -> None:
        """Refuse a y that is the column inside a left-hand side such as `log(price)`."""
        left = self._sides()[0]
        names = variables_of(left, self.text)
        if self._response_name(left) is not None or len(names) != 1:
            return
        if not hasattr(X, "columns") or names[0] not in X.columns:
            return
        inside = np.asarray(X[names[0]])
        if np.shape(y) != inside.shape or not np.array_equal(y, inside):
            return
        if not np.array_equal(inside[w > 0], self.response(X, w)[w > 0]):
            said = self.text.partition("~")[0].strip()
            raise InputError(
                f"y is the column {names[0]!r}, but the formula {self.text!r} is about "
                f"{said}; give the values of {said} as y."
            )

    def given(self, X: Any, name: str, value: Any) -> Any:
        """The exposure or offset of rows: values, or those of a column that is named."""
        value = getattr(self, name) if value is None else value
        if not isinstance(value, str):
            return value
        if not hasattr(X, "columns") or value not in X.columns:
            raise InputError(
                f"the {name} of this model is the column {value!r}, which X does not "
                f"have; give a frame with this column, or {name}=..."
            )
        return self._frame(X)[value].to_numpy()

    # Parts -----------------------------------------------------------------------------

    def _sides(self) -> tuple[Any, Any]:
        """The terms of the left-hand side and of the right-hand side."""
        import formulaic

        parse: Any = formulaic.Formula
        context = {"__formulaic_variables_available__": self.columns_of_frame}
        try:
            found = parse(self.text, _context=context)
        except Exception as error:
            raise InputError(
                f"the formula {self.text!r} cannot be read: {error}"
            ) from error
        if not hasattr(found, "lhs"):
            raise InputError(
                f"the formula {self.text!r} has no left-hand side; write 'y ~ x'."
            )
        if isinstance(found.rhs, tuple) or isinstance(found.lhs, tuple):
            raise InputError(f"the formula {self.text!r} has several parts; give one.")
        return found.lhs, found.rhs

    def _response_name(self, left: Any) -> str | None:
        """The column that the left-hand side is, if it is one."""
        factors = [factor for term in left for factor in term.factors]
        alone = len(factors) == 1 and factors[0].eval_method.value == "lookup"
        return factors[0].expr if alone else None

    def _frame(self, X: Any) -> Any:
        """The rows as a pandas frame with row numbers."""
        import narwhals

        if not hasattr(X, "columns"):
            raise InputError(
                f"a model of the formula {self.text!r} takes a frame with the columns "
                "that the formula names."
            )
        return narwhals.from_native(X).to_pandas().reset_index(drop=True)

    def _needed(self, frame: Any, side: Any) -> Any:
        """The columns that one side names, without missing values, in plain types."""
        names = variables_of(side, self.text)
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise InputError(
                f"the formula {self.text!r} needs the column {missing[0]!r}, which is not "
                f"among {list(frame.columns)}."
            )
        return frame[names]

    def _check_numbers(self, side: Any, frame: Any) -> None:
        """Refuse words in columns that held numbers in the fit."""
        factors = [factor for term in side for factor in term.factors]
        plain = {f.expr for f in factors if f.eval_method.value == "lookup"}
        for name in sorted(plain.intersection(frame.columns) - set(self.levels or {})):
            values = frame[name].to_numpy()
            if values.dtype.kind not in "biufM":
                raise InputError(
                    f"column {name!r} holds {values[0]!r} in row 0, but it held numbers "
                    "in the fit; convert it first."
                )

    def _evaluate(
        self,
        side: Any,
        frame: Any,
        learned_from: tuple[np.ndarray, np.ndarray],
        state: dict,
        levels: dict,
    ) -> Any:
        """The columns of one side; what is new is added to `state` and `levels`."""
        import formulaic
        import pandas as pd
        from formulaic.parser.types import Factor

        from likely.estimators.linear.formulas.functions import check_levels, functions

        rows = learned_from[1]
        needed = self._needed(frame, side)
        plain = {}
        for name in needed.columns:
            check_levels(name, needed[name], levels.get(name), rows)
            known = levels.get(name)
            plain[name] = _plain_column(name, needed[name], rows, known)
        kind = Factor.Kind.CATEGORICAL
        spec = formulaic.ModelSpec(
            formula=side,
            na_action="ignore",  # pyright: ignore[reportArgumentType]
            output="pandas",
            transform_state=state,
            encoder_state={e: (kind, {"categories": c}) for e, c in levels.items()},
        )
        table: Any = pd.DataFrame(plain, index=range(len(frame)))
        try:
            found: Any = spec.get_model_matrix(table, context=functions(*learned_from))
        except InputError:
            raise
        except Exception as error:
            cause = error.__cause__
            if isinstance(cause, InputError):
                raise cause from error
            raise InputError(
                f"the formula {self.text!r} cannot be read with the columns "
                f"{list(frame.columns)}: {error}"
            ) from error
        state.update(_as_plain(found.model_spec.transform_state))
        for expression, (_, learned) in found.model_spec.encoder_state.items():
            if "categories" in learned:
                levels[expression] = [_as_plain(c) for c in learned["categories"]]
        return found


def fit_formula(
    make: Any,
    formula: str,
    data: Any,
    sample_weight: Any,
    *,
    known: dict[str, Any],
    settings: dict[str, Any],
) -> Any:
    """A model fitted to y ~ columns, both named by a formula.

    Args:
        make: the class of the model.
        formula: such as "price ~ area + C(town)".
        data: a pandas frame (or what can become one).
        sample_weight: how often each row counts.
        known: exposure and offset of each row, or the names of their columns.
        settings: of the model; the formula says whether there is an intercept.
    """
    known = {name: value for name, value in known.items() if value is not None}
    if known and not has_fit_parameter(make, "exposure"):
        raise InputError(
            f"{make.__name__} takes no {next(iter(known))}; PoissonRegressor and "
            "NegativeBinomialRegressor do."
        )
    names = [value for value in known.values() if isinstance(value, str)]
    columns = [name for name in getattr(data, "columns", []) if name not in names]
    made = Formula(formula, columns)
    terms = [str(term) for term in made._sides()[1]]
    model = make(fit_intercept="1" in terms, **settings)
    model._formula = made
    w = None if sample_weight is None else np.asarray(sample_weight, float)
    y = made.response(data, w)
    return model.fit(data, y, sample_weight=sample_weight, **known)


def _without_intercept(design: Any) -> Any:
    return design.drop(columns=INTERCEPT, errors="ignore")


def _plain_column(name: str, values: Any, rows: np.ndarray, known: Any) -> Any:
    """A column of numbers in NumPy's types, or of categories that occur."""
    import pandas as pd

    if known is not None:
        return pd.Categorical(values.to_numpy(object), categories=known)
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.remove_unused_categories().array
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.to_numpy(bool)
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy()
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        raise InputError(
            f"column {name!r} holds times, which formulas do not take; make a column of "
            "numbers first, such as days since the first row."
        )
    return values.to_numpy(object)


def _as_plain(value: Any) -> Any:
    """Learned values as files hold them."""
    if isinstance(value, dict):
        return {_as_plain(k): _as_plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_as_plain(v) for v in value]
    if isinstance(value, np.generic) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    ):
        return value.item()
    return value
