r"""Formulas: `LinearRegression.from_formula("price ~ area + C(town)", frame)`.

The formula is read by formulaic (Wilkinson's notation: `+` adds columns, `C(x)` makes
indicators, `a:b` a product, `a*b` all three, `- 1` drops the intercept). The fitted model
takes frames with the same variables. A formula is code, so files do not hold it: a model
that was loaded takes the columns of the design, by their names.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError

INTERCEPT = "Intercept"


class Formula(NamedTuple):
    """A formula with what it learned from the rows of the fit: levels, means, knots."""

    text: str
    spec: Any

    def columns(self, X: Any, names: list[str]) -> Any:
        """The columns of the right-hand side of a frame that does not have them yet."""
        if not hasattr(X, "columns") or list(X.columns) == names:
            return X
        missing = [v for v in self.spec.required_variables if v not in X.columns]
        if missing:
            raise InputError(
                f"the formula {self.text!r} needs the column {missing[0]!r}, which is not "
                f"among {list(X.columns)}."
            )
        found = self.spec.get_model_matrix(X, na_action="raise")
        return found.drop(columns=INTERCEPT, errors="ignore")


def fit_formula(
    make: Any, formula: str, data: Any, sample_weight: Any, settings: dict[str, Any]
) -> Any:
    """A model fitted to y ~ columns, both named by a formula.

    Args:
        make: the class of the model.
        formula: such as "price ~ area + C(town)".
        data: a pandas frame (or what can become one).
        sample_weight: how often each row counts.
        settings: of the model; the formula says whether there is an intercept.
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
    model = make(fit_intercept=INTERCEPT in right.columns, **settings)
    design = right.drop(columns=INTERCEPT, errors="ignore")
    model.fit(design, _response(formula, frame, left), sample_weight=sample_weight)
    model._formula = Formula(formula, right.model_spec)
    return model


def _response(formula: str, frame: Any, left: Any) -> np.ndarray:
    """The left-hand side: a column of labels as it is, anything else as numbers."""
    name = formula.partition("~")[0].strip()
    if name in frame.columns:
        return frame[name].to_numpy()
    if left.shape[1] != 1:
        raise InputError(f"the left-hand side of {formula!r} makes several columns.")
    return left.to_numpy()[:, 0]
