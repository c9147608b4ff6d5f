"""How large a vocabulary should be: few long sequences of many tokens, or the reverse."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.text.tokenizers.byte_pairs import BytePairTokenizer
from likely.text.tokenizers.characters import CharacterTokenizer
from likely.text.tokenizers.texts import check_texts
from likely.text.tokenizers.utf8 import to_bytes
from likely.text.tokenizers.words import WordTokenizer

N_BYTES = 256
MIN_TEXTS = 10
"""Texts from which on whole ones are held out."""


class VocabularyStudy(NamedTuple):
    """What vocabularies of different sizes make of the same held-out text.

    Attributes:
        n_tokens: (s,) the sizes, in rising order.
        length: (s,) the tokens of the held-out text.
        bytes_per_token: (s,) how much text a token stands for.
        bits_per_byte: (s, 2) what it takes to write the text down by the frequencies of
            tokens, and by those after the token before.
        characters: the size and the length where characters are tokens.
        words: the same of words and punctuation marks.
    """

    n_tokens: np.ndarray
    length: np.ndarray
    bytes_per_token: np.ndarray
    bits_per_byte: np.ndarray
    characters: tuple[int, int]
    words: tuple[int, int]


def vocabulary_study(
    texts: Any,
    sizes: Sequence[int] = (256, 512, 1024, 2048, 4096),
    *,
    held_out: Any = None,
    pattern: str | None = "gpt2",
) -> VocabularyStudy:
    r"""Length and bits of held-out text against the size of a vocabulary of byte pairs.

    The bits are those of two simple codes, learned from the texts: of a token alone,
    $p(b) = (c_b + \frac12) / (N + \frac12 V)$, and after the token before it,
    $p(b \mid a) = (c_{ab} + t_a p(b)) / (c_a + t_a)$, where $t_a$ different tokens were seen
    after a (Witten and Bell). Divided by bytes, not tokens, they can be compared between
    vocabularies.

    Args:
        texts: a list of strings to learn from.
        sizes: of the vocabularies, 256 bytes included. Where the texts have not as many
            different pairs the vocabulary is smaller.
        held_out: other texts to judge by; None for the last tenth of the texts, which are
            then not learned from, or of each text where there are fewer than ten.
        pattern: as in `BytePairTokenizer`, not "whitespace", which leaves out text.
    """
    texts, held_out = _split(check_texts(texts), held_out)
    n_bytes = sum(len(to_bytes(text)) for text in held_out)
    if not n_bytes or pattern == "whitespace":
        problem = "is without text" if not n_bytes else "would lose its white space"
        raise InputError(f"what is held out {problem}; give other texts or pattern.")
    wanted = [at_least("sizes", size, N_BYTES, whole=True) for size in sizes]
    if not wanted:
        raise InputError("sizes is empty; give at least one size of a vocabulary.")
    largest = BytePairTokenizer(max(wanted), pattern=pattern).fit(texts)
    reached = sorted({min(size, largest.n_tokens_) for size in wanted})
    length, bits = [], []
    for size in reached:
        tokenizer = _smaller(largest, size)
        seen, new = tokenizer.encode_batch(texts), tokenizer.encode_batch(held_out)
        length.append(sum(map(len, new)))
        bits.append(_code_lengths(seen, new, size))
    return VocabularyStudy(
        np.array(reached),
        np.array(length),
        n_bytes / np.array(length),
        np.array(bits) / n_bytes,
        _point(CharacterTokenizer(), texts, held_out),
        _point(WordTokenizer(), texts, held_out),
    )


def _split(texts: list[str], held_out: Any) -> tuple[list[str], list[str]]:
    """Texts to learn from and texts to judge by."""
    if held_out is not None:
        return texts, check_texts(held_out, "held_out")
    if len(texts) >= MIN_TEXTS:
        cut = len(texts) * 9 // 10
        return texts[:cut], texts[cut:]
    cuts = [len(text) * 9 // 10 for text in texts]
    pairs = list(zip(texts, cuts, strict=True))
    return [t[:cut] for t, cut in pairs], [t[cut:] for t, cut in pairs]


def _smaller(tokenizer: BytePairTokenizer, n_tokens: int) -> BytePairTokenizer:
    """The tokenizer with its first merges only: that of a smaller vocabulary."""
    made = BytePairTokenizer(n_tokens, pattern=tokenizer.pattern)
    made.special_tokens_ = tokenizer.special_tokens_
    made.vocabulary_ = tokenizer.vocabulary_[:n_tokens]
    made.merges_ = tokenizer.merges_[: n_tokens - N_BYTES]
    made.unknown_token_ = None
    return made


def _point(tokenizer: Any, texts: list[str], held_out: list[str]) -> tuple[int, int]:
    tokenizer.fit(texts)
    return tokenizer.n_tokens_, sum(map(len, tokenizer.encode_batch(held_out)))


def _code_lengths(
    seen: list[np.ndarray], new: list[np.ndarray], size: int
) -> tuple[float, float]:
    """The bits of new tokens by the frequencies of those seen: alone, and in pairs."""
    counts = np.bincount(np.concatenate(seen), minlength=size)
    p = (counts + 0.5) / (counts.sum() + 0.5 * size)
    alone = -np.log2(p)
    total = alone[np.concatenate(new)].sum()
    keys, times = np.unique(_pairs(seen, size), return_counts=True)
    after = np.bincount(keys // size, times, size)
    different = np.bincount(keys // size, minlength=size)
    asked = _pairs(new, size)
    a, b = asked // size, asked % size
    at = np.minimum(np.searchsorted(keys, asked), max(0, len(keys) - 1))
    found = np.where(keys[at] == asked, times[at], 0) if len(keys) else np.zeros(len(a))
    share = np.where(different[a] > 0, different[a], 1)
    conditional = (found + share * p[b]) / (after[a] + share)
    first = sum(alone[row[0]] for row in new if len(row))
    return float(total), float(first - np.log2(conditional).sum())


def _pairs(rows: list[np.ndarray], size: int) -> np.ndarray:
    """The number a·size + b of each pair (a, b) of neighbours."""
    pairs = [row[:-1].astype(np.int64) * size + row[1:] for row in rows if len(row)]
    return np.concatenate([np.zeros(0, np.int64), *pairs])
