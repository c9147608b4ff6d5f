"""The columns that matter most are found without shuffling each of thousands."""

import numpy as np
import pytest

from likely.selection.importance import most_important


class Sums:
    """Losses that grow by the sum of the effects of shuffled columns."""

    def __init__(self, effects):
        self.effects, self.calls = effects, 0

    def __call__(self, group):
        self.calls += 1
        return np.full(3, self.effects[list(group)].sum())


def test_few_columns_are_shuffled_one_by_one():
    sums = Sums(np.arange(7.0))
    found = most_important(sums, 7, 7)
    assert sums.calls == 7
    assert {j: rows[0] for j, rows in found.items()} == dict(enumerate(range(7)))


@pytest.mark.parametrize("limit", [60, 120, 400])
def test_the_largest_of_many_columns_are_found(limit):
    effects = np.zeros(5000)
    effects[[17, 2500, 4999]] = 3.0, 2.0, 1.0
    sums = Sums(effects)
    found = most_important(sums, 5000, limit)
    assert sums.calls <= limit
    order = sorted(found, key=lambda j: -found[j][0])
    largest = [17, 2500, 4999][: 1 if limit < 100 else 3]
    assert order[: len(largest)] == largest


def test_there_may_be_more_columns_than_evaluations():
    sums = Sums(np.ones(100))
    assert most_important(sums, 100, 2) == {}
    assert sums.calls <= 8
