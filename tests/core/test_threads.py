"""The map over threads keeps the order, and is a loop where one thread is enough."""

import threading

import pytest
from threadpoolctl import threadpool_info

from likely.core.threads import (
    MAX_LONE_COLUMNS,
    row_blocks,
    thread_count,
    thread_map,
    threads_for,
)


@pytest.mark.parametrize("workers", [None, 1, 2, 50])
def test_results_are_in_the_order_of_the_parts(workers):
    assert thread_map(lambda i: i * i, range(20), workers) == [i * i for i in range(20)]
    assert thread_map(lambda i: i, iter([]), workers) == []


def test_one_worker_or_one_part_stays_in_this_thread():
    me = threading.get_ident()
    assert thread_map(lambda _: threading.get_ident(), range(3), 1) == [me] * 3
    assert thread_map(lambda _: threading.get_ident(), range(1), 8) == [me]


def test_parts_run_side_by_side():
    both = threading.Barrier(2, timeout=10)
    assert sorted(thread_map(lambda _: both.wait(), range(2), 2)) == [0, 1]


def test_an_error_of_a_job_is_raised():
    def job(i):
        if i == 1:
            raise ValueError("part 1")
        return i

    with pytest.raises(ValueError, match="part 1"):
        thread_map(job, range(4), 2)


def test_the_number_of_threads():
    assert thread_count(3) == 3
    assert thread_count(None) >= 1
    assert thread_count(-1) == thread_count(None)


def test_blocks_cover_all_rows_once():
    for n, blocks in [(10, 3), (2, 4), (0, 2), (7, 1)]:
        ends = row_blocks(n, blocks)
        rows = [i for start, stop in ends for i in range(start, stop)]
        assert len(ends) == blocks
        assert rows == list(range(n))


def blas_threads():
    found = [
        lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"
    ]
    return max(found)


def test_small_matrices_are_decomposed_by_one_thread():
    import scipy.linalg  # noqa: F401

    before = blas_threads()
    with threads_for(MAX_LONE_COLUMNS + 1):
        assert blas_threads() == before
    with threads_for(MAX_LONE_COLUMNS):
        assert blas_threads() == 1
