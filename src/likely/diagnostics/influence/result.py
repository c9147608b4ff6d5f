"""The result of leaving rows out of a fit: its numbers, its picture, its verdict."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from likely.core.written_numbers import number
from likely.diagnostics.result import Result

LARGE_COOKS, LARGE_DFBETAS = 1.0, 1.0
"""A row of a larger Cook's distance, or that moves a coefficient by more standard errors,
decides the fit."""


@dataclass(frozen=True, repr=False, eq=False)
class Influence(Result):
    """What each row does to a fit, measured by leaving it out.

    Attributes:
        rows: the numbers of the rows.
        method: "exact" (least squares), "one step" (Newton's), "refit" (fitted again), or
            "gradients" (of a network).
        own: how many more nats a row costs where the model does not know it.
        held_out: how much the mean loss of the other rows that were given grows without
            the row, in nats; a negative number is that of a row that does harm.
        held_out_error: its standard error, over those other rows.
        leverage: how much the prediction of a row depends on its own target.
        studentized: residuals in units of their spread without the row.
        internal: the same with the spread of all rows.
        p_outlier: how likely so large a residual of a given row is.
        cooks: Cook's distance: the change of all coefficients together.
        dffits: the change of the prediction of the row, in its standard errors.
        dfbetas: (n, q) the change of each coefficient, in its standard errors.
        names: of the coefficients.
    """

    rows: Int[np.ndarray, " n"]
    method: str
    own: Float[np.ndarray, " n"]
    held_out: Float[np.ndarray, " n"] | None = None
    held_out_error: Float[np.ndarray, " n"] | None = None
    leverage: Float[np.ndarray, " n"] | None = None
    studentized: Float[np.ndarray, " n"] | None = None
    internal: Float[np.ndarray, " n"] | None = None
    p_outlier: Float[np.ndarray, " n"] | None = None
    cooks: Float[np.ndarray, " n"] | None = None
    dffits: Float[np.ndarray, " n"] | None = None
    dfbetas: Float[np.ndarray, "n q"] | None = None
    names: tuple[str, ...] = ()

    @property
    def order(self) -> Int[np.ndarray, " n"]:
        """Places of the rows, the most influential one first."""
        size = self.own if self.cooks is None else self.cooks
        return np.argsort(-np.nan_to_num(size, nan=np.inf), kind="stable")

    @property
    def verdict(self) -> str:
        """Whether single rows decide the fit."""
        if not len(self.rows):
            return "No row was left out."
        if self.dfbetas is None or self.cooks is None:
            return self._verdict_on_losses()
        return _coefficient_verdict(self.rows, self.cooks, self.dfbetas, self.names)

    def _verdict_on_losses(self) -> str:
        top = int(self.order[0])
        said = (
            f"Row {self.rows[top]} depends most on being known: without it, it costs "
            f"{number(self.own[top])} nats more (the mean row {number(self.own.mean())})."
        )
        if self.held_out is None or self.held_out_error is None:
            return said
        worst = int(np.argmin(self.held_out))
        value, error = self.held_out[worst], self.held_out_error[worst]
        if np.isfinite(error) and value > -3 * error:
            return f"{said} No row is shown to harm the predictions of other rows."
        return (
            f"{said} Row {self.rows[worst]} does the most harm: without it, other rows cost "
            f"{number(-value)} nats less."
        )

    def table(self) -> dict[str, Any]:
        """The rows, the most influential one first."""
        order = self.order
        columns: dict[str, Any] = {"row": self.rows[order]}
        named = {
            "leverage": self.leverage,
            "studentized": self.studentized,
            "Cook's distance": self.cooks,
            "own loss, nats": self.own,
            "other rows, nats": self.held_out,
            "± error": self.held_out_error,
        }
        for name, values in named.items():
            if values is not None:
                columns[name] = values[order]
        if self.dfbetas is not None:
            most = np.nan_to_num(np.abs(self.dfbetas), nan=np.inf).argmax(1)
            columns["moves most"] = [self.names[j] for j in most[order]]
            columns["by errors"] = self.dfbetas[order, most[order]]
        return columns

    def plot(self) -> Any:
        """Residuals against leverage, or own losses against those of other rows."""
        from likely.plots import influence_map

        return influence_map(self)


def _coefficient_verdict(
    rows: np.ndarray, cooks: np.ndarray, dfbetas: np.ndarray, names: tuple[str, ...]
) -> str:
    alone = np.isinf(cooks)
    if alone.any():
        return (
            f"Row {rows[np.argmax(alone)]} alone determines a coefficient: its leverage is "
            "1, so the model fits it whatever its target is."
        )
    if np.isnan(dfbetas).all():
        return (
            "There are hardly more rows than coefficients: every row decides the fit."
        )
    size = np.nan_to_num(np.abs(dfbetas))
    i, j = np.unravel_index(int(size.argmax()), size.shape)
    top = int(np.argmax(cooks))
    decides = (cooks > LARGE_COOKS) | (size.max(1) > LARGE_DFBETAS)
    if not decides.any():
        return (
            f"No single row decides the fit: the largest Cook's distance is "
            f"{number(cooks[top])} (row {rows[top]}), and no coefficient moves by more than "
            f"{number(size[i, j])} standard errors."
        )
    several = decides.sum()
    which = f"{several} rows decide" if several > 1 else "A single row decides"
    return (
        f"{which} the fit: without row {rows[i]} the coefficient of {names[j]!r} moves by "
        f"{number(size[i, j])} standard errors; the largest Cook's distance is "
        f"{number(cooks[top])} (row {rows[top]})."
    )
