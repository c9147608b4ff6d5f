"""Pictures of posterior draws."""

import numpy as np
import pytest

from likely.core.checks import InputError
from likely.inference import Draws
from likely.inference.mcmc.target import Layout


def made(shift=0.0):
    values = np.random.default_rng(0).normal(size=(3, 200, 2))
    values[0] += shift
    layout, _ = Layout.of({"a": 0.0, "b": 0.0})
    divergent = np.zeros((3, 200), bool)
    divergent[1, 7] = True
    return Draws(values, np.zeros((3, 200)), layout, "test", divergent=divergent)


def test_traces_have_a_row_for_each_number():
    drawn = made().plot("trace")
    assert len(drawn.axes) == 4
    right = drawn.axes[1]
    assert [
        line.get_xdata()[0] for line in right.lines if len(line.get_xdata()) == 1
    ] == [7]
    assert len(made().plot("trace", names=["b"]).axes) == 2
    with pytest.raises(InputError, match="no number"):
        made().plot("trace", names=["c"])


def test_ranks_are_level_where_chains_agree():
    """A chain that is elsewhere has its ranks at one end."""

    def counts(draws):
        (bars,) = draws.plot("rank").axes[0].patches[1:]
        return bars.get_data().values

    assert counts(made()).max() < 25
    moved = counts(made(shift=3.0))
    assert moved[-5:].sum() > 3 * moved[:10].sum()


def test_intervals_are_those_of_the_draws():
    draws = made()
    (ax,) = draws.plot("intervals", coverage=(0.5, 0.8)).axes
    outer = ax.collections[0].get_segments()
    np.testing.assert_allclose([s[:, 0] for s in outer], draws.interval(0.8))
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
