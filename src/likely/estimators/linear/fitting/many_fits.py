"""The solver of many logistic fits at once, such as those of a search."""

from typing import Any

from likely.families import AbstractFamily, Bernoulli, Categorical
from likely.solvers import LBFGS, Newton, Staged, Whitened

MIN_STAGED_COLUMNS, MIN_STAGED_WORK = 16, 3e8
"""Columns, and fits times rows times columns squared, from which Hessians are saved."""
QUICK_STEPS = 20
"""Steps of the quick solver, before Newton's goes on."""


def solver_for_many(solver: Any, family: AbstractFamily, fits: int, X: Any) -> Any:
    """The solver of one fit, or one that is quicker for many.

    The Hessians of Newton's method take most of the time of many fits; that of the null model
    is the same for all settings, and enough where the classes are not nearly separated.

    Args:
        solver: of one fit.
        family: of the targets.
        fits: how many there are.
        X: the columns.
    """
    if not isinstance(solver, Newton) or isinstance(X, tuple):
        return solver
    if not isinstance(family, Bernoulli | Categorical):
        return solver
    work = fits * X.shape[0] * X.shape[1] ** 2
    if X.shape[1] < MIN_STAGED_COLUMNS or work < MIN_STAGED_WORK:
        return solver
    quick = LBFGS(QUICK_STEPS, solver.rules.tolerance, search="backtracking")
    return Staged(Whitened(quick), solver)
