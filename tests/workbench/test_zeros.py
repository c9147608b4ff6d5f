"""Targets from zero on with exact zeros: their kind, their models, and their intervals."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from likely.core.checks import InputError
from likely.workbench import scoring
from likely.workbench.candidates import CANDIDATES, candidates_for
from likely.workbench.ladder import Ladder
from likely.workbench.means import absurd_means, better_mean, eligible
from likely.workbench.measures.comparison import compared
from likely.workbench.model import TableModel
from likely.workbench.problem import Problem
from likely.workbench.spec import Spec
from likely.workbench.table import prepare, read
from likely.workbench.target import _kind


def expenses(n, seed=0, zeros=0.68):
    """Log-normal expenses, most of them zero, and two columns that matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    logit = np.log(zeros / (1 - zeros)) - X[:, 0]
    some = rng.random(n) > 1 / (1 + np.exp(-logit))
    y = np.where(some, np.exp(5 + 0.8 * X[:, 1] + 1.5 * rng.normal(size=n)), 0.0)
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y.round(2)})


def compared_models(frame, *models, seed=0, family=""):
    spec = Spec(
        data="frame",
        target="y",
        models=models,
        effort="quick",
        seed=seed,
        family=family,
    )
    table = prepare(spec, read(frame, "y"))
    ladder = Ladder(spec, table, candidates_for(table.target.kind, models), None)
    ladder.run()
    return ladder


def model_of(ladder, name):
    table, predictions = ladder.table, ladder.held_out[name]
    found = scoring.calibrate(table, predictions)
    covered = scoring.out_of_fold(table, predictions, 0.9, found)
    final = ladder.of_all(name)
    found = scoring.for_final(found, table, predictions, final)
    model = TableModel(
        name, table.target, final.encoders, tuple(final.parts), final.weights,
        found.temperature, found.stretch, found.scores, found.weights, final.known,
        found.scale,
    )  # fmt: skip
    return model, covered


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        ([0.0] * 6 + [1.5, 2.25, 9.1, 30.4], "nonnegative"),
        ([0.0] * 3 + list(np.linspace(50, 60, 7)), "nonnegative"),
        ([0.0] * 4 + [150.0, 4200, 380, 99, 2500], "nonnegative"),
        ([0.0] * 4 + [1.0, 2, 3, 7, 12, 30, 55, 60, 62, 70, 80], "count"),
        ([0.0] + list(np.linspace(50, 60, 70)), "real"),
        ([-1.0] * 3 + [0.0] * 9 + list(np.linspace(1, 2, 9)), "real"),
    ],
)
def test_numbers_with_exact_zeros_are_known(y, kind):
    found, reason = _kind(np.array(y))
    assert found == kind
    if kind == "nonnegative":
        share = 100 * np.mean(np.array(y) == 0)
        assert (
            reason == f"it has numbers from zero on, {share:.0f} % of them exactly zero"
        )


def test_a_negative_target_gets_a_sentence():
    frame = expenses(30)
    frame.loc[3, "y"] = -2.0
    spec = Spec(data="frame", target="y", family="tweedie")
    with pytest.raises(
        InputError, match="nonnegative targets are numbers from zero on"
    ):
        prepare(spec, read(frame, "y"))


@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda candidate: candidate.name)
def test_every_model_gives_zero_a_probability(candidate):
    frame = expenses(120, zeros=0.4)
    X, y = frame[["a", "b", "c"]].to_numpy(), frame["y"].to_numpy()
    zeros = int((y == 0).sum())
    problem = Problem(
        "nonnegative", "hurdle_lognormal", 120, 3, "normal", 0, spread=1.5, zeros=zeros
    )
    estimator = candidate.build(problem)
    assert hasattr(estimator, "predict_dist")
    if candidate.name not in ("null", "linear", "forest"):  # others take longer
        return
    dist = estimator.fit(X, y).predict_dist(X)
    zero = dist.cdf(np.zeros(120))
    assert ((zero > 0) & (zero < 1)).all()
    assert abs(zero.mean() - zeros / 120) < 0.1
    np.testing.assert_array_equal(dist.cdf(np.full(120, -1e-9)), 0.0)


@pytest.fixture(scope="module")
def ladder():
    return compared_models(expenses(300), "linear", "forest")


@pytest.fixture(scope="module", params=["linear", "forest"])
def fitted(request, ladder):
    return model_of(ladder, request.param)


def test_intervals_start_at_zero_and_cover(fitted):
    model, covered = fitted
    new = expenses(2000, seed=7)
    low, high = model.predict_interval(new.drop(columns="y"))
    assert (low >= 0).all()
    assert np.isfinite(high).all()
    share = np.mean((low <= new["y"]) & (new["y"] <= high))
    assert 0.85 < share < 0.95
    assert abs(covered["coverage"] - share) < 4 * covered["coverage_error"]
    assert 0.01 < covered["coverage_error"] < 0.06


def test_a_model_with_absurd_means_cannot_win(ladder):
    rows = compared(ladder)
    assert absurd_means(rows) == {}
    last = dataclasses.replace(rows[-1], scores={**rows[-1].scores, "r2": -1e70})
    spoiled = (*rows[:-1], last)
    (reason,) = absurd_means(spoiled).values()
    assert "times that of the overall mean" in reason
    assert rows[-1].name not in [row.name for row in eligible(spoiled)]


def test_a_better_mean_of_another_model_is_named(ladder):
    rows = compared(ladder)
    y = ladder.table.y[ladder.held_out["linear"].rows]
    known = ladder.held_out["forest"]._replace(mean=y + 0.0)
    fake = compared_like(ladder, {**ladder.held_out, "forest": known})
    by_name = {row.name: row for row in compared(fake)}
    best = by_name["linear"]
    found = better_mean(fake, tuple(by_name.values()), best)
    assert found is not None
    assert found.name == "forest"
    assert "use the linear model for intervals and probabilities" in found.sentence
    assert better_mean(fake, tuple(by_name.values()), by_name["forest"]) is None
    assert rows[0].name == "null"


def compared_like(ladder, held_out):
    """The same comparison with other held-out predictions."""
    copy = object.__new__(Ladder)
    vars(copy).update({**vars(ladder), "held_out": held_out})
    return copy


def test_one_outlying_cell_does_not_spoil_counts():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = rng.poisson(np.exp(1 + 0.5 * x)) * 1.0
    x[5] = 90.0  # a log-linear mean of e^46 where row 5 is held out
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=120), "y": y})
    ladder = compared_models(frame, "linear", family="poisson")
    linear = ladder.held_out["linear"]
    assert linear.mean.max() <= 2 * y.max()
    assert scoring.standard_scores(ladder.table, linear)["rmse"] < 20


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_fold_with_other_widths_is_brought_in_line(scale):
    rng = np.random.default_rng(0)
    fold = np.repeat(np.arange(5), 100)
    scores = np.abs(rng.normal(size=500)) * np.where(fold == 2, scale, 1.0)
    factor = scoring.fold_scales(scores, fold, np.ones(500))
    if scale == 1:
        np.testing.assert_allclose(factor, 1.0, atol=0.1)
    else:
        np.testing.assert_allclose(factor[fold == 2], scale, rtol=0.2)


def test_atoms_are_values_of_many_rows():
    y = np.r_[np.zeros(10), np.arange(1.0, 91.0)]
    found = scoring.atoms(y, np.ones(100))
    np.testing.assert_array_equal(found, y == 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear", "forest"])
def test_coverage_over_many_splits(name):
    shares = []
    for seed in range(12):
        rows = expenses(1800, seed=seed, zeros=0.3 if seed % 2 else 0.68)
        model, _ = model_of(compared_models(rows[:300], name, seed=seed), name)
        low, high = model.predict_interval(rows[300:].drop(columns="y"))
        shares.append(np.mean((low <= rows["y"][300:]) & (rows["y"][300:] <= high)))
    assert 0.88 < np.mean(shares) < 0.92
    assert min(shares) > 0.84
