"""FastICA, correspondence analysis, NMF and exponential family PCA against oracles and laws."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import nnls
from scipy.stats import chi2_contingency, norm
from sklearn import decomposition

import likely as lk
from likely import families
from likely.core import InputError
from likely.latent.factors.multiplicative_updates import fit_multiplicative

HAIR = np.array([[68, 119, 26, 7], [15, 54, 14, 10], [5, 29, 14, 16], [20, 84, 17, 94]])
"""Eyes (brown, hazel, green, blue) by hair (black, brown, red, blond) of 592 students."""


# independent components ---------------------------------------------------------------


def sources(n=2000):
    t = np.linspace(0, 8, n)
    noise = np.random.default_rng(1).laplace(size=n)
    S = np.stack([np.sin(2 * t), np.sign(np.sin(3 * t)), noise], axis=1)
    return (S - S.mean(0)) / S.std(0)


MIXING = np.array([[1.0, 1, 1], [0.5, 2, 1.0], [1.5, 1.0, 2.0]])


def matches(found, truth):
    """Each truth is one of the found components, up to its sign."""
    correlation = np.abs(
        np.corrcoef(found.T, truth.T)[: found.shape[1], found.shape[1] :]
    )
    return correlation.max(0)


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube"])
def test_mixed_sources_are_found(algorithm, fun):
    S = sources()
    X = S @ MIXING.T + 3
    mine = lk.FastICA(3, algorithm=algorithm, fun=fun).fit(X)
    Y = mine.transform(X)
    assert (matches(Y, S) > 0.98).all()
    np.testing.assert_allclose(Y.std(0), 1)
    np.testing.assert_allclose(mine.inverse_transform(Y), X, atol=1e-9)
    other = decomposition.FastICA(
        3,
        algorithm=algorithm,
        fun=fun,
        whiten="unit-variance",
        random_state=0,
        tol=1e-6,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = other.fit_transform(X)
    alike = 1 - 1e-4 if algorithm == "parallel" else 0.99  # errors add up
    assert (matches(Y, theirs) > alike).all()


def test_sources_have_weights(rng):
    X = sources(300) @ MIXING.T
    w = rng.integers(0, 3, 300).astype(float)
    dirty = np.where(w[:, None] == 0, np.nan, X)
    weighted = lk.FastICA().fit(dirty, sample_weight=w)
    repeated = lk.FastICA().fit(np.repeat(X, w.astype(int), axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-6)
    flat = np.concatenate([X, X[:, :1], np.ones((300, 1))], axis=1)
    assert lk.FastICA().fit(flat).components_.shape == (3, 5)
    with pytest.raises(InputError, match="all equal"):
        lk.FastICA().fit(np.ones((4, 2)))
    with pytest.raises(InputError, match="w_init"):
        lk.FastICA(w_init=np.eye(2)).fit(X)


# correspondence analysis --------------------------------------------------------------


def test_inertia_is_chi_squared():
    model = lk.CorrespondenceAnalysis().fit(HAIR)
    chi2 = chi2_contingency(HAIR).statistic
    assert model.total_inertia_ == pytest.approx(chi2 / HAIR.sum())
    assert model.inertia_.sum() == pytest.approx(model.total_inertia_)
    np.testing.assert_allclose(
        model.inertia_, [0.208773, 0.022227, 0.002598], atol=1e-6
    )
    np.testing.assert_allclose(model.column_contributions_.sum(0), 1)
    np.testing.assert_allclose(model.column_quality_.sum(1), 1)


def test_distances_on_the_map_are_those_of_profiles():
    """All axes together keep the χ² distances of rows, and of columns."""
    model = lk.CorrespondenceAnalysis().fit(HAIR)
    F, mass = model.transform(HAIR), HAIR.sum(0) / HAIR.sum()
    profiles = HAIR / HAIR.sum(1, keepdims=True)
    for i in range(4):
        for j in range(i):
            expected = np.sum((profiles[i] - profiles[j]) ** 2 / mass)
            assert np.sum((F[i] - F[j]) ** 2) == pytest.approx(expected)
    np.testing.assert_allclose(model.inverse_transform(F), profiles)
    turned = lk.CorrespondenceAnalysis().fit(HAIR.T)
    ours = np.abs(turned.transform(HAIR.T))
    np.testing.assert_allclose(ours, np.abs(model.column_coordinates_), atol=1e-9)
    np.testing.assert_allclose(turned.inertia_, model.inertia_)
    np.testing.assert_allclose(model.transform(3 * HAIR[:1]), F[:1])  # supplementary


def test_rows_of_a_table_have_weights():
    w = np.array([2.0, 1, 3, 0])
    weighted = lk.CorrespondenceAnalysis().fit(
        np.where(w[:, None] == 0, np.nan, HAIR), sample_weight=w
    )
    repeated = lk.CorrespondenceAnalysis().fit(np.repeat(HAIR, w.astype(int), axis=0))
    np.testing.assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-9)
    np.testing.assert_allclose(weighted.transform(HAIR), repeated.transform(HAIR))


def test_tables_without_a_map_get_a_sentence():
    with pytest.raises(InputError, match="Negative values"):
        lk.CorrespondenceAnalysis().fit(-HAIR)
    with pytest.raises(InputError, match=r"1 feature\(s\)"):
        lk.CorrespondenceAnalysis().fit(HAIR[:, :1])
    with pytest.raises(InputError, match="no count above zero"):
        lk.CorrespondenceAnalysis().fit(np.zeros((3, 3)))
    with pytest.raises(InputError, match="inertia on 3"):
        lk.CorrespondenceAnalysis(4).fit(HAIR)
    empty = np.concatenate([HAIR, np.zeros((1, 4), int)])
    empty = np.concatenate([empty, np.zeros((5, 1), int)], axis=1)
    model = lk.CorrespondenceAnalysis().fit(empty)
    np.testing.assert_allclose(model.total_inertia_, 0.2335977, rtol=1e-5)
    assert (model.transform(empty)[-1] == 0).all()


# non-negative factors -----------------------------------------------------------------


def parts(rng, n=120, d=30, k=4):
    return rng.gamma(0.4, size=(n, k)) @ rng.gamma(0.4, size=(k, d)) + 0.01


def loss_of(model, X):
    return np.linalg.norm(X - model.inverse_transform(model.transform(X)))


def test_squares_are_no_larger_than_scikit_learns(rng):
    X = parts(rng) + 0.2 * rng.random((120, 30))
    mine = lk.NMF(4, max_iter=500).fit(X)
    other = decomposition.NMF(4, max_iter=500, random_state=0).fit(X)
    assert mine.reconstruction_err_ <= other.reconstruction_err_ * (1 + 1e-4)
    assert (mine.components_ >= 0).all()
    assert loss_of(mine, X) <= mine.reconstruction_err_ * (1 + 1e-6)


def test_rows_of_given_components_are_non_negative_least_squares(rng):
    X = parts(rng)
    model = lk.NMF(4).fit(X)
    for x, z in zip(X[:10], model.transform(X[:10]), strict=True):
        np.testing.assert_allclose(z, nnls(model.components_.T, x)[0], atol=1e-6)
    np.testing.assert_allclose(
        model.transform(X)[3:4], model.transform(X[3:4]), rtol=1e-7
    )


@pytest.mark.parametrize("loss", ["kullback-leibler", "itakura-saito"])
def test_other_losses_are_scikit_learns(loss, rng):
    X = parts(rng)
    mine = lk.NMF(3, beta_loss=loss, max_iter=400).fit(X)
    other = decomposition.NMF(
        3, beta_loss=loss, solver="mu", max_iter=400, random_state=0
    ).fit(X)
    assert mine.reconstruction_err_ == pytest.approx(
        other.reconstruction_err_, rel=1e-2
    )
    assert np.isfinite(mine.log_prob(X)).all()


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
def test_sparse_rows_give_what_dense_ones_give(loss, rng):
    X = rng.poisson(parts(rng)).astype(float)
    dense = lk.NMF(3, beta_loss=loss).fit(X)
    sparse = lk.NMF(3, beta_loss=loss).fit(scipy.sparse.csr_matrix(X))
    np.testing.assert_allclose(
        sparse.components_, dense.components_, rtol=1e-5, atol=1e-8
    )
    found = sparse.transform(scipy.sparse.csr_matrix(X))
    np.testing.assert_allclose(found, dense.transform(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("beta", [2.0, 1.0, 0.0])
def test_no_multiplicative_update_raises_the_loss(beta, rng):
    from likely.latent.factors.multiplicative_updates import divergence

    X, w = parts(rng, 40), rng.uniform(0.5, 2, 40)
    Z, B = rng.random((40, 3)), rng.random((3, 30))
    losses = [divergence(X, Z, B, w, beta)]
    for _ in range(30):
        none = (0.0, 0.0, 0.0, 0.0)
        Z, B, _ = fit_multiplicative(X, w, Z, B, none, beta=beta, tol=0.0, max_iter=1)
        losses.append(divergence(X, Z, B, w, beta))
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler", "itakura-saito"])
def test_parts_have_weights(loss, rng):
    X, w = parts(rng, 60), rng.integers(0, 3, 60).astype(float)
    dirty = np.where(w[:, None] == 0, np.nan, X)
    weighted = lk.NMF(3, beta_loss=loss).fit(dirty, sample_weight=w)
    repeated = lk.NMF(3, beta_loss=loss).fit(np.repeat(X, w.astype(int), axis=0))
    np.testing.assert_allclose(
        weighted.components_, repeated.components_, rtol=1e-6, atol=1e-9
    )


def test_penalties_shrink(rng):
    X = parts(rng)
    free, held = (
        lk.NMF(4).fit(X),
        lk.NMF(4, alpha_W=0.01, alpha_H=0.01, l1_ratio=0.5).fit(X),
    )
    assert held.inverse_transform(held.transform(X)).sum() < X.sum()
    assert held.reconstruction_err_ > free.reconstruction_err_


def test_held_out_entries_find_the_number_of_parts(rng):
    rates = 20 * rng.gamma(0.7, size=(120, 3)) @ rng.gamma(0.7, size=(3, 24))
    counts = rng.poisson(rates)
    model = lk.NMF("nats", beta_loss="kullback-leibler").fit(counts)
    assert model.n_components_ == model.held_out_nats_.best == 3
    assert model.held_out_nats_.n_components[-1] == 5


def test_what_nmf_cannot_do_gets_a_sentence(rng):
    X = parts(rng, 10)
    with pytest.raises(InputError, match="Negative values in data"):
        lk.NMF(2).fit(-X)
    with pytest.raises(InputError, match="Itakura-Saito"):
        lk.NMF(2, beta_loss="itakura-saito").fit(np.where(X < 0.05, 0.0, X))
    with pytest.raises(InputError, match="solver"):
        lk.NMF(2, beta_loss="kullback-leibler", solver="cd").fit(X)
    one = lk.NMF(2).fit(X[:1])
    np.testing.assert_allclose(
        one.inverse_transform(one.transform(X[:1])), X[:1], rtol=0.1
    )
    flat = lk.NMF(3).fit(np.zeros((5, 4)))
    assert (flat.transform(np.zeros((2, 4))) == 0).all()
    more = lk.NMF(20).fit(X)
    assert loss_of(more, X) < 0.05 * np.linalg.norm(X)


# exponential families -----------------------------------------------------------------


def table(rng, n=300, d=8):
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))


def test_a_normal_family_is_probabilistic_pca(rng):
    X = table(rng, 100) + rng.normal(size=(100, 8)) + 3
    mine = lk.ExponentialFamilyPCA(2, alpha=0.0, tol=1e-8).fit(X)
    other = lk.ProbabilisticPCA(2).fit(X)
    assert mine.score(X) == pytest.approx(other.score(X), abs=1e-6)
    assert (np.diff(mine.loglike_) >= 0).all()
    np.testing.assert_allclose(mine.components_, other.components_, atol=0.01)
    np.testing.assert_allclose(mine.transform(X), other.transform(X), atol=0.05)


@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
def test_a_table_of_low_rank_is_found_again(family, rng):
    eta = table(rng, 300, 20)
    if family == "poisson":
        X = rng.poisson(np.exp(eta)).astype(float)
        mean = np.exp(eta)
    else:
        X = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float)
        mean = 1 / (1 + np.exp(-eta))
    model = lk.ExponentialFamilyPCA(2, family=family).fit(X)
    back = model.inverse_transform(model.transform(X))
    error = np.mean((back - mean) ** 2) / np.mean((X.mean(0) - mean) ** 2)
    assert error < 0.45
    draws = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(np.median(draws, 0), np.median(X, 0), atol=1.0)
    np.testing.assert_allclose(draws.mean(0), X.mean(0), rtol=0.35)


def test_laplaces_method_is_near_the_integral_over_z(rng):
    eta = rng.normal(size=(200, 1)) @ rng.normal(size=(1, 6))
    X = rng.poisson(np.exp(eta)).astype(float)
    model = lk.ExponentialFamilyPCA(1, family="poisson").fit(X)
    z = np.linspace(-6, 6, 2001)
    rates = model.intercept_ + z[:, None] * model.components_[0]
    for x, found in zip(X[:20], model.log_prob(X[:20]), strict=True):
        from scipy.stats import poisson

        inside = poisson.logpmf(x, np.exp(rates)).sum(1) + norm.logpdf(z)
        exact = np.log(np.trapezoid(np.exp(inside), z))
        assert found == pytest.approx(exact, abs=0.1)


def test_tables_have_weights_and_missing_values(rng):
    X = rng.poisson(np.exp(table(rng, 80))).astype(float)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    w = rng.integers(0, 3, 80).astype(float)
    dirty = np.where(w[:, None] == 0, -1e300, X)
    make = lk.ExponentialFamilyPCA(2, family="poisson")
    weighted = make.fit(dirty, sample_weight=w).log_prob(X)
    repeated = make.fit(np.repeat(X, w.astype(int), axis=0)).log_prob(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-5)


def test_any_family_of_one_parameter(rng):
    X = rng.exponential(np.exp(table(rng, 100, 4)))
    model = lk.ExponentialFamilyPCA(1, family=families.Exponential()).fit(X)
    null = lk.FamilyDensity(families.Exponential()).fit(X)
    assert model.score(X) > null.score(X) + 0.1
    with pytest.raises(InputError, match="row 0, column 0"):
        lk.ExponentialFamilyPCA(1, family="poisson").fit(-X)
    with pytest.raises(InputError, match="parameters for an observation"):
        lk.ExponentialFamilyPCA(1, family=families.Gamma()).fit(X)
