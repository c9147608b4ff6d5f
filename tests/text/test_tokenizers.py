"""All tokenizers keep one contract; each is what it says it is."""

import copy
import functools
import pickle
import string

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import likely as lk
from likely import layers, models, plots, text
from likely.core.checks import InputError
from likely.text.tokenizers.settings import is_fitted, tokenizer_of
from likely.text.tokenizers.texts import check_texts, weighted_texts

SENTENCE = "The chef cooked a meal for the critic."
TEXTS = [
    SENTENCE,
    "",
    "A café’s menu isn't <mask> long; the chef's is.",
    "\ud83d\ude42 🙂",
]
SPECIAL = ("<pad>", "<mask>", "<mask>2")
KINDS = {
    "characters": lk.CharacterTokenizer,
    "words": lk.WordTokenizer,
    "bytes": lk.ByteTokenizer,
    "byte pairs": lambda **k: lk.BytePairTokenizer(300, **k),
    "character pairs": lambda **k: lk.BytePairTokenizer(90, level="characters", **k),
}
EXACT = [kind for kind in KINDS if kind != "words"]
every = pytest.mark.parametrize("kind", KINDS)


@functools.cache
def fitted(kind):
    return KINDS[kind](special_tokens=SPECIAL).fit(TEXTS)


# The contract -------------------------------------------------------------------------


@every
def test_ids_and_tokens(kind):
    model = fitted(kind)
    tokens = model.tokens_
    assert model.n_tokens_ == len(tokens)
    assert list(model.special_tokens_)[:3] == list(SPECIAL)
    assert [model.id_of(token) for token in SPECIAL] == [0, 1, 2]
    ids = model.encode(SENTENCE)
    assert ids.dtype == np.int32
    assert [model.id_of(tokens[i]) for i in ids] == ids.tolist()
    with pytest.raises(InputError, match="is none of the"):
        model.id_of("not a token")


@every
def test_special_tokens_are_never_made_of_ordinary_text(kind):
    model, unknown = fitted(kind), fitted(kind).special_tokens_.get("<unk>")
    ordinary = model.encode("a <mask> <pad>")
    assert {i for i in ordinary.tolist() if i < 3} == set()
    found = model.encode("a<mask>2<mask><pad>", special=True).tolist()
    assert found[-3:] == [2, 1, 0]  # the longest of those that begin at a place
    assert len(found) == 4
    assert unknown is None or unknown == 3
    assert model.decode(found, special=False).strip() == "a"


@every
def test_offsets_cover_what_tokens_stand_for(kind):
    model = fitted(kind)
    for text_, special in ((t, s) for t in TEXTS for s in (False, True)):
        ids = model.encode(text_, special=special)
        places = model.offsets(text_, special=special)
        assert places.shape == (len(ids), 2)
        assert (places[:, 0] < places[:, 1]).all()
        assert (np.diff(places[:, 0]) >= 0).all()
        if text_.isascii():
            parts = [text_[start:end] for start, end in places]
            names = [model.tokens_[i] for i in ids]
            names = [n.decode() if isinstance(n, bytes) else n for n in names]
            assert parts == names


@every
def test_saved_pickled_and_copied(kind, tmp_path):
    model = fitted(kind)
    model.save(tmp_path / "tokenizer.likely")
    others = (
        lk.load(tmp_path / "tokenizer.likely"),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    )
    for other in others:
        assert other.tokens_ == model.tokens_
        for each in TEXTS:
            np.testing.assert_array_equal(other.encode(each), model.encode(each))
            assert other.decode(other.encode(each)) == model.decode(model.encode(each))


@every
def test_a_fit_forgets_the_one_before(kind):
    model = KINDS[kind](special_tokens=()).fit(["aaa bbb aaa bbb"])
    first = model.encode("aaa")
    model.fit(["ccc"])
    again = KINDS[kind](special_tokens=()).fit(["ccc"])
    assert model.tokens_ == again.tokens_
    np.testing.assert_array_equal(model.encode("ccc aaa"), again.encode("ccc aaa"))
    assert len(first) >= 1


@every
def test_weights_are_repetition(kind):
    weighted = KINDS[kind]().fit(
        ["ab ab ac", None, "xyx yx", "zz"], sample_weight=[2, 0, 1, 1.0]
    )
    repeated = KINDS[kind]().fit(["ab ab ac", "ab ab ac", "xyx yx", "zz"])
    assert weighted.tokens_ == repeated.tokens_
    scaled = KINDS[kind]().fit(
        ["ab ab ac", "xyx yx", "zz"], sample_weight=[3.0, 1.5, 1.5]
    )
    assert set(scaled.tokens_) >= set(repeated.tokens_)


@every
def test_batches(kind):
    model = fitted(kind)
    rows = model.encode_batch(np.array(TEXTS, object))
    for row, each in zip(rows, TEXTS, strict=True):
        np.testing.assert_array_equal(row, model.encode(each))
    cut = model.encode_batch(TEXTS, max_length=3, pad=True)
    assert isinstance(cut, layers.Padded)
    assert cut.values.shape == (4, 3)
    for row, values, present in zip(rows, cut.values, cut.present, strict=True):
        assert present.sum() == min(3, len(row))
        np.testing.assert_array_equal(values[present], row[:3])
        assert (values[~present] == model.id_of("<pad>")).all()
    assert model.encode_batch([], pad=True).values.shape == (0, 1)
    assert model.encode_batch([""], pad=True).present.sum() == 0
    with pytest.raises(InputError, match="max_length"):
        model.encode_batch(TEXTS, max_length=0)


@every
def test_what_is_refused(kind):
    model = fitted(kind)
    with pytest.raises(NotFittedError):
        KINDS[kind]().encode("a")
    with pytest.raises(InputError, match="the ids are 0 to"):
        model.decode([0, model.n_tokens_])
    with pytest.raises(InputError, match="whole numbers"):
        model.decode([0.5])
    with pytest.raises(InputError, match="is given twice"):
        KINDS[kind](special_tokens=("<a>", "<a>")).fit(["a"])
    with pytest.raises(InputError, match="not empty"):
        KINDS[kind](special_tokens=("",)).fit(["a"])
    with pytest.raises(InputError, match="tuple of strings"):
        KINDS[kind](special_tokens="<a>").fit(["a"])
    with pytest.raises(InputError, match="text is missing"):
        model.encode(None)
    with pytest.raises(InputError, match="as in \\[text\\]"):
        KINDS[kind]().fit("abc")
    assert model.decode([]) == ""
    assert model.encode("").tolist() == []
    assert model.offsets("").shape == (0, 2)


# Texts --------------------------------------------------------------------------------


def test_texts_of_any_container():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for make in (list, tuple, np.array, pandas.Series, polars.Series):
        assert check_texts(make(["a", "", "é"])) == ["a", "", "é"]
    assert check_texts([b"\xc3\xa9", np.str_("x")]) == ["é", "x"]
    assert all(type(t) is str for t in check_texts(np.array(["a", "b"])))


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["a", None], "row 1 is missing"),
        (["a", float("nan")], "row 1 is missing"),
        (["a", 3], "row 1 is a value of type int"),
        ([b"a", b"\xff"], r"row 1 holds bytes that are not UTF-8 \(byte 0\)"),
        (np.array([["a"]]), r"shape \(1, 1\)"),
        (3, "type int"),
        ({"a": 1}, "type dict"),
        (b"abc", "is one text"),
    ],
)
def test_texts_that_are_none(texts, sentence):
    with pytest.raises(InputError, match=sentence):
        check_texts(texts)


def test_missing_values_of_pandas_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="row 1 is missing"):
        check_texts(pandas.Series(["a", None], dtype="string"))


def test_texts_of_weight_zero_may_be_anything():
    assert weighted_texts(["a", None, "b"], [1, 0, 2]) == (["a", "b"], [1.0, 2.0])
    with pytest.raises(InputError, match="texts is empty"):
        weighted_texts([], None)
    with pytest.raises(InputError, match="weights sum to zero"):
        weighted_texts(["a"], [0])


# One by one ---------------------------------------------------------------------------


def test_words_and_punctuation_marks_of_a_sentence():
    """The full stop is a token too: nine tokens."""
    model = lk.WordTokenizer().fit([SENTENCE])
    ids = model.encode(SENTENCE)
    assert len(ids) == 9
    assert [model.tokens_[i] for i in ids] == [*SENTENCE[:-1].split(), "."]


def test_words():
    model = lk.WordTokenizer().fit(["b a b", "don't, b! ½ a"])
    assert model.tokens_ == ["<unk>", "b", "a", "!", ",", "don't", "½"]
    rare = lk.WordTokenizer(min_count=2).fit(["b a b", "don't, b! ½ a"])
    assert rare.tokens_ == ["<unk>", "b", "a"]
    assert rare.encode("a new b").tolist() == [2, 0, 1]
    lower = lk.WordTokenizer(lowercase=True).fit(["İstanbul THE the"])
    assert lower.tokens_[1:] == ["the", "i̇stanbul"]
    assert lower.offsets("İstanbul The").tolist() == [[0, 8], [9, 12]]
    combined = "e\u0301te\u0301"  # an accent is part of its word
    assert lk.WordTokenizer().fit([combined]).tokens_ == ["<unk>", combined]
    assert lk.WordTokenizer().fit(["", " "]).encode("a b").tolist() == [0, 0]


@hypothesis.given(st.text(st.characters(), max_size=30))
@hypothesis.settings(max_examples=60)
def test_a_decoded_text_has_the_same_words(given):
    for model in (fitted("words"), lk.WordTokenizer().fit([given])):
        ids = model.encode(given)
        again = model.encode(model.decode(ids), special=True)
        np.testing.assert_array_equal(again, ids)


@hypothesis.given(st.text(st.characters(), max_size=30), st.binary(max_size=20))
@hypothesis.settings(max_examples=60)
def test_characters_and_bytes_come_back(given, data):
    for model in (lk.CharacterTokenizer().fit([given]), fitted("bytes")):
        assert model.decode(model.encode(given)) == given
    model = fitted("bytes")
    assert model.decode_bytes(model.encode_bytes(data)) == data
    assert len(model.encode(given)) == len(given.encode("utf-8", "surrogatepass"))


def test_unknown_characters():
    model = lk.CharacterTokenizer().fit(["ba"])
    assert model.tokens_ == ["<unk>", "a", "b"]
    assert model.encode("\x00ab\U0010ffff").tolist() == [0, 1, 2, 0]
    assert model.decode([0, 1]) == "<unk>a"
    assert lk.CharacterTokenizer().fit([""]).encode("ab").tolist() == [0, 0]


def test_the_ids_of_bytes():
    model = lk.ByteTokenizer(special_tokens=("<pad>",)).fit()
    assert model.n_tokens_ == 257
    assert model.encode("é").tolist() == [0xC3 + 1, 0xA9 + 1]
    assert model.offsets("aé").tolist() == [[0, 1], [1, 2], [1, 2]]
    assert model.decode([0xC3 + 1]) == "\ufffd"


# Settings of text models --------------------------------------------------------------


def test_the_tokenizer_of_a_setting():
    names = {
        "characters": lk.CharacterTokenizer,
        "words": lk.WordTokenizer,
        "bytes": lk.ByteTokenizer,
        "bpe": lk.BytePairTokenizer,
    }
    for name, cls in names.items():
        made = tokenizer_of(name)
        assert type(made) is cls
        assert not is_fitted(made)
        made = tokenizer_of(name, TEXTS, special_tokens=("<cls>",))
        assert made.id_of("<cls>") == 0
    known = fitted("words")
    assert tokenizer_of(known, ["other"], special_tokens=("<pad>",)) is known
    new = lk.WordTokenizer(special_tokens=("<a>",))
    made = tokenizer_of(new, TEXTS, special_tokens=("<b>", "<a>"))
    assert made is not new
    assert not is_fitted(new)
    assert list(made.special_tokens_) == ["<a>", "<b>", "<unk>"]
    assert made.get_params() == clone(made).get_params()
    with pytest.raises(InputError, match="no special token '<cls>'"):
        tokenizer_of(known, special_tokens=("<cls>",))
    with pytest.raises(InputError, match="did you mean 'words'"):
        tokenizer_of("word")
    with pytest.raises(InputError, match="or a tokenizer"):
        tokenizer_of(3)


# Tokens as matrices, images as tokens -------------------------------------------------


def test_embedding_is_a_product_with_ones_and_zeros():
    """X = Ω T: the columns of Ω that the tokens name."""
    model = fitted("words")
    ids = model.encode(SENTENCE)
    T = text.one_hot_tokens(ids, model.n_tokens_)
    assert T.shape == (model.n_tokens_, 9)
    np.testing.assert_array_equal(T.sum(0), 1)
    np.testing.assert_array_equal(T.argmax(0), ids)
    embedding = layers.TokenEmbedding(model.n_tokens_, 4, key=jax.random.key(0))
    X = np.asarray(embedding.weight).T @ T
    np.testing.assert_array_equal(X.T, np.asarray(embedding.of(jnp.asarray(ids))))
    assert text.one_hot_tokens([], 3).shape == (3, 0)
    with pytest.raises(InputError, match="the ids are 0 to 2"):
        text.one_hot_tokens([0, 3], 3)
    with pytest.raises(InputError, match="one sequence of whole numbers"):
        text.one_hot_tokens([[0, 1]], 3)


def test_an_image_is_four_quadrants():
    image = np.arange(512 * 512).reshape(1, 512, 512)
    found = text.image_patches(image, 256)
    assert found.shape == (1, 4, 256 * 256)
    quadrants = (image[0, :256, :256], image[0, :256, 256:],
                 image[0, 256:, :256], image[0, 256:, 256:])  # fmt: skip
    for patch, quadrant in zip(found[0], quadrants, strict=True):
        np.testing.assert_array_equal(patch, quadrant.ravel())


def test_patches_are_those_of_the_vision_transformer(rng):
    X = rng.normal(size=(2, 4, 6, 3)).astype(np.float32)
    model = models.VisionTransformer(
        (4, 6, 3), 2, 4, 1, 2, patch=2, key=jax.random.key(0)
    )
    np.testing.assert_array_equal(text.image_patches(X, 2), np.asarray(model.cut(X)))
    assert text.image_patches(X, (4, 3)).shape == (2, 2, 36)
    with pytest.raises(InputError, match="whose sides divide"):
        text.image_patches(X, 4)
    with pytest.raises(InputError, match="give \\(n, height"):
        text.image_patches(X[0, 0], 2)
    with pytest.raises(InputError, match="a height and a width"):
        text.image_patches(X, (1, 2, 3))


# The size of the vocabulary -----------------------------------------------------------


def corpus(rng, n):
    """Words drawn by Zipf's law from a hundred."""
    letters = list(string.ascii_lowercase)
    known = ["".join(rng.choice(letters, k)) for k in rng.integers(2, 7, 100)]
    chance = 1 / np.arange(1, 101)
    return " ".join(rng.choice(known, n, p=chance / chance.sum()))


def test_larger_vocabularies_make_shorter_sequences(rng):
    whole = corpus(rng, 3000)
    study = text.vocabulary_study([whole], (256, 300, 400, 5000))
    assert study.n_tokens[:3].tolist() == [256, 300, 400]
    assert study.n_tokens[3] < 5000  # there are no more pairs
    held_out = whole[len(whole) * 9 // 10 :]
    assert study.length[0] == len(held_out)
    assert (np.diff(study.length) < 0).all()
    np.testing.assert_allclose(
        study.bytes_per_token * study.length, len(held_out), rtol=1e-12
    )
    assert study.characters == (28, len(held_out))
    assert study.words[1] == len(held_out.split())
    assert (np.diff(study.bits_per_byte[:, 0]) < 0).all()
    # the words are independent: with all of them as tokens nothing is left to learn
    chance = 1 / np.arange(1, 101)
    chance /= chance.sum()
    entropy = -(chance @ np.log2(chance)) / (len(held_out) / study.words[1])
    np.testing.assert_allclose(study.bits_per_byte[3, 0], entropy, rtol=0.1)
    drawn = plots.vocabulary_study(study)
    assert [len(ax.lines) for ax in drawn.axes] == [3, 2]


def test_the_bits_of_a_code_by_hand():
    """Alone: (c + ½) / (N + ½ V). After another token: Witten and Bell."""
    study = text.vocabulary_study(["aab"], (256,), held_out=["ab", "c"])
    p = {"a": 2.5 / 131, "b": 1.5 / 131, "c": 0.5 / 131}
    alone = -np.log2([p["a"], p["b"], p["c"]]).sum()
    after = (1 + 2 * p["b"]) / (2 + 2)
    paired = -np.log2([p["a"], after, p["c"]]).sum()
    np.testing.assert_allclose(study.bits_per_byte[0], np.array([alone, paired]) / 3)


def test_studies_that_cannot_be():
    many = [f"text {i}" for i in range(20)]
    assert text.vocabulary_study(many, (256,)).length[0] == len("text 18text 19")
    with pytest.raises(InputError, match="is without text"):
        text.vocabulary_study(["abc"], held_out=[""])
    with pytest.raises(InputError, match="white space"):
        text.vocabulary_study(many, pattern="whitespace")
    with pytest.raises(InputError, match="sizes is empty"):
        text.vocabulary_study(many, ())
    with pytest.raises(InputError, match="at least 256"):
        text.vocabulary_study(many, (100,))
