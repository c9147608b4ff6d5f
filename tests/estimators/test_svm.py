"""SVC and SVR against libsvm and a QP solver; what is exposed; where it must refuse."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn import datasets, svm

from likely.core import InputError
from likely.estimators import SVC, SVR
from likely.models.kernels import gram, polynomial_features

rng = np.random.default_rng(0)


def blobs():
    X = rng.normal(size=(240, 2)) + np.repeat([[0, 0], [1.2, 1.0]], 120, axis=0)
    return X, np.repeat([0, 1], 120)


def rings():
    X, y = datasets.make_circles(300, noise=0.15, factor=0.5, random_state=0)
    return X, np.where(y, "in", "out")


def iris():
    return datasets.load_iris(return_X_y=True)


def wine():
    X, y = datasets.load_wine(return_X_y=True)
    return (X - X.mean(0)) / X.std(0), y


def cancer():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return (X - X.mean(0)) / X.std(0), y


def digits():
    X, y = datasets.load_digits(return_X_y=True)
    return X[:700], y[:700]


DATA = {f.__name__: f for f in (blobs, rings, iris, wine, cancer, digits)}
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "rbf": {"kernel": "rbf", "C": 3.0},
    "sigmoid": {"kernel": "sigmoid", "gamma": 1e-4, "C": 10.0},
}


def dual_objective(peer, X, y, settings):
    """½βᵀKβ − Σ|β| of libsvm's machine for two classes."""
    V, b = X[peer.support_], peer.dual_coef_[0]
    K = gram(V, kernel=settings["kernel"], gamma=peer._gamma, coef0=peer.coef0,
             degree=peer.degree)  # fmt: skip
    return 0.5 * b @ K @ b - np.abs(b).sum()


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_libsvm(name, kernel):
    X, y = DATA[name]()
    settings = KERNELS[kernel] | {"decision_function_shape": "ovo"}
    ours, peer = SVC(**settings).fit(X, y), svm.SVC(**settings).fit(X, y)
    assert np.mean(ours.predict(X) == peer.predict(X)) >= 0.999
    np.testing.assert_allclose(
        ours.decision_function(X), peer.decision_function(X), atol=2e-2, rtol=2e-2
    )
    if len(ours.classes_) == 2 and kernel != "sigmoid":
        expected = dual_objective(peer, X, y, settings)
        np.testing.assert_allclose(ours.objective_[0], expected, rtol=1e-4)
    assert ours.dual_coef_.shape[0] == peer.dual_coef_.shape[0]
    assert ours.n_support_.shape == peer.n_support_.shape


def test_tight_tolerance_equals_libsvm_to_many_digits():
    X, y = cancer()
    ours = SVC(tol=1e-9, kernel="rbf").fit(X, y)
    peer = svm.SVC(tol=1e-9, kernel="rbf").fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), peer.decision_function(X), atol=1e-6
    )
    np.testing.assert_array_equal(np.sort(ours.support_), np.sort(peer.support_))
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-6)


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("cache_size", [200, 0.02])
def test_shrinking_and_a_tiny_cache_change_nothing(shrinking, cache_size):
    X = rng.normal(size=(1500, 3))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=1500) > 0).astype(int)
    ours = SVC(C=5.0, tol=1e-5, shrinking=shrinking, cache_size=cache_size).fit(X, y)
    expected = dual_objective(
        svm.SVC(C=5.0, tol=1e-5).fit(X, y), X, y, {"kernel": "rbf"}
    )
    np.testing.assert_allclose(ours.objective_[0], expected, rtol=1e-8)
    f = ours.decision_function(X)
    slack = np.maximum(0, 1 - np.where(y, 1, -1) * f)
    np.testing.assert_allclose(ours.slack_[:, 0], slack, atol=1e-8)


# Hard margin --------------------------------------------------------------------------


def separable(n=60):
    X = rng.normal(size=(n, 2))
    X += np.where(X.sum(1) > 0, 0.4, -0.4)[:, None]
    return X, np.where(X.sum(1) > 0, 1, 0)


def qp_plane(X, y):
    """min ½‖w‖² with yᵢ(w·xᵢ + b) ≥ 1, by SciPy's sequential quadratic programming."""
    s = np.where(y > 0, 1.0, -1.0)
    A = s[:, None] * np.c_[X, np.ones(len(X))]
    found = minimize(
        lambda t: 0.5 * t[:-1] @ t[:-1],
        np.linalg.lstsq(A, np.full(len(X), 2.0))[0],
        jac=lambda t: np.r_[t[:-1], 0.0],
        constraints={"type": "ineq", "fun": lambda t: A @ t - 1, "jac": lambda t: A},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 500},
    )
    return found.x[:-1], found.x[-1]


def test_hard_margin_is_the_quadratic_program():
    X, y = separable()
    model = SVC(kernel="linear", C=float("inf")).fit(X, y)
    w, b = qp_plane(X, y)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_[0], b, atol=1e-6 * np.linalg.norm(w))
    np.testing.assert_allclose(model.margin_[0], 1 / np.linalg.norm(w), rtol=1e-6)
    m = np.where(y, 1, -1) * model.decision_function(X)
    assert m.min() >= 1 - 1e-9
    np.testing.assert_allclose(m[model.support_], 1, atol=1e-8)


def test_hard_margin_with_a_kernel_meets_its_conditions():
    X, y = datasets.make_circles(120, noise=0.05, factor=0.4, random_state=1)
    model = SVC(kernel="rbf", gamma=1.0, C=float("inf")).fit(X, y)
    m = np.where(y, 1, -1) * model.decision_function(X)
    assert m.min() >= 1 - 1e-7
    np.testing.assert_allclose(m[model.support_], 1, atol=1e-7)
    assert (model.dual_variables_ >= 0).all()
    assert abs(model.dual_coef_.sum()) < 1e-8 * np.abs(model.dual_coef_).sum()


@pytest.mark.parametrize(
    ("X", "y", "kernel"),
    [
        ([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], "linear"),
        ([[0.0], [0.0], [1.0]], [0, 1, 1], "rbf"),
        (rng.normal(size=(80, 2)), rng.integers(0, 2, 80), "linear"),
    ],
)
def test_inseparable_data_get_a_sentence(X, y, kernel):
    with pytest.raises(InputError, match="hard margin does not exist"):
        SVC(kernel=kernel, C=float("inf")).fit(np.array(X), np.array(y))


# What notes print otherwise -------------------------------------------------------------


def test_larger_lambda_is_less_slack_and_a_smaller_margin():
    X, y = blobs()
    fits = [SVC(kernel="linear", C=lam).fit(X, y) for lam in (0.01, 0.1, 1.0, 10.0)]
    assert (np.diff([f.margin_[0] for f in fits]) < 0).all()
    assert (np.diff([f.slack_.sum() for f in fits]) < 0).all()


def test_the_box_of_the_whole_square_is_half_as_wide():
    """‖w‖² + λΣξ is ½‖w‖² + (λ/2)Σξ: its dual box is [0, λ/2]."""
    X, y = blobs()
    X, s, lam = X[80:160], np.where(y[80:160] > 0, 1.0, -1.0), 0.5

    def whole(theta, delta=1e-5):
        z = np.clip(1 - s * (X @ theta[:2] + theta[2]), 0, None)
        smooth = np.where(z < delta, z**2 / (2 * delta), z - delta / 2)
        return theta[:2] @ theta[:2] + lam * smooth.sum()

    found = minimize(whole, np.zeros(3), method="Nelder-Mead",
                     options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})  # fmt: skip
    model = SVC(kernel="linear", C=lam / 2, tol=1e-8).fit(X, s)
    np.testing.assert_allclose(model.coef_[0], found.x[:2], atol=2e-4)
    assert model.dual_variables_.max() <= lam / 2 + 1e-12


def test_intercept_is_that_of_a_free_support_vector():
    """b = y_k − Σ αᵢyᵢK(xᵢ, x_k) for 0 < α_k < C (D22)."""
    X, y = rings()
    model = SVC(kernel="poly", degree=2, coef0=1.0, tol=1e-9).fit(X, y)
    alpha = model.dual_variables_[:, 0]
    k = int(np.argmax((alpha > 1e-3) & (alpha < 1 - 1e-3)))
    s = np.where(y == model.classes_[1], 1.0, -1.0)
    K = gram(X, X[[k]], kernel="poly", degree=2, coef0=1.0, gamma=1 / (2 * X.var()))
    b = s[k] - (alpha * s) @ K[:, 0]
    np.testing.assert_allclose(model.intercept_[0], b, atol=1e-6)


# Kernels given by hand, more classes, probabilities ------------------------------------


def test_the_plane_of_a_kernel_is_in_the_space_of_features():
    """X000-7: y(θ·φ(x) + θ₀) ≥ 1 − ξ; the printed φ(θ)·x does not even multiply."""
    X = np.random.default_rng(7).normal(size=(40, 2))
    y = np.where((X**2).sum(1) + 0.8 * X[:, 0] < 1.4, 1, -1)
    y[:3] *= -1
    kernel = {"degree": 2, "gamma": 1.0, "coef0": 1.0}
    model = SVC(kernel="poly", C=5.0, tol=1e-8, **kernel).fit(X, y)
    phi = polynomial_features(X, **kernel)
    theta = (model.dual_variables_[:, 0] * y) @ phi
    assert theta.shape == (6,)
    margins = y * (phi @ theta + model.intercept_[0])
    np.testing.assert_allclose(y * model.decision_function(X), margins, atol=1e-6)
    slack = np.maximum(0, 1 - margins)
    np.testing.assert_allclose(np.ravel(model.slack_), slack, atol=1e-6)
    assert slack.max() > 1


def test_precomputed_and_callable_kernels_equal_the_named_one():
    X, y = iris()
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)

    def mine(A, B):
        return gram(A, B, gamma=0.5)

    named = SVC(gamma=0.5).fit(X[train], y[train])
    called = SVC(kernel=mine).fit(X[train], y[train])
    given = SVC(kernel="precomputed").fit(gram(X[train], gamma=0.5), y[train])
    K = gram(X[test], X[train], gamma=0.5)
    np.testing.assert_array_equal(named.predict(X[test]), called.predict(X[test]))
    np.testing.assert_array_equal(named.predict(X[test]), given.predict(K))
    np.testing.assert_allclose(
        called.decision_function(X[test]), given.decision_function(K), atol=0.05
    )
    with pytest.raises(InputError, match="is square"):
        SVC(kernel="precomputed").fit(X, y)
    with pytest.raises(InputError, match="the kernel returned shape"):
        SVC(kernel=lambda A, B: A).fit(X, y)


def test_one_against_the_rest_is_a_machine_for_each_class():
    X, y = wine()
    model = SVC(multi_class="ovr", kernel="linear", tol=1e-6).fit(X, y)
    for k in range(3):
        alone = SVC(kernel="linear", tol=1e-6).fit(X, y == k)
        np.testing.assert_allclose(
            model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-4
        )
    assert model.score(X, y) > 0.98


def assert_no_distribution(model, why):
    """What needs a distribution is not there, and the error says why."""
    for name in ("predict_dist", "predict_proba", "predict_interval", "nll"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="no attribute 'predict_dist'") as error:
        _ = model.predict_dist
    assert why in str(error.value.__cause__)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_probabilities_are_as_good_as_libsvms():
    X, y = digits()
    X, y, V, v = X[:450], y[:450], X[450:], y[450:]
    ours = SVC(probability=True).fit(X, y)
    P = ours.predict_proba(V)
    np.testing.assert_allclose(P.sum(1), 1)
    nll = -np.log(P[np.arange(len(v)), v]).mean()
    np.testing.assert_allclose(ours.nll(V, v), nll)
    Q = svm.SVC(probability=True, random_state=0).fit(X, y).predict_proba(V)
    assert nll < 1.05 * -np.log(Q[np.arange(len(v)), v]).mean()
    two = SVC(probability=True).fit(*blobs())
    assert 0.3 < two.nll(*blobs()) < 0.6
    assert (two.predict_set(blobs()[0], coverage=0.9).sum(1) >= 1).all()
    assert_no_distribution(SVC().fit(X, y), "signs, not probabilities")


def test_weights_and_order_change_no_bit():
    X, y = iris()
    w = rng.integers(0, 3, 150)
    rows = rng.permutation(np.repeat(np.arange(150), w))
    garbage = X.copy()
    garbage[w == 0] = np.nan
    one = SVC(probability=True).fit(garbage, y, sample_weight=w)
    other = SVC(probability=True).fit(X[rows], y[rows])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_absent_rows_of_a_precomputed_kernel():
    X, y = iris()
    w = (np.arange(150) % 3 != 1).astype(float)
    K, kept = gram(X, gamma=0.5), w > 0
    whole = SVC(kernel="precomputed").fit(K, y, sample_weight=w)
    part = SVC(kernel="precomputed").fit(K[np.ix_(kept, kept)], y[kept])
    np.testing.assert_allclose(
        whole.decision_function(K), part.decision_function(K[:, kept])
    )
    f = X[:, 0]
    whole = SVR(kernel="precomputed").fit(K, f, sample_weight=w)
    part = SVR(kernel="precomputed").fit(K[np.ix_(kept, kept)], f[kept])
    np.testing.assert_allclose(whole.predict(K), part.predict(K[:, kept]))


@pytest.mark.filterwarnings("ignore:stopped at the step limit")
def test_a_tolerance_below_rounding_ends():
    X, y = blobs()
    assert SVC(C=1e4, kernel="poly", tol=1e-15, max_iter=200_000).fit(
        X[:40], y[100:140]
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_regression_equals_libsvm(kernel):
    X, y = datasets.load_diabetes(return_X_y=True)
    X, y = X[:250, :5] * 20, (y[:250] - 150) / 75
    settings = {"kernel": kernel, "C": 2.0, "epsilon": 0.2, "tol": 1e-6}
    ours, peer = SVR(**settings).fit(X, y), svm.SVR(**settings).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-4)
    free = np.abs(ours.dual_coef_[0]) < 2.0 - 1e-9
    error = np.abs(y - ours.predict(X))[ours.support_][free]
    np.testing.assert_allclose(error, 0.2, atol=1e-5)


def test_regression_learns_the_scale_of_its_errors():
    X = rng.uniform(-3, 3, (200, 1))
    y = np.sin(X[:, 0]) + rng.laplace(scale=0.3, size=200)
    model = SVR(probability=True).fit(X, y)
    assert 0.25 < model.scale_ < 0.42
    low, high = model.predict_interval(X, coverage=0.9)
    assert 0.83 < np.mean((low < y) & (y < high)) < 0.97
    assert_no_distribution(SVR().fit(X, y), "numbers, not distributions")
    assert SVR().fit(X, y).predict(X).shape == (200,)


def test_settings_get_sentences():
    X, y = blobs()
    with pytest.raises(InputError, match="kernel is 'cubic'"):
        SVC(kernel="cubic").fit(X, y)
    with pytest.raises(InputError, match="C is 0"):
        SVC(C=0).fit(X, y)
    with pytest.raises(InputError, match="gamma is -1"):
        SVC(gamma=-1).fit(X, y)
    with pytest.raises(InputError, match="multi_class is 'all'"):
        SVC(multi_class="all").fit(X, y)
    with pytest.warns(match="step limit"):
        SVC(max_iter=3).fit(X, y)
