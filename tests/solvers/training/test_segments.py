"""Segments of a run between two events: as long as the clock decides."""

import pytest

from likely.solvers.training import segments
from likely.solvers.training.segments import Segments


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test advances."""
    now = [0.0]
    monkeypatch.setattr(segments.time, "perf_counter", lambda: now[0])
    return now


def compute(run, clock, first, seconds):
    """The end of a segment that took this long."""
    end = run.end(first)
    clock[0] += seconds
    run.finished(end - first)
    return end


def test_a_first_segment_that_compiled_makes_the_next_no_shorter(clock):
    run = Segments(10, None, seconds=1.0)
    assert compute(run, clock, 0, 30.0) == 10
    assert compute(run, clock, 10, 0.5) == 20
    assert run.size == 20


def test_a_quick_first_segment_makes_the_next_longer(clock):
    run = Segments(10, None, seconds=1.0)
    compute(run, clock, 0, 0.1)
    assert run.size == 100
    compute(run, clock, 10, 1e-9)
    assert run.size == 1600  # at most sixteenfold


def test_slow_steps_make_segments_shorter_than_a_block(clock):
    run = Segments(10, None, seconds=1.0)
    compute(run, clock, 0, 5.0)
    compute(run, clock, 10, 5.0)
    assert run.size == 2
    assert run.end(20) == 22
