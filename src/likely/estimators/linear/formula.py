r"""Formulas: `LinearRegression.from_formula("price ~ area + C(town)", frame)`.

The formula is read by formulaic (Wilkinson's notation: `+` adds columns, `C(x)` makes
indicators, `a:b` a product, `a*b` all three, `- 1` drops the intercept). The fitted model
takes frames with the same variables. A formula is code, so files do not hold it: a model
that was loaded takes the columns of the design, by their names.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from likely.core.checks import InputError

INTERCEPT = "Intercept"


class Formula(NamedTuple):
    """A formula with what it learned from the rows of the fit: levels, means, knots."""

    text: str
    spec: Any

    def design(self, frame: Any) -> Any:
        """The columns of the right-hand side, without the intercept."""
        missing = [v for v in self.spec.required_variables if v not in frame.columns]
        if missing:
            raise InputError(
                f"the formula {self.text!r} needs the column {missing[0]!r}, which is not "
                f"among {list(frame.columns)}."
            )
        found = self.spec.get_model_matrix(frame, na_action="raise")
        return found.drop(columns=INTERCEPT, errors="ignore")


_FORMULAS: WeakKeyDictionary[Any, Formula] = WeakKeyDictionary()


class AbstractFormulaModel:
    """A model that can be made from a formula and a frame."""

    @classmethod
    def from_formula(
        cls, formula: str, data: Any, sample_weight: Any = None, **settings: Any
    ) -> Any:
        """Fit y ~ columns, both named by a formula.

        Args:
            formula: such as "price ~ area + C(town)".
            data: a pandas frame (or what can become one).
            sample_weight: how often each row counts.
            settings: of the estimator; the formula says whether there is an intercept.
        """
        import formulaic
        import narwhals

        frame = narwhals.from_native(data).to_pandas()
        try:
            found: Any = formulaic.model_matrix(formula, frame, na_action="raise")
        except Exception as error:
            raise InputError(
                f"the formula {formula!r} cannot be read with the columns "
                f"{list(frame.columns)}: {error}"
            ) from error
        if not hasattr(found, "lhs"):
            raise InputError(
                f"the formula {formula!r} has no left-hand side; write 'y ~ x'."
            )
        left, right = found.lhs, found.rhs
        intercept = INTERCEPT in right.columns
        make: Any = cls
        model = make(fit_intercept=intercept, **settings)
        design = right.drop(columns=INTERCEPT, errors="ignore")
        y = _response(formula, frame, left, model)
        model.fit(design, y, sample_weight=sample_weight)
        _FORMULAS[model] = Formula(formula, right.model_spec)
        return model

    @property
    def formula(self) -> Formula | None:
        """The formula the model was made from, if it was."""
        return _FORMULAS.get(self)

    def _prepared(self, X: Any) -> Any:
        """Rows as the fit had them: a frame of variables becomes one of columns."""
        if self.formula is None or not hasattr(X, "columns"):
            return X
        if list(X.columns) == list(getattr(self, "feature_names_in_", [])):
            return X
        return self.formula.design(X)


def _response(formula: str, frame: Any, left: Any, model: Any) -> np.ndarray:
    """The left-hand side: a column of labels as it is, anything else as numbers."""
    name = formula.partition("~")[0].strip()
    if name in frame.columns:
        return frame[name].to_numpy()
    if left.shape[1] != 1:
        raise InputError(f"the left-hand side of {formula!r} makes several columns.")
    return left.to_numpy()[:, 0]
