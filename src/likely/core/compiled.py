"""Compiled kernels: numba with a private cache, fixed signatures, no Python lock.

What numba compiles is kept in this user's cache folder (`core.cache`), in a folder named
after numba and the text of all files beside the kernel's, so that a change of any of them
compiles anew. A kernel has one signature: it is compiled once, when its module is
first imported, and never again for another kind of array.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba import njit, types

from likely.core.cache import private_folder

_config: Any = numba.config
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


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
        with _private_cache(Path(inspect.getfile(function)).parent) as keep:
            return njit(signature, cache=keep, **OPTIONS, **options)(function)

    return compile_function


def const(dtype: Any, ndim: int) -> types.Array:
    """The type of an array that a kernel only reads; it may be mapped from a file."""
    return types.Array(dtype, ndim, "C", readonly=True)


inner = njit(**OPTIONS)
"""Compile a function that kernels call; it becomes a part of each of them."""
