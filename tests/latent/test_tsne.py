"""t-SNE: KL against scikit-learn's, gradients, the grid against all pairs, threads."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn import manifold
from sklearn.datasets import load_digits

import likely as lk
from likely import evaluate
from likely.core.checks import InputError
from likely.core.threads import Workers, row_blocks
from likely.latent.manifolds.repulsion import GridRepulsion, direct_repulsion
from likely.latent.manifolds.tsne_descent import loss_and_forces, similarities
from likely.models.neighbors import neighbors

SKLEARNS_KL = 0.3024
"""Of the first 400 digits by scikit-learn's Barnes-Hut t-SNE, over all pairs."""


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def kl(X, Y, perplexity=30.0):
    """The loss as it is defined, of all pairs."""
    n = len(X)
    D, found = neighbors(X, n - 1)
    P = similarities(D, found, perplexity).toarray()
    Q = 1 / (1 + cdist(Y, Y) ** 2)
    np.fill_diagonal(Q, 0)
    Q /= Q.sum()
    own = P > 0
    return float((P[own] * np.log(P[own] / Q[own])).sum())


def test_similarities_have_the_perplexity(digits):
    D, found = neighbors(digits[0][:200], 199)
    P = similarities(D, found, 20.0)
    assert P.sum() == pytest.approx(1)
    assert abs(P - P.T).max() < 1e-15
    from likely.latent.manifolds.tsne_kernel import conditional

    C = np.empty(D.shape)
    conditional(D**2, 20.0, C)
    entropy = -(C * np.log(np.where(C > 0, C, 1))).sum(1)
    np.testing.assert_allclose(np.exp(entropy), 20, rtol=1e-6)


def test_forces_are_the_gradient_of_the_loss():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(25, 4)), rng.normal(size=(25, 3))
    D, found = neighbors(X, 24)
    with Workers(1) as workers:
        evaluate_at = loss_and_forces(similarities(D, found, 5.0), False, workers)
        loss, g = evaluate_at(Y, 1.0, True)
        assert loss == pytest.approx(kl(X, Y, 5.0), abs=1e-12)
        for i, c in ((0, 0), (7, 2)):
            step = np.zeros_like(Y)
            step[i, c] = 1e-5
            ends = [evaluate_at(Y + s * step, 1.0, True)[0] for s in (1, -1)]
            assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(g[i, c], abs=1e-8)


@pytest.mark.parametrize("width", [1e-5, 1.0, 30.0])
def test_the_grid_repels_as_all_pairs_do(width):
    Y = width * np.random.default_rng(0).normal(size=(400, 2))
    with Workers(2) as workers:
        parts = row_blocks(400, 3)
        forces, sums = direct_repulsion(Y, parts, workers)
        found, total = GridRepulsion(workers)(Y, parts)
    np.testing.assert_allclose(total, sums, rtol=0.04)
    assert np.linalg.norm(found - forces) < 0.05 * np.linalg.norm(forces)
    with Workers(1) as workers:
        again, _ = GridRepulsion(workers)(Y, row_blocks(400, 1))
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize("method", ["exact", "fft"])
def test_kl_is_at_least_as_low_as_scikit_learns(digits, method):
    X = digits[0][:400]
    ours = lk.TSNE(method=method, n_jobs=1).fit(X)
    found = kl(X, ours.embedding_)
    assert found < SKLEARNS_KL + 0.01
    if method == "exact":
        assert ours.kl_divergence_ == pytest.approx(found, abs=1e-9)
    assert evaluate.trustworthiness(X, ours.embedding_, 10) > 0.97


@pytest.mark.slow
def test_scikit_learns_kl_is_what_it_was(digits):
    X = digits[0][:400]
    theirs = manifold.TSNE(random_state=0).fit(X)
    assert kl(X, theirs.embedding_.astype(float)) == pytest.approx(
        SKLEARNS_KL, abs=0.02
    )


def test_one_thread_and_two_give_the_same_bits(digits):
    X = digits[0][:1200]
    one, two = (lk.TSNE(max_iter=60, n_jobs=jobs).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    assert one.kl_divergence_ == two.kl_divergence_


def test_bad_settings_are_refused(digits):
    X = digits[0][:50]
    with pytest.raises(InputError, match="maps of two dimensions, not 3"):
        lk.TSNE(3, method="fft").fit(X)
    with pytest.raises(InputError, match="perplexity is 0; give a number above 0"):
        lk.TSNE(perplexity=0).fit(X)
    assert lk.TSNE(3, max_iter=5).fit_transform(X).shape == (50, 3)
