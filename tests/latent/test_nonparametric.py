"""Chinese restaurants and Indian buffets exactly; their samplers by Geweke's test."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gammaln

import likely as lk
from likely.core import InputError
from likely.latent.clusters.nonparametric import (
    dirichlet_process_sampler as clusters,
    indian_buffet_model,
    indian_buffet_sampler as features,
)


def partitions(n):
    """All partitions of n rows, as labels in the order of their first rows."""
    found = [[0]]
    for _ in range(n - 1):
        found = [row + [k] for row in found for k in range(max(row) + 2)]
    return found


def test_partitions_of_the_restaurant_sum_to_one():
    for alpha, n in itertools.product((0.3, 2.0), (1, 4, 7)):
        process = lk.ChineseRestaurant(alpha)
        p = np.exp([process.log_prob(labels) for labels in partitions(n)])
        np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-12)
        tables = np.bincount([max(row) + 1 for row in partitions(n)], p)
        np.testing.assert_allclose(process.table_count_probs(n), tables, atol=1e-12)
        mean = tables @ np.arange(n + 1)
        np.testing.assert_allclose(process.expected_tables(n), mean, rtol=1e-12)


def test_restaurants_do_not_ask_for_the_order_and_sample_their_law():
    process = lk.ChineseRestaurant(1.5)
    assert process.log_prob(list("aabca")) == process.log_prob([7, 1, 7, 7, 3])
    draws = [tuple(process.sample(3, random_state=seed)) for seed in range(300)]
    expected = {tuple(row): np.exp(process.log_prob(row)) for row in partitions(3)}
    for row, p in expected.items():
        share = np.mean([draw == row for draw in draws])
        assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / 300)


def test_buffets_sum_to_one_over_all_menus():
    """Of two guests: how many dishes the first, the second and both take."""
    process = lk.IndianBuffet(0.8)
    total = 0.0
    for a, b, both in itertools.product(range(9), repeat=3):
        Z = np.array([[1, 0]] * a + [[0, 1]] * b + [[1, 1]] * both).reshape(-1, 2).T
        total += np.exp(process.log_prob(Z))
    np.testing.assert_allclose(total, 1.0, atol=1e-6)
    counts = [process.sample(4, random_state=seed).shape[1] for seed in range(200)]
    np.testing.assert_allclose(process.expected_dishes(4), 0.8 * 25 / 12)
    assert abs(np.mean(counts) - 0.8 * 25 / 12) < 5 * np.sqrt(0.8 * 25 / 12 / 200)
    with pytest.raises(InputError, match="zeros and ones"):
        process.log_prob([[2, 0]])


PRIOR = clusters.NormalWishart(
    np.array([0.3, -0.2]), 0.5, 4.5, np.array([[1.0, 0.0], [0.4, 0.8]])
)


def test_the_evidence_of_a_cluster_is_the_product_of_its_predictions():
    """And the predictive density is Student's, as SciPy has it."""
    X = np.random.default_rng(0).normal(size=(5, 2))
    total = 0.0
    for i in range(5):
        if i:
            _, before = clusters.clusters_of(np.zeros(i, int), X[:i], PRIOR)
        else:
            before = clusters.Clusters(
                np.zeros(1, np.int64), PRIOR.mean[None], PRIOR.factor[None]
            )
        kappa, nu = PRIOR.kappa + i, PRIOR.nu + i
        shape = before.factors[0] @ before.factors[0].T * (kappa + 1) / kappa / (nu - 1)
        peer = stats.multivariate_t(before.means[0], shape, df=nu - 1).logpdf(X[i])
        ours = clusters.log_predictive(X[i : i + 1], before, PRIOR)[0, 0]
        np.testing.assert_allclose(ours, peer, rtol=1e-10)
        total += ours
    _, all_ = clusters.clusters_of(np.zeros(5, int), X, PRIOR)
    np.testing.assert_allclose(PRIOR.log_evidence(all_), total, rtol=1e-10)


def joint_rows(z, rng):
    X = np.empty((len(z), 2))
    for k in np.unique(z):
        mean, F = PRIOR.draw(rng)
        X[z == k] = mean + rng.normal(size=((z == k).sum(), 2)) @ F.T
    return X


def seats(alpha, n, rng):
    """Guests of a Chinese restaurant."""
    z = [0]
    for i in range(1, n):
        place = rng.random() * (i + alpha)
        z.append(z[int(place)] if place < i else max(z) + 1)
    return np.array(z)


def summary_of_clusters(z, X, alpha):
    _, counts = np.unique(z, return_counts=True)
    same = z[0] == z[1]
    near = same * np.arctan(X[0] @ X[1])
    return [
        len(counts),
        (counts**2).sum(),
        np.log(alpha),
        same,
        near,
        np.arctan(X**2).mean(),
    ]


def z_scores(A, B, batches=25):
    """How far means of independent draws and of a chain are apart, in standard errors."""
    A, B = np.array(A, float), np.array(B, float)
    means = B[: len(B) // batches * batches].reshape(batches, -1, B.shape[1]).mean(1)
    error = np.sqrt(A.var(0) / len(A) + means.var(0, ddof=1) / batches)
    return (A.mean(0) - B.mean(0)) / error


def geweke_of_clusters(draws, rng, sweep, n=5):
    independent = []
    for _ in range(draws):
        alpha = rng.gamma(2.0) / 1.5
        z = seats(alpha, n, rng)
        independent.append(summary_of_clusters(z, joint_rows(z, rng), alpha))
    chain, X = [], joint_rows(z, rng)
    for _ in range(draws):
        at = clusters.Partition(*clusters.clusters_of(z, X, PRIOR), alpha)
        at = clusters.draw_alpha(sweep(at, X, PRIOR, rng), 2.0, 1.5, rng)
        z, alpha = at.z, at.alpha
        X = joint_rows(z, rng)
        chain.append(summary_of_clusters(z, X, alpha))
    return z_scores(independent, chain)


def geweke_of_features(draws, rng, sweep, n=4, d=2, prior=(3.0, 2.0, 2.0)):
    a, b, _ = prior

    def begin():
        alpha = rng.gamma(a) / b
        counts, rows = np.zeros(0), []
        for i in range(1, n + 1):
            old = rng.random(len(counts)) < counts / i
            row = np.concatenate([old, np.ones(rng.poisson(alpha / i))])
            counts = np.pad(counts, (0, len(row) - len(counts))) + row
            rows.append(row)
        Z = np.stack([np.pad(row, (0, len(counts) - len(row))) for row in rows])
        return features.Features(Z, alpha, b / rng.gamma(a), b / rng.gamma(a))

    def rows_of(at):
        A = np.sqrt(at.loading) * rng.normal(size=(at.Z.shape[1], d))
        return at.Z @ A + np.sqrt(at.noise) * rng.normal(size=(n, d))

    def summary(at, X):
        both, near = at.Z[0] @ at.Z[1], np.arctan(X[0] @ X[1])
        own = (at.Z.sum(0) == 1).sum()
        logs = [at.alpha, np.log(at.noise), np.log(at.loading)]
        return [at.Z.shape[1], at.Z.sum(), *logs, both, own, near, both * near]

    independent = [summary(at, rows_of(at)) for at in (begin() for _ in range(draws))]
    at, chain = begin(), []
    X = rows_of(at)
    for _ in range(draws):
        at = features.draw_settings(sweep(at, X, rng), X, rng, prior)
        X = rows_of(at)
        chain.append(summary(at, X))
    return z_scores(independent, chain)


def test_gewekes_test_in_short():
    """The joint distribution is kept; a sampler with another prior is found out."""
    rng = np.random.default_rng(0)
    right = geweke_of_clusters(400, rng, clusters.gibbs_sweep)
    assert np.abs(right).max() < 4

    def wrong(at, X, prior, rng):
        found = clusters.gibbs_sweep(at._replace(alpha=20 * at.alpha), X, prior, rng)
        return found._replace(alpha=at.alpha)

    assert np.abs(geweke_of_clusters(400, rng, wrong)).max() > 5
    assert np.abs(geweke_of_features(400, rng, features.gibbs_sweep)).max() < 4

    def hungry(at, X, rng):
        found = features.gibbs_sweep(at._replace(alpha=at.alpha + 2), X, rng)
        return found._replace(alpha=at.alpha)

    assert np.abs(geweke_of_features(400, rng, hungry)).max() > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_gewekes_test(seed):
    rng = np.random.default_rng(seed)
    assert np.abs(geweke_of_clusters(20_000, rng, clusters.gibbs_sweep)).max() < 4
    assert np.abs(geweke_of_features(30_000, rng, features.gibbs_sweep)).max() < 4


def test_the_joint_probability_of_features_is_that_of_scipy():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(3, 2)), np.array([[1, 0], [1, 1], [0, 1.0]])
    at = features.Features(Z, 1.3, 0.7, 1.9)
    normal = stats.multivariate_normal(np.zeros(3), 1.9 * Z @ Z.T + 0.7 * np.eye(3))
    expected = lk.IndianBuffet(1.3).log_prob(Z) + normal.logpdf(X.T).sum()
    np.testing.assert_allclose(features.log_joint(at, X), expected, rtol=1e-10)


def blobs(n=120, d=2):
    rng = np.random.default_rng(3)
    z = np.arange(n) % 3
    return 8.0 * np.eye(3, d)[z] + rng.normal(size=(n, d)), z


def test_clusters_are_found_counted_and_labelled():
    X, z = blobs()
    model = lk.DirichletProcessMixture(n_sweeps=60).fit(1e4 + 100 * X)
    shares = [np.bincount(model.labels_[z == k]).max() / 40 for k in range(3)]
    assert min(shares) > 0.9
    assert model.cluster_count_probs().get(3, 0.0) > 0.2
    assert np.mean(model.predict(1e4 + 100 * X) == model.labels_) > 0.95
    order = np.random.default_rng(0).permutation(len(X))
    other = lk.DirichletProcessMixture(n_sweeps=60).fit(1e4 + 100 * X[order])
    np.testing.assert_array_equal(other.labels_, model.labels_[order])
    draws = model.sample(3000, random_state=0)
    np.testing.assert_allclose(draws.mean(0), 1e4 + 100 * X.mean(0), rtol=0.01)


def test_the_density_is_one():
    X, _ = blobs(d=1)
    model = lk.DirichletProcessMixture(n_sweeps=20).fit(X)
    total, _ = integrate.quad(
        lambda x: np.exp(model.log_prob([[x]])[0]), -60, 60, limit=200
    )
    np.testing.assert_allclose(total, 1.0, atol=1e-3)
    one = lk.DirichletProcessMixture(n_sweeps=20, n_jobs=1).fit(X)
    np.testing.assert_array_equal(one.log_prob(X), model.log_prob(X))


def test_edges_get_an_answer_or_a_sentence():
    for X in (np.ones((4, 2)), [[1.0, 2.0]], [[0.0, 1e-3], [1e6, 2.0], [3.0, 1.0]]):
        model = lk.DirichletProcessMixture(n_sweeps=10).fit(X)
        assert np.isfinite(model.log_prob(X)).all()
        assert lk.IndianBuffetModel(n_sweeps=5).fit(X).transform(X).shape[0] == len(X)
    for make in (lk.DirichletProcessMixture, lk.IndianBuffetModel):
        with pytest.raises(InputError, match="whole numbers"):
            make().fit(np.eye(3), sample_weight=[0.5, 1, 1])
    with pytest.raises(InputError, match="above 1"):
        lk.DirichletProcessMixture(degrees_of_freedom=1).fit(np.eye(2))


def images(n=100):
    """Sums of four pictures of 6 × 6 pixels, with noise."""
    F = np.zeros((4, 6, 6))
    F[0, :3, 1], F[1, :3, 3:], F[2, 3:, 0], F[3, 3, 3:] = 1, 1, 1, 1
    rng = np.random.default_rng(0)
    Z = (rng.random((n, 4)) < 0.5).astype(float)
    return Z @ F.reshape(4, 36) + 0.3 * rng.normal(size=(n, 36)), Z @ F.reshape(4, 36)


def test_features_are_found():
    X, clean = images()
    model = lk.IndianBuffetModel(center=False, n_sweeps=60, n_init=2).fit(X)
    assert 4 <= len(model.features_) <= 7
    rebuilt = model.inverse_transform(model.transform(X))
    assert np.mean((rebuilt - clean) ** 2) < 0.02 < np.mean((X - clean) ** 2)
    assert abs(model.noise_std_ - 0.3) < 0.03
    assert np.mean(model.transform(X) == model.Z_) > 0.9
    one = lk.IndianBuffetModel(center=False, n_sweeps=60, n_init=2, n_jobs=1).fit(X)
    np.testing.assert_array_equal(one.features_, model.features_)


def test_many_rows_are_placed_by_a_chain_of_some(monkeypatch):
    X, clean = images(300)
    w, here = np.ones(300), np.arange(300) != 7
    w[7], X[7] = 0, np.nan
    monkeypatch.setattr(indian_buffet_model, "MAX_CHAIN_ROWS", 100)
    model = lk.IndianBuffetModel(center=False, n_sweeps=60, n_init=2)
    Z = model.fit(X, sample_weight=w).Z_
    assert not Z[7].any()
    rebuilt = model.inverse_transform(Z)[here]
    assert np.mean((rebuilt - clean[here]) ** 2) < 0.02
    same = (model.transform(X[here]) == Z[here]).all(1)
    assert same.sum() >= 200 - 1  # those that the chain did not draw


def test_stirling_numbers_give_the_tables():
    """P(K = 2 of 4) = |s(4, 2)| α² Γ(α)/Γ(α + 4) with |s(4, 2)| = 11."""
    expected = 11 * 0.7**2 * np.exp(gammaln(0.7) - gammaln(4.7))
    np.testing.assert_allclose(
        lk.ChineseRestaurant(0.7).table_count_probs(4)[2], expected
    )
