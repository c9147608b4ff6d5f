"""An Arrow column as what its kind needs: numbers, levels or timestamps.

Errors name the column, the row and the value that cannot be read.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyarrow import types

from likely.core.checks import InputError
from likely.data.cells import READINGS, TIMESTAMP, convert, first_misfit
from likely.data.errors import Misfit
from likely.data.readings.evidence import Evidence, conclude

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers
NESTED = (
    types.is_nested, types.is_binary, types.is_large_binary, types.is_fixed_size_binary
)  # fmt: skip


class Levels(NamedTuple):
    """A categorical column: each row's index in a list of categories."""

    codes: np.ndarray
    """(n,) int32; −1 where the value is missing."""
    categories: list[str]


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text, dictionary-encoded or not."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    views = types.is_string_view(kind)
    return types.is_string(kind) or types.is_large_string(kind) or views


def is_timestamps(kind: pa.DataType) -> bool:
    """Whether a column of this type holds dates."""
    return types.is_timestamp(kind) or types.is_date(kind)


def is_nested(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists, bytes or the like, which nothing uses."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(test(kind) for test in NESTED)


def as_numbers(column: Any, name: str) -> np.ndarray:
    """The numbers of a column, (n,) float64, NaN where missing; text is read."""
    kind = column.type
    if is_nested(kind) or is_timestamps(kind):
        raise InputError(f"column {name!r} holds {kind} values, which are no numbers.")
    if is_text(kind):
        column = _read(column, name, "number")
    elif types.is_duration(kind) or types.is_time(kind):
        unit = pa.duration("us") if types.is_duration(kind) else pa.time64("us")
        whole = pc.cast(pc.cast(column, unit, safe=False), pa.int64())
        column = pc.divide(whole, 1e6)
    if types.is_boolean(column.type):
        column = pc.cast(column, pa.uint8())
    numbers = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers)


def as_timestamps(column: Any, name: str) -> np.ndarray:
    """The dates of a column, (n,) datetime64[us], NaT where missing; text is read."""
    if is_text(column.type):
        column = _read(column, name, "date iso")
    if not is_timestamps(column.type):
        raise InputError(f"column {name!r} holds {column.type} values, not dates.")
    times = pc.cast(column, TIMESTAMP, safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(times).astype("datetime64[us]")


def _read(column: Any, name: str, reading: str) -> Any:
    """The values of a column of text: numbers or booleans, or dates in any form."""
    text = strings(column)
    return convert(text, fitting(text, name, reading))


def fitting(column: Any, name: str, reading: str) -> str:
    """The reading of numbers or dates, of the same kind, that fits every cell of text.

    Args:
        column: text.
        name: of the column.
        reading: which is tried first: "number", or "date iso".
    """
    text = strings(column)
    also = "date" if reading.startswith("date") else "boolean"
    for form in (reading, *(form for form in READINGS if form.startswith(also))):
        try:
            convert(text, form)
        except Misfit:
            continue
        return form
    if reading == "number":
        evidence = Evidence()
        evidence.add(text)
        found = conclude(evidence)
        if found.reading != "text":
            return found.reading
    row = first_misfit(text, reading)
    shown = str(text[row])[:40]
    what = reading.partition(" ")[0]
    raise InputError(
        f"column {name!r} has {shown!r} in row {row}, which is no {what}; "
        "correct it, or set the kind of the column to 'category'."
    )


def strings(column: Any) -> pa.Array:
    """Text as one array of ordinary strings, with empty strings as missing values."""
    text = pc.cast(column, pa.string())
    text = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def as_levels(column: Any, name: str) -> Levels:
    """The codes and categories of a column; numbers become text, 1.0 as 1."""
    kind = column.type
    if is_nested(kind):
        raise InputError(
            f"column {name!r} holds {kind} values, which are no categories."
        )
    if is_text(kind):
        return _text_levels(column)
    if types.is_boolean(kind) or is_timestamps(kind):
        text = pc.cast(column, pa.string())  # of an instant in any unit the same text
        text = pc.replace_substring_regex(text, r"\.(\d*?)0+(\D|$)", r".\1\2")
        return _text_levels(pc.replace_substring_regex(text, r"\.(\D|$)", r"\1"))
    if types.is_integer(kind):  # as they are: float64 does not keep large ones
        numbers = np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False))
        present = pc.is_valid(column).to_numpy(zero_copy_only=False)
    else:
        numbers = as_numbers(column, name)
        present = ~np.isnan(numbers)
    found, inverse = np.unique(numbers[present], return_inverse=True)
    codes = np.full(len(numbers), -1, np.int32)
    codes[present] = inverse
    if types.is_float32(kind) or types.is_float16(kind):  # 0.1 in fewer bits is 0.1
        found = np.array([float(str(v)) for v in found.astype(kind.to_pandas_dtype())])
    return Levels(codes, [written(number) for number in found.tolist()])


def written(number: float | int) -> str:
    """A number as the name of a category: 1.0 as 1, and −0.0 as 0."""
    whole = isinstance(number, float) and number.is_integer()
    return f"{number + 0.0:.0f}" if whole else repr(number)


def _text_levels(column: Any) -> Levels:
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    coded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    coded = coded.unify_dictionaries()
    if not coded.num_chunks:
        return Levels(np.zeros(0, np.int32), [])
    indices = (pc.cast(part.indices, pa.int32()) for part in coded.chunks)
    codes = [pc.fill_null(index, -1).to_numpy() for index in indices]
    categories = coded.chunk(0).dictionary.to_pylist()
    return _without_blanks(np.concatenate(codes), categories)


def _without_blanks(codes: np.ndarray, categories: list) -> Levels:
    """Levels in which a category that is None or empty is a missing value."""
    blank = [category is None or category == "" for category in categories]
    if not any(blank):
        return Levels(codes, categories)
    index = np.cumsum(~np.array(blank)) - 1
    index[blank] = -1
    codes = np.append(index, -1)[codes].astype(np.int32)
    return Levels(codes, [category for category in categories if category])
