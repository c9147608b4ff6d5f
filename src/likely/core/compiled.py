"""Compiled kernels: numba with a private cache, fixed signatures, no Python lock.

What numba compiles is kept in this user's cache folder (`core.cache`), in a folder named
after numba and the text of the files beside the kernel's, so that no change of any of them
meets an old program. A kernel has one signature: it is compiled once, when its module is
first imported, and never again for another kind of array.
"""

import hashlib
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import njit, types

from likely.core.cache import private_folder

T = TypeVar("T")
_config: Any = numba.config
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


@contextmanager
def _private_cache(room: Path) -> Iterator[bool]:
    """Whether and where to keep programs; a folder the user has chosen is left alone.

    Args:
        room: where the kernel is from.
    """
    if _config.CACHE_DIR:
        yield True
        return
    files = [Path(__file__), *sorted(room.glob("*.py"))]
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest()[:12]
    folder = private_folder(f"numba-{numba.__version__}-{digest}")
    if folder is None:
        yield False
        return
    _config.CACHE_DIR = str(folder)
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
"""For the parts of a kernel: they are compiled into it."""


def threads(n_jobs: int | None) -> int:
    """How many threads to use: those asked for, or as many as there are processors."""
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:
        available = os.cpu_count() or 1
    return available


def stretches(n: int, pieces: int) -> list[tuple[int, int]]:
    """The rows 0 to n in about equal stretches: first and last of each."""
    ends = [n * i // pieces for i in range(pieces + 1)]
    return list(zip(ends[:-1], ends[1:], strict=True))


def share(job: Callable[[Any], T], parts: Iterable[Any], n_jobs: int | None) -> list[T]:
    """The job for each part, in threads; results in the order of the parts."""
    parts, n_threads = list(parts), threads(n_jobs)
    if n_threads == 1 or len(parts) == 1:
        return [job(part) for part in parts]
    with ThreadPoolExecutor(min(n_threads, len(parts))) as pool:
        return list(pool.map(job, parts))
