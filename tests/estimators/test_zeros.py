"""Models of numbers from zero on: two parts, Tweedie, and means that do not run away."""

import numpy as np
import pytest
from sklearn.linear_model import TweedieRegressor as PeerTweedie

import likely as lk
from likely.core.checks import InputError
from likely.families import Exponentiated, Predictive, StudentT, Tweedie

N = 200


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    zero = rng.random(N) < 1 / (1 + np.exp(X[:, 1]))
    return X, np.where(zero, 0.0, np.exp(1 + X[:, 0] + 0.5 * rng.normal(size=N)))


@pytest.fixture(scope="module")
def hurdle(rows):
    return lk.HurdleTarget().fit(*rows)


def test_the_likelihood_of_a_hurdle_is_the_product_of_its_parts(rows, hurdle):
    X, y = rows
    above = y > 0
    zeros = lk.LogisticRegression().fit(X, above)
    amounts = lk.LogTarget(lk.LinearRegression()).fit(X[above], y[above])
    total = N * zeros.nll(X, above) + above.sum() * amounts.nll(X[above], y[above])
    np.testing.assert_allclose(N * hurdle.nll(X, y), total, rtol=1e-9)
    chance = zeros.predict_proba(X)[:, 1]
    np.testing.assert_allclose(hurdle.predict(X), chance * amounts.predict(X))


def test_intervals_of_a_hurdle_start_at_zero_where_zero_is_likely(rows, hurdle):
    X, y = rows
    low, high = hurdle.predict_interval(X, 0.8)
    likely = hurdle.predict_dist(X).cdf(np.zeros(N)) >= 0.1
    assert (low[likely] == 0).all()
    assert (low[~likely] > 0).all()
    assert np.mean((low <= y) & (y <= high)) > 0.75


def test_a_hurdle_without_zeros_keeps_a_small_probability_of_one(rows):
    X, y = rows
    above = y > 0
    model = lk.HurdleTarget().fit(X[above], y[above])
    zero = model.predict_dist(X).cdf(np.zeros(N))
    np.testing.assert_allclose(zero, 0.5 / (above.sum() + 1))


@pytest.mark.parametrize(
    ("bad", "sentence"), [(-1.0, "numbers of at least 0"), (0.0, "0 in")]
)
def test_a_hurdle_refuses_other_targets(bad, sentence):
    with pytest.raises(InputError, match=sentence):
        lk.HurdleTarget().fit(np.ones((5, 1)), np.full(5, bad))


def test_tweedie_regression_is_scikit_learns_and_finds_the_dispersion(rows):
    X, y = rows
    model = lk.TweedieRegressor(power=1.6).fit(X, y)
    peer = PeerTweedie(power=1.6, alpha=0, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-7)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-6)
    eta = np.log(np.c_[peer.predict(X), np.full(N, model.dispersion_)])
    for factor in (0.97, 1.03):
        moved = eta + [0.0, np.log(factor)]
        assert model.nll(X, y) < -Predictive(Tweedie(1.6), moved).log_prob(y).mean()


def test_tweedie_regression_finds_the_power():
    rng, p, phi = np.random.default_rng(1), 1.7, 1.5
    X = rng.normal(size=(N, 2))
    mean = np.exp(1 + 0.5 * X[:, 0])
    events = rng.poisson(mean ** (2 - p) / (phi * (2 - p)))
    shape = np.maximum(events, 1) * (2 - p) / (p - 1)
    y = np.where(events > 0, rng.gamma(shape, phi * (p - 1) * mean ** (p - 1)), 0.0)
    model = lk.TweedieRegressor().fit(X, y)
    assert abs(model.power_ - p) < 0.1
    assert abs(np.log(model.dispersion_ / phi)) < 0.25
    nll = {q: lk.TweedieRegressor(power=q).fit(X, y).nll(X, y) for q in (1.5, 1.85)}
    assert model.nll(X, y) < min(nll.values())


OUTLYING = np.array([[60.0, 0.0]])


@pytest.mark.parametrize(
    "make", [lk.PoissonRegressor, lk.NegativeBinomialRegressor, lk.GammaRegressor]
)
def test_bounded_means_of_log_linear_models(rows, make):
    X, y = rows
    y = np.round(y) if "Gamma" not in make.__name__ else y + 1
    free, bounded = make().fit(X, y), lk.BoundedTarget(make()).fit(X, y)
    assert free.predict(OUTLYING)[0] > 1e9
    for mean in (bounded.predict(OUTLYING), bounded.predict_dist(OUTLYING).mean):
        assert mean[0] <= 2 * y.max() * (1 + 1e-12)
    within = np.clip(free.predict(X), bounded.low_, bounded.high_)
    np.testing.assert_allclose(bounded.predict(X), within, rtol=1e-12)


def test_bounded_means_on_the_scale_of_logarithms(rows):
    """A mean of e to Student's t is infinite; the prediction is not."""
    X, y = rows
    inner = lk.LogTarget(lk.LinearRegression())
    model = lk.BoundedTarget(inner).fit(X, y + 0.1)
    dist = model.predict_dist(OUTLYING)
    assert isinstance(dist, Exponentiated)
    assert isinstance(dist.base.family, StudentT)
    assert dist.quantile(0.95)[0] < 1e5 * y.max()
    assert model.predict(OUTLYING)[0] <= 2 * model.ratio_ * (y.max() + 0.1)
    np.testing.assert_allclose(model.predict(X).sum(), (y + 0.1).sum())
