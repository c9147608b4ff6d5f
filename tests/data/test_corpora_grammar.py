"""Grammars: their probabilities against all derivations, closed forms and counts."""

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest

from likely import data
from likely.core import InputError

PAIRS = {"S": {"a S b": 0.4, "a b": 0.6}}
AMBIGUOUS = {"S": {"A A": 0.5, "a": 0.5}, "A": {"a": 0.7, "a a": 0.3}}


def derived(grammar, max_words):
    """All sentences of so many words, with their probabilities: every derivation, one by one."""
    found, open_forms = Counter(), [((grammar.start,), 1.0)]
    while open_forms:
        form, p = open_forms.pop()
        at = next((i for i, part in enumerate(form) if part in grammar.rules), None)
        if at is None:
            found[grammar.separator.join(form)] += p
            continue
        for body, q in grammar.rules[form[at]]:
            longer = (*form[:at], *body, *form[at + 1 :])
            if len(longer) <= max_words:  # every part becomes at least one word
                open_forms.append((longer, p * q))
    return found


@pytest.mark.parametrize("rules", [PAIRS, AMBIGUOUS])
def test_probabilities_are_those_of_all_derivations(rules):
    grammar = data.Grammar(rules)
    known = derived(grammar, 8)
    for n in range(1, 7):
        for words in product(grammar.words, repeat=n):
            text = " ".join(words)
            (log_p,) = grammar.log_prob(text)
            assert np.exp(log_p) == pytest.approx(known.get(text, 0.0), rel=1e-12)


def test_probabilities_of_english_are_those_of_all_derivations():
    grammar = data.english_grammar()
    known = derived(grammar, 5)
    assert len(known) > 500
    found = grammar.log_prob(list(known))
    np.testing.assert_allclose(np.exp(found), list(known.values()), rtol=1e-10)
    assert np.isinf(
        grammar.log_prob(["the cat sleep .", "the cat", "", "a zebra runs ."])
    ).all()


def test_all_sentences_together_have_probability_one():
    grammar = data.Grammar(PAIRS)
    texts = [" ".join(["a"] * k + ["b"] * k) for k in range(1, 60)]
    p = np.exp(grammar.log_prob(texts))
    np.testing.assert_allclose(p, 0.6 * 0.4 ** np.arange(59), rtol=1e-9)
    assert p.sum() == pytest.approx(1.0)
    assert grammar.mean_length == pytest.approx((2 * np.arange(1, 60)) @ p)
    assert grammar.entropy == pytest.approx(-p @ np.log(p))


def test_long_sentences_do_not_underflow():
    grammar = data.Grammar(
        {"S": {"W S": 0.999, "W": 0.001}, "W": dict.fromkeys("abcdefgh", 1)}
    )
    expected = 400 * -np.log(8) + 399 * np.log(0.999) + np.log(0.001)
    assert grammar.log_prob("a b c d " * 99 + "a b c d")[0] == pytest.approx(expected)


def test_samples_have_the_entropy_and_a_bigram_cannot():
    grammar = data.english_grammar()
    texts = grammar.sample(1500, random_state=0)
    assert texts == grammar.sample(1500, random_state=0)
    assert texts != grammar.sample(1500, random_state=1)
    nats, lengths = -grammar.log_prob(texts[:200]), [len(t.split()) for t in texts]
    error = nats.std() / np.sqrt(len(nats))
    assert nats.mean() == pytest.approx(grammar.entropy, abs=4 * error)
    assert np.mean(lengths) == pytest.approx(grammar.mean_length, abs=0.5)
    pairs = Counter(p for t in texts for p in pairwise(["^", *t.split(), "$"]))
    firsts = Counter(a for (a, _), n in pairs.items() for _ in range(n))
    bigram = -sum(
        n * np.log(n / firsts[a]) for (a, _), n in pairs.items()
    )  # at its best
    assert bigram / sum(lengths) > grammar.entropy / grammar.mean_length + 0.2


def test_words_of_one_character_need_no_space():
    grammar = data.Grammar(PAIRS, separator="")
    assert set(grammar.sample(20, random_state=0)) <= {
        "a" * k + "b" * k for k in range(40)
    }
    assert grammar.log_prob("aabb")[0] == pytest.approx(np.log(0.24))


@pytest.mark.parametrize(
    ("rules", "options", "sentence"),
    [
        ({"S": {"S a": 0.5, "a": 0.5}}, {}, "left-recursive .S -> S"),
        ({"S": {"A b": 1}, "A": {"S": 1, "a": 1}}, {}, "left-recursive"),
        ({"S": {"a S S": 0.6, "a": 0.4}}, {}, "grow without end"),
        ({"S": {"": 1.0}}, {}, "a rule of 'S' is empty"),
        ({"S": {}}, {}, "'S' has no rule"),
        ({"S": {"a": -1, "b": 2}}, {}, "has the probability -1"),
        ({"T": {"a": 1}}, {}, "start is 'S'"),
        ({"S": {"ab": 1}}, {"separator": ""}, "'ab' has several characters"),
    ],
)
def test_rules_without_meaning_are_refused(rules, options, sentence):
    with pytest.raises(InputError, match=sentence):
        data.Grammar(rules, **options)
