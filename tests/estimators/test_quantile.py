"""Quantile regression against the linear program and against statsmodels."""

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor as Peer

import likely as lk
from likely.core import InputError

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
Y = X @ [1.0, -2.0, 0.5] + rng.gumbel(size=200) * (1 + 0.3 * np.abs(X[:, 0]))


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_the_linear_program_is_solved(tau):
    ours = lk.QuantileRegressor(quantile=tau).fit(X, Y)
    peer = Peer(quantile=tau, alpha=0, solver="highs").fit(X, Y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-9)
    share = np.mean(ours.predict(X) + 1e-9 >= Y)
    assert abs(share - tau) * len(Y) <= 5  # as many points lie on it as coefficients


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")  # the peer's
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_errors_are_those_of_statsmodels(tau):
    models = pytest.importorskip("statsmodels.api")
    found = lk.QuantileRegressor(quantile=tau).fit(X, Y).summary()
    peer = models.QuantReg(Y, models.add_constant(X)).fit(
        q=tau, vcov="iid", p_tol=1e-9, max_iter=5000
    )
    errors = np.sqrt(np.diagonal(found.estimate.covariance))
    np.testing.assert_allclose(errors, peer.bse, rtol=2e-3)


def test_the_median_is_that_of_least_absolute_deviations():
    a, b = lk.QuantileRegressor().fit(X, Y), lk.LADRegressor().fit(X, Y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-12)
    np.testing.assert_allclose(a.nll(X, Y), b.nll(X, Y), rtol=1e-12)
    np.testing.assert_allclose(
        a.predict_interval(X[:5]), b.predict_interval(X[:5]), rtol=1e-9
    )


def test_the_prediction_is_the_quantile_of_the_distribution():
    model = lk.QuantileRegressor(quantile=0.8).fit(X, Y)
    dist = model.predict_dist(X, uncertainty="none")
    np.testing.assert_allclose(dist.quantile(0.8), model.predict(X), rtol=1e-9)


def test_a_share_outside_of_zero_and_one_is_refused():
    with pytest.raises(InputError, match="between 0 and 1"):
        lk.QuantileRegressor(quantile=1.0).fit(X, Y)
