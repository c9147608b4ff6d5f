"""Networks of sequences: forms of rows, absent positions, tags, forecasts, what is refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import likely as lk
from likely.core import InputError
from likely.estimators.images.vision_transformer import patch_of
from likely.estimators.sequence.inputs import (
    form_of,
    length_class,
    padded,
    sequences_of,
)
from likely.estimators.sequence.network import SequenceNetwork
from likely.families import Categorical
from likely.layers import MixedPrecision
from likely.objectives import PositionLikelihood
from likely.objectives.priors import penalised
from likely.solvers.training import Checkpoints
from likely.typing import Batch

RNG = np.random.default_rng(0)
LENGTHS = np.tile([1, 2, 4, 3], 6)
ROWS = [RNG.normal(size=(t, 2)) for t in LENGTHS]
SUMS = np.array([row[:, 0].sum() for row in ROWS])
LABELS = np.where(SUMS > 0, "up", "down")
ADAM = {"batch_size": 8, "max_iter": 2, "learning_rate_init": 0.02}


def network(**options):
    return lk.SequenceClassifier("rnn", 3, **(ADAM | options))


@pytest.fixture(scope="module")
def fitted():
    return network().fit(ROWS, LABELS)


def test_every_form_of_the_rows_is_the_same_array():
    """Lists, arrays, a table, a series of objects: sequences of one number."""
    numbers = RNG.normal(size=(24, 4))
    objects = np.empty(24, object)
    objects[:] = list(numbers)
    wanted = network()._batch(numbers[..., None], LABELS, None).x
    assert wanted.shape == (24, 4, 2)
    np.testing.assert_array_equal(wanted[..., 0], numbers)
    for X in (numbers, list(numbers[..., None]), objects, pd.Series(list(numbers))):
        np.testing.assert_array_equal(network()._batch(X, LABELS, None).x, wanted)
    table = network()
    table._batch(numbers, LABELS, None)
    assert table.form_ == "table"
    np.testing.assert_array_equal(table._inputs(numbers[..., None]), wanted)
    short = table._inputs([row[:2] for row in numbers])  # other lengths, in a list
    np.testing.assert_array_equal(short[0, :, -1], [1, 1, 0, 0])
    with pytest.raises(ValueError, match="2 features"):
        table._inputs(numbers[:, :2])


def test_lengths_are_few_and_a_new_one_changes_nothing(fitted):
    classes = {length_class(t) for t in range(1, 1001)}
    assert len(classes) <= 30
    assert all(t <= length_class(t) <= max(t + 3, 1.25 * t) for t in range(1, 1001))
    assert (length_class(28), length_class(1000)) == (28, 1024)
    alone = np.concatenate([fitted.predict_proba([row]) for row in ROWS[:4]])
    np.testing.assert_allclose(fitted.predict_proba(ROWS)[:4], alone, rtol=1e-5)
    longer = fitted.predict_proba([*ROWS[:4], RNG.normal(size=(9, 2))])[:4]
    np.testing.assert_allclose(longer, alone, rtol=1e-5)


def garbage(X):
    """The rows with NaN where positions are absent."""
    dirty = np.where(X[..., -1:] > 0, X, np.nan)
    dirty[..., -1] = X[..., -1]
    return dirty.astype(X.dtype)


def test_garbage_in_absent_positions_changes_nothing(fitted):
    X = fitted._inputs(ROWS)
    np.testing.assert_array_equal(fitted._etas(garbage(X)), fitted._etas(X))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lstm", "gru", "transformer"])
def test_garbage_changes_nothing_in_any_architecture(kind):
    settings = SequenceNetwork(kind, 4, n_heads=2, bidirectional=True)
    model = settings.build((4, 3), 2, key=jax.random.key(0))
    X = padded(np.concatenate(ROWS[:4]), LENGTHS[:4]).astype(np.float32)
    run = eqx.filter_jit(lambda X: model(X)[0])
    np.testing.assert_array_equal(run(jnp.asarray(garbage(X))), run(jnp.asarray(X)))


def test_inputs_are_scaled_by_the_positions_that_are_there(fitted):
    every = np.concatenate(ROWS)
    center, scale = fitted.phi_.scaling.center, fitted.phi_.scaling.scale
    np.testing.assert_allclose(center, [*every.mean(0), 0], rtol=1e-5)
    np.testing.assert_allclose(scale, [*every.std(0), 1], rtol=1e-5)


def test_absent_rows_may_hold_anything():
    w = np.tile([2.0, 0.0, 1.0], 8)
    pairs = zip(ROWS, w, strict=True)
    dirty = [row if each else np.full((0, 7), np.nan) for row, each in pairs]
    batch = lk.SequenceRegressor()._batch(dirty, np.where(w > 0, SUMS, np.nan), w)
    wanted = padded(np.concatenate(ROWS), LENGTHS)
    np.testing.assert_array_equal(batch.x[w > 0], wanted[w > 0])
    assert np.isfinite(batch.x).all()
    assert np.isfinite(batch.y).all()


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(fitted, tmp_path):
    def stop(event):
        return "stop" if event.step >= 2 else None

    folder = Checkpoints(tmp_path, every_steps=2)
    network().fit(ROWS, LABELS, callbacks=stop, checkpoints=folder)
    again = network().fit(ROWS, LABELS, checkpoints=folder, resume=True)
    wanted = fitted.predict_proba(ROWS)
    np.testing.assert_array_equal(again.predict_proba(ROWS), wanted)


TEXTS = [["good", "film"], ["bad"], ["a", "good", "one"], ["bad", "film", "bad"]] * 6


def test_whole_numbers_are_tokens_or_quantities():
    numbers = [[len(word) for word in text] for text in TEXTS]
    assert form_of(numbers, "auto") == form_of(np.array([[1, 2]]), True) == "tokens"
    assert form_of(numbers, False) == "numbers"
    assert form_of(np.array([[1, 2]]), "auto") == "table"
    found = sequences_of(numbers, "tokens")
    w = np.tile([1.0, 0.5, 1.0, 1.0], 6)
    assert found.vocabulary(w, 7.0).tolist() == [3, 4]  # 1 occurs 6 times
    np.testing.assert_array_equal(found.codes(np.array([3, 4]))[:6], [2, 2, 1, 0, 2, 1])


def test_tags_follow_the_form_of_the_rows(tmp_path):
    tags = [["noun" if word == "film" else "other" for word in text] for text in TEXTS]
    settings = ADAM | {"max_iter": 20, "learning_rate_init": 0.05, "min_count": 7}
    model = lk.SequenceTagger("rnn", 3, **settings).fit(TEXTS, tags)
    assert model.vocabulary_.tolist() == ["bad", "film", "good"]
    assert model.score(TEXTS, tags) == 1.0
    found = model.predict(TEXTS[:3])
    assert [row.tolist() for row in found] == tags[:3]
    probs = model.predict_proba(TEXTS[:3])
    assert [p.shape for p in probs] == [(2, 2), (1, 2), (3, 2)]
    assert len(model.predict_dist(TEXTS[:3])) == 6
    dist = model.predict_dist(TEXTS).log_prob(np.concatenate(tags))
    np.testing.assert_allclose(model.nll(TEXTS, tags), -dist.mean(), rtol=1e-6)
    w = np.tile([1.0, 0.0], 12)
    wrong = [row if each else ["?"] for row, each in zip(tags, w, strict=True)]
    kept = dist[np.repeat(w, [len(row) for row in TEXTS]) > 0]
    weighted = model.nll(TEXTS, wrong, sample_weight=w)
    np.testing.assert_allclose(weighted, -kept.mean(), rtol=1e-6)
    unknown = model.predict_proba([["zebra", "good"], ["a", "good"], ["one", "good"]])
    np.testing.assert_array_equal(unknown[0], unknown[1])
    np.testing.assert_array_equal(unknown[0], unknown[2])
    model.save(tmp_path / "tags.likely")
    again = lk.load(tmp_path / "tags.likely")
    np.testing.assert_array_equal(again.predict_proba(TEXTS[:3])[2], probs[2])
    with pytest.raises(InputError, match="the fit had words"):
        model.predict([[1, 2]])
    with pytest.raises(InputError, match="row 1 of X has 1 positions"):
        model.fit(TEXTS, [["noun", "noun"]] * 24)
    with pytest.raises(InputError, match="24 rows but y has 3"):
        model.fit(TEXTS, tags[:3])


def test_the_loss_of_tags_is_the_mean_over_positions_that_are_there():
    eta = RNG.normal(size=(3, 4, 2))
    y = np.array([[0, 1, np.nan, np.nan], [1, 1, 1, 0], [0, np.nan, np.nan, np.nan]])
    w = np.array([1.0, 2.0, 0.0])
    objective = PositionLikelihood.of(Categorical(2), Batch(eta, y, w))
    rows = objective.pointwise(jnp.asarray(eta), jnp.asarray(y))
    logs = eta - np.log(np.exp(eta).sum(-1, keepdims=True))
    nats = [
        -sum(logs[i, t, int(c)] for t, c in enumerate(y[i]) if c == c) for i in (0, 1)
    ]
    wanted = (nats[0] + 2 * nats[1]) / (2 + 2 * 4)
    found = objective.likelihood.rows.mean(rows, jnp.asarray(w))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_prior_holds_the_weights_from_state_to_state(fitted):
    arrays = eqx.filter(fitted.phi_.solution.model, eqx.is_array)
    found = penalised(jax.tree.map(jnp.asarray, arrays), "weight")
    assert [leaf.shape for leaf in found] == [(2, 3), (3, 3), (6, 1)]


def test_architectures_are_what_the_settings_say():
    shape = (8, 3)
    for kind in ("lstm", "transformer"):
        settings = SequenceNetwork(kind, 8, dtype="bfloat16", vocabulary=5, each=True)
        model = eqx.filter_eval_shape(settings.build, shape, 2, key=jax.random.key(0))
        assert isinstance(model.layers[1], MixedPrecision)
    assert [patch_of("auto", s, s) for s in (8, 28, 32, 4, 7)] == [2, 4, 4, 2, 1]
    for wrong, words in (
        ({"architecture": "lsmt"}, "did you mean 'lstm'"),
        ({"size": 0}, "size is 0"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"architecture": "transformer", "size": 9}, "multiple of 8"),
        ({"dtype": "int8"}, "bfloat16"),
    ):
        with pytest.raises(InputError, match=words):
            SequenceNetwork(**wrong)
    with pytest.raises(InputError, match="29 x 29"):
        patch_of(4, 29, 29)
    with pytest.raises(InputError, match="no patch divides"):
        patch_of("auto", 101, 101)


def test_what_is_no_sequence_is_a_sentence(fitted):
    bad = [*ROWS[:3], np.array([[0.0, 1.0], [2.0, np.nan]])]
    for X, words in (
        ([*ROWS[:3], np.zeros((0, 2))], "row 3 of X is empty"),
        ([*ROWS[:3], np.zeros((2, 3))], r"row 3 have shape \(3,\)"),
        (bad, "NaN in row 3, position 1, channel 1"),
        (["a text", "another", "b", "c"], "text.split"),
        ([[1.0, "a"], ["b"], [2], ["c"]], "row 2 of X has numbers"),
        ([[[1.0, 2.0], [3.0]], [1.0], [2.0], [3.0]], "row 0 of X are not all"),
    ):
        with pytest.raises(InputError, match=words):
            network().fit(X, LABELS[:4])
    with pytest.raises(InputError, match="have 3 numbers but those of the fit 2"):
        fitted.predict(np.zeros((2, 4, 3)))
    with pytest.raises(InputError, match="unknown|architecture"):
        lk.SequenceClassifier("cnn").fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="inconsistent"):
        network().fit(ROWS, LABELS[:5])


# Forecasts ----------------------------------------------------------------------------


def autoregression(n, seed, d=None):
    """x_t = 1.2 x_{t-1} − 0.5 x_{t-2} + noise of variance 1."""
    rng = np.random.default_rng(seed)
    shape = n + 50 if d is None else (n + 50, d)
    x, noise = np.zeros(shape), rng.normal(size=shape)
    for t in range(2, n + 50):
        x[t] = 1.2 * x[t - 1] - 0.5 * x[t - 2] + noise[t]
    return x[50:]


SPREAD = np.sqrt(np.cumsum(np.square([1.0, 1.2, 0.94])))
"""σ of the first steps ahead, by the weights of the moving average."""


def test_forecasts_of_an_autoregression_are_its_own(tmp_path):
    x = autoregression(3000, 0)
    model = lk.Forecaster(3, architecture="linear").fit(x)
    first = 1.2 * x[-1] - 0.5 * x[-2]
    wanted = [first, 1.2 * first - 0.5 * x[-1]]
    np.testing.assert_allclose(model.predict(2), wanted, atol=0.3)
    np.testing.assert_allclose(model.scale_[:, 0], SPREAD, rtol=0.1)
    low, high = model.predict_interval(2, 0.8)
    np.testing.assert_allclose(high - low, 2.563 * model.scale_[:2, 0], rtol=1e-3)
    model.save(tmp_path / "model.likely")
    again = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(again.predict(), model.predict())
    y = x[-10:][:3]
    log_prob = model.predict_dist(series=x[:-10]).log_prob(y)
    np.testing.assert_allclose(model.nll(y, x[:-10]), -log_prob.mean())


def test_intervals_of_forecasts_cover():
    inside = []
    for seed in range(60):
        x = autoregression(160, seed)
        model = lk.Forecaster(6, architecture="linear").fit(x[:154])
        low, high = model.predict_interval(coverage=0.8)
        inside.append((low <= x[154:]) & (x[154:] <= high))
    assert 0.75 < np.mean(inside) < 0.92


def test_series_of_any_length_and_kind():
    for n in (3, 5, 12, 40):
        for x in (np.ones(n), np.arange(float(n)), autoregression(n, 1)):
            model = lk.Forecaster(architecture="linear").fit(x)
            assert np.isfinite(model.predict()).all()
            assert (model.predict_dist().std > 0).all()
    line = lk.Forecaster(4, architecture="linear").fit(np.arange(60.0))
    np.testing.assert_allclose(line.predict(), [60, 61, 62, 63], rtol=1e-6)
    two = lk.Forecaster(2, architecture="linear").fit(autoregression(200, 2, d=2))
    assert two.predict().shape == (2, 2)
    several = lk.Forecaster(2, architecture="linear")
    several.fit([autoregression(100, 3), autoregression(80, 4)])
    assert [len(p) for p in several.predict(1)] == [1, 1]


def test_what_cannot_be_forecast_is_a_sentence():
    x = autoregression(50, 0)
    model = lk.Forecaster(2, architecture="linear").fit(x)
    with pytest.raises(InputError, match=r"Forecaster\(horizon=9\)"):
        model.predict(9)
    with pytest.raises(InputError, match="need at least"):
        lk.Forecaster(40).fit(x[:20])
    with pytest.raises(InputError, match="nan at step 7"):
        lk.Forecaster(2).fit(np.where(np.arange(50) == 7, np.nan, x))
    with pytest.raises(InputError, match="looks at 24 values"):
        model.predict(1, x[:5])
    with pytest.raises(InputError, match="architecture"):
        lk.Forecaster(2, architecture="arima").fit(x)


@pytest.mark.slow
def test_a_network_is_used_where_it_helps():
    """A logistic map: no line can see what comes next."""
    x = np.empty(400)
    x[0] = 0.3
    for t in range(1, 400):
        x[t] = 3.8 * x[t - 1] * (1 - x[t - 1])
    line = lk.Forecaster(1, window=3, architecture="linear").fit(x)
    model = lk.Forecaster(1, window=3).fit(x)
    assert model.network_ is not None
    assert model.scale_[0, 0] < 0.5 * line.scale_[0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["lstm", "gru", "transformer"])
def test_defaults_learn_an_order_that_counts_cannot_see(architecture):
    """Whether the larger of two peaks comes first, in rows of different lengths."""
    rng = np.random.default_rng(0)
    rows, y = [], []
    for _ in range(600):
        t = rng.integers(6, 13)
        row = rng.normal(scale=0.1, size=t)
        a, b = np.sort(rng.choice(t, 2, replace=False))
        turn = rng.integers(2)
        row[a], row[b] = (2, 1) if turn else (1, 2)
        rows.append(row)
        y.append(turn)
    model = lk.SequenceClassifier(architecture, 32).fit(rows[:500], y[:500])
    assert model.score(rows[500:], y[500:]) > 0.97


@pytest.mark.slow
def test_a_vision_transformer_reads_digits():
    data = lk.data.digits()
    order = np.random.default_rng(0).permutation(len(data.y))
    X, y = np.asarray(data.X)[order].reshape(-1, 8, 8), np.asarray(data.y)[order]
    model = lk.VisionTransformerClassifier().fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.95
