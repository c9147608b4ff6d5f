"""The masked language model, against plain loops and its own parts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import likely as lk
from likely.core.checks import InputError
from likely.text import MaskedLanguageModel
from likely.text.models.masked_settings import masking_of
from likely.text.models.masked_token import MaskedLikelihood, MaskedToken
from likely.text.models.masking import IGNORED, Hidden, Masking, Symbols
from likely.text.models.random_windows import RandomWindows
from likely.text.models.sequences import Sequences
from likely.typing import Batch

N = 50
"""Tokens."""
TINY: dict[str, Any] = {
    "n_layers": 1,
    "n_heads": 2,
    "size": 16,
    "learning_rate_init": 0.01,
    "fraction": 0.3,
}


def sequences(lengths, seed=0) -> Sequences:
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, N, n).astype(np.int32) for n in lengths]
    return Sequences(rows, np.ones(len(rows)), stream=False)


def masking(lengths, length, *, fraction=0.15, pairs=False, rows=64) -> Masking:
    windows = RandomWindows.of(
        sequences(lengths), length, Symbols(N).absent, rows, steps=1
    )
    return Masking.of(windows, fraction, pairs=pairs)


def texts(n=200, seed=0):
    """A king rules, a queen reigns; over land or sea."""
    rng = np.random.default_rng(seed)
    found = []
    for who in rng.choice(["king", "queen"], n):
        does = "rules" if who == "king" else "reigns"
        where = rng.choice(["land", "sea"])
        found.append(f"the {who} of the {where} {does} over the {where}")
    return found


def test_chosen_tokens_are_masked_replaced_or_kept(getkey):
    hide = masking([60] * 8, 40)
    windows = jax.random.randint(getkey(), (4000, 40), 0, N)
    hidden = hide.hide(windows, getkey())
    judged = np.asarray(hidden.tokens) != IGNORED
    assert judged.sum(1).tolist() == [6] * 4000  # 15 % of 40
    at, symbols = np.asarray(hidden.at), np.asarray(hidden.symbols)
    assert all(len(set(row)) == 6 for row in at.tolist())
    own = np.take_along_axis(np.asarray(windows), at, 1)
    np.testing.assert_array_equal(hidden.tokens, own)
    seen = np.take_along_axis(symbols, at, 1)
    masked, kept = seen == Symbols(N).mask, seen == own
    n = judged.sum()
    error = 4 * np.sqrt(0.8 * 0.2 / n)
    assert masked.mean() == pytest.approx(0.8, abs=error)
    assert kept.mean() == pytest.approx(0.1 + 0.1 / N, abs=error)
    replaced = seen[~masked & ~kept]
    assert replaced.max() < N
    assert np.bincount(replaced, minlength=N).min() > 0
    elsewhere = np.ones(symbols.shape, bool)
    np.put_along_axis(elsewhere, at, False, 1)
    np.testing.assert_array_equal(symbols[elsewhere], np.asarray(windows)[elsewhere])


def test_short_windows_have_one_hidden_token_and_absent_positions_none(getkey):
    hide = masking([3, 9], 8, fraction=0.3)
    absent = Symbols(N).absent
    windows = np.full((3, 8), absent)
    windows[0, :1], windows[1, :3], windows[2] = 7, 8, 9
    hidden = hide.hide(jnp.asarray(windows), getkey())
    assert (np.asarray(hidden.tokens) != IGNORED).sum(1).tolist() == [1, 1, 2]
    assert (np.asarray(hidden.symbols)[windows == absent] == absent).all()


def test_pairs_are_labelled_by_where_the_second_part_comes_from(getkey):
    hide = masking([20] * 4, 10, pairs=True)
    n, separator = 2000, Symbols(N).separator
    first = jnp.arange(n)[:, None] % 40
    windows = jnp.broadcast_to(first, (n, 10)).at[0, 1:].set(Symbols(N).absent)
    symbols, follows = hide._pairs(windows, getkey())
    symbols, follows = np.asarray(symbols), np.asarray(follows)
    assert symbols.shape == (n, 11)
    assert ((symbols == separator).sum(1) == 1).all()
    cut = (symbols == separator).argmax(1)
    judged = follows != IGNORED
    assert not judged[0]  # one token cannot be cut
    assert judged.mean() > 0.99
    assert follows[judged].mean() == pytest.approx(0.5, abs=0.05)
    for i in np.flatnonzero(judged)[:200]:
        before, after = symbols[i, : cut[i]], symbols[i, cut[i] + 1 :]
        after = after[after < N]
        assert (before == windows[i, 0]).all()
        assert len(after) > 0
        other = int(windows[i, 0]) if follows[i] else int(windows[(i + 1) % n, 0])
        assert (after == other).all()
        if follows[i]:
            assert len(before) + len(after) == 10


def test_the_loss_is_that_of_a_plain_loop(getkey):
    settings = {"size": 8, "n_layers": 1, "n_heads": 2, "context": 6}
    model = MaskedToken(settings, N, pairs=True, key=getkey())
    hide = masking([20] * 4, 5, fraction=0.4, pairs=True)
    windows = jax.random.randint(getkey(), (4, 5), 0, N)
    hidden = hide.hide(windows, getkey())
    w = jnp.array([1.0, 2.0, 0.5, 0.0])
    batch = Batch(hidden.symbols, hidden.targets, w)
    loss, _ = MaskedLikelihood(1.0, 1.0)(model, batch)
    eta, follows = model(hidden.symbols, hidden.at)
    tokens = pairs = count = weight = 0.0
    for i in range(4):
        for j, token in enumerate(np.asarray(hidden.tokens[i]).tolist()):
            if token != IGNORED:
                log_p = eta[i, j] - jax.nn.logsumexp(eta[i, j])
                tokens -= float(w[i] * log_p[token])
                count += float(w[i])
        if int(hidden.follows[i]) != IGNORED:
            p = float(jax.nn.sigmoid(follows[i]))
            pairs -= float(w[i]) * np.log(p if int(hidden.follows[i]) else 1 - p)
            weight += float(w[i])
    assert float(loss) == pytest.approx(tokens / count + pairs / weight, rel=1e-5)
    again = Hidden.of(batch.x, batch.y)
    np.testing.assert_array_equal(again.at, hidden.at)


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="no text of X has a token"):
        MaskedLanguageModel(**TINY).fit(["", "  "])
    with pytest.raises(InputError, match="multiple of 4"):
        MaskedLanguageModel(**TINY | {"size": 18}).fit(texts(20))
    with pytest.raises(InputError, match="fraction"):
        MaskedLanguageModel(**TINY | {"fraction": 1.5}).fit(texts(20))


@pytest.fixture(scope="module")
def fitted() -> MaskedLanguageModel:
    model = MaskedLanguageModel(**TINY, max_iter=400, n_iter_no_change=50)
    return model.fit(texts())


@pytest.mark.slow
def test_it_learns_what_belongs_together(fitted):
    found = fitted.fill([
        "the <mask> of the land rules over the land",
        "the queen of the sea <mask> over the <mask>",
    ])  # fmt: skip
    assert found.mode.tolist() == ["king", "reigns", "sea"]
    assert found.probs.max(1).min() > 0.8
    assert fitted.pseudo_perplexity(texts(20, 1)) < 1.6
    right, wrong = "the king of the sea rules over the sea", "sea rules the over the"
    logs = fitted.pseudo_log_prob([right, wrong, ""])
    assert logs[0] > logs[1]
    assert logs[2] == 0.0
    with pytest.raises(InputError, match="no <mask>"):
        fitted.fill("the king")


@pytest.mark.slow
def test_the_pseudo_log_probability_is_a_loop_over_masks(fitted):
    text = "the king of the sea rules over the land"
    words = text.split()
    total = 0.0
    for i, word in enumerate(words):
        hidden = " ".join(words[:i] + ["<mask>"] + words[i + 1 :])
        dist = fitted.fill(hidden)
        total += float(dist.log_prob([word])[0])
    assert fitted.pseudo_log_prob([text])[0] == pytest.approx(total, rel=1e-4)


@pytest.mark.slow
def test_networks_begin_from_it_by_numbers_and_by_words(fitted, tmp_path):
    rows = texts(60, 2)
    X = [row.tolist() for row in fitted.tokenizer_.encode_batch(rows)]
    y = np.array(["king" in row for row in rows])
    settings = {"trainable": "head", "max_iter": 5}
    model = lk.SequenceClassifier.from_pretrained(fitted, **settings)
    assert model.architecture == "transformer"
    model.fit(X, y)
    W = [row.split() for row in rows]
    words = lk.SequenceClassifier.from_pretrained(fitted, **settings).fit(W, y)
    np.testing.assert_allclose(
        words.predict_proba(W), model.predict_proba(X), rtol=1e-5, atol=1e-7
    )
    states = lk.FrozenFeatures(model).fit(X).transform(X)
    np.testing.assert_allclose(states, fitted.transform(rows), rtol=1e-4, atol=1e-5)
    fitted.save(tmp_path / "model.likely")
    again = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(again.transform(rows), fitted.transform(rows))
    with pytest.raises(InputError, match="model of tokens"):
        lk.SequenceClassifier("transformer", 16, n_heads=2, pretrained=fitted).fit(
            np.ones((8, 3)), np.arange(8) % 2
        )


@pytest.mark.slow
def test_next_sentences_are_told_from_others(tmp_path):
    rng = np.random.default_rng(0)
    colours = [["red", "rose", "blood"], ["green", "grass", "leaf"]]
    rows = [" ".join(rng.choice(colours[i % 2], 12)) for i in range(200)]
    model = MaskedLanguageModel(
        **TINY, next_sentence=True, max_iter=400, n_iter_no_change=50
    ).fit(rows)
    words = [
        ["red rose blood " * 2],
        ["rose red blood " * 2],
        ["grass leaf green " * 2],
    ]
    same = model.follow_proba(words[0], words[1])  # as long as those of the training
    other = model.follow_proba(words[0], words[2])
    assert same > other + 0.3
    # types are part of the vectors in a network that begins from it
    X = [row.tolist() for row in model.tokenizer_.encode_batch(rows[:40])]
    tuned = lk.SequenceClassifier.from_pretrained(model, trainable="head", max_iter=2)
    tuned.fit(X, np.arange(40) % 2)
    states = lk.FrozenFeatures(tuned).fit(X).transform(X)
    np.testing.assert_allclose(states, model.transform(rows[:40]), rtol=1e-4, atol=1e-5)
    plain = MaskedLanguageModel(**TINY, max_iter=1).fit(rows)
    with pytest.raises(InputError, match="next_sentence=True"):
        plain.follow_proba(["red"], ["green"])


@pytest.mark.slow
def test_a_run_is_resumed_to_the_same_bits_and_garbage_of_weight_0_is_absent(tmp_path):
    settings = TINY | {"max_iter": 60, "n_iter_no_change": 50}
    rows = texts(80)
    whole = MaskedLanguageModel(**settings).fit(rows)
    where = lk.solvers.training.Checkpoints(tmp_path, every_steps=20)
    seen = []

    def stop(event):
        seen.append(event.step)
        return event.step >= 30

    MaskedLanguageModel(**settings).fit(rows, checkpoints=where, callbacks=stop)
    again = MaskedLanguageModel(**settings).fit(rows, checkpoints=where, resume=True)
    np.testing.assert_array_equal(again.transform(rows[:5]), whole.transform(rows[:5]))
    w = np.r_[np.ones(80), 0.0, 0.0]
    garbage = MaskedLanguageModel(**settings).fit([*rows, None, 3.5], sample_weight=w)
    np.testing.assert_array_equal(
        garbage.transform(rows[:5]), whole.transform(rows[:5])
    )


@pytest.mark.slow
def test_one_word_bytes_and_members():
    one = MaskedLanguageModel(**TINY, max_iter=5).fit(["word word word word"] * 6)
    assert one.fill("word <mask> word").probs.shape == (1, 2)
    settings = TINY | {"tokenizer": "bytes", "max_iter": 5, "n_members": 2}
    model = MaskedLanguageModel(**settings).fit(texts(30))
    assert model.transform(["é", ""]).shape == (2, 32)
    assert np.isfinite(model.pseudo_log_prob(["é" * 200])).all()
    X = [row.tolist() for row in model.tokenizer_.encode_batch(texts(20, 1))]
    tuned = lk.SequenceClassifier.from_pretrained(model, max_iter=1, n_members=2)
    tuned.fit(X, np.arange(20) % 2)
    with pytest.raises(InputError, match="bytes"):
        model.sorted_tokens(words=True)


def test_batches_of_a_fit_are_no_larger_than_the_data():
    model = MaskedLanguageModel(**TINY)
    model.context_, model.n_tokens_ = 8, N
    assert masking_of(model, sequences([5] * 3)).batch_size == 3
    assert masking_of(model, sequences([50] * 30)).batch_size == 32
