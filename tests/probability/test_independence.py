"""Independence: exactly for tables, and as a test for counts."""

import numpy as np
import pytest
from scipy import stats

from likely.core.checks import InputError
from likely.probability import Table


@pytest.fixture
def fork() -> Table:
    """Two coins that depend on a third, and on nothing else."""
    z = Table([0.4, 0.6], "z")
    x = Table([[0.9, 0.1], [0.3, 0.7]], ["z", "x"], given="z")
    y = Table([[0.2, 0.8], [0.6, 0.4]], ["z", "y"], given="z")
    return z * x * y


def test_a_fork_is_independent_given_its_handle(fork):
    found = fork.independent("x", "y", given="z")
    assert found
    assert found.method == "exact"
    assert found.effect == pytest.approx(0, abs=1e-15)
    # equivalently P(x | y, z) = P(x | z)
    both, one = fork.given("y", "z"), fork.marginal("x", "z").given("z")
    spread = both.arranged(("y", "x", "z")).values - one.arranged(("x", "z")).values
    assert np.abs(spread).max() < 1e-14
    alone = fork.independent("x", "y")
    assert not alone
    p = fork.marginal("x", "y").values
    known = stats.entropy(p.ravel(), np.outer(p.sum(1), p.sum(0)).ravel())
    assert alone.effect == pytest.approx(known, rel=1e-12)
    assert alone.gap == pytest.approx(np.abs(p - np.outer(p.sum(1), p.sum(0))).max())
    conditional = fork.given("z").independent("x", "y", given="z")
    assert conditional


def test_the_g_test_is_scipys(rng):
    counts = rng.integers(5, 40, size=(3, 4))
    found = Table.from_counts(counts, ["a", "b"]).independent("a", "b")
    known = stats.chi2_contingency(counts, lambda_="log-likelihood", correction=False)
    assert found.method == "chi2"
    assert found.statistic == pytest.approx(known.statistic, rel=1e-12)
    assert found.p_value == pytest.approx(known.pvalue, rel=1e-10)
    assert found.degrees == known.dof
    assert found.effect == pytest.approx(known.statistic / (2 * counts.sum()))
    assert found.by_chance == pytest.approx(known.dof / (2 * counts.sum()))
    # a prior changes the table, not the test
    prior = Table.from_counts(counts, ["a", "b"], prior=3.0).independent("a", "b")
    assert prior.statistic == found.statistic


def test_strata_add_up(rng):
    counts = rng.integers(6, 40, size=(2, 3, 4))
    counts[:, 0, 2] = 0  # a level that does not occur there has no degrees of freedom
    found = Table.from_counts(counts, ["a", "b", "c"]).independent("a", "b", given="c")
    known = [
        stats.chi2_contingency(
            s[:, s.sum(0) > 0], lambda_="log-likelihood", correction=False
        )
        for s in np.moveaxis(counts, 2, 0)
    ]
    assert found.statistic == pytest.approx(sum(k.statistic for k in known), rel=1e-11)
    assert found.degrees == sum(k.dof for k in known) == 7
    expected = stats.chi2.sf(found.statistic, 7)
    assert found.p_value == pytest.approx(expected, rel=1e-10)


def test_small_counts_are_permuted():
    tea = Table.from_counts([[3, 1], [1, 3]], ["said", "was"])
    found = tea.independent("said", "was", n_permutations=20_000)
    assert found.method == "permutation"
    # all tables with these margins: 1, 16, 36, 16, 1 of 70; G orders them as these do
    assert found.p_value == pytest.approx(34 / 70, abs=0.015)
    assert (
        found.p_value == tea.independent("said", "was", n_permutations=20_000).p_value
    )
    assert tea.independent("said", "was", method="chi2").method == "chi2"


def test_p_values_are_uniform_under_independence(rng):
    p = []
    for _ in range(150):
        a, b, c = rng.integers(2, size=(3, 80))
        table = Table.from_frame({"a": (a | c), "b": (b | c), "c": c})
        p.append(table.independent("a", "b", given="c", n_permutations=199).p_value)
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert 0.01 < np.mean(np.array(p) <= 0.1) < 0.2


def test_power(rng):
    a = rng.integers(2, size=300)
    b = np.where(rng.random(300) < 0.35, a, rng.integers(2, size=300))
    found = Table.from_frame({"a": a, "b": b}).independent("a", "b")
    assert not found
    assert found.p_value is not None
    assert found.p_value < 1e-3


def test_bad_input(fork):
    counts = Table.from_counts([[3, 1], [0, 0]], ["a", "b"])
    with pytest.raises(InputError, match="too few rows to test"):
        counts.independent("a", "b")
    with pytest.raises(InputError, match="this table has none"):
        fork.independent("x", "y", method="chi2")
    with pytest.raises(InputError, match="give different variables"):
        fork.independent("x", "x")
    with pytest.raises(InputError, match="add them to given"):
        fork.given("z").independent("x", "y")
    halves = Table.from_counts([[1.5, 1], [1, 2]], ["a", "b"])
    with pytest.raises(InputError, match="needs whole counts"):
        halves.independent("a", "b", method="permutation")
    assert halves.independent("a", "b").method == "chi2"
    with pytest.raises(InputError, match="no variable 'w'"):
        fork.independent("x", "w")
