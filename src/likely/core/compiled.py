"""Compiled kernels: numba with a private cache, fixed signatures, no Python lock.

What numba compiles is kept in this user's cache folder (`core.cache`), in a folder named
after numba and the text of all files beside the kernel's, so that a change of any of them
compiles anew; a line on the terminal says when that happens. A kernel has one signature:
it is compiled once, when its module is first imported, and never again for another kind
of array.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import njit, types

from likely.core.cache import private_folder

_config: Any = numba.config
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}


@contextmanager
def _private_cache(folder: Path) -> Iterator[bool]:
    """Point numba's cache to a private folder; yields whether programs are kept.

    A cache folder that the user has configured is left alone.

    Args:
        folder: where the source of the kernel is.
    """
    if _config.CACHE_DIR:
        yield True
        return
    files = [Path(__file__), *sorted(folder.glob("*.py"))]
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest()[:12]
    private = private_folder(f"numba-{numba.__version__}-{digest}")
    if private is None:
        yield False
        return
    _config.CACHE_DIR = str(private)
    try:
        yield True
    finally:
        _config.CACHE_DIR = ""


def kernel(signature: Any, **options: Any) -> Callable:
    """Compile a function for this signature, or fetch it from the cache."""

    def compile_function(function: Callable) -> Callable:
        folder = Path(inspect.getfile(function)).parent
        with _private_cache(folder) as keep:
            if not _is_kept(function):
                _announce(folder.name)
            return njit(signature, cache=keep, **OPTIONS, **options)(function)

    return compile_function


def _is_kept(function: Callable) -> bool:
    """Whether the cache holds a program for the kernel."""
    if not _config.CACHE_DIR:
        return False
    module = Path(inspect.getfile(function)).stem
    name = f"{module}.{function.__qualname__}-*.nbi"
    return any(Path(_config.CACHE_DIR).rglob(name))


@cache
def _announce(room: str) -> None:
    """Say on a terminal, or in a notebook, that the first use compiles; once a room."""
    if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        print(
            f"likely compiles its kernels for {room}, which takes some seconds once; "
            "later runs find them in a cache.",
            file=sys.stderr,
        )


def const(dtype: Any, ndim: int) -> types.Array:
    """The type of an array that a kernel only reads; it may be mapped from a file."""
    return types.Array(dtype, ndim, "C", readonly=True)


PART: dict[str, Any] = OPTIONS | {"no_cpython_wrapper": True}
inner = njit(**PART)
"""Compile a function that kernels call; it becomes a part of each of them.

It cannot be called from Python: what would make that possible takes a tenth of the time
of compiling.
"""
