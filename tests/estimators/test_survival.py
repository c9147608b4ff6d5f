"""Survival regression: direct maxima of the censored likelihood, known results, faces."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

import likely as lk
from likely.core import InputError
from likely.families import Censored, Exponential, Weibull
from likely.models.trees.boosting import derivatives_of


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    T = np.exp(1 + X @ [0.5, -0.3]) * rng.weibull(1.7, 200)
    ends = rng.exponential(6.0, 200)
    return X, np.minimum(T, ends), (ends > T).astype(int)


@pytest.fixture(scope="module")
def fitted(rows):
    X, y, event = rows
    return {
        name: lk.SurvivalRegression(name).fit(X, y, event=event)
        for name in ("weibull", "lognormal", "exponential")
    }


def nll(p: np.ndarray, name: str, X, y, event) -> float:
    """The censored likelihood, written down again."""
    gap = np.log(y) - X @ p[:2] - p[2]
    if name == "lognormal":
        z = gap / np.exp(p[3])
        seen, longer = norm.logpdf(z) - p[3] - np.log(y), norm.logsf(z)
    else:
        u = p[3] if name == "weibull" else 0.0
        z = np.exp(u) * gap
        seen, longer = u - np.log(y) + z - np.exp(z), -np.exp(z)
    return -float(np.where(event == 1, seen, longer).sum())


@pytest.mark.parametrize("name", ["weibull", "lognormal", "exponential"])
def test_it_is_the_maximum_of_the_censored_likelihood(name, rows, fitted):
    model, size = fitted[name], 3 if name == "exponential" else 4
    start = np.r_[np.zeros(2), 1.0, 0.0][:size]
    pad = np.zeros(4 - size)
    found = minimize(lambda p: nll(np.r_[p, pad], name, *rows), start, method="BFGS",
                     options={"gtol": 1e-8})  # fmt: skip
    table = model.summary()
    own = np.r_[table.coefficients[1:3], table.coefficients[0], table.coefficients[3:]]
    np.testing.assert_allclose(own, found.x, atol=1e-5)
    np.testing.assert_allclose(table.log_likelihood, -found.fun, rtol=1e-9)
    X, y, event = rows
    np.testing.assert_allclose(model.nll(X, y, event=event) * len(y), found.fun)
    # the errors are those of the curvature, by differences
    order = np.r_[1, 2, 0, 3:size]
    H = curvature(lambda p: nll(np.r_[p, pad], name, *rows), own)
    errors = np.sqrt(np.diagonal(np.linalg.inv(H)))
    np.testing.assert_allclose(table.standard_errors[order], errors, rtol=1e-4)


def curvature(f, x: np.ndarray) -> np.ndarray:
    h = 1e-4 * np.eye(len(x))
    return np.array(
        [
            [
                (f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b)) / 4e-8
                for b in h
            ]
            for a in h
        ]
    )


def test_without_columns_the_rate_is_events_over_time(rows):
    _, y, event = rows
    signed = np.where(event == 1, y, -y)
    null = lk.NullRegressor(Censored(Exponential())).fit(y[:, None], signed)
    np.testing.assert_allclose(np.exp(null.eta_[0]), event.sum() / y.sum())


def test_all_events_is_the_family_itself(rows):
    X, y, _ = rows
    everything = lk.SurvivalRegression().fit(X, y)
    same = lk.SurvivalRegression().fit(X, y, event=np.ones(len(y)))
    np.testing.assert_array_equal(everything.coef_, same.coef_)
    null = lk.NullRegressor(Weibull()).fit(X, y)
    censored = lk.NullRegressor(Censored(Weibull())).fit(X, y)
    np.testing.assert_allclose(censored.eta_, null.eta_, rtol=1e-8)


def test_signs_and_events_say_the_same(rows, fitted):
    X, y, event = rows
    signed = lk.SurvivalRegression().fit(X, np.where(event == 1, y, -y))
    np.testing.assert_array_equal(signed.coef_, fitted["weibull"].coef_)
    model = fitted["weibull"]
    a = model.nll(X, np.where(event == 1, y, -y))
    assert a == model.nll(X, y, event=event)


def test_weights_and_absent_rows(rows, fitted):
    X, y, event = rows
    w = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    often = np.repeat(np.arange(len(y)), w.astype(int))
    spoiled, times = X.copy(), y.copy()
    spoiled[w == 0], times[w == 0] = np.nan, np.nan
    dead = np.where(w == 0, 7, event)
    a = lk.SurvivalRegression().fit(spoiled, times, w, event=dead)
    b = lk.SurvivalRegression().fit(X[often], y[often], event=event[often])
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8)
    known = {"sample_weight": w, "event": dead}
    assert a.score(spoiled, times, **known) == pytest.approx(
        b.score(X[often], y[often], event=event[often])
    )


def test_predictions_are_of_times_as_if_all_events_were_seen(rows, fitted):
    X, *_ = rows
    model = fitted["weibull"]
    scale = np.exp(X @ model.coef_ + model.intercept_)
    median = scale * np.log(2) ** (1 / model.shape_)
    np.testing.assert_allclose(model.predict_dist(X).median, median)
    low, high = model.predict_interval(X, 0.8)
    survival = model.predict_survival(X[:3], [low[0], high[0]])
    np.testing.assert_allclose(survival[0], [0.9, 0.1])
    times = np.array([1.0, 5.0])
    expected = np.exp(-((times / scale[:3, None]) ** model.shape_))
    np.testing.assert_allclose(model.predict_survival(X[:3], times), expected)


def test_impossible_times_and_events_get_sentences(rows):
    X, y, event = rows
    with pytest.raises(InputError, match="no row has an event"):
        lk.SurvivalRegression().fit(X, y, event=np.zeros(len(y)))
    with pytest.raises(InputError, match="event is 2"):
        lk.SurvivalRegression().fit(X, y, event=event + 1)
    with pytest.raises(InputError, match="times above 0"):
        lk.SurvivalRegression().fit(X, -y, event=event)
    with pytest.raises(InputError, match="times above 0, negative where"):
        lk.SurvivalRegression().fit(X, np.where(y == y.min(), 0, y), event=event)


@pytest.mark.slow
def test_boosting_takes_censored_times(rows):
    X, y, event = rows
    times, family = np.where(event == 1, y, -y), Censored(Weibull())
    model = lk.GradientBoostingRegressor(family=family, n_estimators=20).fit(X, times)
    null = lk.NullRegressor(family).fit(X, times)
    assert model.nll(X, times) < null.nll(X, times)


def test_derivatives_of_one_parameter_can_be_written():
    """Boosting hands them to compiled loops, which refuse arrays that are read only."""
    for part in derivatives_of(Exponential(), np.ones(3))(np.zeros((3, 1))):
        assert part.shape == (1, 3)
        assert part.flags.writeable
