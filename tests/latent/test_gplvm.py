"""Gaussian process latent variables against PPCA, SciPy and numerical gradients."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import likely as lk
from likely.core import InputError
from likely.latent.manifolds.gplvm_bound import (
    KERNELS,
    Kernel,
    log_likelihood,
    sparse_bound,
)
from likely.latent.manifolds.gplvm_fit import Predictor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
rng = np.random.default_rng(0)
N, D, Q, M = 7, 3, 2, 4
Z, U, Y = rng.normal(size=(N, Q)), rng.normal(size=(M, Q)), rng.normal(size=(N, D))
KERNEL = Kernel("rbf", np.array([0.2, -0.3]), 0.1)


def test_the_likelihood_is_scipys():
    K = KERNEL(Z, Z) + 0.6 * np.eye(N)
    gap = Z[:, None] - Z
    plain = np.exp(0.1 - 0.5 * (gap**2 @ np.exp([0.2, -0.3])))
    np.testing.assert_allclose(KERNEL(Z, Z), plain, rtol=1e-12)
    expected = multivariate_normal(np.zeros(N), K).logpdf(Y.T).sum()
    np.testing.assert_allclose(log_likelihood(KERNEL, Z, Y, 0.6, D).value, expected)


def test_the_bound_is_below_and_meets_the_likelihood_at_all_rows():
    exact = log_likelihood(KERNEL, Z, Y, 0.6, D).value
    assert sparse_bound(KERNEL, Z, U, Y, 0.6, D).value < exact - 1e-3
    found = sparse_bound(KERNEL, Z, Z.copy(), Y, 0.6, D).value
    np.testing.assert_allclose(found, exact, atol=1e-3)
    assert found < exact


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("sparse", [True, False])
def test_gradients_are_those_of_differences(name, sparse):
    def value(v):
        at, inputs, r = v[:14].reshape(N, Q), v[14:22].reshape(M, Q), v[22:]
        kernel, noise = Kernel(name, r[:2], r[2]), np.exp(r[3])
        if sparse:
            return sparse_bound(kernel, at, inputs, Y, noise, D)
        return log_likelihood(kernel, at, Y, noise, D)

    v = np.concatenate([Z.ravel(), U.ravel(), [0.2, -0.3, 0.1, -0.5]])
    found = value(v)
    by_U = found.slopes.U.ravel() if sparse else np.zeros(8)
    slopes = [found.slopes.Z.ravel(), by_U, found.slopes.log_a]
    slopes = np.concatenate([*slopes, [found.slopes.log_s, found.log_noise]])
    steps = 1e-5 * np.eye(len(v))
    expected = [(value(v + s).value - value(v - s).value) / 2e-5 for s in steps]
    rounding = 5e-3 if name == "linear" and sparse else 1e-7  # a kernel of rank 2
    np.testing.assert_allclose(slopes, expected, atol=rounding)


def test_the_search_for_a_new_row_follows_the_gradient():
    for name in KERNELS:
        kernel = Kernel(name, np.array([0.2, -0.3]), 0.1)
        C = np.linalg.inv(kernel(Z, Z) + 0.5 * np.eye(N))
        predict = Predictor(kernel, Z, C @ Y, C, 0.5)
        at, rows = rng.normal(size=(4, Q)), rng.normal(size=(4, D))
        _, slopes = predict.loss(at, rows, 0.7)
        for j in range(Q):
            step = 1e-6 * np.eye(Q)[j]
            ends = [predict.loss(at + s, rows, 0.7)[0] for s in (step, -step)]
            np.testing.assert_allclose(
                slopes[:, j], (ends[0] - ends[1]) / 2e-6, atol=1e-6
            )


def linear_rows(n=40, d=6):
    own = np.random.default_rng(1)
    return (
        own.normal(size=(n, 2)) @ own.normal(size=(2, d)) * 2
        + own.normal(size=(n, d))
        + 5
    )


def test_with_a_linear_kernel_it_is_probabilistic_pca():
    """The largest likelihood is that of the eigenvalues of YYᵀ/d, in closed form."""
    X = linear_rows()
    n, d = X.shape
    model = lk.GPLVM(2, kernel="linear", alpha=0.0, n_inducing="all").fit(X)
    centred = X - X.mean(0)
    values = np.linalg.eigvalsh(centred @ centred.T / d)[::-1]
    noise = values[2:].sum() / (n - 2)
    logs = np.log(values[:2]).sum() + (n - 2) * np.log(noise)
    expected = -0.5 * d * (n * np.log(2 * np.pi) + logs + n)
    np.testing.assert_allclose(model.log_likelihood_, expected, rtol=1e-9)
    np.testing.assert_allclose(model.noise_std_, np.sqrt(noise), rtol=1e-4)
    left = np.linalg.svd(centred, full_matrices=False)[0][:, :2]
    outside = model.embedding_ - left @ (left.T @ model.embedding_)
    assert np.abs(outside).max() < 1e-3 * np.abs(model.embedding_).max()


def curve(n=60):
    own = np.random.default_rng(2)
    t = np.sort(own.uniform(0, 1.5 * np.pi, n))
    R = own.normal(size=(2, 8))
    return t, np.c_[np.cos(t), np.sin(t)] @ R + 0.05 * own.normal(size=(n, 8))


@pytest.mark.parametrize("n_inducing", ["all", 15])
def test_a_curve_needs_one_coordinate(n_inducing):
    t, X = curve()
    model = lk.GPLVM(1, n_inducing=n_inducing, max_iter=150).fit(X)
    positions = model.transform(X)
    order = np.corrcoef(positions[:, 0].argsort().argsort(), np.arange(len(t)))[0, 1]
    assert abs(order) > 0.99
    rows, std = model.inverse_transform(positions, return_std=True)
    assert np.sqrt(np.mean((rows - X) ** 2)) < 0.1
    assert std.min() > 0.02
    far = model.inverse_transform(positions + 50.0, return_std=True)[1]
    assert (far > 3 * std).all()
    linear = lk.GPLVM(1, kernel="linear", n_inducing="all").fit(X)
    assert model.log_likelihood_ > linear.log_likelihood_ + 50


def test_edges_get_an_answer_or_a_sentence():
    for X in (np.ones((5, 3)), [[1.0, 2.0]], 1e4 + 100 * rng.normal(size=(4, 30))):
        model = lk.GPLVM(2, max_iter=20).fit(X)
        assert np.isfinite(model.transform(X)).all()
        assert np.isfinite(model.log_likelihood_)
    with pytest.raises(InputError, match="give one of rbf, linear"):
        lk.GPLVM(kernel="cubic").fit(Y)
    with pytest.raises(InputError, match="rows of 2 coordinates"):
        lk.GPLVM(2, max_iter=2).fit(Y).inverse_transform([[1.0]])
