"""Rates by group are those of counting, and differences have intervals that hold."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics
from sklearn.linear_model import LinearRegression, LogisticRegression
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import likely as lk
from likely.core import InputError
from likely.diagnostics import fairness
from likely.diagnostics.rows.intervals import gap_of, part_of, wilson


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.where(X[:, 0] + rng.normal(size=900) > 0, "yes", "no")
    group = rng.choice(["a", "b", "c"], 900)
    model = LogisticRegression().fit(X[:300], y[:300])
    return model, X[300:], y[300:], group[300:]


def test_measures_are_counted_as_scikit_learn_counts_them(judged):
    model, X, y, group = judged
    found = fairness(model, X, y, group)
    table = found.table()
    for i, name in enumerate("abc"):
        own = group == name
        called = model.predict(X[own])
        recall = metrics.recall_score(y[own], called, pos_label="yes")
        assert table["true positive rate"][i] == pytest.approx(recall)
        wrong = 1 - metrics.accuracy_score(y[own], called)
        assert table["error"][i] == pytest.approx(wrong)
        nats = metrics.log_loss(y[own], model.predict_proba(X[own]))
        assert table["nats"][i] == pytest.approx(nats)
    assert "No difference shown" in found.verdict
    assert not found.shown
    frame = pd.DataFrame(found.differences())
    assert (frame["low"] < frame["difference"]).all()
    found.plot()


def test_a_difference_is_shown(judged):
    model, X, y, group = judged
    other = np.where((group == "b") & (np.arange(len(y)) % 2 == 0), "no", y)
    found = fairness(model, X, other, group, positive="yes")
    assert {group for group, _, _ in found.shown} >= {"b"}
    assert "'b'" in found.verdict
    assert ("b", "calibration") in [(g, name) for g, name, _ in found.shown]


def test_weights_are_counts_and_absent_rows_do_not_matter(judged):
    model, X, y, group = judged
    rng = np.random.default_rng(3)
    w = rng.integers(0, 3, len(y)).astype(float)
    again = np.repeat(np.arange(len(y)), w.astype(int))
    weighted = fairness(model, X, y, group, sample_weight=w)
    repeated = fairness(model, X[again], y[again], group[again])
    for a, b in zip(weighted.parts, repeated.parts, strict=True):
        np.testing.assert_allclose(np.array(a, float), np.array(b, float))


def test_numbers_by_a_column_of_the_frame(rng):
    X = pd.DataFrame({"x": rng.normal(size=600), "side": np.repeat([0, 1], 300)})
    y = X["x"].to_numpy() + rng.normal(size=600) * np.where(X["side"] == 1, 3, 1)
    model = lk.LinearRegression().fit(X, y)
    found = fairness(model, X, y, "side")
    assert found.measures == ("bias", "squared error", "nats", "coverage")
    assert {name for _, name, _ in found.shown} >= {"squared error", "coverage"}
    point = fairness(LinearRegression().fit(X, y), X, y, "side")
    assert point.measures == ("bias", "squared error")
    three = np.digitize(y, [-1, 1])
    several = LogisticRegression().fit(X, three)
    assert fairness(several, X, three, "side").measures == (
        "error", "calibration", "nats", "coverage",
    )  # fmt: skip


def test_intervals_are_newcombes_and_welchs(rng):
    a, b = (part_of(np.arange(n) < k, np.ones(n)) for n, k in ((30, 28), (50, 20)))
    assert wilson(a, 0.05) == pytest.approx(proportion_confint(28, 30, method="wilson"))
    gap = gap_of(a, b, 0.05)
    known = confint_proportions_2indep(28, 30, 20, 50, method="newcomb")
    assert (gap.low, gap.high) == pytest.approx(known)
    x, y = rng.normal(size=12), rng.normal(1, 3, 20)
    gap = gap_of(part_of(x, np.ones(12)), part_of(y, np.ones(20)), 0.05)
    known = stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.95)
    assert (gap.low, gap.high) == pytest.approx((known.low, known.high))


def test_groups_that_do_not_fit(judged):
    model, X, y, group = judged
    for given, sentence in (
        (group[:5], "one for each"),
        (np.zeros(len(y)), "1 group"),
        ("side", "no column 'side'"),
    ):
        with pytest.raises(InputError, match=sentence):
            fairness(model, X, y, given)
    with pytest.raises(InputError, match="positive"):
        fairness(model, X, y, group, positive="maybe")
    few = fairness(model, X[:6], y[:6], ["a"] * 5 + ["b"])
    assert "No difference shown" in few.verdict
