"""The language model, against its own factors, known sources, and plain loops."""

import io
import os
import pickle
import subprocess
import sys
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ledger import ROOT
from rich.console import Console
from scipy.special import log_softmax
from sklearn.base import clone

import likely as lk
from likely import diagnostics
from likely.core.checks import InputError
from likely.layers import Padded
from likely.layers.embedding.token_embedding import compared_rows
from likely.solvers.training import (
    Checkpoints,
    DivergenceWarning,
    Event,
    ProgressBar,
)
from likely.text.models.random_windows import RandomWindows
from likely.text.models.sequences import Sequences
from likely.text.models.windows import Windows, default_stride

TINY: dict[str, Any] = {
    "n_layers": 1,
    "n_heads": 2,
    "size": 16,
    "context": 6,
    "batch_size": 16,
    "max_iter": 400,
    "learning_rate_init": 0.02,
    "n_iter_no_change": 8,
}
P = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]])
"""Transitions of a Markov chain."""


def chain(n, seed):
    rng, now, found = np.random.default_rng(seed), 0, []
    for u in rng.uniform(size=n):
        now = int(np.searchsorted(P[now].cumsum(), u))
        found.append(min(now, 2))
    return np.array(found)


def entropy_rate():
    values, vectors = np.linalg.eig(P.T)
    stationary = np.real(vectors[:, np.argmax(np.real(values))])
    stationary /= stationary.sum()
    return -stationary @ (P * np.log(P)).sum(1)


@pytest.fixture(scope="module")
def markov():
    return lk.LanguageModel(**TINY).fit(chain(3000, 0))


ROWS = [chain(t, t) for t in (3, 9, 12, 4, 8, 2, 14, 5, 7, 6)]


def bits(model):
    return [np.asarray(a).tobytes() for a in jax.tree.leaves(model.phi_.solution.model)]


# What is learned ----------------------------------------------------------------------


def test_a_markov_chain_is_learned_to_its_entropy_rate(markov):
    X = chain(3000, 1)
    own = -np.log(P[X[:-1], X[1:]]).mean()  # of the chain on the same tokens
    assert np.log(markov.perplexity(X)) == pytest.approx(own, abs=0.02)
    assert own == pytest.approx(entropy_rate(), abs=0.05)
    found = markov.predict_dist([[0, 0, 0, 0], [0, 0, 2, 1], [0, 0, 2, 2]]).probs
    np.testing.assert_allclose(found, P, atol=0.1)
    assert markov.bits_per_token(X) == pytest.approx(
        np.log2(markov.perplexity(X)), rel=1e-9
    )
    assert markov.nll(X) == pytest.approx(-markov.log_prob(X)[0])
    assert markov.history_["validation"].min() < markov.history_["validation"][0] + 1e-9
    assert "3 tokens, context 6" in markov.summary()


def test_a_period_is_learned(markov):
    X = np.tile([0, 1, 2, 2, 1], 600)
    model = clone(markov).fit(X)
    assert model.perplexity(X) < 1.02
    np.testing.assert_array_equal(model.generate(X[:7], 20, method="greedy"), X[7:27])


# Probabilities ------------------------------------------------------------------------


def test_log_prob_is_the_sum_of_the_factors(markov):
    rows = [chain(t, 5 + t) for t in (1, 4, 6)]
    read = np.full((3, 6), 3)  # a decoder does not look at what is behind
    for i, row in enumerate(rows):
        read[i, 1 : len(row)] = row[:-1]
    eta, _ = eqx.filter_jit(markov.phi_.solution.model.decoder)(jnp.asarray(read))
    factors = log_softmax(np.asarray(eta, np.float64)[..., :3], -1)
    for row, log_p, found in zip(rows, factors, markov.log_prob(rows), strict=True):
        expected = log_p[np.arange(len(row)), row].sum()
        assert found == pytest.approx(expected, rel=1e-5)


def test_longer_sequences_are_judged_as_they_are_written(markov):
    """Each factor is what `predict_dist` says after the tokens before."""
    X = chain(16, 3)
    first = markov.log_prob([X[:1]])[0]
    starts = [X[:t] for t in range(1, len(X))]
    probs = markov.predict_dist(starts).probs[np.arange(len(X) - 1), X[1:]]
    assert markov.log_prob(X)[0] == pytest.approx(first + np.log(probs).sum(), rel=1e-5)


@pytest.mark.parametrize("length", [1, 2, 5, 6])
def test_windows_judge_each_token_once(length):
    for stride in {1, default_stride(length), length}:
        windows = Windows.of(Sequences.of(ROWS), length, 3, stride)
        counts = np.bincount(windows.sequence, windows.judged.sum(1))
        np.testing.assert_array_equal(counts, [len(row) for row in ROWS])
        tokens = windows.symbols[:, 1:][windows.judged]
        np.testing.assert_array_equal(tokens, np.concatenate(ROWS))


def test_windows_are_drawn_alike_and_by_weight():
    rows = [np.arange(13), np.arange(13, 16), np.arange(16, 22), np.arange(22, 29)]
    w = [1.0, 2.0, 1.0, 1.0]
    windows = RandomWindows.of(Sequences.of(rows, w), 4, 29, 10, 3)
    data = jax.tree.map(jnp.asarray, windows.round)

    @jax.jit
    def draw(key):
        _, batch = windows(None, data, key)
        seen = jax.nn.one_hot(batch.y, 30) * batch.w[:, None, None]
        return seen.sum((0, 1)), batch.x, batch.y

    keys = jax.random.split(jax.random.key(0), 200)
    seen, x, y = jax.vmap(draw)(keys)
    counts = np.asarray(seen).mean(0)[:29]
    assert counts.sum() == pytest.approx(30 * windows.tokens_per_row, rel=0.02)
    whole = counts[13:16]  # a sequence that fits into a window, of weight 2
    np.testing.assert_allclose(whole, 2 * counts[16], rtol=0.2)
    assert counts.min() > 0.3 * counts.max() / 2  # no token is left out
    assert bool(((y == x + 1) | (x == 29) | (y == 29)).all())


# Writing ------------------------------------------------------------------------------


def test_a_cache_changes_nothing(markov):
    prompt = chain(9, 8)
    written = list(prompt)
    for _ in range(15):  # across several windows
        written.append(int(markov.predict_dist([written]).probs.argmax()))
    found = markov.generate(prompt, 15, method="greedy")
    np.testing.assert_array_equal(found, written[9:])


def test_the_same_seed_writes_the_same(markov):
    prompts = [chain(3, 1), chain(8, 2)]
    found = markov.generate(prompts, 10, random_state=3, temperature=0.7)
    assert found.shape == (2, 10)
    again = markov.generate(prompts, 10, random_state=3, temperature=0.7, stream=True)
    np.testing.assert_array_equal(np.stack(list(again), 1), found)
    assert (found != markov.generate(prompts, 10, random_state=4)).any()
    draws = markov.sample(2, length=11, random_state=0)
    np.testing.assert_array_equal(draws, markov.sample(2, length=11, random_state=0))
    np.testing.assert_array_equal(draws, markov.generate([[], []], 11, random_state=0))
    assert draws.shape == (2, 11)
    assert markov.sample(2, random_state=0).shape == (2, markov.context_)
    assert markov.generate(n=4, random_state=0).shape == (4,)


def test_beams_find_what_is_more_probable(markov):
    for start in (0, 1, 2):
        greedy = markov.generate([start], 4, method="greedy")
        beam = markov.generate([start], 4, method="beam", n_beams=8)
        of_greedy, of_beam = markov.log_prob([[start, *greedy], [start, *beam]])
        assert of_beam >= of_greedy - 1e-5
    assert len(markov.generate(chain(30, 0), 4, method="beam", n_beams=8)) == 4


# Several sequences --------------------------------------------------------------------


def test_absent_sequences_and_positions_change_no_bit(markov):
    rows = [chain(7 + t % 6, t) for t in range(280)]
    plain = clone(markov).fit(rows)
    values, w = np.full((282, 20), 999), np.r_[np.ones(280), 0, 0]
    present = np.zeros(values.shape, bool)
    for i, row in enumerate(rows):
        values[i, : len(row)], present[i, : len(row)] = row, True
    values[280:] = -5
    padded = clone(markov).fit(Padded(values, present), sample_weight=w)
    assert bits(padded) == bits(plain)
    more = [*rows, np.array([np.nan, -1.0]), []]
    assert bits(clone(markov).fit(more, sample_weight=w)) == bits(plain)
    found = padded.log_prob(Padded(values[:10], present[:10]))
    np.testing.assert_array_equal(plain.log_prob(rows[:10]), found)
    w = np.arange(10) % 3
    expected = np.average(plain.log_prob(rows[:10]), weights=w)
    assert plain.score(rows[:10], sample_weight=w) == pytest.approx(expected)


# Objects ------------------------------------------------------------------------------


def test_pickles_clones_and_files(markov, tmp_path):
    X = chain(40, 4)
    markov.save(tmp_path / "model.likely")
    for other in (
        pickle.loads(pickle.dumps(markov)),
        lk.load(tmp_path / "model.likely"),
    ):
        np.testing.assert_array_equal(other.log_prob(X), markov.log_prob(X))
        a, b = (m.generate(X, 9, random_state=0) for m in (other, markov))
        np.testing.assert_array_equal(a, b)
    fresh = clone(markov)
    assert not [k for k in vars(fresh) if k.endswith("_")]
    assert (tmp_path / "model.likely").stat().st_size < 100_000  # no tokens inside


def test_an_interrupted_fit_goes_on_to_the_same_bits(markov, tmp_path):
    def stop(event):
        return event.kind == "epoch" and event.step >= 100

    X, checkpoints = chain(3000, 0), Checkpoints(tmp_path, every_steps=100)
    model = clone(markov).fit(X, callbacks=stop, checkpoints=checkpoints)
    assert model.n_iter_ == 100
    assert bits(model) != bits(markov)
    model.fit(X, checkpoints=checkpoints, resume=True)
    assert bits(model) == bits(markov)
    assert model.status_ == markov.status_
    with pytest.raises(InputError, match="was made with other settings"):
        clone(markov).fit(X[::-1], checkpoints=checkpoints, resume=True)


def test_a_fit_that_diverges_says_so_and_keeps_good_weights(markov):
    model = clone(markov).set_params(learning_rate_init=1e5, weight_decay=1e3)
    with pytest.warns(DivergenceWarning, match="The learning rate was"):
        model.fit(chain(3000, 0))
    assert np.isfinite(model.perplexity(chain(100, 1)))


def test_progress_shows_tokens_and_the_time_left():
    console = Console(file=io.StringIO(), force_terminal=True, width=160)
    bar = ProgressBar(console, unit="tokens", per_step=768)
    bar(Event("start", steps=100))
    for step in (10, 20):
        bar(Event("step", step=step, steps=100, loss=2.0, seconds=step / 10))
    bar(Event("stop", step=20))
    assert "7,680 tokens/s" in console.file.getvalue()


def test_gradients_of_an_embedding_by_a_product():
    """What a GPU uses for small vocabularies."""
    W, X = jax.random.normal(jax.random.key(0), (7, 4)), jnp.array([[0, 3], [6, 3]])

    @jax.jit
    def gradients(W):
        found = jax.grad(lambda W: (compared_rows(W, X) ** 3).sum())(W)
        return found, jax.grad(lambda W: (jnp.take(W, X, axis=0) ** 3).sum())(W)

    np.testing.assert_allclose(*gradients(W), rtol=1e-6)


# Sentences ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([], "X is empty"),
        (np.zeros((0, 3), int), "X is empty"),
        ([[], []], "sequence 0 of X is empty"),
        ([[0, 1], []], "sequence 1 of X is empty; leave it out"),
        (np.zeros((2, 2, 2), int), "shape .2, 2, 2.; give a stream"),
        ([[[0], [1]]], "sequence 0 of X has shape .2, 1."),
        ([0, 1, -2], "has -2 at position 2; tokens are whole numbers"),
        ([2], "one is needed to learn from and another to stop by"),
        ([0.5, 1.0], "has 0.5 at position 0"),
        ([[0, 1], [1, np.nan]], "sequence 1 of X has nan at position 1"),
    ],
)
def test_what_is_no_sequence_of_tokens_is_refused(X, sentence):
    with pytest.raises(InputError, match=sentence):
        lk.LanguageModel().fit(X)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"vocabulary": 2}, "has the token 2 at position 2; the vocabulary has 2"),
        ({"size": 0}, "size is 0"),
        ({"n_heads": 3}, "multiple of the heads"),
        ({"context": 0.5}, "context is 0.5; give a whole number"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"precision": "float8"}, "precision is 'float8'"),
        ({"learning_rate": "cosin"}, "did you mean 'cosine'"),
        ({"learning_rate_init": 0}, "learning_rate_init is 0"),
        ({"positions": "left"}, "positions is 'left'"),
        ({"dropout": 1.5}, "dropout rate is 1.5"),
        ({"validation_fraction": 2}, "validation_fraction is 2"),
        ({"n_members": 0}, "n_members is 0"),
    ],
)
def test_settings_without_meaning_are_refused(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        lk.LanguageModel(**TINY | settings).fit(np.arange(30) % 3)


def test_what_a_fitted_model_refuses(markov):
    for call, sentence in (
        (lambda: markov.log_prob(["to", "be"]), "X is text; give tokens"),
        (lambda: markov.generate("to be"), "prompt is text; give tokens"),
        (lambda: markov.log_prob([0, 1, 7]), "X has the token 7 at position 2"),
        (lambda: markov.perplexity([[0], [9]]), "sequence 1 of X has the token 9"),
        (lambda: markov.generate([0, 5], 3), "prompt has the token 5 at position 1"),
        (lambda: markov.generate([0], 0), "n is 0"),
        (lambda: markov.generate([0], 3, temperature=-1), "temperature is -1"),
        (lambda: markov.generate([0], 3, top_k=0), "top_k is 0"),
        (lambda: markov.generate([0], 3, method="best"), "method is 'best'"),
        (lambda: markov.generate([0], 30, method="beam"), "do not fit the context"),
        (lambda: markov.log_prob([0, 1], stride=7), "the context has 6 symbols"),
        (lambda: markov.fit([0, 1], sample_weight=[1, 1]), "one stream of tokens"),
        (lambda: markov.fit([0, 1, 1], X_val=[0, 4]), "X_val has the token 4"),
    ):
        with pytest.raises(InputError, match=sentence):
            call()


# What takes longer --------------------------------------------------------------------


@pytest.mark.slow
def test_members_precision_parts_and_devices_learn_the_same(markov):
    X, Y = chain(3000, 0), chain(1000, 1)
    wanted = np.log(markov.perplexity(Y))
    for settings in (
        {"n_members": 3},
        {"precision": "bfloat16"},
        {"accumulate": 4, "dropout": 0.05},
        {"positions": "rotary"},
        {"positions": "relative", "early_stopping": False},
    ):
        model = lk.LanguageModel(**TINY | settings).fit(X)
        assert np.log(model.perplexity(Y)) < wanted + 0.05, settings
    members = lk.LanguageModel(**TINY, n_members=2).fit(X)
    alone = [
        np.exp(log_softmax(np.asarray(d(jnp.array([[3, 0]]))[0])[0, 1, :3]))
        for d in members._network.members
    ]
    found = members.predict_dist([[0]]).probs[0]
    np.testing.assert_allclose(found, np.mean(alone, 0), rtol=1e-5)
    assert members.generate([0, 1], 20, random_state=0).shape == (20,)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 10, 50])
def test_few_tokens_give_something_sensible(n):
    X = np.random.default_rng(0).integers(0, 4, n)
    model = lk.LanguageModel(vocabulary=4).fit(X)
    other = np.random.default_rng(1).integers(0, 4, 200)
    assert np.log(model.perplexity(other)) < np.log(4) + 1.0
    assert model.generate(X, 5, random_state=0).shape == (5,)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 8])
def test_kills_of_a_language_model_change_no_bit(devices):
    command = [sys.executable, str(ROOT / "tools" / "kill_training.py"), "6"]
    command += ["--tokens", "--devices", str(devices)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "JAX_DEBUG_KEY_REUSE": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("6 kills")


def test_a_fitted_network_can_be_looked_into(markov):
    maps = diagnostics.attention_maps(markov, [chain(3, 0), chain(5, 1)])
    assert maps.shape[1] == 2
    np.testing.assert_allclose(maps[:, 1].sum(-1), 1.0, atol=1e-5)
    assert not maps[:, 0, :, 4:].any()  # a beginning and three tokens
