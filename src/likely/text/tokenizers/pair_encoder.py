"""What a tokenizer of byte pairs looks things up in: tokens, merges, words it has met."""

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from likely.text.tokenizers.alphabet import ByteAlphabet, CharacterAlphabet, read
from likely.text.tokenizers.merges import Merges
from likely.text.tokenizers.pieces import Pieces
from likely.text.tokenizers.utf8 import character_of_byte, to_bytes

MAX_KEPT = 2**22
"""Characters of the words that are kept with their ids; then it begins anew."""


class PairEncoder:
    """Texts to ids, where each word is worked out once.

    Args:
        vocabulary: what each id stands for, bytes as printable characters.
        special: the id of each special token.
        merges: (m, 3) the ids a, b, ab of each merge.
        pieces: how texts are split.
        bytewise: whether symbols are bytes, or characters.
        unknown: the special token of unknown characters.
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        special: Mapping[str, int],
        merges: np.ndarray,
        pieces: Pieces,
        *,
        bytewise: bool,
        unknown: str | None,
    ):
        names = set(special.values())
        ids = {
            token: i
            for i, token in enumerate(vocabulary)
            if len(token) == 1 and i not in names
        }
        self.bytewise, self.pieces, self.merges = bytewise, pieces, Merges(merges)
        self.tokens: list[Any] = list(vocabulary)
        if bytewise:
            self.alphabet = ByteAlphabet(ids)
            self.tokens = [
                to_bytes(token) if i in names else read(token)
                for i, token in enumerate(vocabulary)
            ]
        else:
            unknown_id = None if unknown is None else special[unknown]
            self.alphabet = CharacterAlphabet(ids, unknown_id)
        self.lengths = np.array([len(token) for token in self.tokens], int)
        if unknown is not None:
            self.lengths[special[unknown]] = 1
        self.known: dict[str, list[int]] = {}
        self.kept = 0

    def encode(self, text: str) -> np.ndarray:
        """(t,) the ids of a text."""
        found = self._found(self.pieces(text))
        return np.fromiter(chain.from_iterable(found), np.int32)

    def _found(self, pieces: list[str]) -> list[list[int]]:
        """The ids of each piece."""
        known = self.known
        try:
            return list(map(known.__getitem__, pieces))
        except KeyError:
            missing = [piece for piece in set(pieces) if piece not in known]
        symbols, lengths = self.alphabet.symbols(missing)
        values, ends = symbols.tolist(), [0, *np.cumsum(lengths).tolist()]
        for piece, (a, b) in zip(missing, pairwise(ends), strict=True):
            known[piece] = self.merges(values[a:b])
        found = list(map(known.__getitem__, pieces))
        self.kept += sum(map(len, missing))
        if self.kept > MAX_KEPT:
            self.known, self.kept = {}, 0
        return found

    def encode_bytes(self, data: bytes) -> np.ndarray:
        """(t,) the ids of bytes, which need be no text."""
        assert isinstance(self.alphabet, ByteAlphabet)
        found = []
        for piece in self.pieces(data.decode("utf-8", "surrogateescape")):
            part = piece.encode("utf-8", "surrogateescape")
            found += self.merges(self.alphabet.of_bytes(part).tolist())
        return np.array(found, np.int32)

    def spans(self, text: str) -> np.ndarray:
        """(t, 2) the characters [start, end) of each token of a text."""
        kept = np.arange(len(text))
        if not self.pieces.lossless:
            where = [np.arange(a, b) for a, b in self.pieces.spans(text)]
            kept = np.concatenate([np.zeros(0, int), *where])
        ends = np.cumsum(self.lengths[self.encode(text)])
        first, last = np.append(0, ends[:-1]), ends - 1
        if self.bytewise:
            part = text if self.pieces.lossless else "".join(self.pieces(text))
            owner = character_of_byte(to_bytes(part))
            first, last = owner[first[: len(ends)]], owner[last]
        first = first[: len(ends)]
        return np.stack([kept[first], kept[last] + 1], 1)
