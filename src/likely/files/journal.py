r"""A journal: a file of one JSON object a line, to which lines are only ever added.

Each line carries the checksum of its own text and is on the disk (`fsync`) before the next
begins, so a program can be killed at any byte: what is lost is the line that was being
written. On opening, such a torn last line is cut off. A damaged line before the last was not
made by a kill, and the file is refused.

The first line, the header, says what the journal is about. A file with another header is
refused; so is one that another program has open.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from likely.files.atomic import sync_folder
from likely.files.errors import FileError

CHECKSUM_LENGTH = 16
BEGINNING = b'{"journal": '
"""What every journal begins with; other files are not touched."""


class Journal:
    """A journal that is open for writing; use it as a context, or call `close`.

    Args:
        path: the file; it is made where it does not exist.
        kind: what writes such journals.
        header: what this one is about, as JSON.
        compare: called with the header of an existing file and this one; it raises an
            error where the file is about something else.

    Attributes:
        header: that of the file.
        entries: those of the file, in their order.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        kind: str,
        header: Mapping[str, Any],
        compare: Callable[[dict, dict], None],
    ):
        self.path, header = Path(path), {"journal": kind, **header}
        new = not self.path.exists()
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _lock(self._file, self.path)
            found, length = _read(self.path)
            if os.fstat(self._file).st_size > length:
                os.ftruncate(self._file, length)
                os.fsync(self._file)
            if found:
                self.header, self.entries = found[0], found[1:]
                compare(self.header, header)
            else:
                self.header, self.entries = header, []
                self._write(self.header)
            if new:
                sync_folder(self.path.parent)
        except BaseException:
            self.close()
            raise

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write an entry; it is on the disk when this returns."""
        self._write(entry)
        self.entries.append(dict(entry))

    def close(self) -> None:
        """Close the file, and let others open it; harmless twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, entry: Mapping[str, Any]) -> None:
        left = _line(entry)
        while left:
            left = left[os.write(self._file, left) :]
        os.fsync(self._file)


def _line(entry: Mapping[str, Any]) -> bytes:
    """An entry with its checksum, as a line."""
    text = json.dumps(entry, allow_nan=False)
    return f'{text[:-1]}, "checksum": "{_checksum(text)}"}}\n'.encode()


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:CHECKSUM_LENGTH]


def _entry(line: bytes) -> dict | None:
    """The entry of a line, or None where it is damaged."""
    try:
        entry = json.loads(line)
        checksum = entry.pop("checksum")
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return None
    return entry if checksum == _checksum(json.dumps(entry)) else None


def _read(path: Path) -> tuple[list[dict], int]:
    """The entries of a file, and the number of bytes that they take."""
    content = path.read_bytes()
    if content[: len(BEGINNING)] != BEGINNING[: len(content)]:
        raise FileError(
            f"{str(path)!r} exists and is no journal; it is left as it is: give another "
            "name."
        )
    *lines, _ = content.split(b"\n")
    entries, length = [], 0
    for number, line in enumerate(lines, 1):
        entry = _entry(line)
        if entry is None and number < len(lines):
            raise FileError(
                f"line {number} of the journal {str(path)!r} is damaged; restore the "
                "file, or give another name to begin anew."
            )
        if entry is not None:
            entries.append(entry)
            length += len(line) + 1
    return entries, length


def _lock(file: int, path: Path) -> None:
    """Keep other programs from writing; a killed program loses its lock."""
    with contextlib.suppress(ImportError):  # on Windows there are no such locks
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FileError(
                f"another program is writing to {str(path)!r}; wait for it, or give "
                "another name."
            ) from None
