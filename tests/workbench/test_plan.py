"""A run is planned by the sizes of its table: within its seconds, and not by the clock."""

import dataclasses
import functools
import time

import numpy as np
import pyarrow as pa
import pytest

from likely.workbench import costs
from likely.workbench.candidates import candidates_for
from likely.workbench.plan import Plan, plan_for, planned, shortened
from likely.workbench.problem import Problem
from likely.workbench.spec import Spec
from likely.workbench.table import prepare, read

KINDS = {
    "real": ("normal", 0),
    "nonnegative": ("hurdle_lognormal", 0),
    "count": ("negative_binomial", 0),
    "binary": ("bernoulli", 2),
    "classes": ("categorical", 10),
}
SHAPES = [(12, 1), (8000, 200), (100_000, 50), (1000, 5000)]


@functools.cache
def plan_of(kind: str, n: int, d: int, effort: str, models=()) -> Plan:
    family, c = KINDS[kind]
    zeros = n // 4 if kind == "nonnegative" else 0
    problem = Problem(kind, family, n, 0, effort, 0, classes=c, zeros=zeros)
    widths = {"scaled": 2 * d, "compact": d + d // 2, "ordinal": d}
    return plan_for(problem, widths, d, 5, candidates_for(kind, models))


@pytest.mark.parametrize("effort", costs.RUN)
@pytest.mark.parametrize("kind", KINDS)
def test_every_table_is_planned_within_its_seconds(kind, effort):
    for n, d in SHAPES:
        plan = plan_of(kind, n, d, effort)
        assert plan.seconds <= costs.available(effort), (n, d)
        assert "null" in plan.models
        assert len(plan.models) >= 2 or (n, d) in {(12, 1), (1000, 5000)}
        assert 2 <= plan.folds <= 5
        known = {candidate.name for candidate in candidates_for(kind, ())}
        assert known == {*plan.models, *plan.skipped}
        assert all(
            reason and not reason.endswith(".") for reason in plan.skipped.values()
        )
        for name, size in plan.models.items():
            assert 0 < size.rows <= n, name


@pytest.mark.parametrize("kind", KINDS)
def test_a_greater_effort_compares_no_fewer_models(kind):
    for n, d in SHAPES:
        counts = [len(plan_of(kind, n, d, effort).models) for effort in costs.RUN]
        assert counts == sorted(counts), (n, d)


def test_models_that_are_chosen_get_all_the_seconds():
    some = plan_of("classes", 8000, 200, "quick")
    alone = plan_of("classes", 8000, 200, "quick", ("boosting",)).models["boosting"]
    assert alone.rows >= some.models["boosting"].rows
    assert alone.seconds > some.models["boosting"].seconds


def test_a_plan_does_not_read_the_clock(monkeypatch):
    before = plan_of("real", 8000, 200, "quick")
    plan_of.cache_clear()
    for name in ("time", "perf_counter", "monotonic", "process_time"):
        monkeypatch.setattr(time, name, lambda: 1e9)
    assert plan_of("real", 8000, 200, "quick") == before


def test_importances_of_many_columns_are_few_evaluations():
    plan = plan_of("real", 1000, 5000, "quick")
    parts = ["forest", "boosting"]
    size = plan.importances(5000, parts)
    assert (size.folds, size.shuffles) == (1, 1)
    cost = size.evaluations * sum(costs.prediction(p, 334, 1000, 10_000) for p in parts)
    assert size.evaluations == 16 or cost <= costs.available("quick") / 10
    assert plan_of("real", 300, 10, "normal").importances(10, ["linear"]) == (3, 2, 10)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pa.table({"x": rng.normal(size=400), "y": rng.normal(size=400)})
    return prepare(Spec(data="frame", target="y"), read(frame, "y"))


def test_fewer_folds_and_held_out_rows(table):
    plan = planned(Spec(data="frame", target="y"), table, candidates_for("real", ()))
    assert shortened(table, plan, 0) is table
    small = shortened(table, plan._replace(folds=2, held_out=100), 0)
    assert small.folds.train.shape == (2, 400)
    assert (small.folds.held_out > 0).sum() == 100
    assert not (small.folds.train * small.folds.held_out).any()
    again = shortened(table, plan._replace(folds=2, held_out=100), 0)
    np.testing.assert_array_equal(small.folds.held_out, again.folds.held_out)


def test_what_is_smaller_is_said():
    labels = {c.name: c.label for c in candidates_for("classes", ())}
    plan = plan_of("classes", 100_000, 50, "quick")
    said = " ".join(plan.notes(5, labels))
    assert f"on {plan.folds} of 5 folds" in said
    assert "10,000 held-out rows" in said
    assert any(size.rows < 100_000 for size in plan.models.values())
    assert "of 100,000 rows" in said
    assert plan_of("real", 300, 10, "normal").notes(5, labels) == []


def test_the_plan_of_a_table_is_a_function_of_its_size(table):
    spec = Spec(data="frame", target="y")
    other = dataclasses.replace(table, y=np.random.default_rng(1).permutation(table.y))
    candidates = candidates_for("real", ())
    assert planned(spec, table, candidates) == planned(spec, other, candidates)
