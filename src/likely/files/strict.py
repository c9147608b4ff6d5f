"""Untrusted JSON: size, tokens and nesting are checked before anything is built.

Python's parser keeps the last of two equal keys, reads NaN and whole numbers of any
length, and needs up to thirty times the memory of the text. Here a key occurs once,
numbers are finite and short, and the text has a limited number of tokens and levels.
"""

import json
import math
from typing import Any

from likely.files.errors import FileError

MAX_TOKENS = 2_000_000
"""The largest number of values, keys and brackets of a text."""
MAX_DEPTH = 100
"""The deepest nesting."""
MAX_DIGITS = 20
"""The longest whole number, its sign included: 64 bits."""

_NO_PUNCTUATION = {i: None for i in range(128) if chr(i) not in "[]{},"}
_OPENING, _CLOSING = frozenset("[{"), frozenset("]}")


def parse(text: str) -> Any:
    """The value of a JSON text that keeps the limits."""
    check(text)
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_not_finite,
            parse_int=_whole,
            parse_float=_finite,
        )
    except json.JSONDecodeError as error:
        raise FileError(f"its JSON is broken: {error}.") from error


def check(text: str) -> None:
    """Refuse a text with too many tokens or levels, by its punctuation alone."""
    quotes = text.count('"')
    if quotes > MAX_TOKENS:
        raise FileError(f"its JSON has more than {MAX_TOKENS:,} tokens.")
    plain = text.replace("\\\\", "").replace('\\"', "")
    marks = "".join(plain.split('"')[::2]).translate(_NO_PUNCTUATION)
    if len(marks) + quotes > MAX_TOKENS:
        raise FileError(f"its JSON has more than {MAX_TOKENS:,} tokens.")
    level = 0
    for mark in marks:
        level += (mark in _OPENING) - (mark in _CLOSING)
        if level > MAX_DEPTH:
            raise FileError(f"its JSON is nested more than {MAX_DEPTH} levels deep.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise FileError(f"its JSON has the key {key[:40]!r} twice in one object.")
        found[key] = value
    return found


def _not_finite(word: str) -> float:
    raise FileError(f"its JSON has {word}, which is not JSON.")


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise FileError(f"its JSON has a whole number of {len(digits)} digits.")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise FileError("its JSON has a number that is too large.")
    return value
