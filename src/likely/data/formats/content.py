"""The bytes of a table, in a file or in memory, compressed or not."""

import stat
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from likely.data.errors import check_expansion, table_error

MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
COPY_BYTES = 1 << 22


class Content(NamedTuple):
    """Where the bytes of a table are, and how they are compressed."""

    path: str | PathLike
    """The file, or what errors call bytes that are in memory."""
    compression: str | None = None
    memory: bytes | None = None

    def open(self) -> pa.NativeFile:
        """The bytes, decompressed."""
        raw = (
            pa.OSFile(str(self.path))
            if self.memory is None
            else pa.BufferReader(self.memory)
        )
        return (
            raw
            if self.compression is None
            else pa.CompressedInputStream(raw, self.compression)
        )

    @property
    def stored(self) -> int:
        """How many bytes there are before they are decompressed."""
        return (
            Path(self.path).stat().st_size if self.memory is None else len(self.memory)
        )

    def head(self, size: int) -> bytes:
        """The first bytes, decompressed."""
        try:
            with self.open() as file:
                return file.read(size)
        except (OSError, pa.ArrowException) as error:
            raise table_error(
                self.path, f"cannot be read ({error}); is it whole?"
            ) from error

    def whole(self) -> bytes:
        """All bytes, decompressed, unless they become very many."""
        parts, size = [], 0
        try:
            with self.open() as file:
                while part := file.read(COPY_BYTES):
                    parts.append(part)
                    size += len(part)
                    check_expansion(self.path, size, self.stored)
        except (OSError, pa.ArrowException) as error:
            raise table_error(
                self.path, f"cannot be read ({error}); is it whole?"
            ) from error
        return b"".join(parts)


def content_of(source: str | PathLike | bytes | Content) -> Content:
    """The content of a file, or of bytes; its compression is that of its first bytes."""
    if isinstance(source, Content):
        return source
    if isinstance(source, bytes):
        if not source:
            raise table_error(
                "the input", "is empty; give a table with at least one row."
            )
        return Content("the input", _compression(source[:4]), source)
    _check_file(source)
    try:
        with open(source, "rb") as file:
            return Content(source, _compression(file.read(4)))
    except OSError as error:
        raise table_error(source, f"cannot be opened ({error}).") from error


def _compression(head: bytes) -> str | None:
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)


def _check_file(path: str | PathLike) -> None:
    """Refuse what is not an ordinary, non-empty file."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:
        raise table_error(path, f"cannot be opened ({error}).") from error
    if stat.S_ISDIR(found.st_mode):
        raise table_error(path, "is a folder; give a file in it.")
    if not stat.S_ISREG(found.st_mode):
        raise table_error(path, "is a device or a pipe; write it to a file first.")
    if not found.st_size:
        raise table_error(path, "is empty; give a table with at least one row.")
