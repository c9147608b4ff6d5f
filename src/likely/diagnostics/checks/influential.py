"""LK207: single rows that decide the coefficients of a linear model."""

import numpy as np

from likely.core.written_numbers import counted, number
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject
from likely.diagnostics.influence.linearised import steps
from likely.diagnostics.influence.measures import measures

MIN_ROWS = 20
MIN_MOVED = 1.0
"""Standard errors by which a coefficient has to move without a row."""
USUAL = 10.0
"""The largest change of n rows without fault is seldom above this over √n."""
MIN_COOKS = 1.0


def decisive_rows(subject: Subject) -> Finding | None:
    """Whether leaving out a single row changes a coefficient by more than its error."""
    fit = subject.linear
    if fit is None:
        raise DoesNotApply("it is no linear model with a smooth loss")
    if len(fit.w) < max(MIN_ROWS, 3 * fit.B.size):
        raise DoesNotApply("there are too few rows for its coefficients")
    rows = fit.linearised()
    fit.check_optimum(rows)
    found = steps(rows)
    known = measures(fit, rows, found)
    size = np.nan_to_num(np.abs(known.dfbetas))
    moved = size.max(1)
    limit = max(MIN_MOVED, USUAL / np.sqrt(len(fit.w)))
    decides = (moved > limit) | (known.cooks > MIN_COOKS)
    if not decides.any():
        return None
    i = int(moved.argmax())
    j = int(size[i].argmax())
    name, row = fit.coefficient_names[j], int(fit.rows[i])
    several = int(decides.sum())
    which = (
        f"{counted(several, 'row')} decide" if several > 1 else "A single row decides"
    )
    text = (
        f"{which} coefficients: without row {row} that of {name!r} moves by "
        f"{number(moved[i])} standard errors (Cook's distance {number(known.cooks[i])})."
    )
    advice = (
        "Look at the row (influence shows all of them): an error of data entry, or a case "
        "that the model is not made for? A robust model depends less on it."
    )
    numbers = {"dfbetas": float(moved[i]), "row": float(row), "rows": float(several)}
    return Finding("influential rows", "warning", text, advice, name, numbers=numbers)
