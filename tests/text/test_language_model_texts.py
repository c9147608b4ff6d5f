"""The language model of texts: tokens inside, ends, pieces of characters, files."""

import numpy as np
import pandas as pd
import pytest
from registries.text_models import TINY, counting, threes
from sklearn.base import clone

import likely as lk
from likely.core.checks import InputError
from likely.text import ByteTokenizer, CharacterTokenizer, WordTokenizer
from likely.text.models.text_tokens import TextTokens, is_text

HOSTILE = [
    "",
    "a",
    "Fluß über €5 🦊",
    "\ufffd",
    "\ud800x",
    "a\u0301",
    "日本語\n",
    "\x00\x01",
]


@pytest.fixture(scope="module")
def model():
    return counting()


@pytest.fixture(scope="module")
def endless():
    """A model of one long text."""
    return lk.LanguageModel(**TINY).fit("ab" * 1500)


# Probabilities ------------------------------------------------------------------------


def test_texts_are_learned_with_their_ends(model):
    assert model.tokenizer_.tokens_ == ["<unk>", "a"]
    assert (model.end_, model.vocabulary_) == (2, 3)
    p = np.exp(model.log_prob(["a" * k for k in range(8)]))
    np.testing.assert_allclose(p, [0, 0, 0, 1 / 3, 1 / 3, 1 / 3, 0, 0], atol=0.08)
    drawn = model.sample(60, random_state=0)
    assert drawn == model.sample(60, random_state=0)
    assert np.mean([text in ("aaa", "aaaa", "aaaaa") for text in drawn]) > 0.9
    assert {3, 4, 5} <= {len(text) for text in drawn}


def test_log_prob_is_the_sum_of_the_factors(model):
    """Each is what `predict_dist` says after the text so far; the last one is the end."""
    for text in ("", "aaa", "a" * 9):  # the last is longer than the context
        tokens = [*model.tokenizer_.encode(text), model.end_]
        starts = [text[:t] for t in range(len(text) + 1)]
        factors = model.predict_dist(starts).probs[np.arange(len(tokens)), tokens]
        (found,) = model.log_prob([text])
        assert found == pytest.approx(np.log(factors).sum(), rel=1e-5)
        np.testing.assert_allclose(
            model.token_log_probs([text])[0], np.log(factors), rtol=1e-4, atol=1e-6
        )
        assert model.log_prob(text) == found  # one text need not be in a list
        assert model.log_prob([tokens]) == found  # as tokens, with the end


def test_units(model):
    texts = ["aaa", "", "aaaa"]
    nats = -model.log_prob(texts).sum()
    assert np.log(model.perplexity(texts)) == pytest.approx(nats / 10)  # with ends
    assert model.bits_per_token(texts) == pytest.approx(nats / 10 / np.log(2))
    assert model.bits_per_byte(texts) == pytest.approx(nats / 7 / np.log(2))
    assert model.nll(texts) == pytest.approx(nats / 3)
    assert model.score(texts, sample_weight=[1, 0, 0]) == model.log_prob(["aaa"])


def test_one_long_text_has_no_end(endless):
    assert endless.end_ is None
    assert endless.generate("ab", 5, method="greedy") == "ababa"
    assert endless.bits_per_byte("ab" * 30) < 0.2
    assert endless.log_prob(["", "ab"])[0] == 0.0
    with pytest.raises(InputError, match="one long text, which has no end"):
        endless.classify("a", ["a", "b"], end=True)


# Writing ------------------------------------------------------------------------------


def test_writing_stops_at_the_end(model):
    one = model.generate("aa", 9, random_state=0)
    assert isinstance(one, str)
    assert set(one) <= {"a"}
    assert len(one) < 9
    pieces = list(model.generate("aa", 9, random_state=0, stream=True))
    assert "".join(pieces) == one
    assert len(pieces) <= len(one) + 1
    prompts = ["aa", "", "a" * 20]  # the last is longer than the context
    several = model.generate(prompts, 9, random_state=0)
    rows = list(model.generate(prompts, 9, random_state=0, stream=True))
    assert ["".join(row) for row in zip(*rows, strict=True)] == several
    assert several[0] == one
    tokens = model.generate([[1, 1]], 9, random_state=0)  # tokens in, tokens out
    assert tokens.shape == (1, 9)
    assert (tokens[0] == 1).sum() == len(one)


@pytest.mark.parametrize("text", HOSTILE)
def test_pieces_are_whole_characters(text):
    reader = TextTokens(ByteTokenizer().fit(), 256)
    prompt = reader.tokenizer.encode("é")
    tokens = np.append(reader.tokenizer.encode(text), [256, 7])
    assert reader.text(prompt, tokens) == text
    pieces = [piece for (piece,) in reader.pieces([prompt], tokens[:, None])]
    assert "".join(pieces) == text
    if "\ufffd" not in text:
        assert not any("\ufffd" in piece for piece in pieces)


def test_pieces_of_any_bytes_are_their_text():
    rng = np.random.default_rng(0)
    reader = TextTokens(ByteTokenizer().fit())
    for _ in range(30):
        tokens = rng.choice([0x61, 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xF0, 0xFF], 12)
        pieces = reader.pieces([np.zeros(0, int)], tokens[:, None])
        assert "".join(p for (p,) in pieces) == reader.tokenizer.decode(tokens)


def test_pieces_of_words_have_spaces_between():
    reader = TextTokens(WordTokenizer().fit(["the cat sat ."]))
    prompt = reader.tokenizer.encode("the")
    tokens = reader.tokenizer.encode("cat sat .")
    assert reader.text(prompt, tokens) == " cat sat ."
    found = [piece for (piece,) in reader.pieces([prompt], tokens[:, None])]
    assert found == [" cat", " sat", " ."]


# Reading ------------------------------------------------------------------------------


def test_texts_come_in_many_containers():
    for X in (
        ["a", ""],
        ("a",),
        np.array(["a"]),
        np.array(["a", None], object),
        b"a",
        "a",
    ):
        assert is_text(X)
    assert is_text(pd.Series(["a", "b"]))
    for X in ([1, 2], [[1], [2]], np.zeros((2, 3), int), [], [[]], np.array([[1.0]])):
        assert not is_text(X)
    reader = TextTokens(CharacterTokenizer().fit(["ab"]), 3)
    for X in (["ab", "b"], np.array(["ab", "b"]), pd.Series(["ab", "b"]), [b"ab", "b"]):
        found = reader.sequences(X).rows
        assert [row.tolist() for row in found] == [[1, 2, 3], [2, 3]]


def test_texts_of_weight_zero_may_hold_anything():
    X, w = ["ab", None, "c", 3.5, b"\xff"], [1, 0, 2, 0, 0]
    reader = TextTokens.learned("characters", X, w)
    assert reader.tokenizer.tokens_ == ["<unk>", "a", "b", "c"]
    found = reader.sequences(X, w)
    assert [row.tolist() for row in found.rows] == [[1, 2, 4], [3, 4]]
    np.testing.assert_array_equal(found.w, [1, 2])


def test_a_fitted_tokenizer_is_used_as_it_is():
    tokenizer = CharacterTokenizer().fit(["abc"])
    reader = TextTokens.learned(tokenizer, ["ca"])
    assert reader.tokenizer is tokenizer
    assert reader.n_tokens == 5
    assert TextTokens.learned(tokenizer, [[1, 2]]) == (tokenizer, None)
    assert TextTokens.learned(None, [[1, 2]]).n_tokens is None


def test_unknown_words_are_welcome_where_they_were_learned():
    tokenizer = WordTokenizer(min_count=2)
    reader = TextTokens.learned(tokenizer, ["a b", "a c"])
    assert reader.unknown(reader.sequences(["a b"]))
    assert not reader.unknown(reader.sequences(["a"]))
    found = reader.prompts("a zebra", unknown=True)
    assert found.rows[0].tolist() == [1, 0]
    with pytest.raises(InputError, match="prompt 1 has 'zebra' at character 2"):
        reader.prompts(["a", "a zebra"], unknown=False)


def test_files_keep_the_tokenizer(model, tmp_path):
    model.save(tmp_path / "model.likely")
    other = lk.load(tmp_path / "model.likely")
    assert other.end_ == model.end_
    np.testing.assert_array_equal(other.log_prob(["aa"]), model.log_prob(["aa"]))
    assert other.generate("a", 5, method="greedy") == model.generate(
        "a", 5, method="greedy"
    )
    assert clone(model).tokenizer is None


# Sentences ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "X", "sentence"),
    [
        ({}, "", "X is empty"),
        ({}, [], "X is empty"),
        ({"tokenizer": "words"}, [], "X is empty"),
        ({}, ["a", None], "X in row 1 is missing"),
        ({}, ["a", float("nan")], "X in row 1 is missing"),
        ({}, ["a", b"\xff"], "X in row 1 holds bytes that are not UTF-8"),
        ({}, ["a", 3], "X in row 1 is a value of type int"),
        ({"tokenizer": "letters"}, ["a"], "tokenizer is 'letters'"),
        ({"tokenizer": 3}, ["a"], "tokenizer is 3"),
        ({"tokenizer": "characters"}, [[0, 1]], "the tokenizer has no vocabulary"),
        ({"vocabulary": 9}, ["a", "b"], "vocabulary is 9, but texts have 4 tokens"),
    ],
)
def test_what_is_no_text_is_refused(settings, X, sentence):
    with pytest.raises(InputError, match=sentence):
        lk.LanguageModel(**settings).fit(X)


def test_what_a_fitted_model_refuses(model):
    for call, sentence in (
        (lambda: model.generate("ab"), "prompt has 'b' at character 1"),
        (lambda: model.generate(["a", "ba"]), "prompt 1 has 'b' at character 0"),
        (lambda: model.bits_per_byte([[1, 1]]), "X holds tokens"),
        (lambda: model.bits_per_byte(["", ""]), "only empty texts"),
        (lambda: model.log_prob(["a", None]), "X in row 1 is missing"),
        (lambda: model.fit(threes(), X_val=["a", None]), "X_val in row 1"),
    ):
        with pytest.raises(InputError, match=sentence):
            call()
    assert np.isfinite(model.log_prob(["ab", "zzz"])).all()  # unknown, not impossible


# What takes longer --------------------------------------------------------------------


@pytest.mark.slow
def test_beams_end_too(model):
    found = model.generate(n=6, method="beam", n_beams=8)
    best = max(("a" * k for k in range(7)), key=lambda text: model.log_prob([text])[0])
    assert found == best


@pytest.mark.slow
@pytest.mark.parametrize("X", [[""] * 4, ["word"], ["word"] * 3, ["é🦊", "日本"], "ab"])
@pytest.mark.parametrize("tokenizer", ["characters", "words", "bytes"])
def test_tiny_corpora_run(X, tokenizer):
    model = lk.LanguageModel(1, 1, 8, tokenizer=tokenizer, max_iter=20)
    if tokenizer == "words" and X == "ab":
        with pytest.raises(InputError, match="one is needed to learn from"):
            model.fit(X)
        return
    model.fit(X)
    assert np.isfinite(model.log_prob(X)).all()
    assert isinstance(model.generate("", 3, random_state=0), str)
    assert len(model.sample(2, random_state=0)) == 2
