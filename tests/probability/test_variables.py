"""Random variables: moments and generating functions against SciPy, mpmath and laws."""

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from likely.core.checks import InputError
from likely.families import (
    Bernoulli,
    Binomial,
    Categorical,
    Empirical,
    Exponential,
    Gamma,
    Geometric,
    Laplace,
    LogNormal,
    Mixture,
    Multinomial,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Predictive,
    Product,
    StudentT,
    Weibull,
)
from likely.probability import Table, random_variable, stack

LAWS = {
    "Bernoulli": (Bernoulli(), {"probs": 0.3}, stats.bernoulli(0.3)),
    "Binomial": (Binomial(7), {"probs": 0.3}, stats.binom(7, 0.3)),
    "Exponential": (Exponential(), {"rate": 2.0}, stats.expon(scale=0.5)),
    "Gamma": (Gamma(), {"concentration": 2.5, "rate": 1.4}, stats.gamma(2.5, scale=1 / 1.4)),
    "Geometric": (Geometric(), {"probs": 0.4}, stats.geom(0.4, loc=-1)),
    "Laplace": (Laplace(), {"loc": 0.5, "scale": 0.7}, stats.laplace(0.5, 0.7)),
    "NegativeBinomial": (
        NegativeBinomial(), {"mean": 2.0, "concentration": 3.0}, stats.nbinom(3, 0.6),
    ),
    "Normal": (Normal(), {"loc": -0.4, "scale": 1.6}, stats.norm(-0.4, 1.6)),
    "Poisson": (Poisson(), {"rate": 2.5}, stats.poisson(2.5)),
}  # fmt: skip
CLOSED = pytest.mark.parametrize("name", LAWS)


def variable(name: str):
    family, theta, _ = LAWS[name]
    return random_variable(family, **theta)


def exact(name: str, g) -> mpmath.mpf:
    """E[g(X)] by mpmath's own sum or integral over the density of a textbook."""
    mp = mpmath
    p = {k: mp.mpf(repr(v)) for k, v in LAWS[name][1].items()}
    if name in ("Exponential", "Gamma"):
        a, rate = p.get("concentration", mp.mpf(1)), p["rate"]
        f = lambda x: rate**a * x ** (a - 1) * mp.exp(-rate * x) / mp.gamma(a)  # noqa: E731
        return mp.quad(lambda x: g(x) * f(x), [0, 1, 4, 40, mp.inf])
    if name == "Normal":
        m, s = p["loc"], p["scale"]
        f = lambda x: mp.npdf(x, m, s)  # noqa: E731
        return mp.quad(lambda x: g(x) * f(x), [-mp.inf, -8, m, 8, mp.inf])
    if name == "Laplace":
        m, s = p["loc"], p["scale"]
        f = lambda x: mp.exp(-abs(x - m) / s) / (2 * s)  # noqa: E731
        return mp.quad(lambda x: g(x) * f(x), [-mp.inf, -4, m, 4, mp.inf])
    q = p.get("probs")
    pmf = {
        "Bernoulli": lambda k: q if k else 1 - q,
        "Binomial": lambda k: mp.binomial(7, k) * q**k * (1 - q) ** (7 - k),
        "Geometric": lambda k: q * (1 - q) ** k,
        "NegativeBinomial": lambda k: (
            mp.binomial(k + 2, 2) * mp.mpf("0.6") ** 3 * mp.mpf("0.4") ** k
        ),
        "Poisson": lambda k: mp.exp(-p["rate"]) * p["rate"] ** k / mp.factorial(k),
    }[name]
    last = {"Bernoulli": 1, "Binomial": 7}.get(name, 200)
    return mp.fsum(g(k) * pmf(k) for k in range(last + 1))


@CLOSED
def test_moments_are_scipys(name):
    X, peer = variable(name), LAWS[name][2]
    mean, var, skew = (float(v) for v in peer.stats("mvs"))
    third = skew * var**1.5
    assert X.mean == pytest.approx(mean, rel=1e-12)
    assert X.variance == pytest.approx(var, rel=1e-12)
    assert X.std == pytest.approx(var**0.5, rel=1e-12)
    assert X.central_moment(3) == pytest.approx(third, rel=1e-10, abs=1e-12)
    assert X.expectation(lambda x: (x - mean) ** 2) == pytest.approx(var, rel=1e-10)
    moments = [peer.moment(k) for k in range(1, 5)]
    assert [X.moment(k) for k in range(1, 5)] == pytest.approx(moments, rel=1e-10)
    middle = peer.median()
    assert X.median == pytest.approx(middle, rel=1e-12)
    if hasattr(peer.dist, "pmf"):
        k = np.arange(400)
        spread = peer.pmf(k) @ np.abs(k - middle)
    else:  # the integrals of the cdf below and above the median
        below = integrate.quad(peer.cdf, max(peer.support()[0], -60), middle)[0]
        spread = below + integrate.quad(peer.sf, middle, 60)[0]
    assert X.mean_absolute_deviation == pytest.approx(spread, rel=1e-10)


@CLOSED
def test_generating_functions_are_mpmaths(name):
    with mpmath.workdps(30):
        at = [mpmath.mpf("-0.5"), mpmath.mpf("0.3")]
        known = [float(exact(name, lambda x, t=t: mpmath.exp(t * x))) for t in at]
    np.testing.assert_allclose(variable(name).mgf([-0.5, 0.3]), known, rtol=1e-10)


@CLOSED
def test_moments_are_derivatives_of_the_generating_function(name):
    X, peer = variable(name), LAWS[name][2]
    moments = [peer.moment(k) for k in range(1, 5)]
    np.testing.assert_allclose(X.moments_from_mgf(4), moments, rtol=1e-10)
    mean, var, skew, kurtosis = (float(v) for v in peer.stats("mvsk"))
    cumulants = [mean, var, skew * var**1.5, kurtosis * var**2]
    np.testing.assert_allclose(X.cumulants(4), cumulants, rtol=1e-10, atol=1e-11)


@CLOSED
def test_moments_are_mpmaths(name):
    with mpmath.workdps(25):
        known = [float(exact(name, lambda x, k=k: x**k)) for k in (1, 3, 6)]
    np.testing.assert_allclose(
        variable(name).moments_from_mgf(6)[[0, 2, 5]], known, rtol=1e-10
    )


@CLOSED
def test_other_methods_are_scipys(name):
    X, peer = variable(name), LAWS[name][2]
    q = np.array([0.0, 0.1, 0.5, 0.9])
    t = np.array([0.0, 0.7, 1.0, 3.0])
    np.testing.assert_allclose(X.cdf(t), peer.cdf(t), rtol=1e-12)
    density = peer.pmf if hasattr(peer.dist, "pmf") else peer.pdf
    np.testing.assert_allclose(X.pdf(t), density(t), rtol=1e-12)
    np.testing.assert_allclose(X.quantile(q[1:]), peer.ppf(q[1:]), rtol=1e-12)
    assert X.quantile(0.0) == (peer.support()[0])
    draws = X.sample(4000, random_state=0)
    assert abs(draws.mean() - X.mean) < 5 * X.std / 4000**0.5
    np.testing.assert_array_equal(draws, X.sample(4000, random_state=0))


@pytest.mark.parametrize(
    "family",
    [Normal(), Gamma(), pytest.param(StudentT(), marks=pytest.mark.slow)],
    ids=lambda family: type(family).__name__,
)
def test_the_laws_on_the_host_are_those_of_the_families(family):
    """The cdf and density of the family itself agree with SciPy's."""
    eta = np.array([[0.3, -0.2, 1.7][: family.n_eta]])
    X = random_variable(family, eta=eta)
    t = np.array([0.2, 1.0, 2.5])
    rows = Predictive(family, np.repeat(eta, 3, axis=0))
    np.testing.assert_allclose(X.cdf(t), rows.cdf(t), rtol=1e-10)
    np.testing.assert_allclose(X.pdf(t), np.exp(rows.log_prob(t)), rtol=1e-10)


@pytest.mark.parametrize(
    "law",
    [(Normal(), {"loc": 0.0, "scale": 2.0}), (Exponential(), {"rate": 2.0})],
    ids=lambda law: type(law[0]).__name__,
)
def test_the_density_is_the_slope_of_the_cdf(law):
    X = random_variable(law[0], **law[1])
    t = np.array([0.3, 1.0, 2.0])
    np.testing.assert_allclose(X.slope_of_cdf(t), X.pdf(t), rtol=1e-12)


def test_families_without_a_formula_are_integrated():
    X = random_variable(Weibull(), scale=1.5, concentration=2.0)
    peer = stats.weibull_min(2.0, scale=1.5)
    moments = [peer.moment(k) for k in (1, 2, 3)]
    np.testing.assert_allclose(X.moments_from_mgf(3), moments, rtol=1e-11)
    known = peer.expect(lambda x: np.exp(0.5 * x), ub=30)
    assert X.mgf(0.5) == pytest.approx(known, rel=1e-8)


def test_two_narrow_peaks_are_found():
    eta = np.array([[0.0, 0.0, -3.0, -4.0, 3.0, -4.0]])
    X = random_variable(Mixture(Normal(), 2), eta=eta)
    assert X.expectation(np.square) == pytest.approx(9 + np.exp(-8), rel=1e-10)
    assert X.variance == pytest.approx(9 + np.exp(-8), rel=1e-10)


def test_heavy_tails_have_no_generating_function():
    X = random_variable(LogNormal(), loc=0.0, scale=1.0)
    assert X.mgf(0.1) == np.inf
    assert 0 < X.mgf(-1.0) < 1
    with pytest.raises(InputError, match="infinite on one side of 0"):
        X.moments_from_mgf(2)
    assert X.moment(2) == pytest.approx(np.exp(2), rel=1e-9)
    student = random_variable(StudentT(), loc=0.0, scale=1.0, df=3.0)
    assert student.mgf([-0.1, 0.1]).tolist() == [np.inf, np.inf]
    with pytest.raises(InputError, match="does not converge"):
        student.moment(4)
    with pytest.raises(InputError, match="does not converge"):
        variable("Gamma").expectation(lambda x: np.exp(2.0 * x))
    assert student.variance == pytest.approx(3.0)
    assert student.expectation(np.square) == pytest.approx(3.0, rel=1e-5)


def test_generating_functions_end_where_they_end():
    X = random_variable(Gamma(), concentration=2.0, rate=1.5)
    assert X.mgf([1.5, 9.0]).tolist() == [np.inf, np.inf]
    assert X.mgf(1.4999) < np.inf


def test_draws_with_weights_are_rows_repeated(rng):
    x, w = rng.normal(size=(30, 2)), rng.integers(0, 3, size=30).astype(float)
    dirty = np.where(w[:, None] > 0, x, np.nan)
    X = random_variable(dirty, sample_weight=w)
    rows = np.repeat(x, w.astype(int), axis=0)
    np.testing.assert_allclose(X.mean, rows.mean(0), rtol=1e-12)
    np.testing.assert_allclose(X.covariance, np.cov(rows.T, ddof=0), rtol=1e-12)
    t = np.array([0.2, -0.4])
    assert X.mgf(t) == pytest.approx(np.exp(rows @ t).mean(), rel=1e-12)
    known = (rows[:, 0] ** 2 * rows[:, 1]).mean()
    assert X.mixed_moment(2, 1) == pytest.approx(known, rel=1e-10)
    number = random_variable(Empirical(rows[:, 0]))
    assert number.median == np.quantile(rows[:, 0], 0.5, method="inverted_cdf")
    assert number.cdf(0.1) == pytest.approx((rows[:, 0] <= 0.1).mean())


def test_vectors():
    L = np.array([[1.0, 0.0], [0.5, 2.0]])
    X = random_variable(MultivariateNormal(2), loc=[[1.0, 2.0]], scale_tril=L[None])
    np.testing.assert_allclose(X.covariance, L @ L.T, rtol=1e-12)
    assert (np.linalg.eigvalsh(X.covariance) > 0).all()
    t = np.array([[0.1, 0.2], [-0.3, 0.4]])
    known = np.exp(t @ [1, 2] + 0.5 * np.einsum("ni,ij,nj->n", t, L @ L.T, t))
    np.testing.assert_allclose(X.mgf(t), known, rtol=1e-12)
    assert X.mixed_moment(1, 1) == pytest.approx(0.5 + 2, rel=1e-12)
    A, b = np.array([[1.0, -1.0], [0.0, 3.0]]), np.array([0.5, 0.0])
    Y = A @ X + b
    np.testing.assert_allclose(Y.covariance, A @ L @ L.T @ A.T, rtol=1e-12)
    np.testing.assert_allclose(Y.mgf(t), np.exp(t @ b) * X.mgf(t @ A), rtol=1e-12)
    one = X.affine([2.0, 1.0], 1.0)
    assert one.variance == pytest.approx(np.array([2, 1]) @ L @ L.T @ [2, 1])
    with pytest.raises(InputError, match="singular covariance"):
        np.ones((3, 2)) @ X


def test_counts_of_classes_covary():
    p = np.array([0.2, 0.3, 0.5])
    X = random_variable(Multinomial(4, 3), probs=p)
    np.testing.assert_allclose(X.mean, 4 * p, rtol=1e-12)
    np.testing.assert_allclose(X.covariance, 4 * (np.diag(p) - np.outer(p, p)))
    assert X.mixed_moment(1, 1, 0) == pytest.approx(12 * 0.2 * 0.3, rel=1e-12)
    classes = random_variable(Categorical(3), probs=p)
    assert classes.mean == pytest.approx(1.3)
    both = Product(Normal(1.0), Poisson())
    pair = random_variable(Predictive(both, np.array([[0.5, 0.0]])))
    np.testing.assert_allclose(pair.mean, [0.5, 1.0])
    np.testing.assert_allclose(pair.covariance, np.eye(2), atol=1e-15)


def test_a_table_is_a_random_vector(rng):
    table = Table(
        rng.dirichlet(np.ones(6)).reshape(2, 3), ["x", "y"], [[0, 2], [1, 2, 7]]
    )
    X = random_variable(table)
    np.testing.assert_allclose(X.covariance, table.covariance(), rtol=1e-12)
    assert X.mixed_moment(1, 1) == pytest.approx(table.expectation(lambda x, y: x * y))


BAD = {
    "do not fit Normal": lambda: random_variable(Normal(), mean=1.0),
    "belong to a family": lambda: random_variable([1.0, 2.0], rate=1.0),
    "which are no numbers": lambda: random_variable(
        Table([0.5, 0.5], "x", [["a", "b"]])
    ),
    "has 2 rows; give one": lambda: random_variable(Poisson(), rate=[1.0, 2.0]),
    "give a family with its parameters": lambda: random_variable("normal"),
    "give one for each of the 2 entries": lambda: random_variable(
        np.eye(2)
    ).mixed_moment(1),
    "whole number from 1 to 12": lambda: random_variable([1.0, 2.0]).moment(20),
    "is one of a number": lambda: stack(variable("Normal"), variable("Normal")).median,
    "no derivative; use pdf": lambda: variable("Poisson").slope_of_cdf(1.0),
    "contains NaN": lambda: random_variable([1.0, np.nan]),
    "give \\(n,\\) or \\(n, d\\)": lambda: random_variable(np.zeros((2, 2, 2))),
    "have no law here": lambda: variable("Normal") * variable("Normal"),
    "finite number that is not 0": lambda: variable("Normal") * 0.0,
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_a_sentence(message):
    with pytest.raises(InputError, match=message):
        BAD[message]()
