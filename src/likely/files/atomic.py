"""Atomic writes: a temporary name, fsync, rename, fsync of the folder.

A reader sees the old file or the new one, even after a kill or a power cut; a kill can
leave a `.name.*.tmp` behind beside the file.
"""

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

from likely.files.errors import FileError

T = TypeVar("T")


def replace(
    path: Path, write: Callable[[IO[bytes]], T], ours: Callable[[Path], bool]
) -> T:
    """Replace a file by what `write` writes, in one step.

    Args:
        path: the file; a link is followed.
        write: writes into a file that is open.
        ours: whether an existing file may be replaced.
    """
    target = Path(os.path.realpath(path))
    mode = mode_of(target, ours)
    name = target.name[:100]
    temporary = target.with_name(f".{name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            result = write(file)
            file.flush()
            if mode is not None:
                os.chmod(temporary, mode)
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)
    return result


def mode_of(target: Path, ours: Callable[[Path], bool]) -> int | None:
    """The permissions of an existing file, or None; files that are not ours are refused."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{target.name!r} is not a file; give another name.")
    if found.st_size and not ours(target):
        raise FileError(
            f"{target.name!r} exists, likely did not write it, and it is not "
            "overwritten; remove it, or give another name."
        )
    return stat.S_IMODE(found.st_mode)


def sync_folder(folder: Path) -> None:
    """Flush the rename to the disk, on systems where folders can be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
