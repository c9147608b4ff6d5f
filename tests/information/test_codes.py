"""Codes: brute force on small alphabets, bounds, exact round trips, wrong codes."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from likely import information as info
from likely.core.checks import InputError
from likely.information.codes.code import canonical_words

WEIGHTS = st.lists(st.integers(1, 60), min_size=1, max_size=6)


def complete_lengths(n: int) -> set[tuple[int, ...]]:
    """The sorted lengths of the leaves of every binary tree with n leaves."""
    if n == 1:
        return {(0,)}
    return {
        tuple(sorted(k + 1 for k in left + right))
        for size in range(1, n // 2 + 1)
        for left in complete_lengths(size)
        for right in complete_lengths(n - size)
    }


ALL_LENGTHS = {n: complete_lengths(n) for n in range(1, 7)}


@given(WEIGHTS)
@settings(max_examples=60)
def test_huffman_is_the_best_of_all(weights):
    """No prefix-free code of up to six symbols is shorter, by trying every tree."""
    p = np.array(weights) / sum(weights)
    code = info.huffman_code(p)
    ordered = np.sort(p)[::-1]  # the longest words for the least probable symbols
    shortest = min(float(ordered @ np.array(ks)) for ks in ALL_LENGTHS[len(p)])
    np.testing.assert_allclose(code.expected_length(p), shortest, atol=1e-12)


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=40))
@settings(max_examples=40)
def test_lengths_are_within_a_bit_of_the_entropy(weights):
    p = np.array(weights) / sum(weights)
    bits = info.entropy(p, unit="bits")
    for make in (info.huffman_code, info.shannon_code):
        code = make(p)
        assert bits - 1e-9 <= code.expected_length(p) < bits + 1
        assert code.kraft_sum <= 1
        message = list(range(len(p))) * 2
        assert code.decode(code.encode(message)) == message
    np.testing.assert_allclose(info.huffman_code(p).kraft_sum, 1)


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 60))
@settings(max_examples=80)
def test_arithmetic_codes_are_exact_and_short(seed, size, n):
    """What is decoded is what was encoded, in at most two bits above the surprise."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(size, 0.3)) + 1e-9
    p /= p.sum()
    message = rng.choice(size, p=p, size=n).tolist()
    code = info.ArithmeticCode(p)
    bits = code.encode(message)
    assert code.decode(bits, n) == message
    assert len(bits) <= info.surprise(p[message], unit="bits").sum() + 2 + 1e-6


def test_fractions_of_a_bit():
    """A symbol of probability 0.99 costs a bit by Huffman, and 0.08 with arithmetic."""
    p = {"a": 0.99, "b": 0.01}
    rng = np.random.default_rng(0)
    message = rng.choice(list(p), p=list(p.values()), size=3000).tolist()
    assert len(info.huffman_code(p).encode(message)) == 3000
    bits = info.ArithmeticCode(p).encode(message)
    surprise = info.surprise([p[s] for s in message], unit="bits").sum()
    assert surprise < len(bits) <= surprise + 2
    assert info.ArithmeticCode(p).decode(bits, 3000) == message


def test_the_excess_of_a_wrong_code_is_the_divergence():
    p, q = np.array([0.5, 0.25, 0.125, 0.125]), np.array([0.25, 0.25, 0.25, 0.25])
    lengths = info.ideal_lengths(q)
    excess = p @ lengths - info.entropy(p, unit="bits")
    np.testing.assert_allclose(info.excess_length(p, q), excess)
    np.testing.assert_allclose(p @ lengths, info.cross_entropy(p, q, unit="bits"))
    right, wrong = info.huffman_code(p), info.huffman_code(q)
    assert right.expected_length(p) == info.entropy(p, unit="bits") == 1.75
    np.testing.assert_allclose(
        wrong.expected_length(p) - right.expected_length(p), info.kl(p, q, unit="bits")
    )


def test_a_known_code():
    """The classic six letters: 224 bits for every 100 symbols."""
    p = {"a": 0.45, "b": 0.13, "c": 0.12, "d": 0.16, "e": 0.09, "f": 0.05}
    code = info.huffman_code(p)
    np.testing.assert_allclose(code.expected_length(p), 2.24)
    assert [len(code.words[s]) for s in "abcdef"] == [1, 3, 3, 3, 4, 4]
    assert code.decode(code.encode("face")) == list("face")
    assert info.huffman_code({"only": 1.0}).words == {"only": ""}
    assert canonical_words([2, 1, 2]) == ["10", "0", "11"]


def test_bad_codes_and_messages():
    code = info.huffman_code({"a": 0.5, "b": 0.25, "c": 0.25})
    cases = [
        (lambda: info.Code({"a": "0", "b": "01"}), "beginning of '01'"),
        (lambda: info.Code({"a": "0", "b": "0"}), "beginning"),
        (lambda: code.encode("abx"), "no word for 'x'"),
        (lambda: code.decode("01"), "end inside a word"),
        (lambda: code.expected_length([0.5, 0.5]), "2 probabilities"),
        (lambda: code.expected_length({"z": 1.0}), "no word for 'z'"),
        (lambda: info.shannon_code([1.0, 0.0]), "probability 0"),
        (lambda: info.ArithmeticCode([1.0, 0.0]), "probability 0"),
        (lambda: info.ArithmeticCode({"a": 1.0}).encode("b"), "no symbol 'b'"),
        (lambda: info.ArithmeticCode([0.5, 0.5]).decode("012", 1), "string"),
        (lambda: info.huffman_code([0.5, 0.4]), "sums to 0.9"),
    ]
    for call, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            call()
