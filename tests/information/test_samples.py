"""Information of samples: scikit-learn's numbers, known truths, weights, bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.metrics import mutual_info_score

from likely import information as info
from likely.core.checks import InputError


def correlated(rng, n, rho):
    x, noise = rng.normal(size=(2, n))
    return x, rho * x + np.sqrt(1 - rho**2) * noise


def test_neighbours_give_scikit_learns_numbers(rng):
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=400)
    found = info.column_information(X, y)
    known = mutual_info_regression(X, y, random_state=0)
    np.testing.assert_allclose(found, known, atol=1e-12)
    labels = np.digitize(y, [-1, 0.5])
    found = info.column_information(X, labels, classes=True, k=5)
    known = mutual_info_classif(X, labels, n_neighbors=5, random_state=0)
    np.testing.assert_allclose(found, known, atol=1e-12)


def test_estimates_are_near_the_truth(rng):
    x, y = correlated(rng, 4000, 0.8)
    found = info.sample_mutual_information(x, y)
    assert abs(found.value + 0.5 * np.log(1 - 0.64)) < 4 * found.error
    both = info.sample_entropy(np.column_stack([x, y]))
    truth = info.gaussian_entropy([[1, 0.8], [0.8, 1]])
    assert abs(both.value - truth) < 4 * both.error
    assert info.sample_mutual_information(x, rng.normal(size=4000)).value < 0.05
    shifted = info.sample_mutual_information(1e6 + 1e-3 * x, -5 * y)
    np.testing.assert_allclose(shifted.value, found.value, atol=1e-3)


def test_information_given_what_explains_it(rng):
    """x ← z → y: dependent, and independent given z; vectors are one variable."""
    z = rng.normal(size=2000)
    x, y = z + rng.normal(size=(2, 2000)) * 0.5
    assert info.sample_mutual_information(x, y).value > 0.3
    assert info.sample_mutual_information(x, y, given=z).value < 0.05
    S = np.array([[1.25, 1.0, 1.0], [1.0, 1.25, 1.0], [1.0, 1.0, 1.0]])
    truth = info.gaussian_mutual_information(S, 0, (1, 2))
    found = info.sample_mutual_information(x, np.column_stack([y, z]))
    assert abs(found.value - truth) < 0.1


def test_classes_that_split_a_sample(rng):
    """Two classes far apart tell one bit; equal ones none."""
    labels = np.repeat(["a", "b"], 500)
    apart = rng.normal(size=1000) + 20 * (labels == "a")
    found = info.sample_class_information(apart, labels)
    assert abs(found.value - np.log(2)) < 0.02
    assert info.sample_class_information(rng.normal(size=1000), labels).value < 0.05


def test_bias_is_measured():
    found = info.bias_check(300, 0.5, repeats=30)
    assert found.truth == 0.5
    assert abs(found.bias) < 4 * found.error + 0.01
    strong = info.bias_check(100, 3.0, k=30, repeats=10)
    assert strong.bias < -10 * strong.error  # many neighbours, strong dependence
    entropy = info.bias_check(300, kind="entropy", d=2, repeats=20)
    assert abs(entropy.bias) < 4 * entropy.error + 0.02
    assert "nats" in str(found)


def test_all_pairs_are_scikit_learns(rng):
    X = rng.integers(-2, 5, size=(500, 4))
    X[:, 3] = X[:, 0] // 2 * 1000
    found = info.mutual_information_matrix(X)
    for i in range(4):
        for j in range(4):
            known = mutual_info_score(X[:, i], X[:, j])
            np.testing.assert_allclose(found[i, j], known, atol=1e-12)


def test_bins_levels_and_frames(rng):
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=300),
            "word": rng.choice(["a", "b", "c"], size=300),
            "flag": rng.random(300) < 0.5,
        }
    )
    found = info.mutual_information_matrix(frame, bins=4, unit="bits")
    codes = np.column_stack(
        [
            pd.qcut(frame["number"], 4, labels=False),
            pd.factorize(frame["word"])[0],
            frame["flag"],
        ]
    ).astype(int)
    np.testing.assert_allclose(
        found, info.mutual_information_matrix(codes, unit="bits"), atol=1e-12
    )
    np.testing.assert_allclose(found[0, 0], 2)


def test_weights_are_repeated_rows(rng):
    X = np.column_stack([rng.normal(size=60), rng.integers(3, size=60)])
    w = rng.integers(0, 4, size=60).astype(float)
    repeated = np.repeat(X, w.astype(int), axis=0)
    wanted = info.mutual_information_matrix(repeated, bins=5)
    found = info.mutual_information_matrix(X, bins=5, sample_weight=w)
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    X[w == 0] = np.nan
    np.testing.assert_array_equal(
        info.mutual_information_matrix(X, bins=5, sample_weight=w), found
    )


def test_edges():
    """Constant columns say nothing; ties and few rows are spoken of."""
    x = np.arange(50.0)
    assert info.sample_mutual_information(x, np.ones(50)).value < 0.1
    assert info.mutual_information_matrix(np.ones((5, 2))).max() == 0
    cases = [
        (lambda: info.sample_entropy(np.ones(20)), "no ties"),
        (lambda: info.sample_entropy([1.0, 2.0]), "too few"),
        (lambda: info.sample_entropy([1.0, np.nan, 2, 3, 4]), "NaN"),
        (lambda: info.sample_entropy(x, k=0), "k is 0"),
        (lambda: info.sample_mutual_information(x, x[:-1]), "as many of each"),
        (lambda: info.sample_class_information(x, np.arange(50)), "one row"),
        (lambda: info.column_information(x, x), "shape"),
        (lambda: info.mutual_information_matrix(x), "shape"),
        (lambda: info.mutual_information_matrix(x[:, None], bins=1), "bins is 1"),
        (lambda: info.bias_check(10, -1.0), "at least 0"),
    ]
    for call, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            call()
