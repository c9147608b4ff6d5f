"""Byte pairs as tokens: what occurs side by side most often becomes one token."""

from collections import Counter
from os import PathLike
from typing import Any, no_type_check

import numpy as np

from likely.base.settings import at_least, one_of, store
from likely.core.checks import InputError
from likely.text.tokenizers import tokenizer_json
from likely.text.tokenizers.alphabet import (
    WRITTEN,
    ByteAlphabet,
    CharacterAlphabet,
)
from likely.text.tokenizers.merges import learn_merges
from likely.text.tokenizers.pair_encoder import PairEncoder
from likely.text.tokenizers.pieces import Pieces
from likely.text.tokenizers.symbols import Symbols
from likely.text.tokenizers.texts import weighted_texts
from likely.text.tokenizers.tokenizer import UNKNOWN, Tokenizer, special_ids
from likely.text.tokenizers.utf8 import to_text

FRACTIONS = 2**20
"""Counts of texts with broken weights are whole multiples of 1 / 2²⁰."""


class BytePairTokenizer(Tokenizer):
    r"""Tokens that grow: the most frequent pair of neighbours becomes one, again and again.

    It begins with the 256 bytes, or with the characters of the texts. Each merge makes one
    token of the pair

    $$(a, b) = \operatorname{argmax} \sum_w c_w \, \#\{i : w_i = a, w_{i+1} = b\}$$

    over all different pieces $w$ of the texts, which occur $c_w$ times each; of pairs that are
    equally frequent the one with the smaller ids. A text is encoded by the same merges in the
    same order. The merges are those of Hugging Face's `tokenizers` (`BpeTrainer` with
    `initial_alphabet`), whose files `from_json` reads and `to_json` writes.

    With bytes every text comes back exactly, also with halves of surrogate pairs in it, and
    so do any bytes: `decode_bytes(encode_bytes(data)) == data`.

    Args:
        n_tokens: the number of tokens, special ones included; there are fewer where no pair
            is left that is frequent enough.
        pattern: where texts are split before pairs are counted: "gpt2" (words with the space
            before them, numbers, marks), "whitespace" (words and marks; white space is lost),
            None (nowhere), or a regular expression, whose matches are pieces, and so is what
            is between them.
        level: "bytes", or "characters" (others than those of `fit` become "<unk>").
        min_count: how often a pair has to occur to be merged.
        special_tokens: what is never part of ordinary text, such as ("<pad>", "<mask>"); they
            have the first ids, then come "<unk>" (of characters only), bytes or characters,
            and merges.

    Attributes:
        special_tokens_: the id of each special token.
        vocabulary_: what each id stands for as files write it: bytes as printable characters.
        merges_: (m, 3) the ids a, b and ab of each merge.

    Examples:
        >>> tokenizer = lk.BytePairTokenizer(260).fit(["low lower lowest"])
        >>> tokenizer.decode(tokenizer.encode("lower"))
        'lower'
    """

    n_tokens: Any
    pattern: Any
    level: Any
    min_count: Any
    vocabulary_: list[str]
    merges_: np.ndarray
    unknown_token_: str | None

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_tokens: Any = 1000,
        *,
        pattern: Any = "gpt2",
        level="bytes",
        min_count=2,
        special_tokens=(),
    ):
        store(self, locals())

    def fit(
        self, texts: Any, y: Any = None, sample_weight: Any = None
    ) -> "BytePairTokenizer":
        texts, w = weighted_texts(texts, sample_weight)
        least = at_least("min_count", self.min_count, 1)
        one_of("level", self.level, ("bytes", "characters"))
        counts = _piece_counts(Pieces(self.pattern).check(), texts, w)
        bytewise = self.level == "bytes"
        special = special_ids(self.special_tokens, *([] if bytewise else [UNKNOWN]))
        letters = WRITTEN if bytewise else sorted(set().union(*counts))
        n_merges = _n_merges(self.n_tokens, len(special), len(letters), self.level)
        ids = {letter: len(special) + i for i, letter in enumerate(letters)}
        alphabet = ByteAlphabet(ids) if bytewise else CharacterAlphabet(ids, None)
        scale = 1 if all(weight == int(weight) for weight in w) else FRACTIONS
        numbers = np.rint(np.array(list(counts.values()), float) * scale)
        words = Symbols(*alphabet.symbols(counts), numbers.astype(np.int64))
        first, least = len(special) + len(letters), round(least * scale)
        vocabulary = [*special, *letters]
        merges = learn_merges(words, n_merges, first, least)
        for a, b, _ in merges:
            vocabulary.append(vocabulary[a] + vocabulary[b])
        self.special_tokens_ = special
        self.vocabulary_ = vocabulary
        self.merges_ = np.array(merges, np.int32).reshape(-1, 3)
        self.unknown_token_ = None if bytewise else UNKNOWN
        return self

    @property
    def _pair_encoder(self) -> PairEncoder:
        """The tables of the vocabulary, made when they are first needed."""
        self._check_fitted()
        return self._table(
            self.vocabulary_,
            lambda: PairEncoder(
                self.vocabulary_,
                self.special_tokens_,
                self.merges_,
                Pieces(self.pattern),
                bytewise=self.level == "bytes",
                unknown=self.unknown_token_,
            ),
        )

    @property
    def tokens_(self) -> list[Any]:
        """What each id stands for: bytes, or text where the level is "characters"."""
        return self._pair_encoder.tokens

    def _encode(self, text: str) -> np.ndarray:
        return self._pair_encoder.encode(text)

    def _spans(self, text: str) -> np.ndarray:
        return self._pair_encoder.spans(text)

    def decode(self, tokens: Any, *, special: bool = True) -> str:
        data = self._joined(tokens, special)
        return to_text(data) if isinstance(data, bytes) else data

    def encode_bytes(self, data: bytes) -> np.ndarray:
        """(t,) int32, the ids of any bytes; what is no UTF-8 is split as marks are.

        Args:
            data: the bytes.
        """
        self._check_bytes()
        return self._pair_encoder.encode_bytes(data)

    def decode_bytes(self, tokens: Any, *, special: bool = True) -> bytes:
        """The bytes of a sequence of ids.

        Args:
            tokens: the ids.
            special: as in `decode`.
        """
        self._check_bytes()
        return self._joined(tokens, special)

    def _joined(self, tokens: Any, special: bool) -> Any:
        """The tokens of a sequence of ids as one: bytes, or text."""
        ids = self._check_ids(tokens)
        if not special:
            ids = ids[~self._is_special(ids)]
        names = self._pair_encoder.tokens
        empty = b"" if self.level == "bytes" else ""
        return empty.join([names[i] for i in ids.tolist()])

    def _check_bytes(self) -> None:
        if self.level != "bytes":
            raise InputError(
                "the tokens are made of characters; for bytes set level='bytes'."
            )

    # Files of Hugging Face --------------------------------------------------------------

    @classmethod
    def from_json(cls, path: str | PathLike) -> "BytePairTokenizer":
        """The tokenizer in a `tokenizer.json`, the format of Hugging Face's `tokenizers`.

        Its ids are those of the file. Where `tokenizers` finds special tokens in any text,
        here `encode(text, special=True)` does. What the file has beside byte pairs
        (normalisation, other models) is refused in a sentence.

        Args:
            path: the file.
        """
        settings, fitted = tokenizer_json.read(path)
        made = cls(**settings)
        for name, value in fitted.items():
            setattr(made, name, value)
        return made

    def to_json(self, path: str | PathLike) -> None:
        """Write a `tokenizer.json` that Hugging Face's `tokenizers` reads.

        Args:
            path: the file.
        """
        self._check_fitted()
        tokenizer_json.write(
            path,
            self.vocabulary_,
            self.special_tokens_,
            self.merges_,
            pattern=self.pattern,
            bytewise=self.level == "bytes",
            unknown=self.unknown_token_,
        )


def _piece_counts(pieces: Pieces, texts: list[str], w: list[float]) -> dict[str, Any]:
    """How often each piece occurs."""
    counts: Counter[str] = Counter()
    for text, weight in zip(texts, w, strict=True):
        if weight == 1:
            counts.update(pieces(text))
        else:
            for piece, count in Counter(pieces(text)).items():
                counts[piece] += weight * count  # pyright: ignore
    return counts


def _n_merges(n_tokens: Any, special: int, letters: int, level: str) -> int:
    """How many merges there is room for."""
    n = at_least("n_tokens", n_tokens, 1, whole=True)
    if n < special + letters:
        raise InputError(
            f"n_tokens is {n}, but {letters} {level} and {special} special tokens are "
            f"tokens before any merge; give at least {special + letters}."
        )
    return n - special - letters
