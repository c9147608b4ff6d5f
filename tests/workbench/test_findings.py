"""Findings are true sentences with the right number in them, and advice for the terminal."""

import types

import numpy as np
import pyarrow as pa
import pytest

from likely.workbench import Spec
from likely.workbench.findings.columns import column_findings
from likely.workbench.findings.families import dispersion_findings
from likely.workbench.findings.intervals import coverage_findings, interval_change
from likely.workbench.findings.measured import Measured
from likely.workbench.report.facts import Winner
from likely.workbench.report.measured import Simple
from likely.workbench.table import Source, prepare


@pytest.mark.parametrize(
    ("factor", "sentence"),
    [(1.25, "widened by 25 %"), (0.9, "narrowed by 10 %"), (0.0, "narrowed by 100 %")],
)
def test_intervals_that_were_too_wide_or_narrow(factor, sentence):
    assert sentence in interval_change(factor)


def measured(columns, mean=None, family="", **winner):
    """A run whose best model has these means, on these columns."""
    source = Source("here", pa.table(columns), (), {})
    table = prepare(Spec(target="y", family=family), source)
    held_out = types.SimpleNamespace(rows=np.arange(len(table)), mean=mean)
    facts = {"nats": 1.0, "error": 0.1, "gain": 0.0, "gain_error": 0.0, "gain_over": ""}
    null = {"gain_over_null": 0.0, "gain_over_null_error": 0.0, "scores": {}}
    best = Winner("linear", "linear model", **facts, **null, **winner)
    ladder = types.SimpleNamespace(table=table, held_out={"linear": held_out})
    return Measured(ladder, best, Simple(), None, None, [])


@pytest.mark.parametrize(
    ("family", "level", "said"),
    [
        ("poisson", "warning", "--family negative_binomial"),
        ("negative_binomial", "note", "which is used here, allows for that"),
    ],
)
def test_over_dispersion_is_told_for_the_family_in_use(family, level, said, rng):
    """With the means of the best model: a single absurd mean of another does not count."""
    y = rng.negative_binomial(1, 0.2, 300).astype(float)
    found = measured({"x": rng.normal(size=300), "y": y}, np.full(300, 4.0), family)
    (finding,) = dispersion_findings(found)
    assert finding.level == level
    assert said in finding.advice
    times = float(finding.text.split("vary ")[1].split(" times")[0])
    assert times == pytest.approx(np.mean((y - 4) ** 2) / 4, rel=0.01)


@pytest.mark.parametrize(
    ("y", "share", "level", "said"),
    [
        ("number", 0.7, "warning", "--groups"),
        ("number", 0.99, "note", "on the safe side"),
        ("count", 0.99, "note", "cannot be covered by a part"),
        ("class", 0.99, "note", "whole classes"),
    ],
)
def test_coverage_has_a_true_reason(y, share, level, said, rng):
    targets = {
        "number": rng.normal(size=200),
        "count": rng.poisson(8, 200).astype(float),
        "class": rng.choice(["a", "b"], 200),
    }
    found = measured(
        {"x": rng.normal(size=200), "y": targets[y]}, coverage=share, coverage_asked=0.9
    )
    (finding,) = coverage_findings(found)
    assert (finding.level, said in finding.advice) == (level, True)


def missing(columns):
    table = measured(columns).ladder.table
    return [f for f in column_findings(table) if f.kind == "missing"]


def test_missing_values_are_told_as_they_are_handled(rng):
    x = rng.normal(size=60)
    x[:6] = np.nan
    town = ["Bern", "Chur", None] * 20
    columns = {
        "x": pa.array(x, from_pandas=True),
        "town": town,
        "y": rng.normal(size=60),
    }
    (finding,) = missing(columns)
    assert finding.text.startswith(
        "2 columns have missing values: 'town' (33 %) and 'x'"
    )
    assert "filled with the mean" in finding.advice
    assert "category of its own" in finding.advice
    del columns["x"]
    columns["other"] = rng.normal(size=60)
    (finding,) = missing(columns)
    assert finding.text.startswith("1 column has missing values: 'town' (33 %).")
    assert "mean" not in finding.advice
