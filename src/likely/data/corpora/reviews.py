r"""Made-up reviews with a sentiment, whose truth is known.

A review has a few clauses, each of which praises or blames something, or says nothing about it.
Some are turned around by words that stand before them, as in "nobody would say that the food was
good". With $s_j = \pm 1$ of each clause, the review is positive with the probability
$1 / (1 + e^{-s})$ of $s = 2 \sum_j s_j$.
"""

from typing import Any

import numpy as np

from likely.data.dataset import Dataset, generator

THINGS = (
    "food", "service", "room", "view", "staff", "music", "wine", "garden", "price",
    "location", "breakfast", "bathroom",
)  # fmt: skip
GOOD = ("good", "great", "lovely", "excellent", "pleasant", "perfect", "charming")
BAD = ("bad", "awful", "terrible", "poor", "dirty", "disappointing", "sad")
TURNED = (
    "nobody would say that the {thing} was {word}",
    "we never thought that the {thing} was {word}",
    "it is not true that the {thing} was {word}",
)
PLAIN = (
    "the {thing} was {word}",
    "we thought that the {thing} was {word}",
    "what a {word} {thing}",
)
NEUTRAL = ("we came on a {day}", "there were {n} of us", "they have a {thing}")
DAYS = ("Monday", "Tuesday", "Friday", "Sunday")


def reviews(n: int = 1000, *, turned: float = 0.3, random_state: Any = None) -> Dataset:
    """Short reviews (texts, X), positive or negative (y), some of them by detour.

    Args:
        n: how many.
        turned: the share of clauses whose sentiment is turned around by the words before.
        random_state: seed or generator.

    Examples:
        >>> len(lk.data.reviews(20, random_state=0).X)
        20
    """
    rng = generator(random_state)
    made = [_review(rng, turned) for _ in range(n)]
    texts = np.array([text for text, _ in made], object)
    log_odds = np.array([2.0 * score for _, score in made])
    y = (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)
    return Dataset(
        texts,
        y,
        ("review",),
        ("negative", "positive"),
        "Made-up reviews and their sentiment",
        {"log_odds": log_odds, "turned": turned},
    )


def _review(rng: np.random.Generator, turned: float) -> tuple[str, int]:
    """A text, and how many clauses praise less how many blame."""
    clauses, score = [], 0
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.2:
            clauses.append(_filled(rng, _any(rng, NEUTRAL), ""))
            continue
        good, around = rng.random() < 0.5, rng.random() < turned
        word = _any(rng, GOOD if good else BAD)
        clauses.append(_filled(rng, _any(rng, TURNED if around else PLAIN), word))
        score += 1 if good != around else -1
    text = ", and ".join(clauses)
    return f"{text[0].upper()}{text[1:]}.", score


def _filled(rng: np.random.Generator, clause: str, word: str) -> str:
    thing, day = _any(rng, THINGS), _any(rng, DAYS)
    return clause.format(thing=thing, word=word, day=day, n=rng.integers(2, 9))


def _any(rng: np.random.Generator, words: tuple[str, ...]) -> str:
    return words[rng.integers(len(words))]
