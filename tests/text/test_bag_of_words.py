"""Bags of words and TF-IDF: scikit-learn's numbers, weights, files, what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction import text as peer
from sklearn.pipeline import make_pipeline

import likely as lk
from likely import text
from likely.core.checks import InputError

TEXTS = [
    "The café is OPEN, the café is old.",
    "",
    "An old dog; an OLD, old   cat!\tand\n\n a mouse",
    "naïve façade — Ærøskøbing 12 a b",
    "dog dog dog cat don't",
    "a",
    "Ünïcode 東京 タワー is is is",
]
NEW = ["old dogs are open", "", "zzz unknown 東京", "CAFÉ café cafe"]
COUNTS = [
    {},
    {"lowercase": False},
    {"strip_accents": "ascii"},
    {"strip_accents": "unicode", "ngram_range": (1, 2)},
    {"ngram_range": (2, 3)},
    {"stop_words": "english"},
    {"stop_words": ["the", "old"], "ngram_range": (1, 3)},
    {"token_pattern": r"(?u)\b\w+\b", "binary": True},
    {"token_pattern": r"(?u)(\w)\w*"},
    {"analyzer": "char", "ngram_range": (1, 3)},
    {"analyzer": "char", "ngram_range": (2, 2)},
    {"analyzer": "char_wb", "ngram_range": (1, 5)},
    {"analyzer": "char_wb", "ngram_range": (4, 7), "binary": True},
    {"min_df": 2},
    {"min_df": 0.25, "max_df": 0.5},
    {"max_df": 1},
    {"max_features": 3},
    {"max_features": 5, "min_df": 2, "analyzer": "char"},
    {"vocabulary": ["old", "dog", "absent"]},
    {"vocabulary": {"cat": 1, "dog": 0}, "ngram_range": (1, 2)},
    {"vocabulary": {"old", "is"}, "binary": True},
    {"tokenizer": str.split, "token_pattern": None},
    {"preprocessor": str.upper, "lowercase": False},
    {"analyzer": str.split},
]
WEIGHTS = [
    {},
    {"norm": "l1"},
    {"norm": None},
    {"sublinear_tf": True},
    {"smooth_idf": False, "norm": "l2"},
    {"use_idf": False},
    {"use_idf": False, "sublinear_tf": True, "norm": "l1"},
]


def same(ours, theirs):
    np.testing.assert_array_equal(
        ours.get_feature_names_out(), theirs.get_feature_names_out()
    )
    assert ours.vocabulary_ == theirs.vocabulary_
    for given in (TEXTS, NEW):
        a, b = ours.transform(given), theirs.transform(given)
        assert a.shape == b.shape
        np.testing.assert_allclose(a.toarray(), b.toarray(), rtol=1e-13)


@pytest.mark.parametrize("settings", COUNTS, ids=range(len(COUNTS)))
def test_counts_are_scikit_learns(settings):
    ours, theirs = text.CountVectorizer(**settings), peer.CountVectorizer(**settings)
    a, b = ours.fit_transform(TEXTS), theirs.fit_transform(TEXTS)
    np.testing.assert_array_equal(a.toarray(), b.toarray())
    assert a.dtype == b.dtype
    same(ours, theirs)
    found = ours.inverse_transform(a)
    for row, known in zip(found, theirs.inverse_transform(b), strict=True):
        assert sorted(row) == sorted(known)


@pytest.mark.parametrize("settings", WEIGHTS, ids=str)
@pytest.mark.parametrize("counts", [{}, *COUNTS[3:17:3]], ids=str)
def test_tfidf_is_scikit_learns(settings, counts):
    given = settings | counts
    ours, theirs = text.TfidfVectorizer(**given), peer.TfidfVectorizer(**given)
    a, b = ours.fit_transform(TEXTS), theirs.fit_transform(TEXTS)
    np.testing.assert_allclose(a.toarray(), b.toarray(), rtol=1e-13)
    same(ours, theirs)


def test_the_most_frequent_words_of_many_are_scikit_learns(rng):
    words = [f"w{i}" for i in range(400)]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(100)]
    settings = {"max_features": 150, "min_df": 2}
    same_words = [
        kind(**settings).fit(texts).get_feature_names_out()
        for kind in (text.CountVectorizer, peer.CountVectorizer)
    ]
    np.testing.assert_array_equal(*same_words)


@pytest.mark.parametrize("settings", [{}, {"min_df": 2}, {"max_features": 4}], ids=str)
def test_weights_are_repetition_and_absent_rows_hold_anything(settings):
    w = np.array([2, 1, 0, 1, 3, 0, 1])
    garbage = [row if each else None for row, each in zip(TEXTS, w, strict=True)]
    repeated = [row for row, each in zip(TEXTS, w, strict=True) for _ in range(each)]
    a = text.TfidfVectorizer(**settings).fit(garbage, sample_weight=w)
    b = text.TfidfVectorizer(**settings).fit(repeated)
    assert a.vocabulary_ == b.vocabulary_
    np.testing.assert_allclose(a.idf_, b.idf_, rtol=1e-14)


def test_texts_come_in_any_container_and_go_into_files_and_pipelines(tmp_path):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    model = text.TfidfVectorizer(ngram_range=(1, 2), stop_words=["the"])
    expected = model.fit_transform(TEXTS).toarray()
    forms = [
        np.array(TEXTS, object),
        np.array(TEXTS),
        tuple(TEXTS),
        [row.encode() for row in TEXTS],
        pd.Series(TEXTS, index=range(5, 12)),
        pl.Series(TEXTS),
    ]
    for form in forms:
        np.testing.assert_array_equal(
            clone(model).fit_transform(form).toarray(), expected
        )
    model.save(tmp_path / "words.likely")
    again = lk.load(tmp_path / "words.likely")
    np.testing.assert_array_equal(again.transform(TEXTS).toarray(), expected)
    y = np.arange(len(TEXTS)) % 2
    chain = make_pipeline(text.TfidfVectorizer(), lk.GaussianNB())
    assert chain.fit(TEXTS, y).predict_proba(NEW).shape == (4, 2)


@pytest.mark.parametrize(
    ("settings", "texts", "message"),
    [
        ({}, "one text", "X is one text"),
        ({}, ["a text", None], "X in row 1 is missing"),
        ({}, ["a text", float("nan")], "X in row 1 is missing"),
        ({}, ["a text", 3], "X in row 1 is a value of type int"),
        ({}, [b"a text", b"\xff\xfe"], "X in row 1 holds bytes that are not UTF-8"),
        ({}, ["", "a"], "no words are left of 2 texts"),
        ({"min_df": 2}, ["some words", "more things"], "no words are left"),
        ({"min_df": 3, "max_df": 2}, TEXTS, "max_df is 2 and min_df 3"),
        ({"min_df": 1.5}, TEXTS, "min_df is 1.5"),
        ({"ngram_range": (2, 1)}, TEXTS, r"ngram_range\[1\] is 1"),
        ({"ngram_range": 2}, TEXTS, "ngram_range is 2"),
        ({"analyzer": "words"}, TEXTS, "did you mean 'word'"),
        ({"vocabulary": ["a", "a"]}, TEXTS, "'a' twice"),
        ({"vocabulary": []}, TEXTS, "vocabulary is empty"),
        ({}, [], "X is empty"),
        ({"vocabulary": {"a": 1}}, TEXTS, "are not 0, 1, 2"),
        ({"token_pattern": "(a)(b)"}, TEXTS, "2 groups"),
        ({"token_pattern": "("}, TEXTS, "no regular expression"),
        ({"stop_words": "german"}, TEXTS, "stop_words is 'german'"),
        ({"strip_accents": "all"}, TEXTS, "strip_accents is 'all'"),
        ({"tokenizer": 3}, TEXTS, "tokenizer is 3"),
    ],
)
def test_mistakes_are_sentences(settings, texts, message):
    with pytest.raises(InputError, match=message):
        text.CountVectorizer(**settings).fit(texts)
