"""The symbols that merges begin with: the 256 bytes, or the characters of the texts.

Bytes are written as GPT-2 writes them: a printable byte as the character of its number, any
other one as a character from number 256 on. The bytes have the ids in that order.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

import numpy as np

from likely.core.checks import InputError
from likely.text.tokenizers.characters import code_points
from likely.text.tokenizers.utf8 import to_bytes

_PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_REST = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTES = [*_PRINTABLE, *_REST]
"""The bytes in the order of the characters that they are written as."""
WRITTEN = [chr(byte) for byte in _PRINTABLE] + [chr(256 + i) for i in range(len(_REST))]
"""What each of them is written as."""
_BYTE_OF = dict(zip(WRITTEN, BYTES, strict=True))


def written(data: bytes) -> str:
    """Bytes as text of printable characters, one for each."""
    return data.decode("latin-1").translate(dict(zip(BYTES, WRITTEN, strict=True)))


def is_written(text: str) -> bool:
    """Whether a text is how some bytes are written."""
    return all(character in _BYTE_OF for character in text)


def read(text: str) -> bytes:
    """The bytes that are written as a text."""
    return bytes([_BYTE_OF[character] for character in text])


class AbstractAlphabet(ABC):
    """Words as symbols."""

    @abstractmethod
    def symbols(self, words: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """The symbols of all words, one after the other, and how many each has."""


class ByteAlphabet(AbstractAlphabet):
    """The bytes of a text are its symbols.

    Args:
        ids: the id of each byte as it is written.
    """

    def __init__(self, ids: Mapping[str, int]):
        self.ids = np.full(256, -1, np.int64)
        for character, byte in _BYTE_OF.items():
            self.ids[byte] = ids.get(character, -1)

    def symbols(self, words: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        words = list(words)
        text = "".join(words)
        lengths = map(len, words if text.isascii() else map(to_bytes, words))
        return self.of_bytes(to_bytes(text)), np.fromiter(lengths, int)

    def of_bytes(self, data: bytes) -> np.ndarray:
        """The symbols of bytes."""
        found = self.ids[np.frombuffer(data, np.uint8)]
        if found.size and found.min() < 0:
            byte = data[int(found.argmin())]
            raise InputError(
                f"the byte 0x{byte:02X} is not in the vocabulary, which was learned from "
                "texts without it; use one that has all 256 bytes."
            )
        return found


class CharacterAlphabet(AbstractAlphabet):
    """The characters of a text are its symbols.

    Args:
        ids: the id of each character.
        unknown: the id of all others; None if there is none.
    """

    def __init__(self, ids: Mapping[str, int], unknown: int | None):
        characters = sorted(ids)
        self.known = code_points("".join(characters))
        self.ids = np.array([ids[c] for c in characters], np.int64)
        self.unknown = unknown

    def symbols(self, words: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        words = list(words)
        text = "".join(words)
        asked, lengths = code_points(text), np.fromiter(map(len, words), int)
        at = np.searchsorted(self.known, asked)
        ids = np.append(self.ids, 0)[at]
        there = np.append(self.known, 0)[at] == asked
        there &= at < len(self.known)
        if there.all():
            return ids, lengths
        if self.unknown is None:
            character = text[int(there.argmin())]
            raise InputError(
                f"the character {character!r} is not in the vocabulary, which has no token "
                "for what is unknown."
            )
        return np.where(there, ids, self.unknown), lengths
