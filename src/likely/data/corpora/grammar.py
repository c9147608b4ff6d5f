r"""Probabilistic context-free grammars: sentences whose exact probability is known.

A grammar rewrites a symbol by one of its rules, drawn by their probabilities, until only words
are left. The probability of a sentence is the sum over all derivations of the product of the
probabilities of their rules, which the inside algorithm computes:

$$P(A, i, j) = \sum_{A \to B_1 \dots B_k} p(A \to B_1 \dots B_k)
  \sum_{i = e_0 < \dots < e_k = j} \prod_m P(B_m, e_{m-1}, e_m).$$
"""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate
from random import Random
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.data.dataset import generator

Body = tuple[str, ...]


class Grammar:
    """A distribution over sentences, by rules that rewrite symbols.

    Args:
        rules: a symbol -> what it may become, words and symbols with spaces between them ->
            how probable that is, up to a factor. What is not a key of `rules` is a word.
        start: the symbol of a whole sentence.
        separator: what stands between words in a text; "" for words of one character.

    Example:
        ```python
        from likely.data import Grammar

        grammar = Grammar({"S": {"a S b": 0.4, "a b": 0.6}})
        grammar.log_prob(["a a b b", "a b b"])  # log 0.24, and impossible
        ```
    """

    def __init__(
        self,
        rules: Mapping[str, Mapping[str, float | int]],
        start: str = "S",
        separator: str = " ",
    ):
        self.start, self.separator = start, separator
        self.rules = {
            symbol: _rules(symbol, bodies) for symbol, bodies in rules.items()
        }
        if start not in self.rules:
            raise InputError(f"start is {start!r}, which has no rule.")
        if not separator and any(len(word) != 1 for word in self.words):
            long = next(word for word in self.words if len(word) != 1)
            raise InputError(
                f"the word {long!r} has several characters; give a separator."
            )
        self._order = self._from_the_left()
        self._first = self._first_words()
        self.mean_length, self.entropy = self._means()

    @property
    def words(self) -> list[str]:
        """All words, in the order of the rules."""
        parts = (
            part
            for bodies in self.rules.values()
            for body, _ in bodies
            for part in body
            if part not in self.rules
        )
        return list(dict.fromkeys(parts))

    mean_length: float
    """The mean number of words of a sentence."""
    entropy: float
    """The nats of a sentence on average, where each sentence has one derivation."""

    # Sentences --------------------------------------------------------------------------

    def sample(self, n: int = 1, *, random_state: Any = None) -> list[str]:
        """Independent sentences.

        Args:
            n: how many.
            random_state: seed or NumPy generator.
        """
        draws = Random(int(generator(random_state).integers(2**63)))
        choices = {
            symbol: ([body for body, _ in bodies], [*accumulate(p for _, p in bodies)])
            for symbol, bodies in self.rules.items()
        }
        return [self._sentence(choices, draws) for _ in range(n)]

    def _sentence(self, choices: dict, draws: Random) -> str:
        words, rest = [], [self.start]
        while rest:
            symbol = rest.pop()
            if symbol in choices:
                bodies, sums = choices[symbol]
                (body,) = draws.choices(bodies, cum_weights=sums)
                rest.extend(reversed(body))
            else:
                words.append(symbol)
        return self.separator.join(words)

    def split(self, text: str) -> list[str]:
        """The words of a text.

        Args:
            text: a sentence.
        """
        return text.split(self.separator) if self.separator else list(text)

    def log_prob(self, texts: str | Sequence[str]) -> np.ndarray:
        """(n,) log p of each sentence, in nats; −∞ for what the grammar never makes.

        Args:
            texts: sentences; a single one may be given as it is.
        """
        texts = [texts] if isinstance(texts, str) else texts
        return np.array([self._log_prob(self.split(text)) for text in texts])

    def _log_prob(self, words: list[str]) -> float:
        """By the inside algorithm; a factor for each word keeps numbers in range."""
        n, rate = len(words), self.entropy / self.mean_length
        factor = float(np.exp(rate))
        chart: list[dict[str, dict[int, float]]] = [{} for _ in range(n + 1)]
        for i in reversed(range(n)):
            for symbol in self._order:
                if words[i] in self._first[symbol]:
                    found: dict[int, float] = {}
                    for body, p in self.rules[symbol]:
                        for end, q in self._ends(body, p, i, words, chart, factor):
                            found[end] = found.get(end, 0.0) + q
                    chart[i][symbol] = found
        p = chart[0].get(self.start, {}).get(n, 0.0)
        return float(np.log(p)) - n * rate if p else -np.inf

    def _ends(  # noqa: PLR0917
        self, body: Body, p: float, i: int, words: list[str], chart: list, factor: float
    ) -> Any:
        """Where a rule that begins at word i may end, each with its probability."""
        ends = {i: p}
        for part in body:
            reached: dict[int, float] = {}
            for end, q in ends.items():
                if part in self.rules:
                    for later, r in chart[end].get(part, {}).items():
                        reached[later] = reached.get(later, 0.0) + q * r
                elif end < len(words) and words[end] == part:
                    reached[end + 1] = q * factor
            ends = reached
            if not ends:
                break
        return ends.items()

    # The rules --------------------------------------------------------------------------

    def _from_the_left(self) -> list[str]:
        """The symbols, each after those that it may begin with."""
        begins = {
            symbol: {body[0] for body, _ in bodies} & self.rules.keys()
            for symbol, bodies in self.rules.items()
        }
        try:
            return list(TopologicalSorter(begins).static_order())
        except CycleError as error:
            path = " -> ".join(error.args[1][::-1])
            raise InputError(
                f"the rules are left-recursive ({path}); write them so that a symbol does "
                "not begin with itself."
            ) from None

    def _first_words(self) -> dict[str, set[str]]:
        """The words that each symbol may begin with."""
        found: dict[str, set[str]] = {}
        for symbol in self._order:
            firsts = (body[0] for body, _ in self.rules[symbol])
            found[symbol] = set().union(
                *(found.get(first, {first}) for first in firsts)
            )
        return found

    def _means(self) -> tuple[float, float]:
        """Words and nats of a sentence on average: x = (I − M)⁻¹ of those of one rule."""
        names = list(self.rules)
        M, own = np.zeros((len(names),) * 2), np.zeros((len(names), 2))
        for i, bodies in enumerate(self.rules.values()):
            for body, p in bodies:
                own[i] += [p * sum(b not in self.rules for b in body), -p * np.log(p)]
                for part in body:
                    if part in self.rules:
                        M[i, names.index(part)] += p
        if np.abs(np.linalg.eigvals(M)).max() >= 1:
            raise InputError(
                "sentences of these rules grow without end; make the rules that contain "
                "their own symbol less probable."
            )
        length, nats = np.linalg.solve(np.eye(len(names)) - M, own)[
            names.index(self.start)
        ]
        return float(length), float(nats)


def _rules(symbol: str, bodies: Mapping[str, float | int]) -> list[tuple[Body, float]]:
    """The rules of a symbol, checked, with probabilities that sum to 1."""
    found = [(tuple(body.split()), float(p)) for body, p in bodies.items()]
    total = sum(p for _, p in found)
    for body, p in found:
        if not body:
            raise InputError(f"a rule of {symbol!r} is empty; give at least one word.")
        if not (p > 0 and np.isfinite(total)):
            raise InputError(
                f"the rule {symbol!r} -> {' '.join(body)!r} has the probability {p}; give "
                "a number above 0."
            )
    if not found:
        raise InputError(f"{symbol!r} has no rule; give at least one.")
    return [(body, p / total) for body, p in found]


# English ------------------------------------------------------------------------------

NOUNS = (
    "cat",
    "dog",
    "boy",
    "girl",
    "bird",
    "king",
    "queen",
    "horse",
    "farmer",
    "doctor",
    "teacher",
    "robot",
)
INTRANSITIVE = ("sleep", "run", "wait", "sing", "fall", "laugh")
TRANSITIVE = ("see", "like", "follow", "help", "hear", "fear")
ADJECTIVES = ("old", "young", "tall", "happy", "small", "quiet")
THIRD_PERSON = "s"
CLAUSES = 0.25
"""How many nouns have a relative clause."""


def english_grammar() -> Grammar:
    """A small English with agreement over any distance.

    Subject and verb agree in number however long the relative clauses between them are, and
    so does a pronoun that refers back: after "the king that some dogs follow" comes "sees
    itself", not "see themselves". Each sentence has one derivation, so that `entropy` is
    exact. A model that sees only the word before cannot know the number.
    """
    rules: dict[str, dict[str, float]] = {
        "S": {"NP1 VP1 .": 0.6, "NP2 VP2 .": 0.4},
        "NP": {"NP1": 0.6, "NP2": 0.4},
        "ADJ": _falling(ADJECTIVES),
    }
    determiners = {"1": {"the": 0.6, "a": 0.4}, "2": {"the": 0.6, "some": 0.4}}
    for number in "12":
        ending = THIRD_PERSON if number == "1" else ""
        nouns = NOUNS if number == "1" else [f"{noun}s" for noun in NOUNS]
        own = "itself" if number == "1" else "themselves"
        be = "is" if number == "1" else "are"
        rules |= {
            f"NP{number}": {
                f"DET{number} N{number}": 1 - CLAUSES,
                f"DET{number} N{number} that REL{number}": CLAUSES,
            },
            f"DET{number}": determiners[number],
            f"N{number}": _falling(nouns),
            f"REL{number}": {
                f"VP{number}": 0.5,
                "NP1 VT1": 0.3,
                "NP2 VT2": 0.2,
            },
            f"VP{number}": {
                f"VI{number}": 0.35,
                f"VT{number} NP": 0.4,
                f"VT{number} {own}": 0.1,
                f"{be} ADJ": 0.15,
            },
            f"VI{number}": _falling([f"{verb}{ending}" for verb in INTRANSITIVE]),
            f"VT{number}": _falling([f"{verb}{ending}" for verb in TRANSITIVE]),
        }
    return Grammar(rules)


def _falling(words: Sequence[str]) -> dict[str, float]:
    """Words of falling frequency: the k-th is 1/k as frequent as the first."""
    return {word: 1 / (k + 1) for k, word in enumerate(words)}
