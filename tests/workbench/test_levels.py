"""Nested intervals of numbers from zero on: what is nested, what is covered, where they start."""

import numpy as np
import pytest
from scipy import stats

from likely.families import Gamma, Hurdled, NegativeBinomial, Predictive
from likely.workbench.held_out import zero_of
from likely.workbench.levels import NestedIntervals
from likely.workbench.model import intervals
from likely.workbench.quantiles import quantile_table

N = 400


@pytest.fixture(scope="module")
def hurdles():
    rng = np.random.default_rng(0)
    base = Predictive(Gamma(), np.c_[rng.normal(size=N), np.zeros(N)])
    dist = Hurdled(base, rng.uniform(0.001, 0.99, size=N))
    return dist, dist.sample(1, random_state=1)[0]


@pytest.fixture(scope="module")
def counts():
    eta = np.c_[np.random.default_rng(0).normal(size=N), np.zeros(N)]
    dist = Predictive(NegativeBinomial(), eta)
    return dist, dist.sample(1, random_state=1)[0].astype(float)


def nested(dist, kind):
    return NestedIntervals(quantile_table(dist), zero_of(dist, kind))


@pytest.mark.parametrize("kind", ["nonnegative", "count"])
def test_a_row_is_covered_from_its_score_on(kind, hurdles, counts):
    dist, y = hurdles if kind == "nonnegative" else counts
    found = nested(dist, kind)
    t = found.scores(y)
    for shift, inside in ((1e-6, True), (-1e-3, False)):
        low, high = found.ends(np.maximum(t + shift, 0.0))
        covered = (low <= y + 1e-9) & (y <= high + 1e-6)
        some = (t > 0.01) & (t < 900)
        assert (covered[some] == inside).mean() > 0.99


@pytest.mark.parametrize("kind", ["nonnegative", "count"])
def test_intervals_are_nested_and_cover_what_they_say(kind, hurdles, counts):
    dist, y = hurdles if kind == "nonnegative" else counts
    found, before = nested(dist, kind), None
    for share in (0.3, 0.6, 0.8, 0.9, 0.97):
        low, high = found.ends(stats.norm.ppf((1 + share) / 2))
        assert ((low >= 0) & (low <= high + 1e-9)).all()
        if before is not None:
            assert (low <= before[0] + 1e-9).all()
            assert (high >= before[1] - 1e-9).all()
        before = low, high
        if kind == "nonnegative":
            assert np.mean((low <= y) & (y <= high)) > share - 0.05


def test_likely_zeros_make_short_intervals(hurdles):
    """[0, Q(0.9)] where zero is likely, [0, 0] where it is almost certain."""
    dist, _ = hurdles
    low, high = nested(dist, "nonnegative").ends(stats.norm.ppf(0.95))
    likely, certain = dist.zero > 0.1, dist.zero > 0.9
    assert (low[dist.zero > 0.05] == 0).all()
    np.testing.assert_allclose(high[likely], dist.quantile(0.9)[likely], rtol=0.15)
    assert (high[certain] == 0).all()


def test_too_few_rows_give_unbounded_intervals(hurdles, counts):
    for kind, (dist, _) in (("nonnegative", hurdles), ("count", counts)):
        low, high = nested(dist, kind).ends(np.inf)
        assert (low == 0).all()
        assert np.isinf(high).all()


def test_intervals_of_earlier_files_stay_what_they_were():
    table = np.linspace(-3, 3, 15)[None]
    low, high = intervals(table, None, 1.0, "positive", 1.0, "width")
    np.testing.assert_allclose((low, high), ([0.0], [table[0, 12]]))
