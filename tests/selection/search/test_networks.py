"""Settings of networks on folds are members of one program, and equal to single fits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, TimeSeriesSplit

import likely as lk

rng = np.random.default_rng(0)
X = rng.normal(size=(130, 3))
Y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=130)
W = rng.integers(0, 3, size=130).astype(float)
NETWORK = lk.MLPRegressor(
    (4,), solver="adam", max_iter=3, batch_size=20, early_stopping=False
)
GRID = {"alpha": [1e-3, 1.0], "learning_rate_init": [1e-3, 1e-2]}


@pytest.mark.slow
@pytest.mark.parametrize("cv", [KFold(2), TimeSeriesSplit(2)], ids=["folds", "time"])
def test_members_are_single_fits(cv):
    search = lk.GridSearch(NETWORK, GRID, cv=cv, refit=False)
    nats = clone(search).fit(X, Y, sample_weight=W)
    r2 = clone(search).set_params(scoring="r2").fit(X, Y, sample_weight=W)
    here = np.flatnonzero(W)
    for j, sides in enumerate(cv.split(here)):
        train, out = (here[side] for side in sides)
        for i in (0, 3):
            one = clone(NETWORK).set_params(**nats.trials_[i].params)
            one.fit(X[train], Y[train], sample_weight=W[train])
            rows = X[out], Y[out], W[out]
            found = nats.trials_[i].scores[j], r2.trials_[i].scores[j]
            np.testing.assert_allclose(
                found, (-one.nll(*rows), one.score(*rows)), rtol=2e-5
            )


def test_a_rate_at_which_training_diverges_is_a_failed_trial():
    grid = {"learning_rate_init": [1e-2, 1e20, 1e-3, 1e-1]}
    for scoring in (None, "r2", "explained_variance"):
        found = lk.GridSearch(NETWORK, grid, cv=KFold(2), scoring=scoring, refit=False)
        found.fit(X, Y, sample_weight=W)
        assert "may have diverged in fold 0" in found.trials_[1].failure
        assert found.cv_results_["rank_test_score"][1] == 4
