"""Compiled programs are forgotten before a process has too many regions of memory."""

import jax
import numpy as np
import pytest

import likely as lk
from likely.core import programs
from likely.core.precision import float64


@pytest.fixture
def traced(monkeypatch):
    """A compiled function that counts how often it is traced, where one is too many."""
    monkeypatch.setattr(programs, "MAX_SHARE", 0.0)
    monkeypatch.setattr(programs, "PROGRAMS_BETWEEN_LOOKS", 1)
    times = []
    programs.forget_programs()
    return jax.jit(lambda x: times.append(1) or x + 1), times


@pytest.mark.skipif(not programs.regions(), reason="regions are counted on Linux only")
def test_programs_are_forgotten_where_there_are_too_many(traced, monkeypatch):
    f, times = traced
    f(1.0)
    with float64():
        pass
    f(1.0)
    assert len(times) == 2
    monkeypatch.setattr(programs, "MAX_SHARE", 1.0)
    with float64():
        pass
    f(1.0)
    assert len(times) == 2


def test_nothing_is_forgotten_while_a_program_is_traced(traced, monkeypatch):
    f, times = traced
    monkeypatch.setattr(jax, "clear_caches", lambda: times.append("cleared"))

    @jax.jit
    def outer(x):
        with float64():
            return f(x)

    monkeypatch.setattr(programs, "_new", 100)
    outer(1.0)
    assert times == [1]


@pytest.mark.slow
@pytest.mark.skipif(not programs.regions(), reason="regions are counted on Linux only")
def test_five_hundred_shapes_in_one_process(monkeypatch):
    """Each fit compiles programs of its own; the regions of memory stay bounded."""
    start = programs.regions()
    monkeypatch.setattr(programs, "MAX_SHARE", (start + 1500) / 65_530)
    most, forgotten = start, []
    clear = jax.clear_caches
    monkeypatch.setattr(jax, "clear_caches", lambda: forgotten.append(1) or clear())
    rng = np.random.default_rng(0)
    for d in range(1, 501):
        X = rng.normal(size=(1100, d))  # columns of few rows are padded
        lk.Ridge(alpha=1.0).fit(X, X[:, 0]).predict_dist(X).log_prob(X[:, 0])
        most = max(most, programs.regions())
    assert forgotten
    assert most < start + 10_000
