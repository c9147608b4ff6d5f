"""One writer at a time: a folder that a program writes to is locked."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from likely.core.checks import InputError

LOCK_FILE = ".lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other programs from writing to a folder; a killed program loses its lock.

    Raises:
        InputError: when another program holds the lock.
    """
    try:
        import fcntl
    except ImportError:  # on Windows there are no such locks
        yield
        return
    path = folder / LOCK_FILE
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"another run is writing to {str(folder)!r}; wait for it, or name "
                "another folder."
            ) from None
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(path)
