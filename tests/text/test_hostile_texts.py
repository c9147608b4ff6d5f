"""Texts that break models: each is refused in a sentence, or trained on and predicted."""

import numpy as np
import pytest

import likely as lk
from likely.core.checks import InputError

CORPORA = {
    "empty strings": ["", "", "a b", ""] * 5,
    "spaces": [" ", "\t\n", "\u3000", "x"] * 5,
    "one word": ["word"] * 20,
    "one letter": ["a"] * 20,
    "half of a surrogate pair": ["a \ud800 b", "\udfff", "c"] * 7,
    "bytes that are no UTF-8": [b"\xff\xfe".decode("latin-1"), "\x00", "ok"] * 7,
    "every word once": [f"w{i}" for i in range(20)],
    "a very long word": ["x" * 5000, "y"] * 10,
    "marks and directions": ["e\u0301\u202e\u200d", "\u1f468", "\U0010ffff"] * 7,
}
NEW = ["", "never seen words", "\udcff", "word", "w1 x"]
TINY = {"max_iter": 2}
NETWORK = {"size": 4, "n_heads": 1, "n_members": 1, **TINY}


def check_classifier(texts):
    y = np.arange(len(texts)) % 2
    for architecture in ("rnn", "transformer"):
        model = lk.TextClassifier(architecture, **NETWORK).fit(texts, y)
        assert np.isfinite(model.predict_log_proba(NEW)).all()


def check_regressor(texts):
    y = np.arange(len(texts)) % 5.0
    model = lk.TextRegressor("rnn", **NETWORK).fit(texts, y)
    assert np.isfinite(model.predict(NEW)).all()


def check_tagger(texts):
    rows = [text.split() for text in texts]
    labels = [["O"] * len(row) for row in rows]
    model = lk.TextTagger("rnn", **NETWORK).fit(rows, labels)
    found = model.predict([row.split() for row in NEW])
    assert [len(row) for row in found] == [len(row.split()) for row in NEW]


def check_masked(texts):
    model = lk.MaskedLanguageModel(1, 1, 4, **TINY).fit(texts)
    assert np.isfinite(model.pseudo_log_prob(NEW)).all()


def check_language(texts):
    model = lk.LanguageModel(1, 1, 4, tokenizer="characters", **TINY).fit(texts)
    assert np.isfinite(model.nll(texts))


def check_seq2seq(texts):
    model = lk.Seq2Seq(1, 1, 4, **TINY).fit(texts, texts[::-1])
    assert len(model.predict(NEW)) == len(NEW)


CHECKS = [
    check_classifier, check_regressor, check_tagger, check_masked, check_language,
    check_seq2seq,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # a network worse than its baseline
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("check", CHECKS)
def test_hostile_texts_get_a_sentence_or_a_finite_answer(check, corpus):
    sentence = ""
    try:
        check(CORPORA[corpus])
    except InputError as error:
        sentence = str(error)
    assert not sentence or sentence.endswith((".", "?"))


@pytest.mark.slow
def test_labels_that_do_not_fit_are_refused():
    words = [["a", "b"], ["c"]] * 5
    with pytest.raises(InputError):
        lk.TextTagger("rnn", **NETWORK).fit(words, [["O"], ["O"]] * 5)
    with pytest.raises((InputError, ValueError), match="10|9"):
        lk.TextClassifier("rnn", **NETWORK).fit(["a", "b"] * 5, [0, 1, 0] * 3)
    with pytest.raises((InputError, ValueError)):
        lk.TextClassifier("rnn", **NETWORK).fit([1, 2, 3], [0, 1, 0])
