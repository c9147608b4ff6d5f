"""LK206: a search whose best value is at the end of what was tried."""

import re
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from likely.core.written_numbers import listed, number
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject
from likely.selection.members import last_step

MIN_VALUES = 3
"""Different numbers of a parameter from which on it has ends."""
MIN_GAIN = 1.5
"""Standard errors by which the end has to be better than the value beside it."""
MIN_NATS = 1e-3
"""Nats per row by which a penalty at the end has to be better."""


def at_edge(subject: Subject) -> Finding | None:
    """Whether a search, or a penalty chosen by folds, ended at an end of its values."""
    found = list(_edges(subject.model))
    if not found:
        return None
    which = listed([f"{name} = {value}" for name, value in found])
    text = (
        f"The search stopped at its edge: the best value found is {which}, an end of what "
        "was tried."
    )
    return Finding("search edge", "warning", text, "Search further on that side.")


def _edges(model: Any) -> Iterator[tuple[str, str]]:
    looked = False
    if hasattr(model, "at_edge_"):
        looked = True
        best = getattr(model, "best_params_", {})
        yield from ((name, _shown(best.get(name))) for name in model.at_edge_)
    elif hasattr(model, "cv_results_") and hasattr(model, "best_params_"):
        looked = True
        yield from _scikit_edges(model)
    inner = last_step(getattr(model, "best_estimator_", model))
    if hasattr(inner, "cv_nll_") and getattr(inner, "alpha", "") == "cv":
        looked = True
        yield from _strength_edge(inner)
    if not looked:
        raise DoesNotApply("nothing was searched")


def _scikit_edges(model: Any) -> Iterator[tuple[str, str]]:
    """The numeric parameters of a grid of scikit-learn's whose best value is an end."""
    results, every = model.cv_results_, model.cv_results_["params"]
    splits = [name for name in results if re.fullmatch(r"split\d+_test_score", name)]
    scores = np.stack([np.asarray(results[name], float) for name in splits], axis=1)
    mean = np.asarray(results["mean_test_score"], float)
    for name, best in model.best_params_.items():
        values = [p.get(name) for p in every]
        if not all(_is_number(v) for v in values):
            continue
        ends = np.unique(np.array(values, float))
        if len(ends) < MIN_VALUES or float(best) not in (ends[0], ends[-1]):
            continue
        beside = ends[1] if float(best) == ends[0] else ends[-2]
        other = [i for i, value in enumerate(values) if float(value) == beside]
        nearest = max(other, key=lambda i: mean[i])
        if _better(scores[model.best_index_] - scores[nearest]):
            yield name, _shown(best)


def _better(gap: np.ndarray) -> bool:
    """Whether paired differences of folds are above zero by more than their error."""
    error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
    return bool(gap.mean() > MIN_GAIN * error)


def _strength_edge(model: Any) -> Iterator[tuple[str, str]]:
    """A penalty at the end of its grid, where the loss is still falling."""
    nll, alphas = np.asarray(model.cv_nll_), np.asarray(model.alphas_)
    if len(alphas) < MIN_VALUES or not np.isfinite(nll).all() or nll.shape[1] < 2:
        return
    best = int(nll.mean(1).argmin())
    if best not in (0, len(alphas) - 1):
        return
    beside = 1 if best == 0 else len(alphas) - 2
    gap = nll[beside] - nll[best]
    if _better(gap) and gap.mean() > MIN_NATS:
        yield "alpha", _shown(alphas[best])


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool)


def _shown(value: Any) -> str:
    return number(float(value)) if _is_number(value) else repr(value)
