"""Expected, empirical and held-out risk, where they are known."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from likely import data
from likely.core.checks import InputError
from likely.data import Dataset
from likely.diagnostics import expected_risk, generalization_gap


class Line(RegressorMixin, BaseEstimator):
    """Always predicts 2x + 1."""

    def predict(self, X):
        return 2 * np.asarray(X)[:, 0] + 1


class Side(ClassifierMixin, BaseEstimator):
    """P(1 | x) = σ(x₁), whatever the truth."""

    classes_ = np.arange(2)

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-np.asarray(X)[:, 0]))
        return np.stack([1 - p, p], 1)

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


def line(n, random_state=None):
    """y = 3x + N(0, 0.5²), x uniform on (0, 1): the risk of `Line` is E(x − 1)² + 0.25."""
    rng = np.random.default_rng(random_state)
    X = rng.uniform(size=(n, 1))
    y = 3 * X[:, 0] + 0.5 * rng.normal(size=n)
    return Dataset(X, y, truth={"mean": lambda X: 3 * X[:, 0], "noise": 0.5})


def without_truth(n, random_state=None):
    made = line(n, random_state)
    return made.X, made.y


RISK = 1 / 3 + 0.25


def test_the_expected_risk_is_an_integral():
    found = expected_risk(Line(), line, n=40_000)
    assert abs(found.expected.value - RISK) < 3 * found.expected.error
    assert found.noise == (0.25, 0.0)
    assert found.excess.value == pytest.approx(found.expected.value - 0.25)
    plain = expected_risk(Line(), without_truth, n=40_000)
    assert abs(plain.expected.value - RISK) < 3 * plain.expected.error
    assert plain.expected.error > 1.5 * found.expected.error  # y is drawn as well
    assert plain.noise is None


def test_the_error_is_that_of_repeated_draws():
    found = [expected_risk(Line(), line, n=200, random_state=k) for k in range(100)]
    values = np.array([risks.expected.value for risks in found])
    errors = np.array([risks.expected.error for risks in found])
    assert 0.8 < values.std() / errors.mean() < 1.25


def test_the_gap_is_expected_minus_empirical_risk():
    rows, other = line(50, 0), line(60, 1)
    found = expected_risk(Line(), line, train=rows, held_out=other, n=1000)
    errors = (rows.y - 2 * rows.X[:, 0] - 1) ** 2
    assert found.empirical.value == pytest.approx(errors.mean())
    assert found.gap.value == pytest.approx(found.expected.value - errors.mean())
    assert found.gap.error == pytest.approx(
        np.hypot(found.expected.error, found.empirical.error)
    )
    assert "agrees with the expected one" in found.verdict
    measured = generalization_gap(Line(), rows, other)
    assert measured.expected is None
    assert measured.gap.value == pytest.approx(
        measured.held_out.value - measured.empirical.value
    )
    by_generator = generalization_gap(Line(), rows, line)
    assert by_generator.expected is not None


@pytest.mark.parametrize("loss", ["log", "zero-one"])
def test_classes_have_their_noise(loss):
    found = expected_risk(Side(), data.inseparable, loss=loss, n=20_000)
    best = data.inseparable(2).truth["error"] if loss == "zero-one" else None
    if best is not None:
        assert abs(found.noise.value - best) < 3 * found.noise.error
        assert found.excess == (0.0, 0.0)  # its decision is the best there is
    else:
        assert found.excess.value > 5 * found.excess.error


def test_weights_count_and_any_function_is_a_loss():
    rows = line(20, 0)
    w = np.r_[np.zeros(5), np.ones(10), np.full(5, 2.0)]

    def absolute(y, predicted):
        return np.abs(y - predicted)

    given = (rows.X, rows.y, w)
    found = generalization_gap(Line(), given, rows, loss=absolute)
    errors = np.abs(rows.y - 2 * rows.X[:, 0] - 1)
    assert found.empirical.value == pytest.approx(np.average(errors, weights=w))
    assert found.loss == "absolute"
    assert found.plot().axes[0].get_xlabel() == "absolute loss"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expected_risk(Line(), line, n=1), "at least 2"),
        (lambda: expected_risk(Line(), line, train=3), "give \\(X, y\\)"),
        (lambda: expected_risk(Line(), line, loss="log"), "no probabilities"),
        (lambda: expected_risk(Line(), line, loss=lambda y, p: 1.0), "one number"),
        (lambda: expected_risk(Side(), data.mixture, n=10), "3 classes"),
        (
            lambda: expected_risk(Line(), lambda n, random_state: ([1.0], [])),
            "as many targets",
        ),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
