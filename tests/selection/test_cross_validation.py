import numpy as np
import pytest
from sklearn import datasets, linear_model
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

import likely as lk
from likely.base import learning
from likely.core import InputError
from likely.preprocess import FourierBasis, NaturalSpline


@pytest.fixture(scope="module")
def diabetes():
    return datasets.load_diabetes(return_X_y=True)


def test_ridge_on_all_folds_and_alphas_equals_a_loop(diabetes):
    X, y = diabetes
    alphas = np.logspace(-3, 2, 7)
    found = lk.cross_validate(lk.Ridge(), X, y, grid={"alpha": alphas}, cv=KFold(4))
    assert found.nll.shape == (7, 4)
    for j, (train, test) in enumerate(KFold(4).split(X)):
        for i, alpha in enumerate(alphas):
            peer = linear_model.Ridge(alpha).fit(X[train], y[train])
            coef = found.phi.model.weight[i, j, :, 0]
            np.testing.assert_allclose(coef, peer.coef_, rtol=1e-8, atol=1e-8)
            ours = lk.Ridge(alpha).fit(X[train], y[train])
            np.testing.assert_allclose(
                found.nll[i, j], ours.nll(X[test], y[test]), rtol=1e-8
            )


def test_logistic_on_all_folds_and_alphas_equals_a_loop():
    X, y = datasets.load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    alphas = np.array([0.1, 10.0])
    model = lk.LogisticRegression()
    cv = StratifiedKFold(3)
    found = lk.cross_validate(model, X, y, grid={"alpha": alphas}, cv=cv)
    for j, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        for i, alpha in enumerate(alphas):
            one = lk.LogisticRegression(alpha).fit(X[train], y[train])
            np.testing.assert_allclose(
                found.nll[i, j], one.nll(X[test], y[test]), rtol=1e-6
            )


def test_the_best_setting_has_the_lowest_nats(diabetes):
    found = lk.cross_validate(lk.Ridge(), *diabetes, grid={"alpha": [1e-2, 1e4]})
    assert found.best_params == {"alpha": 1e-2}
    assert found.mean_nll[0] < found.mean_nll[1]
    assert (found.standard_error > 0).all()


def test_chunks_give_the_same_answer(diabetes, monkeypatch):
    grid = {"alpha": np.logspace(-2, 2, 5)}
    whole = lk.cross_validate(lk.Ridge(), *diabetes, grid=grid)
    monkeypatch.setattr(learning, "CHUNK_BYTES", 2 * 8 * 5 * 512 * 2)
    parts = lk.cross_validate(lk.Ridge(), *diabetes, grid=grid)
    np.testing.assert_allclose(parts.nll, whole.nll, rtol=1e-12)
    assert parts.nll.shape == (5, 5)


def test_held_out_garbage_of_weight_zero_changes_nothing(diabetes):
    X, y = (a.copy() for a in diabetes)
    w = np.r_[np.ones(400), np.zeros(42)]
    clean = lk.cross_validate(lk.Ridge(), X, y, sample_weight=w, cv=KFold(4))
    X[400:] = np.nan
    dirty = lk.cross_validate(lk.Ridge(), X, y, sample_weight=w, cv=KFold(4))
    np.testing.assert_array_equal(clean.nll, dirty.nll)


def test_without_a_grid_there_is_one_setting(diabetes):
    assert lk.cross_validate(lk.LinearRegression(), *diabetes).nll.shape == (1, 5)


def test_unknown_settings_and_empty_folds_get_sentences(diabetes):
    with pytest.raises(InputError, match="Ridge has no parameter 'beta'"):
        lk.cross_validate(lk.Ridge(), *diabetes, grid={"beta": [1.0]})
    w = np.r_[np.ones(10), np.zeros(432)]
    splits = list(KFold(5).split(diabetes[0]))
    with pytest.raises(InputError, match="fold 0 has no weight"):
        lk.cross_validate(lk.Ridge(), *diabetes, sample_weight=w, cv=splits)


@pytest.mark.parametrize(
    "model",
    [
        lk.Ridge(basis=NaturalSpline(5)),
        lk.LinearRegression(basis=FourierBasis(2)),
        lk.SplineRegressor(5),
    ],
)
def test_knots_come_from_the_training_rows(model, rng):
    """Folds in order, so that the rows held out lie beyond the others' knots."""
    x = np.sort(rng.uniform(0, 10, size=60)).round(0)[:, None]
    y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=60)
    w = rng.integers(0, 3, size=60).astype(float)
    splits = list(KFold(3).split(x))
    found = lk.cross_validate(model, x, y, cv=splits, sample_weight=w)
    for j, (train, test) in enumerate(splits):
        one = clone(model).fit(x[train], y[train], sample_weight=w[train])
        held_out = one.nll(x[test], y[test], sample_weight=w[test])
        np.testing.assert_allclose(found.nll[0, j], held_out, rtol=1e-6)


def test_a_penalty_is_chosen_with_the_knots_of_each_fold(rng):
    x = np.sort(rng.uniform(0, 10, size=60))[:, None]
    y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=60)
    alphas = [1.0, 1e-3]
    basis = NaturalSpline(6)
    model = lk.Ridge("cv", basis=basis, alphas=alphas, cv=KFold(3)).fit(x, y)
    grid = {"alpha": alphas}
    found = lk.cross_validate(lk.Ridge(basis=basis), x, y, grid=grid, cv=KFold(3))
    np.testing.assert_allclose(model.cv_nll_, found.nll)
