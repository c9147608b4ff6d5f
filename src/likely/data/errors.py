"""The sentences of this room: which file, which line, which column, what to do."""

from os import PathLike

from likely.core.checks import InputError


class TableError(InputError):
    """A file that cannot be read as a table."""


class DownloadError(InputError):
    """Data that could not be fetched, or that are not what they should be."""


def table_error(
    path: str | PathLike,
    problem: str,
    *,
    line: int | None = None,
    column: str | None = None,
) -> TableError:
    """The error for a place in a file; `problem` also says what to do."""
    place = [f"{str(path)!r}"]
    if line is not None:
        place.append(f"line {line}")
    if column is not None:
        place.append(f"column {column!r}")
    return TableError(f"{', '.join(place)}: {problem}")
