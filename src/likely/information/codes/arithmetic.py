r"""Arithmetic coding: a message as one number, within two bits of its surprise.

Each symbol narrows an interval in proportion to its probability; the shortest binary fraction
inside the last one is the message. Whole numbers of 62 bits hold the interval, its leading bits are
sent as soon as both ends agree in them, and probabilities are fractions of whole
counts: what is decoded is exactly what was encoded.
"""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.information.codes.code import symbols_of
from likely.information.probabilities import probabilities

BITS = 62
TOP, HALF, QUARTER = (1 << BITS) - 1, 1 << (BITS - 1), 1 << (BITS - 2)
TOTAL = 1 << 40
"""What the counts of all symbols sum to, about."""


class ArithmeticCode:
    """An arithmetic code for messages of independent symbols.

    Unlike a symbol code it spends fractions of a bit: a message of n symbols takes at most two bits
    more than its surprise (rounding of probabilities aside, below 10⁻⁹ bits for a symbol).

    Args:
        p: probabilities above zero, as an array or a mapping from symbols.
    """

    def __init__(self, p: Any):
        values = probabilities(p).ravel()
        if not (values > 0).all():
            raise InputError("a symbol has probability 0; leave it out of the code.")
        self.symbols = symbols_of(p)
        self._number = {symbol: i for i, symbol in enumerate(self.symbols)}
        counts = np.maximum(np.rint(values / values.sum() * TOTAL), 1).astype(int)
        self._below = [0, *accumulate(counts.tolist())]

    def __repr__(self) -> str:
        return f"ArithmeticCode({len(self.symbols)} symbols)"

    def encode(self, message: Iterable[Any]) -> str:
        """The bits of a message; `decode` needs its length too."""
        low, high, pending, bits = 0, TOP, 0, []
        below, total = self._below, self._below[-1]

        def send(bit: int) -> None:
            nonlocal pending
            bits.append("10"[1 - bit] + "01"[1 - bit] * pending)
            pending = 0

        for symbol in message:
            i = self._index(symbol)
            width = high - low + 1
            low, high = (
                low + width * below[i] // total,
                low + width * below[i + 1] // total - 1,
            )
            while True:
                if high < HALF:
                    send(0)
                elif low >= HALF:
                    send(1)
                    low, high = low - HALF, high - HALF
                elif low >= QUARTER and high < HALF + QUARTER:
                    pending += 1
                    low, high = low - QUARTER, high - QUARTER
                else:
                    break
                low, high = 2 * low, 2 * high + 1
        pending += 1
        send(0 if low < QUARTER else 1)
        return "".join(bits)

    def decode(self, bits: str, n: int) -> list[Any]:
        """The first n symbols of a string of bits.

        Args:
            bits: what `encode` returned.
            n: the number of symbols of the message.
        """
        if set(bits) - {"0", "1"} or n < 0:
            raise InputError('bits is a string of "0" and "1", and n at least 0.')
        low, high, at = 0, TOP, BITS
        value = int(bits[:BITS].ljust(BITS, "0"), 2)
        below, total, found = self._below, self._below[-1], []
        for _ in range(n):
            width = high - low + 1
            i = bisect_right(below, ((value - low + 1) * total - 1) // width) - 1
            found.append(self.symbols[i])
            low, high = (
                low + width * below[i] // total,
                low + width * below[i + 1] // total - 1,
            )
            while True:
                if high < HALF:
                    shift = 0
                elif low >= HALF:
                    shift = HALF
                elif low >= QUARTER and high < HALF + QUARTER:
                    shift = QUARTER
                else:
                    break
                low, high = 2 * (low - shift), 2 * (high - shift) + 1
                value = 2 * (value - shift) + (at < len(bits) and bits[at] == "1")
                at += 1
        return found

    def _index(self, symbol: Any) -> int:
        if symbol not in self._number:
            raise InputError(
                f"the code has no symbol {symbol!r}; it has {self.symbols[:20]}."
            )
        return self._number[symbol]
