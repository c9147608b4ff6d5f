r"""Texts in which similarities and analogies of words are planted.

Every word has a known vector $x_w$. A text has a topic $c \sim N(0, I)$, and its words are drawn
one by one with $P(w \mid c) \propto f_w \, e^{c \cdot x_w - |x_w|^2 / 2}$. So two words are in the
same text the more often, the more their vectors share: where the sum of these weights is the same
for all topics,

$$\log\frac{P(v, w)}{P(v)\,P(w)} = x_v \cdot x_w + \text{const}.$$

It varies with the topic, so that in fact the left side grows more slowly than the right, by about a
third. Words come in families: forms of a stem ("bado", "bados", "badoer", ...) have
$x = u_{stem} + v_{form}$, so that $x_{bados} - x_{bado} + x_{kilu} = x_{kilus}$ holds exactly.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.data.dataset import generator

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
FORMS = ("", "s", "er", "ing", "ly", "ness")
STEM_SQUARE, FORM_SQUARE, FILLER_SQUARE = 2.0, 1.0, 0.3
"""|x|² of the vectors of a stem, of a form, and of words without a family, on average."""
FILLERS_SHARE = 0.5
"""How much of the text has no family."""
MAX_ANALOGIES = 1000
BLOCK_TEXTS = 1024


class WordFamilies(NamedTuple):
    """Texts, and the vectors of words that made them."""

    texts: list[str]
    words: list[str]
    """All words that there are: the forms of the first stem, of the second, ..., fillers."""
    vectors: np.ndarray
    """(V, d) their true vectors."""
    families: np.ndarray
    """(V,) the number of the stem of each word; −1 for fillers."""
    analogies: list[tuple[str, str, str, str]]
    """(a, b, c, d) with x_a − x_b + x_c = x_d exactly."""


def word_families(
    n: int = 2000,
    *,
    length: int = 20,
    n_stems: int = 20,
    n_forms: int = 3,
    n_fillers: int = 40,
    size: int = 15,
    random_state: Any = None,
) -> WordFamilies:
    """Texts of words with known vectors, similarities and analogies.

    Args:
        n: texts.
        length: words of each.
        n_stems: stems, at least 2.
        n_forms: forms of each stem, from 2 to 6.
        n_fillers: frequent words without a family, at least 1.
        size: how many numbers a true vector has.
        random_state: seed or NumPy generator.
    """
    for name, value, least in (
        ("n_stems", n_stems, 2), ("n_fillers", n_fillers, 1), ("size", size, 1),
    ):  # fmt: skip
        if value < least:
            raise InputError(f"{name} is {value}; give at least {least}.")
    if not 2 <= n_forms <= len(FORMS):
        raise InputError(f"n_forms is {n_forms}; give a number from 2 to {len(FORMS)}.")
    rng = generator(random_state)
    stems = _names(rng, n_stems, syllables=3)
    words = [stem + form for stem in stems for form in FORMS[:n_forms]]
    words += _names(rng, n_fillers, syllables=2)
    families = np.append(np.repeat(np.arange(n_stems), n_forms), np.full(n_fillers, -1))

    def drawn(count: int, square: float) -> np.ndarray:
        return rng.normal(scale=np.sqrt(square / size), size=(count, size))

    grid = drawn(n_stems, STEM_SQUARE)[:, None] + drawn(n_forms, FORM_SQUARE)
    vectors = np.concatenate([grid.reshape(-1, size), drawn(n_fillers, FILLER_SQUARE)])
    falling = 1 / np.arange(1, n_fillers + 1)
    of_stems = np.repeat(1 / (3 + np.arange(n_stems)), n_forms)
    frequencies = np.append(
        (1 - FILLERS_SHARE) * of_stems / of_stems.sum(),
        FILLERS_SHARE * falling / falling.sum(),
    )
    texts = []
    for begin in range(0, n, BLOCK_TEXTS):
        rows = min(BLOCK_TEXTS, n - begin)
        tokens = _draw(rng, vectors, frequencies, (rows, length))
        texts += [" ".join([words[t] for t in row]) for row in tokens.tolist()]
    questions = _analogies(rng, n_stems, n_forms)
    named = [tuple(words[i] for i in question) for question in questions.tolist()]
    return WordFamilies(texts, words, vectors, families, named)


def _draw(
    rng: Any, vectors: np.ndarray, frequencies: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """(n, length) the words of texts, each text with a topic of its own."""
    topics = rng.normal(size=(shape[0], vectors.shape[1]))
    scores = topics @ vectors.T - 0.5 * (vectors**2).sum(1)
    cumulative = np.cumsum(frequencies * np.exp(scores), axis=1)
    cumulative /= cumulative[:, -1:]
    rows = np.arange(shape[0])[:, None]  # row i holds numbers from i to i + 1
    found = np.searchsorted((cumulative + rows).ravel(), rng.random(shape) + rows)
    return np.minimum(found - rows * len(vectors), len(vectors) - 1)


def _analogies(rng: Any, n_stems: int, n_forms: int) -> np.ndarray:
    """(m, 4) numbers of words: two stems, each in the same two forms."""
    count = min(MAX_ANALOGIES, n_stems * (n_stems - 1) * n_forms * (n_forms - 1))
    pairs = rng.permuted(np.tile(np.arange(n_stems), (count, 1)), axis=1)[:, :2]
    forms = rng.permuted(np.tile(np.arange(n_forms), (count, 1)), axis=1)[:, :2]
    (s, t), (f, g) = pairs.T * n_forms, forms.T
    return np.unique(np.stack([s + f, s + g, t + g, t + f], axis=1), axis=0)


def _names(rng: Any, count: int, syllables: int) -> list[str]:
    """Made-up words of so many syllables, no two alike."""
    known = [c + v for c in CONSONANTS for v in VOWELS]
    if count > len(known) ** syllables:
        raise InputError(
            f"{count} is more than there are words of {syllables} syllables."
        )
    chosen = rng.choice(len(known) ** syllables, count, replace=False)
    digits = np.stack(np.unravel_index(chosen, (len(known),) * syllables), axis=1)
    return ["".join(known[k] for k in row) for row in digits.tolist()]
