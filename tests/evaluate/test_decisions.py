"""Decisions by costs and utilities, thresholds, and what they cost."""

import numpy as np
import pytest

from likely import evaluate
from likely.core.checks import InputError

COST = [[0, 10], [1, 0]]
"""Rows are what is decided, columns what is true: a miss costs 10, a false alarm 1."""


def test_a_miss_that_costs_ten_lowers_the_threshold_to_one_in_eleven():
    probs = np.array([[0.92, 0.08], [0.9, 0.1]])
    np.testing.assert_array_equal(evaluate.decide(probs, COST), [0, 1])
    assert evaluate.cost_threshold(COST) == pytest.approx(1 / 11, rel=1e-14)
    p = np.array([1 / 11 - 1e-9, 1 / 11 + 1e-9])
    np.testing.assert_array_equal(evaluate.decide(np.c_[1 - p, p], COST), [0, 1])


def test_the_other_order_of_the_cost_matrix_decides_otherwise():
    """Read as "class i predicted as j", p = 0.1 would be decided for class 0."""
    probs = np.array([[0.9, 0.1]])
    assert evaluate.decide(probs, COST)[0] == 1
    assert evaluate.decide(probs, np.transpose(COST))[0] == 0


def test_decisions_have_the_lowest_expected_cost_of_all(rng):
    probs = rng.dirichlet(np.ones(4), size=50)
    cost = rng.normal(size=(6, 4))  # more actions than classes
    each = np.array([[sum(c * p) for c in cost] for p in probs])
    np.testing.assert_allclose(evaluate.expected_costs(probs, cost), each)
    np.testing.assert_array_equal(evaluate.decide(probs, cost), each.argmin(1))
    np.testing.assert_array_equal(
        evaluate.decide_by_utility(probs, -cost), each.argmin(1)
    )


def test_what_decisions_cost_and_what_they_promised(rng):
    p = rng.beta(1, 4, size=4000)
    y = (rng.random(4000) < p).astype(int)
    w = rng.integers(0, 3, 4000).astype(float)
    found = evaluate.decision_cost(y, np.c_[1 - p, p], COST, w)
    paid = np.where(p > 1 / 11, 1.0 * (y == 0), 10.0 * (y == 1))
    repeated = np.repeat(paid, w.astype(int))
    assert found.cost.value == pytest.approx(repeated.mean(), rel=1e-12)
    want = repeated.std(ddof=1) / np.sqrt(len(repeated))
    assert found.cost.error == pytest.approx(want, rel=1e-12)
    assert abs(found.promised - found.cost.value) < 3 * found.cost.error
    other = evaluate.cost_of_actions(y, (p > 1 / 11).astype(int), COST, w)
    assert other == found.cost
    assert "less than action 1 for every row" in found.verdict
    same = evaluate.decision_cost(y, np.full((4000, 2), 0.5), COST, w)
    assert "no difference shown" in same.verdict


def test_the_cost_curve_is_lowest_at_the_threshold_of_the_costs(rng):
    p = rng.beta(1, 4, size=3000)
    y = (rng.random(3000) < p).astype(int)
    w = rng.integers(0, 3, 3000).astype(float)
    curve = evaluate.cost_curve(y, p, COST, w)
    for i in (0, 700, len(curve.cost) - 1):
        decided = (p > curve.threshold[i]).astype(int)
        want = evaluate.cost_of_actions(y, decided, COST, w)
        assert curve.cost[i] == pytest.approx(want.value, rel=1e-10)
        assert curve.error[i] == pytest.approx(want.error, rel=1e-8)
    assert curve.cost_there == pytest.approx(
        evaluate.cost_of_actions(y, (p > 1 / 11).astype(int), COST, w).value
    )
    assert abs(curve.best - 1 / 11) < 0.06
    assert curve.verdict.startswith("No threshold is shown to be cheaper")
    sharp = evaluate.temperature_scaled(np.c_[1 - p, p], 0.3)[:, 1]
    wrong = evaluate.cost_curve(y, sharp, COST, w)
    assert "not calibrated" in wrong.verdict
    assert wrong.cost_there > wrong.cost.min()


def test_costs_that_make_no_decision_get_a_sentence():
    with pytest.raises(InputError, match="no threshold"):
        evaluate.cost_threshold([[0, 0], [1, 1]][::-1])
    with pytest.raises(InputError, match="rows are what is decided"):
        evaluate.decide([[0.5, 0.5]], [[1, 2, 3]])
    with pytest.raises(InputError, match="probabilities of all classes"):
        evaluate.decide([0.5, 0.5], COST)
    with pytest.raises(InputError, match="between two"):
        evaluate.cost_threshold([[0, 1], [1, 0], [2, 2]])
