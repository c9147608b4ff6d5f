"""Coordinate descent: certified by duality, against scikit-learn; paths and folds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn import linear_model

from likely.core import InputError, float64, to_numpy
from likely.families import Normal
from likely.models import Linear
from likely.objectives import ElasticNetPrior, LaplacePrior, NegativeLogLikelihood
from likely.solvers import CoordinateDescent, lasso_path
from likely.typing import GAP, GRADIENT, STEP_LIMIT, Batch


def rows(rng, n=60, d=12, correlation=0.7):
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + (1 - correlation**2) ** 0.5 * X[:, j]
    b = np.where(np.arange(d) % 4 == 0, rng.normal(size=d) * 3, 0.0)
    return X + 5, X @ b + rng.normal(size=n) + 2


def objective(X, y, w, found, l1_ratio=1.0):
    """(1/2Σw) Σ w r² + α(ρ‖b‖₁ + (1−ρ)/2 ‖b‖²) for each alpha."""
    residuals = y[:, None] - X @ found.coefs.T - found.intercepts
    b = found.coefs
    size = l1_ratio * np.abs(b).sum(1) + (1 - l1_ratio) / 2 * (b**2).sum(1)
    return w @ residuals**2 / (2 * w.sum()) + found.alphas * size


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("shape", [(60, 12), (20, 40)], ids=["tall", "wide"])
def test_path_as_scikit_learn_has_it(l1_ratio, shape, rng):
    X, y = rows(rng, *shape)
    found = lasso_path(X, y, l1_ratio=l1_ratio, tolerance=1e-10)
    centred = X - X.mean(0), y - y.mean()
    alphas, coefs, _ = linear_model.enet_path(
        *centred, l1_ratio=l1_ratio, alphas=100, tol=1e-12, max_iter=200_000
    )
    np.testing.assert_allclose(found.alphas, alphas, rtol=1e-10)
    exact = found._replace(
        coefs=coefs.T, intercepts=y.mean() - coefs.T @ X.mean(0), alphas=alphas
    )
    np.testing.assert_allclose(
        objective(X, y, np.ones(len(y)), found, l1_ratio),
        objective(X, y, np.ones(len(y)), exact, l1_ratio),
        rtol=1e-8,
    )
    assert (found.coefs[0] == 0).all()
    assert (found.status.reason == GAP).all()


def test_without_intercept(rng):
    X, y = rows(rng)
    found = lasso_path(X, y, fit_intercept=False, tolerance=1e-10)
    _, coefs, _ = linear_model.lasso_path(X, y, alphas=100, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(found.coefs, coefs.T, atol=1e-4)
    np.testing.assert_array_equal(found.intercepts, 0)


def test_the_gap_is_a_certificate(rng):
    """No solution is further from the minimum than its own gap."""
    X, y = rows(rng)
    rough = lasso_path(X, y, tolerance=1e-3)
    exact = lasso_path(X, y, tolerance=1e-13)
    w = np.ones(len(y))
    above = objective(X, y, w, rough) - objective(X, y, w, exact)
    assert above.max() > 1e-8
    assert (above <= rough.gaps + 1e-12).all()
    assert (rough.gaps <= 1e-3 * y.var() / 2).all()
    assert "the duality gap is" in str(rough.status)


def test_optimality_conditions(rng):
    """Each slope is α at a used coefficient, at most α at a zero (the subgradient)."""
    X, y = rows(rng)
    found = lasso_path(X, y, alphas=20, tolerance=1e-13)
    for alpha, b, b0 in zip(found.alphas, found.coefs, found.intercepts, strict=True):
        slope = (y - X @ b - b0) @ (X - X.mean(0)) / len(y)
        np.testing.assert_allclose(slope[b != 0], alpha * np.sign(b[b != 0]), rtol=1e-4)
        assert (np.abs(slope[b == 0]) <= alpha * (1 + 1e-6)).all()


def test_weights_are_repetitions_and_absent_rows_are_gone(rng):
    X, y = rows(rng)
    w = rng.integers(0, 3, size=len(y)).astype(float)
    repeated = np.repeat(np.arange(len(y)), w.astype(int))
    once = lasso_path(X[repeated], y[repeated], tolerance=1e-12)
    X, y = X.copy(), y.copy()
    X[w == 0], y[w == 0] = np.nan, 1e300
    weighted = lasso_path(X, y, w, tolerance=1e-12)
    np.testing.assert_allclose(weighted.alphas, once.alphas, rtol=1e-10)
    np.testing.assert_allclose(weighted.coefs, once.coefs, atol=1e-6)
    np.testing.assert_allclose(weighted.intercepts, once.intercepts, atol=1e-5)


@pytest.mark.parametrize("kind", ["folds", "bootstrap", "reals"])
def test_members_at_once_are_single_fits(kind, rng):
    """Rows of equal weights share their sums; single fits do not."""
    X, y = rows(rng, n=200)
    W = {
        "folds": 1.0 - np.eye(5)[np.arange(200) % 5].T,
        "bootstrap": rng.poisson(1.0, size=(5, 200)).astype(float),
        "reals": rng.random((5, 200)),
    }[kind]
    many = lasso_path(X, y, W, tolerance=1e-12)
    assert many.coefs.shape == (5, 100, 12)
    assert len(str(many.status).splitlines()) == 500
    for k in range(5):
        one = lasso_path(X, y, W[k], alphas=many.alphas, tolerance=1e-12)
        np.testing.assert_allclose(many.coefs[k], one.coefs, atol=1e-6)
        np.testing.assert_allclose(many.intercepts[k], one.intercepts, atol=1e-5)


def test_an_outlier_of_one_fold_leaves_the_others_alone(rng):
    X, y = rows(rng, n=50)
    W = 1.0 - np.eye(5)[np.arange(50) % 5].T
    plain = lasso_path(X, y, W, alphas=np.array([0.1, 0.01]), tolerance=1e-12)
    X[0] *= 1e9  # in all members but the first
    rough = lasso_path(X, y, W, alphas=np.array([0.1, 0.01]), tolerance=1e-12)
    np.testing.assert_allclose(rough.coefs[0], plain.coefs[0], rtol=1e-5, atol=1e-6)


def test_large_offsets_lose_no_digits(rng):
    """Columns near 1e6 with spread 1, as years or prices are."""
    X, y = rows(rng)
    plain = lasso_path(X, y, tolerance=1e-12)
    shifted = lasso_path(X + 1e6, y - 1e6, tolerance=1e-12)
    np.testing.assert_allclose(shifted.coefs, plain.coefs, atol=1e-5)


@pytest.mark.parametrize(
    ("d", "alphas"),
    [(300, np.array([0.5, 0.2])), (4200, 12)],
    ids=["few penalties", "very many columns"],
)
def test_columns_left_out_at_first_come_in_when_needed(d, alphas, rng):
    X, y = rows(rng, 60, d, 0.5)
    found = lasso_path(X, y, alphas=alphas, eps=0.1, tolerance=1e-9)
    exact = linear_model.lasso_path(
        X - X.mean(0), y - y.mean(), alphas=found.alphas, tol=1e-8, max_iter=10_000
    )[1].T
    other = found._replace(coefs=exact, intercepts=y.mean() - exact @ X.mean(0))
    w = np.ones(60)
    np.testing.assert_allclose(
        objective(X, y, w, found), objective(X, y, w, other), rtol=1e-6
    )
    used = found.coefs.any(axis=0)
    slopes = (y[:, None] - X @ found.coefs.T - found.intercepts).T @ X / 60
    assert (np.abs(slopes[:, ~used]) <= found.alphas[:, None] * (1 + 1e-6)).all()


def test_columns_without_spread_get_no_coefficient(rng):
    X, y = rows(rng)
    X[:, 3] = 7.0
    found = lasso_path(X, y)
    np.testing.assert_array_equal(found.coefs[:, 3], 0)
    assert np.isfinite(found.coefs).all()
    constant = lasso_path(X, np.full(len(y), 4.0))
    np.testing.assert_array_equal(constant.coefs, 0)
    np.testing.assert_allclose(constant.intercepts, 4.0)


def test_too_few_sweeps_are_admitted(rng):
    X, y = rows(rng, correlation=0.99)
    found = lasso_path(X, y, tolerance=1e-14, max_sweeps=3)
    assert (found.status.reason == STEP_LIMIT).any()
    assert "step limit after 3 steps" in str(found.status)
    assert found.n_iter.max() == 3


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"l1_ratio": 0.0}, "l1_ratio is 0.0; give a number above 0"),
        ({"alphas": np.array([1.0, 0.0])}, "alphas must be finite and above 0"),
        ({"w": -np.ones(60)}, "sample_weight is -1.0 in row 0"),
    ],
)
def test_wrong_settings_are_sentences(settings, sentence, rng):
    with pytest.raises(InputError, match=sentence):
        lasso_path(*rows(rng), **settings)


def test_bad_rows_are_named(rng):
    X, y = rows(rng)
    X[7, 2] = np.nan
    with pytest.raises(InputError, match=r"X contains NaN \(row 7, column 2\)"):
        lasso_path(X, y)
    with pytest.raises(InputError, match="overflow"):
        lasso_path(np.where(np.isnan(X), 1e200, X), y)


# The solver that runs inside a program ------------------------------------------------


def solve(solver, X, y, prior, w=None):
    with float64():
        w = np.ones(len(y)) if w is None else w
        data = jax.tree.map(jnp.asarray, Batch(X, y, w))
        likelihood = NegativeLogLikelihood.of(Normal(1.0), data, prior)
        start = Linear.zeros(X.shape[1])
        return to_numpy(solver.minimize(likelihood, start, data, key=None))


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
def test_solver_and_path_agree(l1_ratio, rng):
    X, y = rows(rng)
    path = lasso_path(X, y, alphas=5, l1_ratio=l1_ratio, tolerance=1e-13)
    for k in (1, 3):
        prior = ElasticNetPrior(path.alphas[k] * len(y), l1_ratio)
        found = solve(CoordinateDescent(tolerance=1e-13), X, y, prior)
        np.testing.assert_allclose(found.model.weight[:, 0], path.coefs[k], atol=1e-6)
        np.testing.assert_allclose(found.model.bias[0], path.intercepts[k], atol=1e-5)
        assert found.status.reason == GAP


def test_solver_certifies_its_answer(rng):
    X, y = rows(rng)
    prior = LaplacePrior(0.05 * len(y))
    rough = solve(CoordinateDescent(tolerance=1e-2), X, y, prior)
    exact = solve(CoordinateDescent(tolerance=1e-13), X, y, prior)
    assert 0 <= rough.loss - exact.loss <= rough.status.value + 1e-12
    assert (np.diff(rough.trace.loss[: rough.status.steps + 1]) <= 1e-12).all()


def test_solver_without_a_penalty_is_least_squares(rng):
    X, y = rows(rng)
    found = solve(CoordinateDescent(100_000, 1e-13), X - X.mean(0), y, None)
    exact = np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(found.model.weight[:, 0], exact, atol=1e-6)
    assert found.status.reason == GRADIENT
