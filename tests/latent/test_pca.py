"""PCA is scikit-learn's, with weights, missing values, streams, errors and held-out nats."""

import numpy as np
import pytest
from sklearn import decomposition

import likely as lk
from likely.core import InputError
from likely.latent.factors.spectrum import scatter_of


def rows(rng, n=200, d=6, rank=3, noise=0.3):
    signal = rng.normal(size=(n, rank)) * np.arange(rank, 0, -1)
    mixed = signal @ np.linalg.qr(rng.normal(size=(d, rank)))[0].T
    return 5 + mixed + noise * rng.normal(size=(n, d))


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize(
    ("solver", "shape"),
    [
        ("exact", (200, 6)),
        ("full", (200, 6)),
        ("covariance_eigh", (200, 6)),
        ("randomized", (200, 6)),
        ("exact", (8, 20)),
        ("randomized", (8, 20)),
        ("auto", (600, 120)),
    ],
)
def test_it_is_scikit_learns(solver, shape, whiten, rng):
    X = rows(rng, *shape)
    mine = lk.PCA(3, svd_solver=solver, whiten=whiten).fit(X)
    other = decomposition.PCA(3, svd_solver="full", whiten=whiten).fit(X)
    tolerance = 1e-4 if solver in ("randomized", "auto") else 1e-9
    for name in [
        "components_",
        "mean_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
    ]:
        np.testing.assert_allclose(
            getattr(mine, name), getattr(other, name), rtol=1e-6, atol=tolerance
        )
    np.testing.assert_allclose(
        mine.transform(X), other.transform(X), rtol=1e-4, atol=10 * tolerance
    )
    back = other.inverse_transform(other.transform(X))
    np.testing.assert_allclose(
        mine.inverse_transform(mine.transform(X)), back, atol=10 * tolerance
    )


def test_the_density_is_scikit_learns(rng):
    X = rows(rng)
    mine, other = lk.PCA(2).fit(X), decomposition.PCA(2).fit(X)
    np.testing.assert_allclose(mine.log_prob(X), other.score_samples(X), rtol=1e-10)
    np.testing.assert_allclose(mine.get_covariance(), other.get_covariance(), 1e-10)
    draws = mine.sample(200_000, random_state=0)
    np.testing.assert_allclose(np.cov(draws.T), mine.get_covariance(), atol=0.1)


def test_going_there_and_back_is_the_projection(rng):
    X = rows(rng)
    model = lk.PCA(3, whiten=True).fit(X)
    P = model.components_.T @ model.components_
    expected = model.mean_ + (X - model.mean_) @ P
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), expected)
    everything = lk.PCA().fit(X)
    np.testing.assert_allclose(everything.inverse_transform(everything.transform(X)), X)


def test_a_share_of_the_variance(rng):
    X = rows(rng)
    other = decomposition.PCA(0.8).fit(X)
    assert lk.PCA(0.8).fit(X).n_components_ == other.n_components_ == 2


@pytest.mark.parametrize(
    "settings",
    [
        {"n_components": 2},
        {"n_components": "nats"},
        {"n_components": 2, "svd_solver": "randomized"},
        {"n_components": 2, "n_bootstrap": 5},
        {"n_components": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("garbage", [np.nan, 1e300])
def test_weights_are_counts_and_absent_rows_are_absent(settings, garbage, rng):
    X = rows(rng, 60)
    w = rng.integers(0, 4, 60).astype(float)
    dirty = np.where(w[:, None] == 0, garbage, X)
    weighted = lk.PCA(**settings).fit(dirty, sample_weight=w)
    repeated = lk.PCA(**settings).fit(np.repeat(X, w.astype(int), axis=0))
    for name, value in vars(repeated).items():
        if name.endswith("_") and name != "held_out_nats_":
            np.testing.assert_allclose(
                getattr(weighted, name), value, rtol=1e-8, atol=1e-10
            )
    np.testing.assert_allclose(weighted.log_prob(X), repeated.log_prob(X), rtol=1e-8)


def test_a_stream_gives_what_all_rows_give(rng):
    X, w = rows(rng, 90) + 1e6, rng.integers(0, 3, 90).astype(float)
    streamed = lk.PCA(3)
    for part in np.array_split(np.arange(90), 5):
        streamed.partial_fit(X[part], sample_weight=w[part])
    whole = lk.PCA(3).fit(X, sample_weight=w)
    np.testing.assert_allclose(streamed.components_, whole.components_, atol=1e-8)
    np.testing.assert_allclose(
        streamed.explained_variance_, whole.explained_variance_, rtol=1e-8
    )
    np.testing.assert_allclose(streamed.log_prob(X), whole.log_prob(X), rtol=1e-7)
    with pytest.raises(InputError, match="compares all rows"):
        lk.PCA("nats").partial_fit(X)


def test_missing_values_by_expectation_maximisation(rng):
    """Where nothing is missing it is the closed form; little missing changes little."""
    X = rows(rng, 400)
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    for k in (2, None):
        full, model = lk.PCA(k).fit(X), lk.PCA(k).fit(holes)
        np.testing.assert_allclose(
            model.explained_variance_, full.explained_variance_, rtol=0.2
        )
        aligned = np.abs(
            np.einsum("ij,ij->i", full.components_[:2], model.components_[:2])
        )
        assert (aligned > 0.99).all()
        assert model.transform(holes).shape == (400, model.n_components_)
        assert np.isfinite(model.log_prob(holes)).all()
    one = X.copy()
    one[0, 0] = np.nan
    one = np.concatenate([one, X[:1]])
    w = np.r_[0.0, np.ones(400)]  # the row with the hole is absent
    np.testing.assert_allclose(
        lk.PCA(2).fit(one, sample_weight=w).components_,
        lk.PCA(2).fit(X).components_,
        atol=1e-10,
    )


def test_errors_of_explained_variance(rng):
    """An eigenvalue λ of normal rows has the standard error λ √(2/n)."""
    X = rng.normal(size=(2000, 3)) * [3.0, 2.0, 1.0]
    model = lk.PCA(n_bootstrap=200).fit(X)
    expected = model.explained_variance_ * np.sqrt(2 / 2000)
    np.testing.assert_allclose(model.explained_variance_error_, expected, rtol=0.2)
    assert (model.explained_variance_ratio_error_ < 0.02).all()


def test_the_number_of_components_by_held_out_nats(rng):
    X = rows(rng, 300, d=10, rank=3, noise=0.5)
    model = lk.PCA("nats").fit(X)
    found = model.held_out_nats_
    assert model.n_components_ == found.best == 3
    assert (found.n_components == np.arange(10)).all()
    assert found.nats[3] == found.nats.max()
    assert found.differences[3] == 0
    far = found.n_components < 3
    assert (found.differences[far] > 2 * found.difference_errors[far]).all()


@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_constant_columns_duplicates_and_shifts(shift, rng):
    X = rows(rng, 50)
    X = np.concatenate([X, X[:, :1], np.full((50, 1), 7.0)], axis=1) + shift
    model = lk.PCA().fit(X)
    assert model.n_components_ == 6
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(back, X, atol=1e-6 if shift else 1e-9)
    assert np.isfinite(lk.PCA(2).fit(X).log_prob(X)).all()
    with pytest.raises(InputError, match="no density"):
        model.log_prob(X)


def test_columns_of_very_different_scale_keep_their_digits(rng):
    X = rng.normal(size=(300, 2)) * [1e9, 1.0]
    assert lk.PCA().fit(X).n_components_ == 2
    exact = lk.PCA(svd_solver="exact").fit(X).explained_variance_[1]
    slope = np.polyfit(X[:, 0], X[:, 1], 1)
    rest = X[:, 1] - np.polyval(slope, X[:, 0])
    np.testing.assert_allclose(exact, rest @ rest / 299, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "X", "words"),
    [
        ({"n_components": 2}, np.ones((1, 3)), "1 sample"),
        ({"n_components": 9}, np.eye(4), "from 1 to 4"),
        ({"n_components": "many"}, np.eye(4), "nats"),
        ({"svd_solver": "quick"}, np.eye(4), "svd_solver"),
        ({}, np.array([[1.0, np.nan], [2.0, np.nan]]), "column 1 of X has no value"),
        ({}, np.array([[1.0, np.inf], [2.0, 1.0]]), "infinity"),
        ({"n_components": 0.5, "svd_solver": "randomized"}, np.eye(4), "whole number"),
    ],
)
def test_bad_input_gets_a_sentence(settings, X, words):
    with pytest.raises(ValueError, match=words):
        lk.PCA(**settings).fit(X)


def test_equal_rows_have_no_directions():
    model = lk.PCA().fit(np.full((5, 3), 2.0))
    assert model.explained_variance_ == pytest.approx(0)
    np.testing.assert_allclose(model.transform(np.full((1, 3), 2.0)), 0, atol=1e-12)


def test_the_scatter_of_shifted_rows_keeps_its_digits(rng):
    X = rng.normal(size=(3000, 4))
    far = X + 1e7
    near = far - 1e7
    found = scatter_of(far, np.ones(3000)).matrix
    centred = near - near.mean(0)
    np.testing.assert_allclose(found, centred.T @ centred, rtol=1e-7, atol=1e-4)
