"""Planted wrong labels are found, and classes that mix are no noise."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likely.core import InputError
from likely.diagnostics import label_noise
from likely.diagnostics.rows.ceiling import agreement, ceiling
from likely.diagnostics.rows.label_noise import confident_joint, posterior

MODEL = LinearDiscriminantAnalysis()


@pytest.fixture(scope="module")
def flipped():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    X = 2.2 * rng.normal(size=(4, 5))[y] + rng.normal(size=(400, 5))
    wrong = rng.choice(400, 40, replace=False)
    noisy = y.copy()
    noisy[wrong] = (y[wrong] + rng.integers(1, 4, 40)) % 4
    return X, noisy, wrong, y


def test_planted_flips_are_found_with_the_precision_that_is_said(flipped):
    X, noisy, wrong, y = flipped
    found = label_noise(MODEL, X, noisy)
    assert found.shown
    assert found.ceiling.share == pytest.approx(0.1, abs=0.04)
    hit = np.isin(found.candidates, wrong)
    assert hit.mean() == pytest.approx(found.expected_precision, abs=0.12)
    assert np.isin(wrong, found.candidates).mean() > 0.6
    right = found.suggested[found.candidates[hit]] == y[found.candidates[hit]]
    assert right.mean() > 0.9
    assert "probably wrong" in found.verdict
    assert len(found.table()["row"]) == len(found.candidates)
    assert "<table>" in found._repr_html_()
    found.plot()


def test_true_labels_are_left_alone(flipped):
    X, _, _, y = flipped
    assert not label_noise(MODEL, X, y).shown


def test_classes_that_mix_are_no_noise(rng):
    X = rng.normal(size=(600, 3))
    y = (rng.random(600) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    found = label_noise(LogisticRegression(), X, y)
    assert not found.shown
    assert found.verdict.startswith("No label noise shown")


def test_words_as_labels_and_absent_rows():
    X, y = load_wine(return_X_y=True)
    words = np.array(["a", "b", "c"])[y]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    w = np.ones(len(y))
    w[:3], X[:3], words[:3] = 0, np.nan, "c"
    found = label_noise(model, X, words, sample_weight=w)
    assert (found.probability[:3] == 0).all()
    assert found.classes.tolist() == ["a", "b", "c"]
    with pytest.raises(InputError, match="Ridge predicts none"):
        label_noise(Ridge(), X, y)
    with pytest.raises(InputError, match="shape"):
        label_noise(None, y=y, probs=np.ones((5, 3)))
    with pytest.raises(InputError, match="one class"):
        label_noise(model, X, np.zeros(len(y)))


def test_bayes_recovers_the_noise_of_a_known_matrix(rng):
    """P(true | called, x) of two classes with known flips is exact."""
    T = np.array([[0.9, 0.1], [0.2, 0.8]])  # (true, called)
    p = rng.random(200)
    true = np.c_[1 - p, p]
    q = true @ T
    share = np.array([0.5, 0.5])
    joint = (T * share[:, None]).T  # (called, true)
    found = posterior(np.ones(200, int), q, joint)
    expected = true * T[:, 1] / q[:, 1:]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    counts = confident_joint(np.repeat([0, 1], 100), np.repeat([[1, 0], [0, 1]], 100, 0) * 1.0,
                             np.ones(200))  # fmt: skip
    np.testing.assert_allclose(counts, np.diag([0.5, 0.5]))


def test_the_ceiling_of_a_known_curve(rng):
    z = rng.normal(size=3000)
    P = agreement(z, (2.0, 2.0), 0.1)
    confidence = 0.5 + 0.5 / (1 + np.exp(-z))
    codes = np.where(rng.random(3000) < P, 0, 1)
    found = ceiling(codes, np.c_[confidence, 1 - confidence], np.ones(3000))
    assert found.share == pytest.approx(0.1, abs=3 * found.error)
    assert found.p_value < 1e-6
