"""Texts as users give them: any sequence of strings, checked and made a list."""

from collections.abc import Iterable, Mapping
from typing import Any

from likely.core.checks import InputError, check_weights


def check_texts(texts: Any, name: str = "texts") -> list[str]:
    """A list of str; bytes are read as UTF-8, and anything else is refused with its row.

    Args:
        texts: a list, tuple, array or column of strings. Empty strings are welcome.
        name: what they are called in messages.
    """
    rows = _rows(texts, name)
    if all(type(row) is str for row in rows):
        return rows
    return [_text(row, f"{name} in row {i}") for i, row in enumerate(rows)]


def weighted_texts(texts: Any, sample_weight: Any) -> tuple[list[str], list[float]]:
    """The texts that a fit learns from, and how often each counts.

    Args:
        texts: as in `check_texts`; those of weight 0 may be anything.
        sample_weight: one number of at least 0 for each, or None for ones.
    """
    rows = _rows(texts, "texts")
    if not rows:
        raise InputError("texts is empty; give at least one text to learn from.")
    w = check_weights(sample_weight, len(rows)).tolist()
    kept = [i for i, weight in enumerate(w) if weight > 0]
    found = [_text(rows[i], f"texts in row {i}") for i in kept]
    return found, [w[i] for i in kept]


def check_text(text: Any) -> str:
    """One text; bytes are read as UTF-8."""
    return text if type(text) is str else _text(text, "text")


def _rows(texts: Any, name: str) -> list[Any]:
    if isinstance(texts, str | bytes | bytearray):
        raise InputError(
            f"{name} is one text, and its characters would count as texts; give a list, "
            "as in [text]."
        )
    shape = tuple(getattr(texts, "shape", (0,)))
    if not isinstance(texts, Iterable) or isinstance(texts, Mapping | set):
        raise InputError(f"{name} is {_kind(texts)}; give a list of strings.")
    if len(shape) != 1:
        raise InputError(f"{name} has shape {shape}; give one column of strings.")
    return list(texts)


def _text(value: Any, where: str) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes | bytearray):
        try:
            return bytes(value).decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{where} holds bytes that are not UTF-8 (byte {error.start}); decode "
                "them yourself, with their encoding or with errors='replace'."
            ) from None
    if _is_missing(value):
        raise InputError(f"{where} is missing; give '' or leave the row out.")
    raise InputError(f"{where} is {_kind(value)}; give a string.")


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas has for them."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and bool(value != value)


def _kind(value: Any) -> str:
    return f"a value of type {type(value).__name__}"
