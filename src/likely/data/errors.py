"""Errors as sentences: which file, which line, which column, what to do."""

from os import PathLike
from pathlib import Path

from likely.core.checks import InputError

MAX_BYTES, MAX_EXPANSION = 1 << 28, 100
"""A file that becomes larger than so many bytes may not grow by more than this factor."""


class TableError(InputError):
    """A file that cannot be read as a table."""


class Misfit(ValueError):
    """A cell that a reading does not fit."""


class DownloadError(InputError):
    """Data that could not be fetched, or that are not what they should be."""


def table_error(
    path: str | PathLike,
    problem: str,
    *,
    line: int | None = None,
    column: str | None = None,
) -> TableError:
    """The error about a line or column of a file; `problem` also says what to do."""
    place = [f"{str(path)!r}"]
    if line is not None:
        place.append(f"line {line}")
    if column is not None:
        place.append(f"column {column!r}")
    return TableError(f"{', '.join(place)}: {problem}")


def check_expansion(path: str | PathLike, size: int, stored: int | None = None) -> None:
    """Refuse a small file that becomes very large when it is read whole.

    Args:
        path: the file.
        size: its bytes once it is read.
        stored: its bytes as it is stored; those of the file where None.
    """
    if size <= MAX_BYTES:
        return
    if size > MAX_EXPANSION * (Path(path).stat().st_size if stored is None else stored):
        raise table_error(
            path,
            f"becomes more than {MAX_EXPANSION} times as large when it is read; if you trust "
            "it, read it in chunks: `for chunk in data.open_table(path)`.",
        )
