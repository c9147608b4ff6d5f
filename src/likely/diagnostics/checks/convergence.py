"""LK205: a solver that stopped before it reached a minimum."""

import numpy as np

from likely.base.training.trainer import is_still_falling
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject
from likely.typing import TRAINED, VALIDATION, Solution

ROUNDS = ("Boosting", "Bagging", "RandomForest", "ExtraTrees", "IterativeImputer")
"""Names of models whose number of iterations is a setting, not a limit."""


def not_converged(subject: Subject) -> Finding | None:
    """Whether the fit says that it stopped at its limit."""
    model = subject.last
    phi = getattr(model, "phi_", None)
    phi = getattr(phi, "solution", phi)
    if isinstance(phi, Solution):
        return _of_solution(subject.name, phi)
    limit, steps = getattr(model, "max_iter", None), getattr(model, "n_iter_", None)
    if not isinstance(limit, int | np.integer) or limit <= 0 or steps is None:
        return _of_folds(subject)
    if any(name in subject.name for name in ROUNDS):
        return _of_folds(subject)
    if int(np.max(np.asarray(steps))) < int(limit):
        return None
    return _finding(
        f"{subject.name} stopped at its limit of {limit:,} iterations, before it converged."
    )


def _of_solution(name: str, phi: Solution) -> Finding | None:
    """By the status of a solver of ours; by held-out losses where these were watched."""
    reason = np.atleast_1d(np.asarray(phi.status.reason))
    validation = phi.trace.validation
    if validation is not None:
        if not is_still_falling(np.atleast_2d(np.asarray(validation)), reason):
            return None
        return _finding(f"The loss of {name} on held-out rows was still falling.")
    failed = ~(
        np.atleast_1d(phi.status.converged) | np.isin(reason, (VALIDATION, TRAINED))
    )
    if not failed.any():
        return None
    return _finding(f"{name} {phi.status.sentences[int(np.argmax(failed))]}.")


def _of_folds(subject: Subject) -> Finding | None:
    """By the warnings of the fits to folds, where the model keeps no count."""
    if subject.new is not None:
        raise DoesNotApply("it has no limit of iterations")
    subject.held_out  # noqa: B018
    found = subject.fits[""]
    folds = len(np.unique(found.fold))
    if not found.not_converged:
        raise DoesNotApply("it has no limit of iterations")
    if 2 * found.not_converged < folds:
        return None
    return _finding(
        f"{found.not_converged} of {folds} fits of {subject.name} to folds did not converge."
    )


def _finding(text: str) -> Finding:
    advice = (
        "Raise max_iter, scale the columns, or give a stronger penalty; coefficients and "
        "scores may still change."
    )
    return Finding("not converged", "warning", text, advice)
