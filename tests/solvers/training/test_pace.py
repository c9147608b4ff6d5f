"""Pieces of a run between two looks: as long as the clock says."""

import pytest

from likely.solvers.training import pace


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when told to."""
    now = [0.0]
    monkeypatch.setattr(pace.time, "perf_counter", lambda: now[0])
    return now


def piece(paced, clock, first, seconds):
    """Where a piece ends that took so long."""
    end = paced.until(first)
    clock[0] += seconds
    paced.made(end - first)
    return end


def test_a_first_piece_that_compiled_makes_the_next_no_shorter(clock):
    paced = pace.Pace(10, None, seconds=1.0)
    assert piece(paced, clock, 0, 30.0) == 10
    assert piece(paced, clock, 10, 0.5) == 20
    assert paced.size == 20


def test_a_quick_first_piece_makes_the_next_longer(clock):
    paced = pace.Pace(10, None, seconds=1.0)
    piece(paced, clock, 0, 0.1)
    assert paced.size == 100
    piece(paced, clock, 10, 1e-9)
    assert paced.size == 1600  # at most sixteenfold


def test_slow_steps_make_pieces_shorter_than_a_block(clock):
    paced = pace.Pace(10, None, seconds=1.0)
    piece(paced, clock, 0, 5.0)
    piece(paced, clock, 10, 5.0)
    assert paced.size == 2
    assert paced.until(20) == 22
