"""Bytes as tokens."""

from typing import Any, no_type_check

import numpy as np

from likely.base.settings import store
from likely.text.tokenizers.texts import weighted_texts
from likely.text.tokenizers.tokenizer import Tokenizer, special_ids
from likely.text.tokenizers.utf8 import character_of_byte, to_bytes, to_text


class ByteTokenizer(Tokenizer):
    """One token for each of the 256 bytes, so that no text is unknown.

    Every text comes back exactly, also with halves of surrogate pairs in it, and so do any
    bytes: `decode_bytes(encode_bytes(data)) == data`. `fit` has nothing to learn.

    Args:
        special_tokens: what is never part of ordinary text, such as ("<pad>", "<mask>"); they
            have the first ids, then come the bytes.

    Attributes:
        special_tokens_: the id of each special token.
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, special_tokens=()):
        store(self, locals())

    def fit(
        self, texts: Any = None, y: Any = None, sample_weight: Any = None
    ) -> "ByteTokenizer":
        if texts is not None:
            weighted_texts(texts, sample_weight)
        self.special_tokens_ = special_ids(self.special_tokens)
        return self

    @property
    def tokens_(self) -> list[bytes]:
        """What each id stands for."""
        self._check_fitted()
        special = [to_bytes(token) for token in self.special_tokens_]
        return special + [bytes([i]) for i in range(256)]

    def encode_bytes(self, data: bytes) -> np.ndarray:
        """(t,) int32, the ids of any bytes.

        Args:
            data: the bytes.
        """
        self._check_fitted()
        ids = np.frombuffer(data, np.uint8).astype(np.int32)
        return ids + np.int32(len(self.special_tokens_))

    def decode_bytes(self, tokens: Any, *, special: bool = True) -> bytes:
        """The bytes of a sequence of ids.

        Args:
            tokens: the ids.
            special: as in `decode`.
        """
        ids = self._check_ids(tokens)
        if not special:
            ids = ids[~self._is_special(ids)]
        names = self.tokens_
        return b"".join([names[i] for i in ids.tolist()])

    def _encode(self, text: str) -> np.ndarray:
        return self.encode_bytes(to_bytes(text))

    def _spans(self, text: str) -> np.ndarray:
        start = character_of_byte(to_bytes(text))
        return np.stack([start, start + 1], 1)

    def decode(self, tokens: Any, *, special: bool = True) -> str:
        return to_text(self.decode_bytes(tokens, special=special))
