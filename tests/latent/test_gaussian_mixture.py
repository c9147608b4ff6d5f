"""Mixtures of normal distributions: against scikit-learn and SciPy, and the laws of EM."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn import mixture

import likely as lk
from likely.core import InputError
from likely.latent.clusters.gaussian import steps as em_steps
from likely.latent.clusters.gaussian.components import raise_to_floor
from likely.latent.clusters.gaussian.incomplete import IncompleteRows
from likely.latent.clusters.gaussian.packed import PackedRows
from likely.latent.clusters.gaussian.starts import starts_of

rng = np.random.default_rng(0)
CENTRES = np.array([[0.0, 0, 0], [4, 0, 1], [0, 5, 2]])
TRUE = rng.integers(3, size=300)
X = CENTRES[TRUE] + rng.normal(size=(300, 3)) * [1.0, 2.0, 0.5]
KINDS = ["full", "tied", "diag", "spherical"]
STARTS = {
    "full": np.stack([np.eye(3)] * 3),
    "tied": np.eye(3),
    "diag": np.ones((3, 3)),
    "spherical": np.ones(3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_scikit_learns(kind):
    """The same start: the same likelihood before each step, and the same components."""
    settings = {
        "means_init": X[:3],
        "weights_init": np.array([0.2, 0.3, 0.5]),
        "precisions_init": STARTS[kind],
        "covariance_type": kind,
        "tol": 1e-9,
        "max_iter": 2000,
    }
    ours = lk.GaussianMixture(3, **settings).fit(X)
    peer = mixture.GaussianMixture(3, reg_covar=0, **settings).fit(X)
    same = min(len(ours.lower_bounds_), len(peer.lower_bounds_))
    paths = ours.lower_bounds_[:same], np.array(peer.lower_bounds_)[:same]
    np.testing.assert_allclose(*paths, rtol=1e-10)
    np.testing.assert_allclose(ours.log_prob(X), peer.score_samples(X), rtol=1e-3)
    np.testing.assert_allclose(ours.means_, peer.means_, atol=1e-3)
    np.testing.assert_allclose(ours.covariances_, peer.covariances_, atol=1e-3)
    np.testing.assert_allclose(ours.bic(X), peer.bic(X), rtol=1e-6)
    np.testing.assert_allclose(ours.aic(X), peer.aic(X), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_density_is_scipys(kind):
    model = lk.GaussianMixture(3, covariance_type=kind).fit(X)
    S = model.covariances_
    if kind == "tied":
        S = np.stack([S] * 3)
    elif kind != "full":
        S = [np.eye(3) * s for s in S]
    parts = [
        np.log(p) + stats.multivariate_normal(m, c).logpdf(X)
        for p, m, c in zip(model.weights_, model.means_, S, strict=True)
    ]
    joint = np.stack(parts, 1)
    np.testing.assert_allclose(model.log_prob(X), logsumexp(joint, axis=1))
    q = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.responsibilities(X), q, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), q.argmax(1))
    np.testing.assert_allclose(model.lower_bound_, model.score(X), rtol=1e-12)
    draws = model.sample(40_000, random_state=0)
    np.testing.assert_allclose(draws.mean(0), model.weights_ @ model.means_, atol=0.08)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_likelihood_never_falls(kind, share):
    rows = np.where(rng.random(X.shape) < share, np.nan, X)
    model = lk.GaussianMixture(
        4, covariance_type=kind, n_init=2, tol=1e-6, max_iter=500
    ).fit(rows)
    assert len(model.lower_bounds_) > 3
    assert (np.diff(model.lower_bounds_) >= 0).all()
    np.testing.assert_allclose(model.score(rows), model.lower_bound_, rtol=1e-9)


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_two_ways_to_the_moments_agree(kind):
    w = rng.uniform(0.5, 2, len(X))
    Z = (X - X.mean(0)) / X.std(0)
    start = starts_of(Z, w, 3, starts=2, kind=kind, floor=1e-6, seed=0)
    packed = PackedRows(Z, w, diagonal=kind == "diag").moments(start)
    exact = IncompleteRows(Z, w).moments(start)
    np.testing.assert_allclose(packed.log_prob, exact.log_prob, rtol=1e-12)
    np.testing.assert_allclose(packed.weights, exact.weights, rtol=1e-10)
    np.testing.assert_allclose(packed.means, exact.means, atol=1e-11)
    S = exact.covariances
    S = np.diagonal(S, axis1=-2, axis2=-1) if kind == "diag" else S
    np.testing.assert_allclose(packed.covariances, S, atol=1e-11)


def test_missing_values_have_the_likelihood_of_what_was_observed():
    """A missing column is integrated out, and one component is the closed form."""
    model = lk.GaussianMixture(3).fit(X)
    rows = X.copy()
    rows[:100, 1] = np.nan
    S = model.covariances_[:, [[0], [2]], [0, 2]]
    parts = [
        np.log(p) + stats.multivariate_normal(m[[0, 2]], c).logpdf(X[:100, [0, 2]])
        for p, m, c in zip(model.weights_, model.means_, S, strict=True)
    ]
    np.testing.assert_allclose(model.log_prob(rows)[:100], logsumexp(parts, axis=0))
    nothing = np.full((1, 3), np.nan)
    assert model.log_prob(nothing) == 0
    np.testing.assert_allclose(model.predict_proba(nothing)[0], model.weights_)
    # monotone missing of two columns: regressions give the maximum in closed form
    a, b = X[:, 0], np.where(np.arange(300) < 150, np.nan, X[:, 1])
    one = lk.GaussianMixture(1, tol=1e-14, max_iter=3000).fit(np.c_[a, b])
    slope, origin = np.polyfit(a[150:], b[150:], 1)
    rest = np.mean((b[150:] - slope * a[150:] - origin) ** 2)
    expected = [
        [a.var(), slope * a.var()],
        [slope * a.var(), rest + slope**2 * a.var()],
    ]
    np.testing.assert_allclose(
        one.means_[0], [a.mean(), origin + slope * a.mean()], 1e-5
    )
    np.testing.assert_allclose(one.covariances_[0], expected, rtol=1e-4)


def test_weight_two_is_the_row_twice_to_the_bit_in_any_order():
    w = np.arange(300) % 3
    rows = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    for data in (X, rows):
        garbage = np.where(w[:, None] > 0, data, np.inf)
        weighted = lk.GaussianMixture(3, n_init=2).fit(garbage, sample_weight=w)
        order = rng.permutation(np.repeat(np.arange(300), w))
        repeated = lk.GaussianMixture(3, n_init=2).fit(data[order])
        np.testing.assert_array_equal(weighted.means_, repeated.means_)
        assert weighted.bic(garbage[w > 0], w[w > 0]) == pytest.approx(
            repeated.bic(data[order]), rel=1e-12
        )


def test_other_names_of_components_change_nothing_else():
    a = lk.GaussianMixture(3, means_init=X[:3]).fit(X)
    b = lk.GaussianMixture(3, means_init=X[:3][[2, 0, 1]]).fit(X)
    np.testing.assert_allclose(a.means_[[2, 0, 1]], b.means_, rtol=1e-6)
    np.testing.assert_array_equal(np.array([1, 2, 0])[a.predict(X)], b.predict(X))


@pytest.mark.parametrize("criterion", ["bic", "aic", "nats"])
def test_the_number_of_components_is_found(criterion):
    model = lk.GaussianMixture(criterion, n_init=2, max_components=5).fit(X)
    assert model.n_components_ == model.criterion_values_.argmin() + 1
    if criterion == "aic":  # it takes more than there are, as it is known to
        assert model.n_components_ >= 3
    else:
        assert model.n_components_ == 3
    if criterion == "bic":
        alone = lk.GaussianMixture(3, n_init=2).fit(X)
        np.testing.assert_allclose(model.criterion_values_[2], alone.bic(X))


@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0), (1e6, 0), (1.0, 1e8)])
def test_units_change_nothing(scale, shift):
    plain = lk.GaussianMixture(3).fit(X)
    other = lk.GaussianMixture(3).fit(X * scale + shift)
    gap = other.lower_bound_ + 3 * np.log(scale) - plain.lower_bound_
    assert abs(gap) < 1e-7
    np.testing.assert_array_equal(other.predict(X * scale + shift), plain.predict(X))


def test_singular_covariances_are_raised_to_the_floor():
    S = np.array([[[1.0, 1.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]])
    raised, which = raise_to_floor(S, 0.01)
    assert which.tolist() == [True, False]
    np.testing.assert_allclose(np.linalg.eigvalsh(raised[0]), [0.01, 2.0])
    np.testing.assert_array_equal(raised[1], S[1])
    for rows in (
        np.c_[X, np.full(300, 7.0)],  # a constant column
        np.c_[X, X[:, 0]],  # the same column twice
        np.repeat(X[:5], 10, axis=0),  # few different rows
        X[:4] @ rng.normal(size=(3, 10)),  # fewer rows than columns
    ):
        model = lk.GaussianMixture(2).fit(rows)
        assert np.isfinite(model.log_prob(rows)).all()
        assert np.isfinite(model.sample(10, random_state=0)).all()
    one = lk.GaussianMixture(1).fit(X[:1])
    np.testing.assert_array_equal(one.means_, X[:1])


def test_a_start_that_shrinks_onto_a_row_is_not_preferred():
    starts = starts_of(X, np.ones(300), 3, starts=2, kind="full", floor=1e-6, seed=0)
    starts.raised[0, 1] = True
    found = em_steps.Found(starts, np.array([5.0, 1.0]), None, None, [])
    assert found.best == 1


def test_the_exact_steps_take_over_where_rounding_lowers_the_likelihood(monkeypatch):
    """Nearly singular components far apart: products of columns cancel."""
    monkeypatch.setattr(em_steps, "SLACK", -1e-3)  # any step counts as a fall
    model = lk.GaussianMixture(3, n_init=2, tol=1e-12).fit(X)
    monkeypatch.undo()
    assert model.converged_
    assert np.isfinite(model.lower_bound_)


def test_bad_input_gets_a_sentence():
    with pytest.raises(InputError, match="fewer components"):
        lk.GaussianMixture(5).fit(X[:3])
    with pytest.raises(InputError, match="infinity"):
        lk.GaussianMixture(2).fit(np.where(X > 3, np.inf, X))
    with pytest.raises(InputError, match="spherical"):
        lk.GaussianMixture(2, covariance_type="round").fit(X)
    with pytest.raises(InputError, match="means_init"):
        lk.GaussianMixture(2, means_init=X[:3]).fit(X)
    with pytest.warns(UserWarning, match="did not converge"):
        lk.GaussianMixture(3, max_iter=1).fit(X)
