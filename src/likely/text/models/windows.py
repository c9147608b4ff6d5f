r"""Windows that judge sequences: what a model with a limited context says of each token.

A window of length T is T + 1 symbols: T to read and, one place later, T to predict. Symbols
after the end of a sequence are `begin`, which is never predicted. A token is predicted from what
comes before it in the window. The next window begins `stride` symbols later and judges only what
the last one has not.
"""

from typing import NamedTuple

import numpy as np

from likely.text.models.sequences import Sequences


class Windows(NamedTuple):
    """Windows that judge every token of some sequences once."""

    symbols: np.ndarray
    """(m, T + 1)."""
    judged: np.ndarray
    """(m, T) which of the tokens to predict are judged."""
    sequence: np.ndarray
    """(m,) whose they are."""

    @classmethod
    def of(
        cls, sequences: Sequences, length: int, begin: int, stride: int
    ) -> "Windows":
        """Windows of this length, each `stride` symbols after the last."""
        symbols, starts = sequences.symbols(begin)
        symbols = np.pad(symbols, (0, length), constant_values=begin)
        lengths = sequences.lengths
        counts = 1 + np.maximum(0, -(-(lengths - length) // stride))
        sequence, number = numbered(counts)
        at = number[:, None] * stride + np.arange(length + 1)
        inside = at <= lengths[sequence][:, None]
        at = np.minimum(starts[sequence][:, None] + at, len(symbols) - 1)
        known = np.where(number > 0, length - stride, 0)
        judged = inside[:, 1:] & (np.arange(length) >= known[:, None])
        return cls(np.where(inside, symbols[at], begin), judged, sequence)


def default_stride(length: int) -> int:
    """How far windows are apart where nothing is said, as in generation.

    A full window is followed by one that begins with its newer half.
    """
    return length + 1 - max(1, length // 2)


def numbered(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each of n things so many times: which it is, and the number of the time."""
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - (np.cumsum(counts) - counts)[which]
