"""The ladder is planned from (n, d): every rung for every kind, within its budget."""

import pytest

import likely as lk
from likely.core.checks import InputError
from likely.workbench import costs
from likely.workbench.result import compact, with_error
from likely.workbench.rungs import LADDER, Situation, rungs_for

KINDS = {
    "real": "normal",
    "positive": "lognormal",
    "count": "negative_binomial",
    "binary": "bernoulli",
    "classes": "categorical",
}


def situation(kind: str, n: int, d: int, effort: str = "normal") -> Situation:
    c = {"binary": 2, "classes": 5}.get(kind, 0)
    return Situation(kind, KINDS[kind], n, d, effort, 0, (), c)


def inner(estimator):
    """What a wrapper of targets or votes holds."""
    for name in ("regressor", "classifier"):
        estimator = getattr(estimator, name, estimator)
    return estimator


@pytest.mark.parametrize("kind", KINDS)
def test_every_rung_is_there_for_every_kind(kind):
    rungs = rungs_for(kind, ())
    assert len(rungs) == len(LADDER)
    for rung in rungs:
        at = situation(kind, 300, 6)
        built = rung.build(at)
        assert hasattr(built, "predict_dist"), rung.name
        assert repr(built) == repr(rung.build(at))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_many_rows_make_rungs_smaller(kind, effort):
    at = situation(kind, 100_000, 87, effort)
    build = {rung.name: rung.build for rung in LADDER}
    forest = inner(build["forest"](at))
    tried = at.d**0.5 if at.is_class else at.d * forest.max_features
    cost = forest.n_estimators * costs.tree(forest.max_samples or at.n, tried)
    assert cost <= 1.01 * at.budget
    assert forest.n_estimators >= 30
    assert "cost" in build["neighbors"](at)
    machine = build["svm"](at)
    if not isinstance(machine, str):
        assert isinstance(inner(machine).basis, lk.Nystroem)
    small = build["network"](situation(kind, 300, 6))
    large = build["network"](at)
    assert inner(large).max_iter < inner(small).max_iter
    assert inner(large).n_members >= 2


def test_networks_are_ensembles():
    built = {kind: LADDER[-1].build(situation(kind, 300, 6)) for kind in KINDS}
    assert all(inner(model).n_members == 4 for model in built.values())
    assert built["count"].family == "negative_binomial"
    assert isinstance(built["positive"], lk.LogTarget)


def test_an_unknown_rung_is_a_sentence():
    with pytest.raises(InputError, match="no model 'tree'"):
        rungs_for("real", ("tree",))


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (5.39291, 0.03512, "5.393 ± 0.035"),
        (123456.7, 98.0, "123457 ± 98"),
        (1.5, 0.0, "1.5"),
        (0.5, None, "0.5"),
        (2e9, 1e8, "2e+09 ± 1e+08"),
        (None, None, ""),
    ],
)
def test_a_number_shows_what_its_error_leaves(value, error, said):
    assert with_error(value, error) == said


def test_the_ladder_fits_on_a_narrow_terminal():
    rows = [
        {"model": "support vector machine", "nats": 5.39291, "±": 0.03512,
         "gain": -0.12345, "gain ±": 0.01234, "accuracy": 0.98765, "brier": 0.12345,
         "ece": 0.01, "auc": 0.87654}
    ] * 2  # fmt: skip
    widths = {k: max(len(k), len(v)) for k, v in compact(rows)[1].items()}
    assert sum(widths.values()) + 2 * len(widths) <= 80
    assert compact(rows)[1]["gain"] == "-0.123 ± 0.012"
