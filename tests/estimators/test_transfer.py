"""Networks that begin from others, and regimes that train a part of them."""

import os
import signal
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone

import likely as lk
from likely.base.training.blocks import block_numbers, parameter_count
from likely.base.training.regimes import PartlyTrained, Regime, released
from likely.core.checks import InputError
from likely.estimators.sequence.network import SequenceNetwork
from likely.layers import BatchNorm, LowRank, initial_state
from likely.models import CNN, MLP, mlp
from likely.objectives.priors import GaussianPrior

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

REGIMES = ("head", 1, "bias", "adapters", "low_rank")


def network(key, **settings):
    """3 to 4 to 5 to 2: 16 + 25 + 12 parameters."""
    return mlp((3, 4, 5, 2), key=key, **settings)


def table(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def trained(model) -> list:
    return jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))


def same_bits(a, b) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


class Source:
    """Something pretrained: the first weights of an estimator's network, never trained."""

    def __init__(self, estimator, shape, center=None, scale=None):
        self.estimator, self.shape = estimator, shape
        build = estimator._architecture().build
        self.model = build(shape, 2, key=jax.random.key(7))
        self.units = center, scale
        self.encoder_, self.category_columns_ = None, []

    def architecture_settings(self):
        return self.estimator.architecture_settings()

    def body(self, like):
        from likely.base.training.blocks import body_units, is_array
        from likely.base.training.bodies import Body

        numbers = jax.tree.leaves(block_numbers(self.model))
        every = zip(jax.tree.leaves(self.model), numbers, strict=True)
        arrays = [np.asarray(a)[None] for a, k in every if k and is_array(a)]
        states = [
            np.asarray(a)[None] for a in jax.tree.leaves(initial_state(self.model))
        ]
        units = [None if a is None else np.asarray(a)[None] for a in self.units]
        return Body(tuple(arrays), tuple(states), *units), body_units(self.model)


def source(hidden=(4, 5), **settings) -> Source:
    estimator = lk.MLPClassifier(hidden, **settings)
    estimator.encoder_ = None
    return Source(estimator, (3,), np.zeros(3), np.full(3, 2.0))


# What is trained -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("regime", "count"),
    [
        ("all", 16 + 25 + 12),
        ("head", 12),
        (0, 12),
        (1, 25 + 12),
        (2, 16 + 25 + 12),
        ("bias", 4 + 5 + 12),
        (("low_rank", 2), 2 * (3 + 4) + 2 * (4 + 5) + 12),
        (LowRank(1, alpha=2.0), (3 + 4) + (4 + 5) + 12),
        (("adapters", 3), (4 * 3 + 3 + 3 * 4 + 4) + (5 * 3 + 3 + 3 * 5 + 5) + 12),
    ],
    ids=str,
)
def test_the_number_of_trained_parameters_is_the_hand_count(regime, count, getkey):
    found = Regime.of(regime)
    model = eqx.filter_eval_shape(lambda k: network(k), getkey())
    part = eqx.filter_eval_shape(found.constrain, model, getkey())
    assert parameter_count(part) == count


@pytest.mark.parametrize("regime", REGIMES)
def test_a_constrained_model_is_at_first_the_model(regime, getkey):
    model, X = network(getkey()), jnp.asarray(table(4)[0], jnp.float32)
    part = Regime.of(regime).constrain(model, getkey())
    assert isinstance(part, PartlyTrained)
    eta = model(X)[0]
    np.testing.assert_allclose(part(X)[0], eta, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(released(part)(X)[0], part(X)[0])
    if regime == "adapters":
        return
    for a, b in zip(trained(released(part)), trained(model), strict=True):
        assert same_bits(a, b)


def test_gradients_reach_what_is_trained_and_nothing_else(getkey):
    model, X = network(getkey()), jnp.asarray(table(8)[0], jnp.float32)
    part = Regime.of(("low_rank", 2)).constrain(model, getkey())
    params, static = eqx.partition(part, eqx.is_inexact_array)
    g = jax.grad(lambda p: (eqx.combine(p, static)(X)[0] ** 2).sum())(params)
    moved = jax.tree.map(lambda a, b: a - 0.1 * b, params, g)
    after = released(eqx.combine(moved, static))
    head = after.layers[-1]
    assert not same_bits(head.weight, model.layers[-1].weight)
    for one, other in zip(after.layers[:-1], model.layers[:-1], strict=True):
        if hasattr(one, "bias"):
            assert same_bits(one.bias, other.bias)
            assert not same_bits(one.weight, other.weight)
            change = np.asarray(one.weight) - np.asarray(other.weight)
            assert np.linalg.matrix_rank(change, tol=1e-5) <= 2


def test_a_merged_matrix_is_the_matrix_and_its_change(getkey):
    model, X = network(getkey()), jnp.asarray(table(8)[0], jnp.float32)
    part = Regime.of(LowRank(2, alpha=3.0)).constrain(model, getkey())
    changed = part.model.layers[0].weight
    B = jnp.asarray(np.random.default_rng(0).normal(size=(2, 4)), jnp.float32)
    part = eqx.tree_at(lambda p: p.model.layers[0].weight.change.up.weight, part, B)
    A, W = changed.change.down.weight, model.layers[0].weight
    merged = released(part)
    np.testing.assert_allclose(
        merged.layers[0].weight, W + 1.5 * A @ B, rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(merged(X)[0], part(X)[0], rtol=1e-6, atol=1e-6)
    stacked = jax.tree.map(lambda a: np.stack([np.asarray(a)] * 2), part)
    W2 = released(stacked).layers[0].weight
    assert W2.shape == (2, 3, 4)
    np.testing.assert_allclose(W2[1], merged.layers[0].weight, rtol=1e-6, atol=1e-7)


def test_blocks_are_counted_from_the_output(getkey):
    def shapes(build, *args):
        return eqx.filter_eval_shape(lambda k: build(*args, key=k), getkey())

    residual = shapes(MLP((4, 4, 4), norm="layer", residual=True).build, 3, 2)
    numbers = block_numbers(residual)
    assert numbers.layers[0].weight == 3
    assert numbers.layers[2].block.layers[2].weight == 1
    assert numbers.layers[-2] is not None
    assert numbers.layers[-1].bias == 0
    images = shapes(CNN((2, 3), hidden=(4,), norm="batch").build, (8, 8, 1), 2)
    numbers = block_numbers(images)
    assert numbers.layers[0].weight == 3
    assert numbers.layers[1].scale == 3  # the norm belongs to its convolution
    both = SequenceNetwork("gru", 4, n_layers=2, bidirectional=True, vocabulary=5)
    numbers = block_numbers(shapes(both.build, (4, 2), 2))
    cells = numbers.layers[2].layers
    assert [c[0].weight for c in cells] == [c[1].weight for c in cells] == [2, 1]
    attention = SequenceNetwork("transformer", 8, n_layers=2, vocabulary=5)
    numbers = block_numbers(shapes(attention.build, (4, 2), 2))
    inner = numbers.layers[1].transformer
    assert inner.embedding.weight == 3
    assert [layer.norms[0].scale for layer in inner.layers] == [2, 1]
    assert inner.norm.scale == 1


def test_the_prior_is_around_where_the_body_begins(getkey):
    model = network(getkey())
    prior = Regime().prior_of(model, GaussianPrior(alpha=2.0))
    head = model.layers[-1].weight
    assert float(prior.log_prob(model)) == pytest.approx(
        -float((head**2).sum()), rel=1e-5
    )
    moved = eqx.tree_at(
        lambda m: m.layers[0].weight, model, replace_fn=lambda W: W + 0.5
    )
    less = float(prior.log_prob(model) - prior.log_prob(moved))
    assert less == pytest.approx(0.25 * 12, rel=1e-4)


@pytest.mark.parametrize(
    "given", [True, "low-rank", ("head", 2), ("low_rank", 0), -1, 1.5, None]
)
def test_other_regimes_are_refused_in_a_sentence(given):
    with pytest.raises(InputError, match="trainable"):
        Regime.of(given)


def test_low_rank_settings_are_checked():
    with pytest.raises(InputError, match="rank"):
        LowRank(0)


# Fits ----------------------------------------------------------------------------------


def leaves_of(model, *, blocks):
    """Parameters of these blocks of a fitted network."""
    found = model.phi_.solution.model
    numbers = jax.tree.leaves(block_numbers(found))
    every = zip(jax.tree.leaves(found), numbers, strict=True)
    return [a for a, k in every if k in blocks and eqx.is_inexact_array(a)]


def test_a_head_is_trained_on_a_body_that_stays():
    """Bits of the body and of its running statistics; weights as repetition; clones."""
    given, (X, y) = source(norm="batch"), table()
    settings = {"solver": "adam", "max_iter": 3, "trainable": "head"}
    model = lk.MLPClassifier.from_pretrained(given, **settings)
    assert model.hidden_layer_sizes == (4, 5)
    assert clone(model).pretrained is given
    w = np.r_[np.zeros(4), np.ones(36)]
    model.fit(np.where(w[:, None] > 0, X, np.nan), y, w)
    body, _ = given.body(None)
    for a, b in zip(leaves_of(model, blocks=(1, 2)), body.arrays, strict=True):
        assert same_bits(a, b[0])
    for a, b in zip(
        jax.tree.leaves(model.phi_.solution.state), body.statistics, strict=True
    ):
        assert same_bits(a, b[0])
    assert not np.array_equal(leaves_of(model, blocks=(0,))[0], 0 * y[:1])
    np.testing.assert_array_equal(model.phi_.scaling.scale, np.full(3, 2.0))
    norms = sum(2 * size for size in (4, 5))
    assert model.n_parameters_ == 3 * 4 + 4 * 5 + norms + 6
    assert model.n_trainable_ == 5 + 1
    garbage = np.where(w[:, None] > 0, X, 1e6)
    again = clone(model).fit(garbage, y, w)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_network_begins_from_what_masked_rows_taught():
    """The hidden entry of a row is found from the others, and the body is taken over."""
    X, y = table(64)
    X[:, 2] = X[:, 0]
    masked = lk.MaskedPretraining(
        lk.MLPClassifier((8,), learning_rate_init=0.02), max_iter=200
    ).fit(X)
    losses = np.ravel(masked.history_["loss"])
    assert losses[-10:].mean() < 0.8 * losses[:10].mean()
    settings = {"solver": "adam", "max_iter": 2, "trainable": "head"}
    model = lk.MLPClassifier.from_pretrained(masked, **settings).fit(X, y)
    body, _ = masked.body(model)
    for a, b in zip(leaves_of(model, blocks=(1,)), body.arrays, strict=True):
        assert same_bits(a, b[0])


def test_what_does_not_fit_is_refused_with_what_differs():
    X, y = table()
    cases = [
        (lk.MLPClassifier((4, 6), pretrained=source()), "Dense of 4 x 5 as layer 3"),
        (lk.MLPClassifier((4,), pretrained=source()), "no layer 3"),
        (lk.MLPClassifier((4, 5), "tanh", pretrained=source()), "relu as layer 2"),
        (lk.MLPClassifier((4, 5), pretrained=lk.LinearRegression()), "fitted network"),
    ]
    for model, words in cases:
        with pytest.raises(InputError, match=words):
            model.fit(X, y)
    with pytest.raises(InputError, match="Dense of 3 x 4 as layer 1"):
        lk.MLPClassifier((4, 5), pretrained=source()).fit(np.c_[X, X], y)
    with pytest.raises(InputError, match="columns|tables or images"):
        lk.MaskedPretraining(lk.SequenceClassifier()).fit(X)
    with pytest.raises(InputError, match="merges"):
        lk.MLPClassifier((4, 5), pretrained=source(), trainable="low_rank").partial_fit(
            X, y, classes=[0, 1]
        )


@pytest.mark.slow
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_frozen_parameters_keep_their_bits(regime, solver):
    X, y = table()
    first = lk.MLPClassifier((4, 5), solver=solver, max_iter=5).fit(X, y)
    model = lk.MLPClassifier.from_pretrained(
        first, trainable=regime, solver=solver, max_iter=5
    ).fit(X, 1 - y)
    old = first.phi_.solution.model.layers
    new = [getattr(layer, "layer", layer) for layer in model.phi_.solution.model.layers]
    same = {
        name: [
            same_bits(getattr(a, name), getattr(b, name))
            for a, b in zip(old, new, strict=True)
            if hasattr(a, name)
        ]
        for name in ("weight", "bias")
    }
    weight, bias = {
        "head": ([1, 1, 0], [1, 1, 0]),
        1: ([1, 0, 0], [1, 0, 0]),
        "bias": ([1, 1, 0], [0, 0, 0]),
        "adapters": ([1, 1, 0], [1, 1, 0]),
        "low_rank": ([0, 0, 0], [1, 1, 0]),
    }[regime]
    assert same == {"weight": list(map(bool, weight)), "bias": list(map(bool, bias))}


@pytest.mark.slow
@pytest.mark.parametrize("regime", ["all", "head", "low_rank", "adapters"])
def test_members_folds_passes_and_files(regime, tmp_path):
    """What a network without `pretrained` can do, one with it can do too."""
    X, y = table(60)
    first = lk.MLPClassifier((4, 5), n_members=2, max_iter=2).fit(X, y)
    crossed = lk.MLPClassifier.from_pretrained(first, trainable=regime)
    crossed.set_params(learning_rate_init=0.05).fit(X, y)
    assert len(crossed.phi_.solution.loss) == 5
    assert crossed.score(X, y) > 0.8
    several = lk.MLPClassifier.from_pretrained(
        first, trainable=regime, n_members=3, bootstrap=True, max_iter=2, solver="adam"
    ).fit(X, y)
    assert len(several.members(X)) == 3
    several.save(tmp_path / "model.likely")
    again = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(again.predict_proba(X), several.predict_proba(X))
    assert again.n_trainable_ == several.n_trainable_
    if regime == "low_rank":
        return
    passes = lk.MLPClassifier.from_pretrained(first, trainable=regime)
    for _ in range(3):
        passes.partial_fit(X, y, classes=[0, 1])
    assert passes.passes_ == 3
    assert passes.predict_proba(X).shape == (60, 2)


@pytest.mark.slow
def test_a_regressor_begins_from_a_classifier_and_keeps_its_scale():
    X, y = table()
    first = lk.MLPClassifier((4, 5), max_iter=20).fit(X, y)
    model = lk.MLPRegressor.from_pretrained(first, trainable="head", max_iter=50)
    model.fit(X, X[:, 0] + X[:, 1])
    assert model.n_trainable_ == 5 + 1 + 1  # with σ
    assert model.score(X, X[:, 0] + X[:, 1]) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: lk.CNNClassifier((2,), (4,), max_iter=2),
        lambda: lk.ResNetClassifier((2,), max_iter=2),
        lambda: lk.VisionTransformerClassifier(8, 1, n_heads=2, max_iter=2),
        lambda: lk.CNNRegressor((2,), (4,), max_iter=2),
    ],
    ids=["cnn", "resnet", "vit", "regressor"],
)
def test_networks_of_images_begin_from_masked_images(make):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 8, 8)), np.arange(24) % 2
    masked = lk.MaskedPretraining(make(), max_iter=2).fit(X)
    assert masked.transform(X).shape == (24, masked.n_features_out_)
    for regime in REGIMES:
        model = type(make()).from_pretrained(masked, trainable=regime, max_iter=1)
        model.fit(X, y)
        assert model.n_trainable_ > 0
        state, before = (
            jax.tree.leaves(each.phi_.solution.state) for each in (model, masked)
        )
        if regime != 1:
            assert all(map(same_bits, state, before))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["gru", "transformer"])
def test_networks_of_sequences_begin_from_others(architecture):
    rng = np.random.default_rng(0)
    X = [rng.integers(0, 5, rng.integers(2, 6)).tolist() for _ in range(30)]
    y = [int(0 in row) for row in X]
    first = lk.SequenceClassifier(architecture, 8, n_heads=2, max_iter=2).fit(X, y)
    for regime in REGIMES:
        tags = lk.SequenceTagger.from_pretrained(first, trainable=regime, max_iter=1)
        tags.fit(X[:20], [[t % 2 for t in row] for row in X[:20]])
        np.testing.assert_array_equal(tags.vocabulary_, first.vocabulary_)


@pytest.mark.slow
def test_segmentation_begins_from_masked_images():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 8, 8))
    masked = lk.MaskedPretraining(lk.UNetSegmenter((2, 3)), max_iter=1).fit(X)
    model = lk.UNetSegmenter.from_pretrained(masked, trainable="head", max_iter=1)
    model.fit(X, (X > 0).astype(int))
    assert model.n_trainable_ == 2 * 2 + 2


@pytest.mark.slow
def test_masked_tables_with_categories_teach_their_codes():
    import pandas

    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], 120)
    x = np.where(kind == "a", 2.0, np.where(kind == "b", 0.0, -2.0))
    X = pandas.DataFrame({"x": x + 0.1 * rng.normal(size=120), "kind": kind})
    X["z"] = X.x + 0.1 * rng.normal(size=120)
    masked = lk.MaskedPretraining(lk.MLPClassifier((8,)), max_iter=150).fit(X)
    start, end = masked.history_["validation"][[0, -1]]
    assert end < 0.5 * start
    model = lk.MLPClassifier.from_pretrained(masked, max_iter=50)
    model.fit(X[:30], (kind[:30] == "a").astype(int))
    assert model.encoder_ is masked.encoder_
    assert model.score(X, kind == "a") > 0.95
    only = X[["kind"]]
    with pytest.raises(InputError, match="numbers"):
        lk.MaskedPretraining(lk.MLPClassifier((8,))).fit(only)


CHILD = """
import sys, numpy as np, likely as lk
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3)); y = (X[:, 0] > 0).astype(int)
first = lk.MLPClassifier((4,), solver="adam", max_iter=1).fit(X, y)
model = lk.MLPClassifier.from_pretrained(
    first, trainable=sys.argv[2], solver="adam", max_iter=60, batch_size=20
)
where = lk.solvers.training.Checkpoints(sys.argv[1], every_steps=45)
stop = int(sys.argv[3])
def kill(event):
    if stop and event.step >= stop:
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
model.fit(X, y, checkpoints=where, resume=True, callbacks=kill)
np.save(sys.argv[4], model.predict_proba(X))
"""


@pytest.mark.slow
@pytest.mark.parametrize("regime", ["head", "low_rank"])
def test_a_killed_fine_tuning_goes_on_to_the_same_bits(regime, tmp_path):
    def run(folder, stop):
        command = [sys.executable, "-c", CHILD, str(tmp_path / folder), regime]
        return subprocess.run(
            [*command, str(stop), str(tmp_path / f"{folder}.npy")],
            env=os.environ,
            capture_output=True,
            check=False,
        )

    assert run("killed", 400).returncode == -signal.SIGKILL
    for folder in ("killed", "whole"):
        done = run(folder, 0)
        assert done.returncode == 0, done.stderr.decode()
    found = [np.load(tmp_path / f"{name}.npy") for name in ("killed", "whole")]
    np.testing.assert_array_equal(*found)


@pytest.mark.slow
def test_another_body_does_not_resume_a_run(tmp_path):
    X, y = table(300)
    firsts = [
        lk.MLPClassifier((4,), solver="adam", max_iter=1, random_state=k).fit(X, y)
        for k in (0, 1)
    ]
    settings = {"trainable": "head", "solver": "adam", "max_iter": 5}
    lk.MLPClassifier.from_pretrained(firsts[0], **settings).fit(
        X, y, checkpoints=tmp_path
    )
    other = lk.MLPClassifier.from_pretrained(firsts[1], **settings)
    with pytest.raises(InputError, match="parameters that stay"):
        other.fit(X, y, checkpoints=tmp_path, resume=True)


def test_norms_of_a_frozen_body_are_those_in_use(getkey):
    model = mlp((3, 4, 2), norm="batch", key=getkey())
    part = Regime.of("head").constrain(model, None)
    state = initial_state(part)
    _, after = part(jnp.ones((5, 3)), w=jnp.ones(5), key=getkey(), state=state)
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(after), strict=True):
        assert same_bits(a, b)
    plain = released(part)
    assert any(isinstance(layer, BatchNorm) for layer in plain.layers)
