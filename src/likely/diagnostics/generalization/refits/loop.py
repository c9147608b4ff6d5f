"""One fit after another: refits of estimators that have no pure core."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from likely.core.checks import InputError
from likely.core.progress import Bar
from likely.diagnostics.generalization.refits.answers import Want
from likely.diagnostics.generalization.refits.question import Question
from likely.diagnostics.generalization.refits.training_sets import TrainingSets
from likely.selection.members import distribution_of, fitted


@dataclass(frozen=True)
class Options:
    """How a loop is run; nothing here decides what comes out.

    Attributes:
        executor: a `concurrent.futures.Executor` that makes the fits; None for a plain loop.
        verbose: whether to show a progress bar.
    """

    executor: Any = None
    verbose: bool = False


class Fit(NamedTuple):
    """One fit, and the points at which it is asked; picklable."""

    estimator: Any
    X: Any
    y: np.ndarray
    w: np.ndarray | None
    points: tuple[Any, np.ndarray] | None
    """Inputs and targets of new points; None for the training rows alone."""
    own: tuple[Any, np.ndarray]
    """Those of the training rows, each once."""
    want: Want
    classes: np.ndarray | None


def answer(fit: Fit) -> tuple[np.ndarray | None, np.ndarray]:
    """What the fitted copy says at the points, and at its training rows."""
    model = fitted(fit.estimator, fit.X, fit.y, fit.w)
    new = None if fit.points is None else _answer(model, *fit.points, fit)
    return new, _answer(model, *fit.own, fit)


def _answer(model: Any, X: Any, y: np.ndarray, fit: Fit) -> np.ndarray:
    if fit.want == "mean":
        return np.asarray(model.predict(X), np.float64)
    if fit.want == "classes":
        assert fit.classes is not None
        return np.searchsorted(fit.classes, model.predict(X))
    found = distribution_of(model, X, fit.classes)
    return found.probs if fit.want == "probs" else -found.log_prob(y)


def refit_in_loop(
    estimator: Any,
    sets: TrainingSets,
    question: Question,
    seeds: np.ndarray,
    options: Options,
) -> tuple[np.ndarray, np.ndarray]:
    """What each fit says at the points and at its own rows.

    Args:
        estimator: what is fitted.
        sets: the training sets.
        question: what is asked, and where.
        seeds: (m,) of each fit.
        options: how the loop is run.
    """
    found = _run(_fits(estimator, sets, question, seeds), len(sets), options)
    if question.want != "losses":
        for _, own in found:
            if not np.isfinite(own).all():
                raise InputError(
                    f"{type(estimator).__name__} predicted NaN or infinity in some refit; "
                    "look at a single fit of it first."
                )
    t = len(sets.y if question.X is None else question.y)
    new = _filled([a for a, _ in found], question.asked, t)
    return new, _filled([own for _, own in found], sets.w > 0, sets.rows.shape[1])


def _fits(
    estimator: Any, sets: TrainingSets, question: Question, seeds: np.ndarray
) -> Iterator[Fit]:
    of_table = question.X is None
    X, y = (sets.X, sets.y) if of_table else (question.X, question.y)
    for j, (every, weights) in enumerate(zip(sets.rows, sets.w, strict=True)):
        rows, w = every[weights > 0], weights[weights > 0]
        own = _safe_indexing(sets.X, rows), sets.y[rows]
        model = seeded(estimator, int(seeds[j]))
        repeated, targets, known = _training_rows(model, *own, w)
        asked = X, y
        if question.asked is not None:
            at = np.flatnonzero(question.asked[j])
            asked = (_safe_indexing(X, at), y[at]) if len(at) else None
        want, classes = question.want, question.classes
        yield Fit(model, repeated, targets, known, asked, own, want, classes)


def _run(fits: Iterator[Fit], total: int, options: Options) -> list:
    """The answers of all fits, in order."""
    bar = Bar(total, "refits", enabled=options.verbose)
    bar.start()
    mapped = map if options.executor is None else options.executor.map
    found = []
    try:
        for one in mapped(answer, fits):
            found.append(one)
            bar.update(completed=len(found))
    finally:
        bar.stop()
    return found


def _training_rows(estimator: Any, X: Any, y: np.ndarray, w: np.ndarray) -> tuple:
    """The rows of a set, and their weights where it takes weights; else rows repeated."""
    if (w == 1).all():
        return X, y, None
    last = estimator
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    whole = (w == np.round(w)).all()
    if whole and not has_fit_parameter(last, "sample_weight"):
        again = np.repeat(np.arange(len(w)), w.astype(int))
        return _safe_indexing(X, again), y[again], None
    return X, y, w


def seeded(estimator: Any, seed: int) -> Any:
    """A copy whose randomness comes from this seed, wherever it has `random_state`."""
    copy: Any = clone(estimator)
    names = [
        name
        for name in copy.get_params()
        if name == "random_state" or name.endswith("__random_state")
    ]
    return copy.set_params(**dict.fromkeys(names, seed)) if names else copy


def _filled(parts: list, here: np.ndarray | None, t: int) -> np.ndarray:
    """Answers at some points of each fit as one array, NaN elsewhere."""
    if here is None:
        return np.stack(parts)
    shape = next(part.shape[1:] for part in parts if part is not None)
    full = np.full((len(parts), t, *shape), np.nan)
    for row, part, where in zip(full, parts, here, strict=True):
        if part is not None:
            row[where] = part
    return full
