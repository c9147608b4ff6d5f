r"""Symbol codes: a word of bits for each symbol, no word the beginning of another."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.information.probabilities import probabilities, raw_values
from likely.information.self_information import surprise


def symbols_of(p: Any) -> list[Any]:
    """The keys of a mapping, or the numbers of the cells of an array."""
    return list(p) if isinstance(p, Mapping) else list(range(raw_values(p).size))


def ideal_lengths(q: Any) -> np.ndarray:
    """The lengths −log₂ q of an ideal code for q, in bits; they need not be whole.

    Args:
        q: probabilities.

    Examples:
        >>> lk.information.ideal_lengths(np.array([0.5, 0.25, 0.25]))
        array([1., 2., 2.])
    """
    return surprise(probabilities(q, "q"), unit="bits")


def excess_length(p: Any, q: Any) -> float:
    """What an ideal code for q costs above the best one when p happens: KL(p, q) in bits.

    Args:
        p: what happens: probabilities.
        q: what the code was made for.

    Examples:
        >>> p, q = np.array([0.5, 0.5]), np.array([0.9, 0.1])
        >>> round(float(lk.information.excess_length(p, q)), 3)
        0.737
    """
    from likely.information.divergence import kl

    return kl(p, q, unit="bits")


class Code:
    """A prefix-free code: words of "0" and "1" for symbols.

    Args:
        words: the word of each symbol.

    Raises:
        InputError: where a word is the beginning of another, so that a message could be read in
            two ways.
    """

    def __init__(self, words: Mapping[Hashable, str]):
        self.words = dict(words)
        self._symbols = {word: symbol for symbol, word in self.words.items()}
        _check_prefix_free(self.words)

    def __repr__(self) -> str:
        shown = ", ".join(f"{s!r}: {w}" for s, w in list(self.words.items())[:8])
        return f"Code({shown}{', ...' if len(self.words) > 8 else ''})"

    @property
    def lengths(self) -> np.ndarray:
        """The length of each word, in the order of the symbols."""
        return np.array([len(word) for word in self.words.values()])

    @property
    def kraft_sum(self) -> float:
        """Kraft's sum Σ 2^−length: at most 1 for every prefix-free code, 1 where none is wasted."""
        return float((0.5**self.lengths).sum())

    def expected_length(self, p: Any) -> float:
        """The mean number of bits for a symbol when p happens.

        Args:
            p: the probability of each symbol, in the order of `words`, or by symbol.
        """
        if isinstance(p, Mapping):
            unknown = [symbol for symbol in p if symbol not in self.words]
            if unknown:
                raise InputError(f"the code has no word for {unknown[0]!r}.")
            p = [p.get(symbol, 0.0) for symbol in self.words]
        values = probabilities(p).ravel()
        if len(values) != len(self.words):
            raise InputError(
                f"p has {len(values)} probabilities and the code {len(self.words)} symbols."
            )
        return float(values @ self.lengths)

    def encode(self, message: Iterable[Any]) -> str:
        """The bits of a message, a word for each symbol."""
        try:
            return "".join([self.words[symbol] for symbol in message])
        except KeyError as missing:
            raise InputError(
                f"the code has no word for {missing.args[0]!r}; its symbols are "
                f"{list(self.words)[:20]}."
            ) from None

    def decode(self, bits: str) -> list[Any]:
        """The symbols of a string of bits."""
        found, word = [], ""
        for bit in bits:
            word += bit
            if word in self._symbols:
                found.append(self._symbols[word])
                word = ""
        if word:
            raise InputError(
                f"the bits end inside a word, after {word!r}; some are missing or changed."
            )
        return found


def canonical_words(lengths: Sequence[int]) -> list[str]:
    """Words of these lengths, none the beginning of another, in the order of a dictionary.

    Args:
        lengths: whole numbers with Kraft's sum at most 1.
    """
    words = [""] * len(lengths)
    value, before = 0, 0
    for place, i in enumerate(sorted(range(len(lengths)), key=lambda i: lengths[i])):
        value = (value + (1 if place else 0)) << (lengths[i] - before)
        before = lengths[i]
        words[i] = format(value, f"0{before}b") if before else ""
    return words


def shannon_code(q: Any) -> Code:
    """Shannon's code: words of length ⌈−log₂ q⌉, less than a bit above the entropy on average.

    Args:
        q: probabilities above zero, as an array or a mapping from symbols.

    Examples:
        >>> lk.information.shannon_code(np.array([0.5, 0.25, 0.25])).words
        {0: '0', 1: '10', 2: '11'}
    """
    values = probabilities(q, "q").ravel()
    if not (values > 0).all():
        raise InputError("a symbol has probability 0; leave it out of the code.")
    lengths = np.ceil(np.maximum(-np.log2(values) - 1e-12, 0)).astype(int).tolist()
    return Code(dict(zip(symbols_of(q), canonical_words(lengths), strict=True)))


def _check_prefix_free(words: Mapping[Hashable, str]) -> None:
    ordered = sorted(words.values())
    for first, second in zip(ordered, ordered[1:], strict=False):
        if second.startswith(first):
            raise InputError(
                f"the word {first!r} is the beginning of {second!r}, so messages could be read "
                "in two ways; change one of them."
            )
