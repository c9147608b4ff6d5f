"""Text to text, against its own factors, plain loops, and an exhaustive search."""

from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.base import clone

import likely as lk
from likely import data
from likely.core.checks import InputError
from likely.layers import Padded
from likely.models.sequence.beam_search import beam_search
from likely.text.models.pairs import Pairs, ended
from likely.text.models.random_pairs import RandomPairs

BRIEF: dict[str, Any] = {
    "n_layers": 1,
    "n_heads": 2,
    "size": 16,
    "batch_size": 8,
    "max_iter": 15,
    "learning_rate_init": 0.02,
    "n_iter_no_change": 3,
}


def reversals(n, seed=0):
    """Texts of 0 to 4 letters, and the same from the end."""
    rng = np.random.default_rng(seed)
    sources = ["".join(rng.choice(list("abc"), k)) for k in rng.integers(0, 5, n)]
    return sources, [source[::-1] for source in sources]


@pytest.fixture(scope="module")
def rough():
    """One that is unsure, so that the ways of writing differ."""
    return lk.Seq2Seq(**BRIEF).fit(*reversals(40))


def network(model):
    return model.phi_.solution.model.network


def writing(model, **settings):
    """The same fitted model that writes by other settings."""
    other = clone(model).set_params(**settings)
    vars(other).update({k: v for k, v in vars(model).items() if k.endswith("_")})
    return other


@eqx.filter_jit
def whole(network, source, target):
    return network((Padded(source, source >= 0), target))[0]


def logits(model, source, target):
    """The logits of the symbol after each of the target, without caches."""
    first, second = model.tokenizer_.n_tokens_, model.target_tokenizer_.n_tokens_
    read, written = np.full((2, 1, model.context_), -1)
    tokens = [*model.tokenizer_.encode(source), first]
    read[0, : len(tokens)] = tokens
    written[0, : len(target) + 1] = [second, *target]
    eta = whole(network(model), jnp.asarray(read), jnp.maximum(written, 0))
    return np.asarray(eta[0, : len(target) + 1], np.float64)


# What is learned ------------------------------------------------------------------------


@pytest.mark.slow
def test_texts_are_reversed():
    settings = {**BRIEF, "max_iter": 400, "batch_size": 32, "n_members": 2}
    model = lk.Seq2Seq(**settings).fit(*reversals(400))
    sources, targets = reversals(100, seed=1)
    assert model.score(sources, targets) > 0.9
    assert model.predict(["", "a", "ab"])[:2] == ["", "a"]
    other = {"a": "b", "b": "c", "c": "a"}
    wrong = [target[:-1] + other[target[-1]] if target else "a" for target in targets]
    better = model.log_prob(sources, targets) > model.log_prob(sources, wrong)
    assert better.mean() > 0.9
    assert "2 x encoder and decoder" in model.summary()


@pytest.mark.slow
def test_dates_are_translated():
    dates = data.date_formats(12_000, random_state=0)
    model = lk.Seq2Seq().fit(dates.X[:10_000], dates.y[:10_000])
    assert model.score(dates.X[10_000:], dates.y[10_000:]) >= 0.98


def test_the_training_is_kept(rough):
    sources, targets = reversals(30, seed=1)
    w = np.arange(30) % 3
    by_hand = np.average(-rough.log_prob(sources, targets), weights=w)
    assert rough.nll(sources, targets, w) == pytest.approx(by_hand, rel=1e-5)
    right = np.array(rough.predict(sources)) == np.array(targets)
    assert rough.score(sources, targets, w) == pytest.approx(
        np.average(right, weights=w)
    )
    assert "parameters" in rough.summary()
    assert len(rough.history_["loss"]) == 15
    assert np.isfinite(rough.history_["validation"]).all()
    assert rough.n_iter_ == 15
    assert rough.n_parameters_ == sum(
        leaf.size for leaf in jax.tree.leaves(network(rough)) if leaf.dtype.kind == "f"
    )


# Probabilities --------------------------------------------------------------------------


def test_log_prob_is_the_sum_of_the_steps_of_writing(rough):
    sources, targets = ["", "abc", "ca", "b"], ["ab", "", "aacb", "c"]
    found = rough.log_prob(sources, targets)
    for source, target, log_p in zip(sources, targets, found, strict=True):
        tokens = rough.target_tokenizer_.encode(target)
        factors = log_softmax(logits(rough, source, tokens), -1)
        symbols = np.append(tokens, rough.target_tokenizer_.n_tokens_)
        assert log_p == pytest.approx(
            factors[np.arange(len(symbols)), symbols].sum(), rel=1e-5
        )
    alone = [rough.log_prob([s], [t])[0] for s, t in zip(sources, targets, strict=True)]
    np.testing.assert_allclose(found, alone, rtol=1e-5)


def test_probabilities_of_all_targets_sum_to_one(rough):
    """Those of at most one token, and the probability that there are more."""
    letters = [chr(i) for i in range(97, 97 + 3)]
    short = np.exp(rough.log_prob(["ab"] * 4, ["", *letters])).sum()
    end = rough.target_tokenizer_.n_tokens_
    more = 0.0
    first = np.exp(log_softmax(logits(rough, "ab", [])[0]))
    for token in range(end):
        second = np.exp(log_softmax(logits(rough, "ab", [token])[1]))
        more += first[token] * (1 - second[end])
    unknown = first[0] * np.exp(log_softmax(logits(rough, "ab", [0])[1]))[end]
    assert short + more + unknown == pytest.approx(1.0, abs=1e-5)


# Writing --------------------------------------------------------------------------------


def test_greedy_writing_is_a_plain_loop(rough):
    sources = ["", "abc", "cab", "a", "bbbb"]
    end, limit = rough.target_tokenizer_.n_tokens_, rough.max_length_
    for source, found in zip(sources, rough.predict(sources), strict=True):
        tokens: list[int] = []
        while len(tokens) < limit + 1:
            token = int(np.argmax(logits(rough, source, tokens)[-1]))
            if token == end:
                break
            tokens.append(token)
        assert found == rough.target_tokenizer_.decode(tokens[:limit])
        assert rough.predict([source]) == [found]


@pytest.mark.slow
def test_a_wide_beam_is_an_exhaustive_search(rough):
    sources = ["abc", "", "cab"]
    search = {"method": "beam", "n_beams": 85, "length_penalty": 0.7}
    wide = writing(rough, max_length=3, **search)
    every = [""] + ["".join(t) for k in (1, 2, 3) for t in product("abc", repeat=k)]
    for source, found in zip(sources, wide.predict(sources), strict=True):
        log_p = wide.log_prob([source] * len(every), every)
        scores = log_p / np.array([len(t) + 1 for t in every]) ** 0.7
        assert found == every[int(np.argmax(scores))]


def test_a_beam_of_one_is_greedy_and_a_wider_one_is_never_worse(rough):
    sources, _ = reversals(12, seed=3)
    greedy = rough.predict(sources)
    assert writing(rough, method="beam", n_beams=1).predict(sources) == greedy
    found = beam_search(
        rough._network,
        np.full((1, 1), rough._edges[1]),
        rough.max_length_ + 1,
        n_beams=1,
        end=rough._edges[1],
        encoded=rough._network.remember(
            jnp.asarray(
                ended(rough.tokenizer_.encode_batch(sources[:1]), rough._edges[0])
            )
        ),
    )
    tokens = [t for t in found.tokens[0, 0].tolist() if t != rough._edges[1]]
    assert rough.target_tokenizer_.decode(tokens[: rough.max_length_]) == greedy[0]
    for penalty in (0.0, 1.0):
        search = {"method": "beam", "n_beams": 3, "length_penalty": penalty}
        texts = writing(rough, **search).predict(sources)
        scores = [
            rough.log_prob(sources, each)
            / np.array([len(text) + 1 for text in each]) ** penalty
            for each in (texts, greedy)
        ]
        finished = np.array([len(text) < rough.max_length_ for text in greedy])
        assert (scores[0] >= scores[1] - 1e-4)[finished].all()


# What is given --------------------------------------------------------------------------


def test_lists_of_tokens_are_translated_to_lists(tmp_path):
    sources, targets = reversals(40)
    rows = [list(source) for source in sources]
    numbers = [[ord(letter) for letter in target] for target in targets]
    model = lk.Seq2Seq(**BRIEF).fit(rows, numbers)
    found = model.predict([["a", "b"], [], ["unknown"]])
    assert all(isinstance(token, int) for row in found for token in row)
    assert model.log_prob([["a"]], [[97]]).shape == (1,)
    model.save(tmp_path / "model.likely")
    again = lk.load(tmp_path / "model.likely")
    assert again.predict([["a", "b"], ["c"]]) == model.predict([["a", "b"], ["c"]])
    with pytest.raises(InputError, match="fitted to lists of tokens"):
        model.predict(["ab"])


def test_the_result_is_a_function_of_the_pairs_and_the_seed(rough):
    sources, targets = reversals(40)
    again = clone(rough).fit(sources, targets)
    twice = clone(rough).fit(
        [*sources, None], [*targets, "x" * 99], np.append(np.ones(40), 0)
    )
    for other in (again, twice):
        for a, b in zip(
            jax.tree.leaves(network(other)),
            jax.tree.leaves(network(rough)),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


def test_pairs_are_drawn_alike_and_by_weight():
    rows = [np.arange(k) for k in (1, 2, 3, 4, 5)]
    w = np.array([1.0, 2.0, 1.0, 1.0, 1.0])
    pairs = RandomPairs.of(Pairs.of(rows, rows, (9, 9)).batch(w), 10, 3)
    batch = jax.tree.map(jnp.asarray, pairs.round)

    @jax.jit
    def draw(key):
        _, drawn = pairs(None, batch, key)
        lengths = (drawn.y >= 0).sum(1)
        return jnp.zeros(7).at[lengths].add(drawn.w), (drawn.w * lengths).sum()

    counts, tokens = jax.vmap(draw)(jax.random.split(jax.random.key(0), 200))
    np.testing.assert_allclose(np.mean(counts, 0)[2:], 6 * w, rtol=0.1)
    assert np.mean(tokens) == pytest.approx(30 * pairs.tokens_per_row, rel=0.02)


@pytest.mark.parametrize(
    ("sources", "targets", "settings", "sentence"),
    [
        (["a", "b"], ["a"], {}, "sources has 2 rows and targets 1"),
        ([], [], {}, "sources is empty"),
        ("ab", ["a", "b"], {}, "sources is str"),
        (["a"], ["a"], {}, "there is 1 pair"),
        (["a", None], ["a", "b"], {}, "sources in row 1 is missing"),
        (["a", "b"], [["a"], "b"], {}, "row 1 of targets is no list"),
        (["abc", "b"], ["a", "b"], {"context": 2}, "row 0 of sources has 3 tokens"),
        (["a", "b"], ["a", "b"], {"method": "best"}, "method is 'best'"),
        (["a", "b"], ["a", "b"], {"n_beams": 0}, "n_beams is 0"),
        (["a", "b"], ["a", "b"], {"tokenizer": "letters"}, "tokenizer"),
    ],
)
def test_what_cannot_be_fitted_is_refused(sources, targets, settings, sentence):
    with pytest.raises(InputError, match=sentence):
        lk.Seq2Seq(**BRIEF, **settings).fit(sources, targets)


def test_odd_texts_are_predicted(rough):
    assert len(rough.predict(["???", ""])) == 2
    assert np.isfinite(rough.log_prob(["?"], ["?"])).all()
    assert rough.predict([]) == []
    with pytest.raises(InputError, match="row 1 of sources has 9 tokens"):
        rough.predict(["a", "aaaaaaaaa"])
    longer = writing(rough, max_length=50)
    with pytest.raises(InputError, match="max_length is 50"):
        longer.predict(["a"])


def test_date_formats_are_what_they_say():
    dates = data.date_formats(500, random_state=0)
    again = data.date_formats(500, random_state=0)
    assert dates.X.tolist() == again.X.tolist()
    assert len(set(zip(dates.X, dates.y, strict=True))) == len(set(dates.X))
    for text, iso in zip(dates.X, dates.y, strict=True):
        year, month, day = iso.split("-")
        assert str(int(day)) in text
        assert year in text or year[2:] in text
        assert (
            str(int(month)) in text
            or data.corpora.date_formats.MONTHS[int(month) - 1][:3] in text
        )
