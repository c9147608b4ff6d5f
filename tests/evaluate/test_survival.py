"""Concordance against the loop over pairs; Kaplan–Meier against hand computation."""

import numpy as np
import pytest

from likely import evaluate


def by_pairs(time, predicted, event, w) -> float:
    right = total = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            first = time[i] < time[j] or (time[i] == time[j] and not event[j])
            if event[i] and first and i != j:
                total += w[i] * w[j]
                gap = predicted[j] - predicted[i]
                right += w[i] * w[j] * (0.5 if gap == 0 else gap > 0)
    return right / total


@pytest.mark.parametrize("seed", range(4))
def test_concordance_is_the_loop_over_pairs(seed):
    rng = np.random.default_rng(seed)
    n = 60
    time, event = rng.integers(1, 20, n) / 2, rng.random(n) < 0.6
    predicted, w = rng.integers(0, 9, n) / 4, rng.integers(0, 3, n).astype(float)
    found = evaluate.concordance(time, predicted, event, w)
    assert found == pytest.approx(by_pairs(time, predicted, event, w), abs=1e-12)
    often = np.repeat(np.arange(n), w.astype(int))
    again = evaluate.concordance(time[often], predicted[often], event[often])
    assert again == pytest.approx(found, abs=1e-12)
    perfect = time + 0.1 * ~event
    assert evaluate.concordance(time, perfect, event) == 1
    assert evaluate.concordance(time, -perfect, event) == 0
    assert evaluate.concordance(time, 0 * time, event) == 0.5


def test_nothing_to_compare_is_nan():
    assert np.isnan(evaluate.concordance([1.0, 2.0], [1.0, 2.0], [False, True]))


# times 6, 6, 6, 7, 10 of events; 6, 9, 10, 11 censored: the first rows of Freireich's
# leukaemia trial, treated with 6-mercaptopurine
TREATED = np.array([6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32,
                    34, 35.0])  # fmt: skip
REMITTED = np.array([1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0])


def test_kaplan_meier_of_the_leukaemia_trial():
    found = evaluate.kaplan_meier(TREATED, REMITTED)
    assert found.times.tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert found.at_risk.tolist() == [21, 17, 15, 12, 11, 7, 6]
    published = [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482]
    np.testing.assert_allclose(found.survival, published, atol=5e-5)
    errors = [0.0764, 0.0869, 0.0963, 0.1068, 0.1141, 0.1282, 0.1346]
    np.testing.assert_allclose(found.errors, errors, atol=5e-5)
    assert found.median == 23
    np.testing.assert_allclose(
        found.at([5, 6, 6.5, 99]), [1, 6 / 7, 6 / 7, 0.4482], atol=5e-5
    )


def test_without_censoring_it_is_the_empirical_distribution():
    time, w = np.array([3.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 1.0, 0.0])
    found = evaluate.kaplan_meier(time, None, w)
    np.testing.assert_allclose(found.survival, [0.5, 0.25, 0.0])
    p = np.array([0.5, 0.25])
    np.testing.assert_allclose(found.errors[:2], np.sqrt(p * (1 - p) / 4))
    low, high = found.interval().T
    assert ((low <= found.survival) & (found.survival <= high)).all()
    assert ((low >= 0) & (high <= 1)).all()
