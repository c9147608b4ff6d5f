"""Classes and numbers of texts, labels of words: baselines, comparisons, edges, files."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

import likely as lk
from likely.core.checks import InputError
from likely.data import reviews, speakers, templates
from likely.evaluate import span_f1, spans_of
from likely.text.models.supervised.comparison import compared, held_out
from likely.text.models.supervised.sentences import Sentence, labels_of, sentences_of
from likely.text.models.supervised.sparse_linear import SparseRows, fit_linear

GOOD, BAD = ("good", "fine", "lovely"), ("bad", "sad", "awful")
TINY = {"size": 2, "max_iter": 2}


def opinions(rng, n):
    """Texts of eight words, and whether more of them are kind."""
    words = rng.choice([*GOOD, *BAD, "the", "film", "was"], (n, 8))
    score = np.isin(words, GOOD).sum(1) - np.isin(words, BAD).sum(1)
    return [" ".join(row) for row in words], score + 0.3 * rng.normal(size=n)


# The linear model -----------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_are_fitted_as_scikit_learn_does(rng, classes):
    X = csr_array(rng.poisson(0.3, (80, 30)) / 3.0)
    y, w = rng.integers(classes, size=80), rng.integers(1, 4, 80).astype(float)
    found = fit_linear(SparseRows(X, y, w, classes), 0.7, [])
    peer = LogisticRegression(C=1 / 0.7, tol=1e-10, max_iter=5000)
    peer.fit(X, y, sample_weight=w)
    eta = found.eta(X)
    theirs = peer.decision_function(X).reshape(80, -1)
    if classes > 2:
        eta, theirs = (each - each.mean(1, keepdims=True) for each in (eta, theirs))
    np.testing.assert_allclose(eta, theirs, atol=2e-3)


def test_numbers_are_fitted_as_scikit_learn_does(rng):
    X, w = csr_array(rng.poisson(0.3, (80, 120)) / 3.0), rng.integers(1, 4, 80) + 0.0
    y = 1e4 + 1e3 * rng.normal(size=80)
    found = fit_linear(SparseRows(X, y, w, 0), 0.7, [])
    peer = Ridge(0.7).fit(X.toarray(), y, sample_weight=w)
    np.testing.assert_allclose(found.eta(X)[:, 0], peer.predict(X.toarray()), rtol=1e-8)


def test_many_columns_stay_sparse(rng):
    """8,000 rows of 50,000 columns would be 3.2 GB if they were dense."""
    n, p, each = 2000, 50_000, 20
    places = rng.integers(p, size=(n, each))
    X = csr_array(
        (np.full(n * each, 0.2), places.ravel(), np.arange(n + 1) * each), shape=(n, p)
    )
    y = rng.normal(size=n)
    assert fit_linear(SparseRows(X, y, np.ones(n), 0), 1.0, []).weight.shape == (p, 1)


def test_weights_are_repetition_and_absent_rows_hold_anything(rng):
    texts, score = opinions(rng, 40)
    w = rng.integers(0, 3, 40)
    repeated = np.repeat(np.arange(40), w)
    garbage = [text if each else None for text, each in zip(texts, w, strict=True)]
    for model, y, bad in (
        (lk.TextClassifier, np.where(score > 0, "yes", "no"), "?"),
        (lk.TextRegressor, score, np.nan),
    ):
        model = model("linear", linear_alpha=1.0)
        a = clone(model).fit(garbage, np.where(w > 0, y, bad), sample_weight=w)
        b = clone(model).fit([texts[i] for i in repeated], y[repeated])
        rows = a.predict_dist(texts), b.predict_dist(texts)
        np.testing.assert_allclose(rows[0].eta, rows[1].eta, atol=1e-3)
        assert a.comparison_.count == pytest.approx(b.comparison_.count)
        np.testing.assert_allclose(
            a.comparison_.linear, b.comparison_.linear, atol=1e-3
        )


# Classes and numbers --------------------------------------------------------------------


def test_a_classifier_of_texts(rng, tmp_path):
    texts, score = opinions(rng, 120)
    y = np.where(score > 0, "kind", "unkind")
    model = lk.TextClassifier("linear").fit(texts, y)
    assert model.architecture_ == "linear"
    assert model.network_ is None
    assert model.comparison_.linear.nats < model.comparison_.null.nats
    assert "less than the null model" in model.summary()
    assert set(GOOD) <= {word for word, _ in model.top_words("kind", 9)}
    assert set(BAD) <= {word for word, _ in model.top_words(n=9)["unkind"]}
    odd = ["", "unknown wörds only", *texts[:3]]
    probs = model.predict_proba(odd)
    np.testing.assert_allclose(probs[0], probs[1])
    assert np.isfinite(model.nll(odd, np.repeat("kind", 5)))
    model.save(tmp_path / "model.likely")
    np.testing.assert_array_equal(
        lk.load(tmp_path / "model.likely").predict_proba(odd), probs
    )
    assert (
        model.fit(texts, np.digitize(score, [-1, 1])).top_words(2, 1)[0][0].split()[0]
        in GOOD
    )


def test_numbers_of_texts_have_intervals_that_cover(rng):
    texts, y = opinions(rng, 400)
    model = lk.TextRegressor("linear").fit(texts[:300], y[:300])
    low, high = model.predict_interval(texts[300:], 0.9)
    assert 0.8 < np.mean((low < y[300:]) & (y[300:] < high)) < 0.98
    assert model.score(texts[300:], y[300:]) > 0.9
    assert model.comparison_.linear.score < model.comparison_.null.score
    assert set(GOOD) <= {word for word, _ in model.top_words(9)}
    assert set(BAD) <= {word for word, _ in model.top_words(9, lowest=True)}


def test_other_vectorizers_and_texts_to_compare_by(rng):
    texts, score = opinions(rng, 60)
    parts = lk.TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3))
    model = lk.TextClassifier("linear", vectorizer=parts, linear_alpha=0.1)
    model.fit(texts, score > 0, X_val=texts[:9], y_val=score[:9] > 0)
    assert model.comparison_.count == 9
    assert " g" in model.baseline_.names
    assert model.baseline_.fit.alpha == 0.1


def test_held_out_texts_are_new_and_leave_every_class(rng):
    texts = [f"text {i % 30}" for i in range(60)]
    y = np.concatenate([np.zeros(57), [1, 1, 2]])
    share = held_out(texts, y, np.ones(60), 3)
    assert 5 < share.sum() < 20
    assert set(y[share < 1]) == {0, 1, 2}
    learned = {text for text, each in zip(texts, share, strict=True) if each < 1}
    held = {text for text, each in zip(texts, share, strict=True) if each == 1}
    assert len(learned & held) <= 2  # those that a class was left with
    assert held_out(texts[:9], y[:9], np.ones(9), 1) is None


def test_the_comparison_says_which_is_better():
    logs = {name: np.log(p) for name, p in zip(
        ("network", "linear", "null"), np.array([[0.5, 0.6], [0.7, 0.8], [0.5, 0.5]]),
        strict=True)}  # fmt: skip
    found = compared(logs, dict.fromkeys(logs, 1.0), np.ones(2), "accuracy")
    gaps = np.log([0.7, 0.8]) - np.log([0.5, 0.6])
    assert found.difference == pytest.approx(gaps.mean())
    assert found.error == pytest.approx(gaps.std(ddof=1) / np.sqrt(2))
    assert not found.network_is_better
    assert "more than the linear baseline" in str(found)
    own = compared(logs, dict.fromkeys(logs, 1.0), np.ones(2), "x", np.zeros(2, int))
    assert own.difference == pytest.approx(gaps.mean())
    assert own.unit == "word"


FEW = {
    "three texts": (["a b", "c", ""], ["x", "y", "x"]),
    "one word": (["a"] * 4, ["x", "y", "x", "x"]),
    "nothing in them": ([""] * 30, ["x", "y"] * 15),
    "one word, many rows": (["a"] * 30, ["x", "y", "y"] * 10),
    "a class with one text": ([f"w{i}" for i in range(30)], ["x"] * 29 + ["y"]),
}


@pytest.mark.parametrize("name", FEW)
def test_few_and_empty_texts(name):
    texts, labels = FEW[name]
    model = lk.TextClassifier().set_params(architecture="linear").fit(texts, labels)
    assert np.isfinite(model.nll(texts, labels))
    numbers = np.array([len(label) + i % 3 for i, label in enumerate(labels)])
    other = lk.TextRegressor("linear").fit(texts, numbers)
    assert np.isfinite(other.nll(texts, numbers))
    assert np.isfinite(other.predict(["zzz", ""])).all()


def test_fewer_texts_than_can_be_compared_are_linear():
    model = lk.TextClassifier().fit(["a b", "c", ""], ["x", "y", "x"])
    assert model.architecture_ == "linear"
    assert model.comparison_ is None
    assert "too few" in model.summary()


@pytest.mark.parametrize(
    ("settings", "X", "y", "message"),
    [
        ({}, ["a", "b"], ["x"], "X has 2 texts but y has 1 targets"),
        ({}, ["a", None], ["x", "y"], "X in row 1 is missing"),
        ({}, ["a", b"\xff"], ["x", "y"], "X in row 1 holds bytes that are not UTF-8"),
        ({}, "ab", ["x", "y"], "X is one text"),
        ({}, [], [], "X is empty"),
        ({}, ["a", "b"], ["x", "x"], r"one class only \('x'\)"),
        ({}, ["a", "b"], ["x", None], "no label in row 1"),
        ({}, ["a", "b"], [["x"], ["y"]], "y has shape"),
        ({"architecture": "tree"}, ["a", "b"], ["x", "y"], "architecture is 'tree'"),
        ({"max_length": 0}, ["a", "b"], ["x", "y"], "max_length is 0"),
        ({"linear_alpha": 0}, ["a", "b"], ["x", "y"], "linear_alpha is 0"),
        ({"linear_alpha": "cv"}, ["a", "b"], ["x", "y"], "linear_alpha is 'cv'"),
        ({"vectorizer": 3}, ["a", "b"], ["x", "y"], "vectorizer is 3"),
    ],
)
def test_mistakes_are_sentences(settings, X, y, message):
    with pytest.raises(InputError, match=message):
        lk.TextClassifier(**{"architecture": "linear"} | settings).fit(X, y)


def test_numbers_that_are_missing_are_refused():
    with pytest.raises(InputError, match="NaN \\(row 1\\)"):
        lk.TextRegressor("linear").fit(["a", "b"], [1.0, np.nan])


# Labels of words ------------------------------------------------------------------------


def test_texts_with_spans_and_words_with_labels_are_the_same(tmp_path):
    made = templates(80, random_state=0)
    settings = {"linear_alpha": 0.1}
    by_words = lk.TextTagger("linear", **settings).fit(made.words[:60], made.tags[:60])
    assert by_words.score(made.words[60:], made.tags[60:]) > 0.9
    assert by_words.comparison_.measure == "span F1"
    said = by_words.predict(made.words[60:])
    score = span_f1(made.tags[60:], said)
    assert by_words.score(made.words[60:], made.tags[60:]) == score
    texts = [" ".join(words) for words in made.words]
    sentences = sentences_of(made.words)
    spans = [
        each._replace(raw=True).spans(spans_of(row))
        for each, row in zip(sentences, made.tags, strict=True)
    ]
    by_spans = lk.TextTagger("linear", **settings).fit(texts[:60], spans[:60])
    assert by_spans.predict(texts[60:]) == said
    assert by_spans.predict_spans(texts[60:62]) == [
        sentence._replace(raw=True).spans(spans_of(row))
        for sentence, row in zip(sentences[60:62], said[:2], strict=True)
    ]
    assert by_words.predict_spans(made.words[60:61]) == [spans_of(said[0])]
    assert by_spans.nll(texts, spans) == pytest.approx(
        by_words.nll(made.words, made.tags)
    )
    by_spans.save(tmp_path / "tagger.likely")
    assert lk.load(tmp_path / "tagger.likely").predict(texts[60:]) == said
    assert by_spans.predict(["", "xyzzy"])[0] == []


def test_labels_that_are_no_spans_are_scored_by_accuracy():
    words = [["a", "dog"], ["the", "cat"], ["dog"], [], ["zz"]] * 6
    labels = [["D", "N"], ["D", "N"], ["N"], [], ["N"]] * 6
    w = np.tile([1.0, 2.0, 1.0, 1.0, 0.0], 6)
    garbage = [None if row == ["zz"] else row for row in words]
    model = lk.TextTagger("linear").fit(garbage, labels, sample_weight=w)
    assert model.score(words, labels) == 1.0
    assert model.score(garbage, labels, sample_weight=w) == 1.0
    with pytest.raises(InputError, match="spans need labels"):
        model.predict_spans(words)


def test_words_know_their_first_token():
    sentence = Sentence.of_words(["New", "York", "!"], 0, "X")
    for tokenizer in (lk.CharacterTokenizer(), lk.ByteTokenizer(), lk.WordTokenizer()):
        tokens, first = sentence.first_tokens(tokenizer.fit(["New York !"]))
        offsets = tokenizer.offsets("New York !")[first]
        assert (offsets[:, 0] <= sentence.offsets[:, 0]).all()
        assert (offsets[:, 1] > sentence.offsets[:, 0]).all()
        assert len(tokens) >= 3
    split = lk.BytePairTokenizer(n_tokens=260).fit(["New York !"])
    _, first = sentence.first_tokens(split)
    assert len(set(first)) == 3


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (["New Yorkshire"], [[(4, 8, "LOC")]], r"row 0 cuts the word 'Yorkshire'"),
        (["New York"], [[(4, 18, "LOC")]], "row 0 is not inside its text of 8"),
        (["a  b"], [[(1, 3, "LOC")]], "row 0 holds no word"),
        (
            ["a b", "c d"],
            [[], [(0, 3, "X"), (2, 3, "Y")]],
            "row 1 of y, two spans hold",
        ),
        ([["a", "b"]], [["O"]], "row 0 has 2 words and 1 labels"),
        ([["a", "b"]], [["O", "O"], ["O"]], "X has 1 rows but y has 2"),
        ([["a"], "b"], [["O"], ["O"]], "texts and lists of words"),
        ([["a", " "]], [["O", "O"]], "word 1 in row 0 of X is ' '"),
        ([["a"], ["b"]], [[(0, 1, "X")], ["O"]], "row 1 of y has 'O' where others"),
        ("a b", [["O"]], "X is one text"),
        ([""], [[]], "no row has a word"),
        ([], [], "y is empty"),
        (["a b", "c d"], [["O", "X"], None], "row 1 of y is None; give a list"),
        (["a b"], ["O X"], "row 0 of y is 'O X'; give a list"),
    ],
)
def test_labels_that_do_not_fit_are_refused_with_the_row(X, y, message):
    with pytest.raises(InputError, match=message):
        lk.TextTagger("linear").fit(X, y)


def test_spaces_around_a_span_do_no_harm():
    sentences = sentences_of(["see New York now"])
    assert labels_of(sentences, [[(3, 13, "LOC")]]) == [["O", "B-LOC", "I-LOC", "O"]]


# Networks -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.slow
def test_networks_of_texts_words_and_numbers(rng, tmp_path):
    texts, score = opinions(rng, 40)
    texts[3] = ""
    y = np.where(score > 0, "kind", "unkind")
    odd = ["", "unknown only", *texts[:3]]
    model = lk.TextClassifier("rnn", tokenizer="characters", max_length=9, **TINY)
    model.fit(texts, y)
    assert model.architecture_ == "rnn"
    assert "linear baseline" in model.summary()
    assert np.isfinite(model.comparison_.error)
    model.save(tmp_path / "model.likely")
    np.testing.assert_array_equal(
        lk.load(tmp_path / "model.likely").predict_proba(odd), model.predict_proba(odd)
    )
    again = lk.TextClassifier(pretrained=model, trainable="head", **TINY)
    assert clone(again).pretrained is model
    assert again.fit(texts, y).comparison_.network is not None
    numbers = lk.TextRegressor("rnn", **TINY).fit(texts, score)
    assert np.isfinite(numbers.nll(odd, score[:5]))
    made = templates(60, random_state=0)
    tagger = lk.TextTagger("rnn", tokenizer="bpe", **TINY).fit(made.words, made.tags)
    found = tagger.predict(made.words[:2])
    assert [len(row) for row in found] == [len(row) for row in made.words[:2]]
    assert np.isfinite(tagger.nll(made.words, made.tags))
    linear = lk.TextClassifier("linear").fit(texts, y)
    with pytest.raises(InputError, match="chose its linear baseline"):
        lk.TextClassifier("rnn", pretrained=linear).fit(texts, y)


@pytest.mark.slow
def test_a_worse_network_warns_and_a_better_one_is_taken(rng):
    texts, score = opinions(rng, 100)
    with pytest.warns(UserWarning, match="more than the linear baseline"):
        lk.TextClassifier("rnn", **TINY).fit(texts, score > 0)
    made = reviews(1000, turned=0.5, random_state=0)
    model = lk.TextClassifier(size=32).fit(made.X, made.y)
    assert model.architecture_ == "lstm"
    assert model.comparison_.difference < -2 * model.comparison_.error


@pytest.mark.slow
def test_a_masked_language_model_brings_its_tokenizer():
    made = reviews(200, random_state=0)
    body = lk.MaskedLanguageModel(1, 2, 8, max_iter=3).fit(made.X.tolist())
    model = lk.TextClassifier("transformer", pretrained=body, max_iter=2)
    with pytest.warns(UserWarning, match="linear baseline"):
        model.fit(made.X, made.y)
    assert model.network_.tokenizer is body.tokenizer_
    assert model.network_.network.size == 8


# Data -----------------------------------------------------------------------------------


def test_speakers_are_split_by_position(tmp_path):
    names = ["A", "B", "C"] * 10
    plays = "\n\n".join(f"{name}:\nspeech {i}" for i, name in enumerate(names))
    (tmp_path / "plays.txt").write_text(f"{plays}\n\nNobody:\n\n")
    train = speakers("train", 2, path=tmp_path / "plays.txt")
    test = speakers("test", 2, path=tmp_path / "plays.txt")
    assert train.target_names == ("A", "B")
    assert len(train) == 16
    assert test.X.tolist() == ["speech 24", "speech 25", "speech 27", "speech 28"]
    with pytest.raises(InputError, match="n_speakers is 9"):
        speakers(n_speakers=9, path=tmp_path / "plays.txt")


def test_reviews_are_as_probable_as_they_say():
    made = reviews(4000, random_state=0)
    p = 1 / (1 + np.exp(-made.truth["log_odds"]))
    assert abs((made.y - p).sum()) < 4 * np.sqrt((p * (1 - p)).sum())
    plain = reviews(200, turned=0.0, random_state=1)
    assert not any("nobody" in text.lower() for text in plain.X)
