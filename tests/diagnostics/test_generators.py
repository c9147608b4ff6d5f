"""Generative models compared, their rows judged, and what synthetic rows teach."""

import warnings
from functools import cache
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import likely as lk
from likely import diagnostics
from likely.base.generator import Bound, Generator
from likely.core.checks import InputError
from likely.diagnostics.generators.compare_densities import MAX_JUDGED, split_table
from likely.diagnostics.generators.contenders import MAX_STEPS, contenders
from likely.diagnostics.generators.network_features import network_features
from likely.diagnostics.generators.table_space import TableSpace
from likely.diagnostics.generators.trial import attempt
from likely.solvers.training.events import Event, StepLimit


def people(n: int = 400, seed: int = 0, gaps: float = 0.1) -> pd.DataFrame:
    """Words, numbers, counts and missing cells that depend on each other."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    height = 165 + 13 * (sex == "m") + 6 * rng.normal(size=n)
    weight = 0.9 * (height - 100) + 5 * rng.normal(size=n)
    visits = rng.poisson(np.where(sex == "f", 9.0, 2.0))
    frame = pd.DataFrame(
        {"sex": sex, "height": height, "weight": weight, "visits": visits}
    )
    frame.loc[rng.random(n) < gaps, "weight"] = np.nan
    return frame


def normals(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ np.array([[1, 0.8, 0], [0, 0.6, 0.5], [0, 0, 2.0]])


class Uniform(Generator):
    """A density that only has a bound: draws of training rows, with a constant bound."""

    taxonomy = "bound"

    def fit(self, X, y=None):
        self.rows_ = X
        self.n_features_in_ = X.shape[1]
        return self

    def _bound(self, X, **options):
        return Bound(np.full(len(X), -50.0), np.full(len(X), 0.1))

    def sample(self, n=1, *, given=None, random_state=None):
        return self.rows_.sample(n, replace=True, random_state=random_state)


class Implicit(Uniform):
    """Training rows drawn again."""

    taxonomy = "implicit"


class Broken(Uniform):
    """A model that cannot be fitted."""

    def fit(self, X, y=None):
        raise InputError("there is no such model.")


@cache
def comparison() -> Any:
    models = {
        "independent columns": lk.BayesianNetwork("independent"),
        "network": lk.BayesianNetwork(n_restarts=1),
        "bounded": Uniform(),
        "implicit": Implicit(),
        "broken": Broken(),
    }
    return lk.compare_densities(models, people(), n_samples=300)


# Comparing densities ----------------------------------------------------------------------


def test_models_are_ranked_by_held_out_nats_and_bounds_are_called_bounds():
    found = comparison()
    assert [t.name for t in found.trials] == [
        "network", "independent columns", "bounded", "implicit", "broken",
    ]  # fmt: skip
    table = found.table()
    assert table["taxonomy"] == ["explicit", "explicit", "bound", "implicit", "bound"]
    assert table["note"][-1] == "there is no such model."
    assert table["nats"][3] is None
    bound = found.trial("bounded").likelihood
    assert bound.bound
    assert str(bound).startswith("at most 50.00")
    assert "Failed: broken" in found.verdict
    assert "better than independent columns" in found.verdict
    assert found.best is found.trials[0].model
    assert sum(found.rows) == 400


def test_nats_are_those_of_the_truth_on_the_same_rows():
    found = comparison()
    rows = people().iloc[np.sort(np.random.default_rng(0).permutation(400)[:100])]
    rows = rows.loc[~rows.index.isin([])]
    own = found.trial("network")
    assert own.model.nll(rows) == pytest.approx(own.likelihood.nats.value)
    truth = -(
        np.log(0.5)
        + stats.norm.logpdf(rows.height, 165 + 13 * (rows.sex == "m"), 6)
        + np.nan_to_num(stats.norm.logpdf(rows.weight, 0.9 * (rows.height - 100), 5))
        + stats.poisson.logpmf(rows.visits, np.where(rows.sex == "f", 9.0, 2.0))
    )
    assert abs(truth.mean() - own.likelihood.nats.value) < 0.35
    gap = found.difference("independent columns", "network")
    losses = found.trial("independent columns").losses, own.losses
    assert gap.value == pytest.approx(np.mean(losses[0] - losses[1]))
    spread = np.std(losses[0] - losses[1], ddof=1) / 10
    assert gap.error == pytest.approx(spread, rel=1e-6)


def test_rows_are_judged_by_what_was_drawn():
    found = comparison()
    copier = found.trial("bounded").samples
    assert copier.memorization.p_value < 0.01
    assert copier.memorization.excess > 0.9
    network, alone = (
        found.trial(name).samples for name in ("network", "independent columns")
    )
    assert network.memorization.excess < 0.2
    assert network.told_apart.value < alone.told_apart.value
    assert copier.told_apart.value == pytest.approx(0.5, abs=0.12)


def test_the_comparison_is_shown():
    found = comparison()
    assert "Trained on 300 rows, judged on 100 others" in str(found)
    assert found.plot().axes
    assert list(found.to_frame()["model"])[0] == "network"
    with pytest.raises(InputError, match="no model 'x'"):
        found.trial("x")
    with pytest.raises(InputError, match="does not say"):
        found.difference("implicit", "network")


def test_a_density_of_numbers_is_compared_in_the_units_of_the_table():
    X = normals(300) * [1.0, 100.0, 0.01] + [5.0, -3.0, 2.0]
    found: Any = lk.compare_densities([lk.GaussianMixture(1)], X, n_samples=0)
    out = np.random.default_rng(0).permutation(300)[:75]
    train = np.delete(X, out, 0)
    covariance: Any = np.cov(train.T, bias=True)
    normal = stats.multivariate_normal(train.mean(0), covariance)
    expected = -normal.logpdf(X[np.sort(out)]).mean()
    nats = found.trials[0].likelihood.nats.value
    assert nats == pytest.approx(expected, rel=1e-3)
    drawn = found.best.sample(500, random_state=0)
    assert drawn.mean(0) == pytest.approx(train.mean(0), abs=0.2 * train.std(0).max())
    table = people(60, gaps=0)
    mixed = lk.compare_densities([lk.GaussianMixture(1)], table, n_samples=0)
    assert "has no place for column 'sex'" in mixed.trials[0].failure


def test_levels_that_only_held_out_rows_have_go_to_training():
    frame = people(60, gaps=0)
    frame["town"] = ["a"] * 58 + ["b", "c"]
    found: Any = lk.compare_densities(["independent columns"], frame, n_samples=0)
    assert found.moved <= 2
    assert np.isfinite(found.trials[0].likelihood.nats.value)


def test_default_models_suit_the_table():
    numbers = contenders("quick", 0, TableSpace.of(normals(50)).codec)
    mixed = contenders("quick", 0, TableSpace.of(people(50)).codec)
    assert set(numbers) - set(mixed) == {"mixture"}
    every = contenders(None, 0, TableSpace.of(people(50)).codec)
    assert "NormalizingFlow" not in every  # cells are missing
    assert {"AutoregressiveDensity", "VAE"} <= set(every)
    with pytest.raises(InputError, match="BayesianNetwork"):
        contenders(["BayesianNetwrk"], 0)
    with pytest.raises(InputError, match="no generative model"):
        contenders([lk.Ridge()], 0)


def test_bad_tables_are_refused_in_sentences():
    with pytest.raises(InputError, match="X is not given"):
        lk.compare_densities("quick")
    with pytest.raises(InputError, match="at least 10"):
        lk.compare_densities("quick", people(5))
    with pytest.raises(InputError, match="no column"):
        lk.compare_densities("quick", pd.DataFrame({"a": np.ones(20)}))
    with pytest.raises(InputError, match="test_size"):
        lk.compare_densities("quick", people(20), test_size=1.0)


def test_of_many_held_out_rows_some_are_judged():
    table = normals(3 * MAX_JUDGED)
    found: Any = lk.compare_densities(["mixture"], table, test_size=0.5, n_samples=0)
    assert found.rows == (3 * MAX_JUDGED // 2, MAX_JUDGED)
    nats = found.judged[0].likelihood.nats
    truth = -found.judged[0].model.log_prob(table)
    assert abs(nats.value - truth.mean()) < 4 * truth.std() / MAX_JUDGED**0.5


def test_networks_made_here_have_a_limit_of_steps():
    assert contenders(["VAE"], 0)["VAE"].max_steps == MAX_STEPS["VAE"]
    assert contenders([lk.VAE()], 0)["VAE"].max_steps is None
    limit = StepLimit(30)
    assert [limit(Event("epoch", step=s)) for s in (29, 30)] == [False, True]


@pytest.mark.slow
def test_a_network_ends_after_the_steps_of_a_comparison():
    frame = people(60, gaps=0)
    split, _ = split_table(frame, 0.25, 0)
    model = lk.VAE(1, (3,), batch_size=8)
    found: Any = attempt("VAE", model, 30, split=split, n_samples=0, seed=0)
    assert not found.failure
    assert found.taxonomy == "bound"
    assert found.model.n_iter_ < 20  # six steps each
    assert np.isfinite(found.likelihood.nats.value)


# Single cells -----------------------------------------------------------------------------


def test_cells_of_independent_columns_have_marginal_densities():
    frame = people(200, gaps=0)
    model = lk.BayesianNetwork("independent").fit(frame)
    hidden = np.random.default_rng(0).random((200, 4)) < 0.3
    found = diagnostics.cell_log_probs(model, frame, hidden)
    assert (np.isnan(found) == ~hidden).all()
    heights = hidden[:, model.codec_.names.index("height")]
    normal: Any = stats.norm(frame.height.mean(), frame.height.std(ddof=0))
    expected = normal.logpdf(frame.height[heights])
    assert found[heights, 1] == pytest.approx(expected, abs=0.02)


def test_probabilities_of_a_hidden_cell_sum_to_one():
    rng = np.random.default_rng(0)
    a = rng.integers(3, size=300)
    frame = pd.DataFrame(
        {"a": a.astype(str), "b": ((a + rng.integers(2, size=300)) % 3)}
    )
    frame["b"] = frame["b"].astype(str)
    for model in (lk.SumProductNetwork(max_iter=5), lk.BayesianNetwork(n_restarts=1)):
        model.fit(frame)
        rows = pd.DataFrame({"a": ["0", "1", "2"], "b": ["1"] * 3})
        hidden = np.array([[True, False]] * 3)
        logs = diagnostics.cell_log_probs(model, rows, hidden)[:, 0]
        assert np.exp(logs).sum() == pytest.approx(1)
        seen = [((frame.b == "1") & (frame.a == k)).sum() for k in "012"]
        assert np.exp(logs) == pytest.approx(np.array(seen) / sum(seen), abs=0.05)
    with pytest.raises(InputError, match="shape"):
        diagnostics.cell_log_probs(model, rows, hidden[:, :1])


# Training on synthetic rows ---------------------------------------------------------------


def test_the_same_rows_teach_the_same_and_shuffled_ones_nothing():
    train, test = people(300, gaps=0), people(200, 1, gaps=0)
    models = {"linear": lk.Ridge(alpha=1.0)}
    same = diagnostics.train_on_synthetic(
        train, train, test, target="weight", estimators=models
    )
    assert same.ratio == pytest.approx(1)
    assert same.measure == "R²"
    assert same.real[0].value == pytest.approx(0.72, abs=0.08)
    shuffled = train.assign(weight=train.weight.sample(frac=1, random_state=0).values)
    nothing = diagnostics.train_on_synthetic(
        shuffled, train, test, target="weight", estimators=models
    )
    assert nothing.synthetic[0].value < 0.15
    assert nothing.difference[0].value < -0.5
    assert nothing.plot().axes


def test_classes_are_judged_by_the_area_under_the_curve():
    train, test = people(300, gaps=0.1), people(200, 1)
    new = people(300, 2)
    models = {"linear": lk.LogisticRegression(alpha=1.0)}
    found = diagnostics.train_on_synthetic(
        new, train, test, target="sex", estimators=models
    )
    assert found.measure == "AUC"
    assert found.ratio == pytest.approx(1, abs=0.05)
    assert "the predictor 'linear' of 'sex'" in found.verdict
    with pytest.raises(InputError, match="no column 'x'"):
        diagnostics.train_on_synthetic(new, train, test, target="x")


# Judging samples --------------------------------------------------------------------------


def test_samples_of_the_same_source_are_not_told_apart_and_copies_are_seen():
    train, real, new = normals(200), normals(150, 1), normals(150, 2)
    honest: Any = diagnostics.judge_samples(new, real, train=train)
    assert honest.memorization.p_value > 0.01
    assert honest.discrepancy.p_value > 0.01
    assert abs(honest.told_apart.auc - 0.5) < 0.12
    copier: Any = diagnostics.judge_samples(train[:150], real, train=train)
    assert copier.memorization.copies == 1
    assert "repeat training rows" in copier.verdict
    shifted = diagnostics.judge_samples(new + 2, real)
    assert shifted.discrepancy.p_value < 0.01
    assert "differ from real ones" in shifted.verdict
    assert shifted.memorization is None
    assert honest.plot().axes
    assert "Fréchet distance" in honest.table()["score"]
    with pytest.raises(InputError, match="generated has 3 rows"):
        diagnostics.judge_samples(new[:3], real)


def test_features_are_what_the_last_layer_is_given():
    X = normals(80)
    y = (X[:, 0] > 0).astype(int)
    network = lk.MLPClassifier((5,), max_iter=200, early_stopping=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(X, y)
    H = network_features(network, X)
    assert H.shape == (80, 5)
    model, state, rows = network.unpack(X)
    eta = np.asarray(model(jax.numpy.asarray(rows), state=state)[0])
    last = [leaf for leaf in _dense(model)][-1]
    assert H @ np.asarray(last.weight) + np.asarray(last.bias) == (
        pytest.approx(eta, abs=1e-4)
    )
    found = diagnostics.judge_samples(X[:40], X[40:], classifier=network)
    p = network.predict_proba(X[:40])
    assert found.inception == lk.evaluate.inception_score(p)


def _dense(model):
    def is_dense(node):
        return hasattr(node, "weight") and hasattr(node, "bias")

    return filter(is_dense, jax.tree.leaves(model, is_leaf=is_dense))


def test_impossible_numbers_are_seen_as_they_are_and_measured_from_the_nearest():
    space = TableSpace.of(people(100, gaps=0))
    odd = people(5, gaps=0)
    odd["visits"] = [-3, 0, 1, 2, 3]
    j = space.codec.names.index("visits")
    assert space.codes(odd)[0, j] < space.codes(odd)[1, j]
    F = space.features(odd.assign(sex="f", height=170.0, weight=60.0))
    assert F[0] == pytest.approx(F[1])
    assert not np.array_equal(F[1], F[2])
