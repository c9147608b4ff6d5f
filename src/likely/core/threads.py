"""A map over threads, for jobs that do not hold Python's lock."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")
Result = TypeVar("Result")
MAX_LONE_COLUMNS = 1024
"""Columns up to which a matrix is decomposed by one thread."""


def thread_map(
    job: Callable[[Part], Result], parts: Iterable[Part], workers: int | None = None
) -> list[Result]:
    """The results of a job for each part, in the order of the parts.

    Args:
        job: a function of one part, safe to run beside itself.
        parts: the arguments, one for each call.
        workers: the largest number of threads; as many as there are processors where
            None. One worker, or one part, is a plain loop.
    """
    parts = list(parts)
    most = os.cpu_count() or 1 if workers is None else workers
    workers = min(len(parts), most)
    if workers <= 1:
        return [job(part) for part in parts]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(job, parts))


def thread_count(n_jobs: int | None) -> int:
    """The number of threads asked for, or of processors that this process may use."""
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:
        available = os.cpu_count() or 1
    return available


def one_thread() -> AbstractContextManager:
    """A context in which BLAS and LAPACK use one thread: the same bits on any machine.

    Products of matrices have the same bits at any number of threads; decompositions
    (LU, QR, eigenvectors, singular values) do not.
    """
    return _libraries().limit(limits=1, user_api="blas")


def threads_for(p: int) -> AbstractContextManager:
    """A context for decompositions of (p, p) matrices: one thread where p is small.

    Several would wait for each other: next to another program that computes, eigenvectors
    of 100 columns take a hundred times as long with two threads as with one.
    """
    return one_thread() if p <= MAX_LONE_COLUMNS else nullcontext()


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of linear algebra that NumPy and SciPy have loaded."""
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


def row_blocks(n: int, blocks: int) -> list[tuple[int, int]]:
    """n rows as blocks of about equal size: (start, stop) of each."""
    ends = [n * i // blocks for i in range(blocks + 1)]
    return list(zip(ends[:-1], ends[1:], strict=True))


class Workers:
    """Threads that are kept for many short maps, as in a loop of iterations.

    Use it as a context. One worker is a plain loop.

    Args:
        n_jobs: the number of threads; as many as there are processors where None.
    """

    def __init__(self, n_jobs: int | None = None):
        self.count = thread_count(n_jobs)
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None

    def map(self, job: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
        """The results of a job for each part, in the order of the parts."""
        parts = list(parts)
        if self._pool is None or len(parts) <= 1:
            return [job(part) for part in parts]
        return list(self._pool.map(job, parts))

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
