"""The typed report: its file, its schema, and the numbers in it beside other programs'."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest
from ledger import ROOT
from sklearn import metrics

import likely as lk
from likely.core.checks import InputError
from likely.workbench import Spec
from likely.workbench.candidates import candidates_for
from likely.workbench.findings.leakage import leakage_findings
from likely.workbench.ladder import Ladder
from likely.workbench.measures.comparison import compared, simpler_model
from likely.workbench.measures.decisions import class_scores, decisions
from likely.workbench.report import page
from likely.workbench.report.contents import Report
from likely.workbench.report.facts import Simpler
from likely.workbench.report.typed_json import described, records, typed
from likely.workbench.report.verdict import verdict
from likely.workbench.table import Source, prepare


def patients(n=200, leak=False):
    rng = np.random.default_rng(1)
    age, dose = rng.normal(50, 12, n), rng.uniform(0, 3, n)
    sex = rng.choice(["F", "M"], n)
    ill = 0.08 * (age - 50) + (sex == "M") + rng.logistic(size=n) > 0.5
    columns = {"age": age, "dose": dose, "sex": sex}
    if leak:
        columns["bill"] = np.where(ill, 300.0, 10.0) + rng.normal(size=n)
    return pa.table({**columns, "ill": np.where(ill, "yes", "no")})


@pytest.fixture(scope="module")
def result():
    return lk.workbench.run(patients(), models=("linear",), effort="quick")


def test_the_report_is_what_its_file_holds(result):
    text = result.to_json()
    assert Report.from_json(text) == result.report
    assert Report.from_json(text).to_json() == text
    assert json.loads(text) == result.report.to_dict()
    assert page(Report.from_json(text)) == page(result.report)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 1}, "has format 1.*--spec spec.toml"),
        ({"ladder": 3}, "ladder is '3'"),
        ({"more": 1}, "unknown entry 'more'"),
        ({"winner": None}, "winner is 'None'"),
    ],
)
def test_another_format_is_refused_with_a_sentence(change, sentence, result):
    with pytest.raises(InputError, match=sentence):
        Report.from_dict({**result.report.to_dict(), **change})
    with pytest.raises(InputError, match="no JSON|not JSON"):
        Report.from_json("{")


def test_every_entry_is_described():
    for record in records(Report):
        names = {field.name for field in dataclasses.fields(record)}
        assert names == set(described(record)), record


def test_the_schema_in_the_docs_is_that_of_the_types():
    """`docs/report.schema.json` and the tables of `docs/report.md`."""
    known = json.loads((ROOT / "docs" / "report.schema.json").read_text("utf-8"))
    assert known == Report.schema()
    page_ = (ROOT / "docs" / "report.md").read_text("utf-8")
    for record in records(Report):
        if record.__name__ == "Spec":
            continue
        for name, text in described(record).items():
            assert f"| `{name}` | {text} |" in page_, (record.__name__, name)


def test_a_file_fits_its_schema(result):
    """By the types, which are those of the schema; null only where it may be."""
    again = typed(Report, json.loads(result.to_json()))
    assert again.data.columns[0].name == "age"
    assert again.spec == result.report.spec


def test_decisions_are_counted_as_scikit_learn_counts_them(rng):
    y = (rng.random(300) < 0.3).astype(float)
    p = np.clip(0.3 + 0.3 * (y - 0.3) + 0.2 * rng.normal(size=300), 0.01, 0.99)
    found = decisions(y, p, np.ones(300), "yes")
    assert found.area == pytest.approx(metrics.roc_auc_score(y, p))
    for d in found.thresholds:
        called = p > d.threshold
        assert d.recall == pytest.approx(metrics.recall_score(y, called))
        if called.any():
            assert d.precision == pytest.approx(metrics.precision_score(y, called))
    for d in found.costs:
        assert d.threshold == pytest.approx(1 / (1 + d.cost_ratio))
        missed = d.cost_ratio * np.mean(y * (p <= d.threshold))
        assert d.cost == pytest.approx(missed + np.mean((1 - y) * (p > d.threshold)))


def test_classes_are_counted_as_scikit_learn_counts_them(rng):
    y, guess = rng.integers(0, 3, (2, 90))
    counts = metrics.confusion_matrix(y, guess)
    found = class_scores(counts.astype(float), ("a", "b", "c"))
    for name, score in (
        ("precision", metrics.precision_score),
        ("recall", metrics.recall_score),
        ("f1", metrics.f1_score),
    ):
        exact = score(y, guess, average=None)
        assert [getattr(c, name) for c in found] == pytest.approx(exact)


def test_the_brier_score_is_that_of_scikit_learn(result):
    predictions = result.held_out["linear"]
    y = result.table.y[predictions.rows]
    exact = metrics.brier_score_loss(y, predictions.probs[:, 1])
    assert result.report.ladder[1].scores["brier"] == pytest.approx(exact)


def test_gains_are_over_the_best_simpler_model(result):
    """Not over the row above; and the simplest model within error is named."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=200)
    base = result.held_out["linear"]
    shifts = {"null": 1.0, "linear": 0.0, "svm": 0.5, "boosting": -0.001}
    held_out = {
        name: base._replace(
            loss=2 + shift + noise * 0.1 * (1 + 0.1 * rng.normal(size=200))
        )
        for name, shift in shifts.items()
    }
    candidates = candidates_for("binary", tuple(shifts))
    ladder = Ladder(result.report.spec, result.table, candidates)
    ladder.held_out = held_out
    rows = compared(ladder)
    assert [row.gain_over for row in rows] == ["", "null", "linear", "linear"]
    assert rows[2].gain < -0.4
    assert abs(rows[3].gain) < 0.05
    simpler = simpler_model(ladder, rows, rows[3])
    assert simpler.name == "linear"


def test_a_leak_is_the_first_sentence(result):
    table = prepare(Spec(target="ill"), Source("here", patients(leak=True), (), {}))
    (leak,) = leakage_findings(table)
    said = verdict(dataclasses.replace(result.report, findings=(leak,)))
    assert "'bill'" in said[0]
    assert "--drop bill" in said[0]


def test_the_verdict_names_a_simpler_model(result):
    simpler = Simpler("a", "plain model", 0.01, 0.02)
    winner = dataclasses.replace(result.report.winner, simpler=simpler)
    said = verdict(dataclasses.replace(result.report, winner=winner))[-1]
    assert said.startswith("A simpler model, the plain model, is within error of it")


def test_rows_and_groups_of_the_report(result):
    report = result.report
    assert report.groups.column == "sex"
    assert sum(group.rows for group in report.groups.groups) == 200
    share = sum(g.rows * g.coverage for g in report.groups.groups) / 200
    assert share == pytest.approx(report.winner.coverage)
    losses = result.held_out["linear"].loss
    assert [row.nats for row in report.worst] == pytest.approx(
        np.sort(losses)[::-1][:10]
    )
    assert report.confusion[0][0] + report.confusion[0][1] == report.classes[0].rows
    assert report.learning_curve.rows[-1] == 160
