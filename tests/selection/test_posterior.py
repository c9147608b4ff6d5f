"""Posterior draws of estimators: known posteriors, units, weights, predictions, averages."""

import numpy as np
import pytest
from scipy import integrate, stats

import likely as lk
from likely.core.checks import InputError
from likely.inference import NormalLinearModel
from likely.selection import model_average, sample_posterior

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = X @ [1.0, -0.5] + 0.3 + 0.7 * RNG.normal(size=40)
CLASSES = (RNG.random(40) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
LOGISTIC = lk.LogisticRegression(alpha=1.0)


@pytest.mark.slow
def test_draws_are_in_the_units_of_the_columns():
    """Other units of the columns change coefficients by the unit, and no prediction."""
    unit, shift = np.array([1000.0, 0.01]), np.array([5e4, 0.0])
    plain = sample_posterior(lk.LinearRegression(), X, Y, method="laplace")
    moved = sample_posterior(
        lk.LinearRegression(), X * unit + shift, Y, method="laplace"
    )
    assert plain.draws.names == ("intercept", "x0", "x1", "scale")
    a, b = plain.draws, moved.draws
    np.testing.assert_allclose(a.mean[1:3], b.mean[1:3] * unit, atol=0.02)
    np.testing.assert_allclose(a.std[1:3], b.std[1:3] * unit, rtol=0.05)
    np.testing.assert_allclose(
        plain.predict(X[:5]), moved.predict(X[:5] * unit + shift), atol=0.1
    )


def test_a_weight_of_two_is_the_row_twice():
    """The posterior is the same, so is every draw of the same seed; w = 0 is absent."""
    w = np.r_[2.0, 0.0, np.ones(38)]
    spoiled = X.copy()
    spoiled[1] = np.nan
    rows = np.repeat(np.arange(40), w.astype(int))
    weighted = sample_posterior(LOGISTIC, spoiled, CLASSES, w, method="laplace")
    twice = sample_posterior(LOGISTIC, X[rows], CLASSES[rows], method="laplace")
    np.testing.assert_allclose(weighted.draws.values, twice.draws.values, rtol=1e-6)


def test_separated_classes_need_a_prior():
    y = (X[:, 0] > 0).astype(int)
    with (
        pytest.warns(lk.SeparationWarning),
        pytest.raises(InputError, match="improper"),
    ):
        sample_posterior(lk.LogisticRegression(), X, y, method="laplace")
    found = sample_posterior(LOGISTIC, X, y, method="laplace")
    assert np.isfinite(found.draws.values).all()
    probs = found.predict_proba(X)
    assert (probs.argmax(1) == y).mean() > 0.9
    assert (
        np.abs(probs - 0.5).mean()
        < np.abs(found.estimator.predict_proba(X) - 0.5).mean()
    )


def test_evidence_by_laplace_is_the_integral():
    """One weight, no intercept: the integral is in one dimension."""
    x = X[:, :1]

    def joint(w):
        eta = w * x[:, 0]
        log_p = (CLASSES * eta - np.logaddexp(0, eta)).sum()
        return np.exp(log_p + stats.norm.logpdf(w, 0, 0.5) + 20)

    exact = np.log(integrate.quad(joint, -8, 8)[0]) - 20
    model = lk.LogisticRegression(alpha=4.0, fit_intercept=False)
    found = model_average([model], x, CLASSES)
    assert found.log_scores[0] == pytest.approx(exact, abs=0.01)


def test_models_are_averaged_by_their_evidence():
    """Weights are the ratios of evidence times prior; predictions the mixture."""
    models = [("loose", lk.Ridge(0.1)), ("tight", lk.Ridge(200.0))]
    found = model_average(models, X, Y, prior=[1.0, 3.0])
    odds = np.exp(found.log_scores[0] - found.log_scores[1]) / 3
    assert found.weights[0] / found.weights[1] == pytest.approx(odds)
    assert found.weights.sum() == pytest.approx(1)
    parts = [m.predict(X[:3]) for m in found.ensemble.members_]
    np.testing.assert_allclose(found.predict(X[:3]), found.weights @ parts, rtol=1e-6)
    assert "loose" in str(found)
    bic = model_average(models[:1], X, Y, by="bic")
    fit = lk.Ridge(0.1).fit(X, Y)
    r = Y - fit.predict(X)
    log_p = stats.norm.logpdf(r, 0, fit.scale_).sum()
    assert bic.log_scores[0] == pytest.approx(log_p - 2 * np.log(40), rel=1e-6)


@pytest.mark.slow
def test_ridge_evidence_is_that_of_the_conjugate_model():
    """A flat log σ and no intercept: differences of α agree with the closed form."""

    def exact(alpha):
        nearly_flat = NormalLinearModel(
            np.zeros(2), alpha * np.eye(2), None, 1e-9, 1e-9
        )
        return nearly_flat.log_evidence((X, Y))

    models = [lk.Ridge(a, fit_intercept=False) for a in (0.5, 20.0)]
    found = model_average(models, X, Y)
    difference = found.log_scores[0] - found.log_scores[1]
    assert difference == pytest.approx(exact(0.5) - exact(20.0), abs=0.02)


def test_what_has_no_posterior_is_refused():
    with pytest.raises(InputError, match="likelihood"):
        sample_posterior(lk.RandomForestRegressor(), X, Y)
    with pytest.raises(InputError, match="QuantileRegressor"):
        sample_posterior(lk.QuantileRegressor(), X, Y)
    with pytest.raises(InputError, match="method"):
        sample_posterior(LOGISTIC, X, CLASSES, method="nut")
    with pytest.raises(InputError, match="flat prior"):
        model_average([lk.LinearRegression()], X, Y)
    with pytest.raises(InputError, match="different numbers"):
        model_average([lk.Ridge(1.0), lk.Ridge(1.0, fit_intercept=False)], X, Y)
    with pytest.raises(InputError, match="nats"):
        model_average([lk.RandomForestRegressor()], X, Y)


@pytest.mark.slow
def test_linear_regression_has_students_posterior():
    """Under flat priors of b and log σ the posterior is the sampling distribution."""
    found = sample_posterior(lk.LinearRegression(), X, Y, draws=2000)
    assert found.draws.believable, found.verdict
    table = found.estimator.summary()
    e = table.estimate
    for j in range(3):
        t = stats.t(e.df_residual, table.coefficients[j], table.standard_errors[j])
        thin = found.draws.flat[::8, j]
        assert stats.kstest(thin, t.cdf).pvalue > 1e-3
    ours = found.predict_interval(X[:5], 0.9)
    exact = found.estimator.predict_interval(X[:5], 0.9)
    np.testing.assert_allclose(ours, exact, atol=0.08)
    y = X[:10] @ [1.0, -0.5]
    assert found.nll(X[:10], y) == pytest.approx(
        found.estimator.nll(X[:10], y), abs=0.03
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["nuts", "metropolis", "advi", "laplace"])
def test_all_methods_agree_about_a_logistic_regression(method):
    """Against the posterior mean and deviation by quadrature of two coefficients."""
    grid = np.linspace(-6, 8, 401)
    b, w = np.meshgrid(grid, grid, indexing="ij")
    eta = b[..., None] + w[..., None] * X[:, 0]
    log_p = (CLASSES * eta - np.logaddexp(0, eta)).sum(-1) - 0.5 * w**2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = np.array([(p * b).sum(), (p * w).sum()])
    std = np.sqrt([(p * (b - mean[0]) ** 2).sum(), (p * (w - mean[1]) ** 2).sum()])
    found = sample_posterior(LOGISTIC, X[:, :1], CLASSES, method=method)
    assert found.draws.believable, found.verdict
    near = 0.25 if method == "laplace" else 0.07
    np.testing.assert_allclose(found.draws.mean, mean, atol=near * std.max())
    np.testing.assert_allclose(found.draws.std, std, rtol=0.12)
    exact = np.log(np.exp(log_p).sum() * (grid[1] - grid[0]) ** 2) - 0.5 * np.log(
        2 * np.pi
    )
    if method == "nuts":
        e = found.evidence()
        assert abs(e.log_evidence - exact) < 4 * e.error + 1e-3


@pytest.mark.slow
def test_other_families_and_several_classes():
    three = np.array(["a", "b", "c"])[CLASSES + (RNG.random(40) < 0.3)]
    found = sample_posterior(LOGISTIC, X, three)
    assert found.draws.believable, found.verdict
    by_class = found.draws.values.reshape(4, -1, 3, 3).sum(2)
    np.testing.assert_allclose(by_class, 0, atol=1e-9)
    assert set(found.predict(X)) <= {"a", "b", "c"}
    counts = RNG.poisson(2.0, 40)
    exposure = np.full(40, 2.0)
    model = lk.NegativeBinomialRegressor(alpha=0.1)
    found = sample_posterior(model, X, counts, exposure=exposure)
    assert found.draws.believable, found.verdict
    mean = found.predict(X, exposure=exposure).mean()
    assert mean == pytest.approx(counts.mean(), rel=0.15)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_small_network_is_judged_by_its_predictions():
    """Weights of hidden units may change places, what they compute may not."""
    settings = {"n_members": 1, "early_stopping": False, "solver": "lbfgs"}
    model = lk.MLPRegressor((4,), alpha=1.0, activation="tanh", **settings)
    found = sample_posterior(model, X, Y)
    assert found.draws.r_hat.max() < 1.02
    low, high = found.predict_interval(X, 0.9)
    assert 0.8 < ((low < Y) & (high > Y)).mean() <= 1
    with pytest.raises(InputError, match="prior"):
        sample_posterior(lk.MLPRegressor((4,), alpha=0.0, **settings), X, Y)
