"""`nll` is that of `predict_dist`, row by row, and so is what cross-validation judges by."""

from typing import Any

import numpy as np
import pytest
from registries.estimators import ESTIMATORS, parameters, rows_for
from registries.latent import WITHOUT_TARGETS

import likely as lk

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
PREDICTORS = [
    name
    for name, entry in ESTIMATORS.items()
    if entry.kind not in (*WITHOUT_TARGETS, "series", "tokens", "texts")
    and entry.distribution
]


@pytest.mark.parametrize("name", parameters(PREDICTORS))
def test_nll_is_that_of_the_distribution(name):
    X, y = rows_for(name)
    model = ESTIMATORS[name].make().fit(X, y)
    each = ESTIMATORS[name].kind in ("images", "tags", "word labels")
    log_prob = model.predict_dist(X).log_prob(y.ravel() if each else y)
    log_prob = log_prob.reshape(len(y), -1).mean(1)
    np.testing.assert_allclose(model.nll(X, y), -log_prob.mean(), rtol=1e-9)
    w = np.arange(len(y)) % 3.0
    weighted = model.nll(X, y, sample_weight=w)
    np.testing.assert_allclose(weighted, -np.average(log_prob, weights=w), rtol=1e-9)
    if each:
        return
    X, y = X.copy(), y.astype(float) if np.issubdtype(y.dtype, np.floating) else y
    X[w == 0], y = np.nan, np.where(w == 0, 10**6, y)
    np.testing.assert_allclose(model.nll(X, y, sample_weight=w), weighted, rtol=1e-9)


def test_nll_takes_exposures_of_the_rows_that_count(rng):
    X, days = rng.normal(size=(50, 2)), rng.uniform(1, 9, 50)
    y = rng.poisson(days).astype(float)
    model: Any = lk.PoissonRegressor()
    model.fit(X, y, exposure=days)
    w = np.arange(50) % 2.0
    days[w == 0] = np.nan
    some = model.nll(X, y, sample_weight=w, exposure=days)
    here = w > 0
    assert some == model.nll(X[here], y[here], exposure=days[here])


def test_an_infinite_nll_warns():
    model = lk.GammaRegressor().fit(np.arange(9.0)[:, None], np.arange(1.0, 10))
    with pytest.warns(UserWarning, match="row 1 of those"):
        assert model.nll([[1.0], [2.0]], [1.0, -1.0]) == np.inf
