"""Targets with an order, and times until an event: from the file to predictions."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from likely import evaluate, workbench
from likely.core import InputError
from likely.data.schema import Schema
from likely.files import load
from likely.workbench import survival
from likely.workbench.spec import Spec
from likely.workbench.target import read_target


def target_of(values, name="y", family=""):
    frame = pa.table({name: values})
    return read_target(Schema.infer(frame)[name], frame[name], family)


def repeated(*levels):
    return [level for level in levels for _ in range(5)]


# Levels -------------------------------------------------------------------------------


def test_words_with_an_order_are_levels():
    target, y, _ = target_of(repeated("high", "low", "medium"))
    assert (target.kind, target.family) == ("ordinal", "ordinal")
    assert target.classes == ("low", "medium", "high")
    assert "low < medium < high" in target.reason
    assert y[:1] == 2
    assert target_of(repeated("high", "low", "medium"), family="categorical")[
        0
    ].kind == ("classes")


@pytest.mark.parametrize(
    ("values", "name", "kind"),
    [
        (repeated(1, 2, 3, 4, 5), "answer", "ordinal"),
        (repeated(3, 4, 5, 6, 7, 8), "quality", "ordinal"),
        (repeated(1, 2, 3), "cultivar", "classes"),
        (repeated(0, 1, 2), "target", "classes"),
        (repeated("red", "green", "blue"), "rating", "classes"),
        (repeated("a", "b", "c"), "y", "classes"),
        (repeated("low", "high"), "y", "binary"),
        (repeated(1, 2, 4, 8), "level", "classes"),
    ],
)
def test_which_targets_have_an_order(values, name, kind):
    assert target_of(values, name)[0].kind == kind


def test_an_order_can_be_given_and_is_never_guessed():
    colours = repeated("red", "green", "blue")
    target, *_ = target_of(colours, family="ordinal:green,red,blue,black")
    assert target.classes == ("green", "red", "blue")
    assert target_of(repeated(0, 1, 2), family="ordinal")[0].kind == "ordinal"
    assert (
        target_of(repeated(0, 1, 2), family="cumulative_logit")[0].family == "ordinal"
    )
    with pytest.raises(InputError, match="--family ordinal:low,medium,high"):
        target_of(colours, family="ordinal")
    with pytest.raises(InputError, match="has 'blue', which is not among"):
        target_of(colours, family="ordinal:green<red")


def test_ranked_probability_and_middle_levels():
    probs = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    # (0.2 − 0)² + (0.7 − 1)² over 2, and twice 1 over 2
    found = evaluate.ranked_probability([1, 2], probs, [1.0, 0.0]).value
    assert found == pytest.approx((0.04 + 0.09) / 2)
    assert evaluate.ranked_probability([1, 2], probs, [0.0, 2.0]).value == 1
    assert evaluate.median_levels(probs).tolist() == [1, 0]


def test_a_run_on_levels(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    place = X @ [1.5, -1.0] + rng.logistic(size=120)
    words = np.array(["poor", "fair", "good"])[np.digitize(place, [-1.0, 1.0])]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(health=words)
    result = workbench.run(
        frame, models=["linear"], folds=2, effort="quick", out=tmp_path
    )
    report: Any = result.report
    null, linear = report.ladder[:2]
    assert linear.nats < null.nats
    assert linear.scores["mae"] < null.scores["mae"]
    assert linear.scores["rps"] < null.scores["rps"]
    names = [row.name for row in report.simple.rows]
    assert names == ["a", "b", "between poor and fair", "between fair and good"]
    model = load(tmp_path / "model" / "model.likely")
    np.testing.assert_allclose(model.predict_proba(frame).sum(1), 1)
    assert set(model.predict(frame)) <= {"poor", "fair", "good"}


# Times --------------------------------------------------------------------------------


def times(n=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    T = np.exp(3 + X @ [0.6, -0.4]) * rng.weibull(1.5, n)
    end = rng.exponential(40.0, n)
    frame = pd.DataFrame(X, columns=["a", "b"])
    return frame.assign(days=np.minimum(T, end), died=np.where(end > T, "yes", "no")), T


def test_a_run_on_times_of_which_some_are_censored(tmp_path):
    frame, T = times()
    result = workbench.run(
        frame,
        "days",
        event="died",
        models=["linear"],
        folds=3,
        effort="quick",
        out=tmp_path,
    )
    report: Any = result.report
    assert (report.target.kind, report.target.family) == ("survival", "weibull")
    null, linear = report.ladder[:2]
    assert linear.nats < null.nats
    assert null.scores["concordance"] == 0.5
    assert linear.scores["concordance"] > 0.65
    assert abs(report.winner.coverage - 0.9) < 2 * report.winner.coverage_error
    model = load(tmp_path / "model" / "model.likely")
    low, high = model.predict_interval(frame)
    assert (
        0.83 < ((low <= T) & (high >= T)).mean() < 0.98
    )  # of all, also those not seen
    median = model.predict(frame)
    assert ((low < median) & (median < high)).all()
    chances = model.predict_survival(frame)
    assert chances.shape == (150, len(model.target.times))
    assert (np.diff(chances, axis=1) < 0).all()
    assert Spec.from_toml((tmp_path / "spec.toml").read_text()).event == "died"
    assert "--event died" in report.spec.command()


def test_words_for_events_and_sentences_for_others():
    def read(events, time=(1.0, 2.0, 3.0)):
        return survival.read_times(
            "t", pa.chunked_array([time]), "e", pa.chunked_array([events])
        )

    for events in (
        [1, 0, 1],
        [True, False, True],
        ["Dead", "alive", "Dead"],
        [2, 1, 2],
    ):
        assert read(events).y.tolist() == [1, -2, 3]
    assert read([1, None, 1]).rows.tolist() == [0, 2]
    found = read([1, 0, 1], (0.0, 2.0, 3.0))
    assert found.y[0] == 1
    assert "half of the shortest time" in found.notes[0]
    for events, time, why in (
        ([1, 0, 3], (1.0, 2.0, 3.0), "holds '3'; 1, yes or true"),
        ([0, 0, 0], (1.0, 2.0, 3.0), "no row has an event"),
        ([1, 0, 1], (1.0, -2.0, 3.0), "is -2 in row 1"),
    ):
        with pytest.raises(InputError, match=why):
            read(events, time)


def test_the_family_of_times_is_the_likelier_one():
    rng = np.random.default_rng(1)
    x = rng.normal(size=800)
    end = rng.exponential(20.0, 800)
    for name, T in (
        ("weibull", np.exp(1 + x) * rng.weibull(1.5, 800)),
        ("lognormal", np.exp(1 + x + 0.8 * rng.normal(size=800))),
    ):
        y = np.where(end > T, T, -end)
        frame = pa.table({"x": x, "town": ["a", "b"] * 400})
        assert survival.chosen_family(frame, Schema.infer(frame), y) == name


def test_residuals_of_the_true_model_are_uniform_with_any_censoring():
    rng = np.random.default_rng(0)
    n = 4000
    T, end = rng.exponential(1.0, n), rng.exponential(1.5, n)
    y = np.where(end > T, T, -end)
    u, mass = survival.residuals(y, 1 - np.exp(-np.abs(y)), np.ones(n))
    assert (y > 0).sum() * 0.3 < mass.sum() < n
    assert (mass[y < 0] > 0).sum() <= 5
    for level in (0.1, 0.5, 0.9):
        assert mass @ (u <= level) / mass.sum() == pytest.approx(level, abs=0.03)


def test_pairs_of_time_and_event_are_suggested():
    frame, _ = times(40)
    table = pa.Table.from_pandas(frame)
    others = table.drop_columns(["days"])
    sentence = survival.suggested_event("days", "positive", others)
    assert "--target days --event died" in sentence
    assert not survival.suggested_event("price", "positive", others)
    other = survival.suggested_event("died", "binary", table.drop_columns(["died"]))
    assert "--target days --event died" in other
    plain = table.drop_columns(["days", "died"])
    assert not survival.suggested_event("days", "positive", plain)


def test_families_of_times_need_an_event():
    with pytest.raises(InputError, match="--event"):
        target_of([1.5, 2.5, 3.5] * 5, family="weibull")
    frame, _ = times(40)
    with pytest.raises(InputError, match="'gamma'; with --event give one of"):
        workbench.run(frame, "days", event="died", family="gamma")
