"""Candidate models are planned from (n, d): all for every kind, within the budget."""

import pytest

import likely as lk
from likely.core.checks import InputError
from likely.core.written_numbers import with_error
from likely.workbench import costs
from likely.workbench.candidates import CANDIDATES, candidates_for
from likely.workbench.problem import Problem
from likely.workbench.report.verdict import compact

KINDS = {
    "real": "normal",
    "positive": "lognormal",
    "nonnegative": "hurdle_lognormal",
    "count": "negative_binomial",
    "binary": "bernoulli",
    "classes": "categorical",
}


def problem_of(kind: str, n: int, d: int, effort: str = "normal") -> Problem:
    c = {"binary": 2, "classes": 5}.get(kind, 0)
    zeros = n // 2 if kind == "nonnegative" else 0
    return Problem(kind, KINDS[kind], n, d, effort, 0, (), c, zeros=zeros)


def inner(estimator):
    """The estimator inside a wrapper of targets or votes."""
    for name in ("regressor", "classifier"):
        while hasattr(estimator, name):
            estimator = getattr(estimator, name)
    return estimator


@pytest.mark.parametrize("kind", KINDS)
def test_every_candidate_is_built_for_every_kind(kind):
    candidates = candidates_for(kind, ())
    assert candidates == [c for c in CANDIDATES if kind in c.kinds]
    for candidate in candidates:
        problem = problem_of(kind, 300, 6)
        built = candidate.build(problem)
        assert hasattr(built, "predict_dist"), candidate.name
        assert repr(built) == repr(candidate.build(problem))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "nonnegative"])
@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_many_rows_make_models_smaller(kind, effort):
    problem = problem_of(kind, 100_000, 87, effort)
    build = {candidate.name: candidate.build for candidate in CANDIDATES}
    forest = inner(build["forest"](problem))
    if isinstance(forest, str):  # the dispersion of so many counts alone takes longer
        assert (kind, effort) == ("count", "quick")
        assert "cost" in forest
    else:
        tried = problem.d**0.5 if problem.is_class else problem.d * forest.max_features
        rows = forest.max_samples or problem.n
        cost = forest.n_estimators * costs.tree(rows, tried, problem.classes)
        assert cost <= 1.01 * problem.budget
        assert forest.n_estimators >= 30
    assert "cost" in build["neighbors"](problem)
    machine = build["svm"](problem)
    if not isinstance(machine, str):
        assert isinstance(inner(machine).basis, lk.Nystroem)
    small = build["network"](problem_of(kind, 300, 6))
    large = build["network"](problem)
    assert inner(large).max_iter < inner(small).max_iter
    assert inner(large).n_members >= 2


def test_networks_are_ensembles():
    built = {kind: CANDIDATES[-1].build(problem_of(kind, 300, 6)) for kind in KINDS}
    assert all(inner(model).n_members == 4 for model in built.values())
    assert inner(built["count"]).family == "negative_binomial"
    assert isinstance(built["positive"], lk.BoundedTarget)
    assert isinstance(built["positive"].regressor, lk.LogTarget)
    assert isinstance(built["nonnegative"], lk.HurdleTarget)


def test_an_unknown_model_is_a_sentence():
    with pytest.raises(InputError, match="no model 'tree'"):
        candidates_for("real", ("tree",))


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (5.39291, 0.03512, "5.393 ± 0.035"),
        (123456.7, 98.0, "123,457 ± 98"),
        (1.5, 0.0, "1.50"),
        (0.5, None, "0.500"),
        (2e9, 1e8, "2.00B ± 100M"),
        (None, None, ""),
    ],
)
def test_a_number_shows_what_its_error_leaves(value, error, shown):
    assert with_error(value, error) == shown


def test_the_comparison_fits_on_a_narrow_terminal():
    rows = [
        {"model": "support vector machine", "nats": 5.39291, "±": 0.03512,
         "gain": -0.12345, "gain ±": 0.01234, "accuracy": 0.98765, "brier": 0.12345,
         "ece": 0.01, "auc": 0.87654}
    ] * 2  # fmt: skip
    widths = {k: max(len(k), len(v)) for k, v in compact(rows)[1].items()}
    assert sum(widths.values()) + 2 * len(widths) <= 80
    assert compact(rows)[1]["gain"] == "-0.123 ± 0.012"
