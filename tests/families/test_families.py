"""What is particular to one family: limits, special cases, settings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registries.families import marginal
from scipy import special, stats

from likely.core import InputError, float64
from likely.families import (
    Bernoulli,
    Binomial,
    Exponential,
    Gamma,
    Geometric,
    Huber,
    Laplace,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Predictive,
    Product,
    StudentT,
    condition,
)


def at(family, *eta, rows: int = 1) -> Predictive:
    return Predictive(family, np.tile(np.array(eta, float), (rows, 1)))


# Dispersions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "fixed", "value"),
    [
        (Normal(), Normal(2.0), 2.0),
        (Laplace(), Laplace(2.0), 2.0),
        (Huber(), Huber(2.0), 2.0),
        (Gamma(), Gamma(2.0), 2.0),
        (NegativeBinomial(), NegativeBinomial(2.0), 2.0),
        (StudentT(scale=1.5), StudentT(df=2.0, scale=1.5), 2.0),
    ],
)
def test_a_fixed_dispersion_is_a_column_of_eta_less(free, fixed, value):
    y = np.array([1.0, 2.0, 7.0])
    more, less = at(free, 0.3, np.log(value), rows=3), at(fixed, 0.3, rows=3)
    np.testing.assert_allclose(less.log_prob(y), more.log_prob(y), rtol=1e-13)
    assert (free.n_eta, fixed.n_eta) == (2, 1)


def test_student_with_fixed_df_or_scale():
    y = np.array([-40.0, 0.1, 3.0])
    both = at(StudentT(), 0.3, np.log(2.0), np.log(3.0), rows=3).log_prob(y)
    df = at(StudentT(df=3.0), 0.3, np.log(2.0), rows=3).log_prob(y)
    scale = at(StudentT(scale=2.0), 0.3, np.log(3.0), rows=3).log_prob(y)
    np.testing.assert_allclose(df, both, rtol=1e-13)
    np.testing.assert_allclose(scale, both, rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Normal(0.0), "scale is 0.0; give a positive number"),
        (lambda: StudentT(df=-1), "df is -1"),
        (lambda: Gamma(np.inf), "concentration is inf"),
        (lambda: Binomial(0), "total_count is 0; give a whole number of at least 1"),
        (lambda: Mixture(Normal(), 0), "n_components is 0"),
        (lambda: Mixture(MultivariateNormal(2)), "single output"),
        (lambda: Product(), "one or more families"),
        (lambda: MultivariateNormal(2, "round"), 'give "full" or "diagonal"'),
    ],
)
def test_settings_that_cannot_be(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


# Limits and special cases -------------------------------------------------------------


def test_negative_binomial_tends_to_poisson():
    y = np.array([0.0, 3.0, 12.0])
    poisson = at(Poisson(), 1.1, rows=3)
    for log_r in (20.0, 60.0, 1e4):
        limit = at(NegativeBinomial(), 1.1, log_r, rows=3)
        np.testing.assert_allclose(limit.log_prob(y), poisson.log_prob(y), rtol=1e-7)
        np.testing.assert_allclose(limit.cdf(y), poisson.cdf(y), rtol=1e-7)


def test_negative_binomial_counts_failures_before_the_rth_success():
    """C(k+r−1, r−1) p^r (1−p)^k with p = r/(r+μ)."""
    r, p, k = 3, 0.4, np.arange(5.0)
    mean = r * (1 - p) / p
    found = np.exp(at(NegativeBinomial(r), np.log(mean), rows=5).log_prob(k))
    np.testing.assert_allclose(
        found, special.comb(k + r - 1, r - 1) * p**r * (1 - p) ** k
    )


def test_student_tends_to_normal():
    y = np.array([-7.0, 0.2, 3.0])
    normal = at(Normal(), 0.3, 0.5, rows=3)
    for log_df in (25.0, 60.0, 1e4):
        limit = at(StudentT(), 0.3, 0.5, log_df, rows=3)
        np.testing.assert_allclose(limit.log_prob(y), normal.log_prob(y), rtol=1e-8)
        np.testing.assert_allclose(limit.cdf(y), normal.cdf(y), rtol=1e-8)


def test_huber_lies_between_normal_and_laplace():
    y = np.array([-3.0, 0.5, 2.0])
    wide = at(Huber(delta=30.0), 0.3, 0.5, rows=3).log_prob(y)
    np.testing.assert_allclose(wide, at(Normal(), 0.3, 0.5, rows=3).log_prob(y))
    narrow = at(Huber(delta=1e-6), 0.3, 0.5 + np.log(1e-6), rows=3).log_prob(y)
    laplace = at(Laplace(), 0.3, 0.5, rows=3).log_prob(y)
    np.testing.assert_allclose(narrow, laplace, rtol=1e-5)


def test_special_cases():
    k, t = np.array([0.0, 1.0, 6.0]), np.array([0.1, 1.0, 3.0])
    geometric = at(Geometric(), -0.7, rows=3).log_prob(k)
    np.testing.assert_allclose(
        at(NegativeBinomial(1.0), 0.7, rows=3).log_prob(k), geometric, rtol=1e-12
    )
    exponential = at(Exponential(), -0.7, rows=3).log_prob(t)
    np.testing.assert_allclose(
        at(Gamma(1.0), 0.7, rows=3).log_prob(t), exponential, rtol=1e-12
    )
    one = at(Binomial(1), 0.4, rows=2).log_prob([0, 1])
    np.testing.assert_allclose(one, at(Bernoulli(), 0.4, rows=2).log_prob([0, 1]))
    cauchy = at(StudentT(), 0.3, 0.0, 0.0, rows=3).log_prob(t)
    np.testing.assert_allclose(cauchy, stats.cauchy(0.3).logpdf(t), rtol=1e-12)


def test_gamma_has_shape_and_scale():
    """y^{a−1} e^{−y/b} / (b^a Γ(a)) with mean μ = ab."""
    a, b, y = 2.5, 0.7, np.array([0.2, 1.0, 9.0])
    density = y ** (a - 1) * np.exp(-y / b) / (b**a * special.gamma(a))
    found = at(Gamma(), np.log(a * b), np.log(a), rows=3)
    np.testing.assert_allclose(np.exp(found.log_prob(y)), density, rtol=1e-12)
    np.testing.assert_allclose(found.theta["rate"], 1 / b)


def test_a_binomial_is_a_sum_of_bernoullis():
    draws = at(Bernoulli(), 0.4).sample(7 * 256, random_state=0).reshape(256, 7).sum(1)
    binomial = at(Binomial(7), 0.4, rows=8)
    expected = np.exp(binomial.log_prob(np.arange(8.0))) * 256
    observed = np.bincount(draws.astype(int), minlength=8)
    assert np.sum((observed - expected) ** 2 / expected) < stats.chi2(7).ppf(0.999)


def test_waiting_times_of_a_poisson_process():
    """No event until t: P(N(t) = 0) = P(T > t) = e^{−λt}; counts have mean λt."""
    rate, t = 1.7, 2.0
    survival = 1 - at(Exponential(), np.log(rate)).cdf(t)
    nothing = np.exp(at(Poisson(), np.log(rate * t)).log_prob(0))
    np.testing.assert_allclose([survival, nothing], np.exp(-rate * t), rtol=1e-12)
    waits = at(Exponential(), np.log(rate)).sample(64 * 256, random_state=0)
    counts = (np.cumsum(waits.reshape(256, 64), 1) <= t).sum(1)
    assert abs(counts.mean() - rate * t) < 4 * np.sqrt(rate * t / 256)
    assert abs(counts.var() - rate * t) < 4 * np.sqrt(2 / 256) * rate * t


# Moments and modes --------------------------------------------------------------------


@pytest.mark.parametrize("df", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_missing_moments_are_as_scipy_says(df):
    found = at(StudentT(), 0.3, 0.5, np.log(df))
    peer = stats.t(np.exp(np.log(df)), 0.3, np.exp(0.5))
    np.testing.assert_allclose([found.mean[0], found.std[0]], [peer.mean(), peer.std()])


def test_modes_at_the_edge():
    assert at(Gamma(), 0.3, -0.5).mode[0] == 0
    assert at(NegativeBinomial(), 2.0, -0.5).mode[0] == 0
    assert at(Poisson(), -0.1).mode[0] == 0
    assert at(Binomial(7), 30.0).mode[0] == 7


def test_mode_of_a_mixture_is_not_its_mean():
    two = at(Mixture(Normal()), 0.0, -0.5, -2.0, -1.0, 3.0, -1.0)
    np.testing.assert_allclose(two.mode, -2.0, atol=1e-5)
    assert -1 < two.mean[0] < 1
    close = at(Mixture(Normal()), 0.0, 0.0, -0.5, 0.0, 0.5, 0.0)  # one bump at 0
    np.testing.assert_allclose(close.mode, 0.0, atol=1e-7)


# Several outputs ----------------------------------------------------------------------


@pytest.fixture
def gaussian(rng):
    L = np.tril(rng.normal(size=(3, 3))) + 2 * np.eye(3)
    return rng.normal(size=3), L @ L.T


def test_full_covariance_is_scipys(gaussian, rng):
    mean, covariance = gaussian[0][:2], gaussian[1][:2, :2]
    L = np.linalg.cholesky(covariance)
    eta = [*mean, *np.log(np.diag(L)), np.linalg.inv(L)[1, 0]]
    joint, y = at(MultivariateNormal(2), *eta, rows=6), rng.normal(size=(6, 2))
    peer = stats.multivariate_normal(mean, covariance)
    np.testing.assert_allclose(joint.log_prob(y), peer.logpdf(y), rtol=1e-12)
    std = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(joint.std, np.tile(std, (6, 1)), rtol=1e-12)
    np.testing.assert_allclose(joint.cdf(y), stats.norm(mean, std).cdf(y), rtol=1e-9)
    _, high = joint.interval(0.9)
    np.testing.assert_allclose(high[0], stats.norm(mean, std).ppf(0.95), rtol=1e-9)
    draws = joint.sample(256, random_state=0).reshape(-1, 2)
    np.testing.assert_allclose(np.cov(draws.T), covariance, rtol=0.15)


def test_marginal_of_a_gaussian_is_the_mean_and_the_covariance(rng):
    y = rng.normal(size=(64, 3)) @ rng.normal(size=(3, 3))
    eta = marginal(MultivariateNormal(3), y)
    theta = at(MultivariateNormal(3), *eta).theta
    np.testing.assert_allclose(theta["loc"][0], y.mean(0), atol=1e-12)
    L = theta["scale_tril"][0]
    np.testing.assert_allclose(L @ L.T, np.cov(y.T, bias=True), rtol=1e-10)


def test_a_singular_gaussian_stays_finite():
    y = np.repeat(np.linspace(-1, 1, 64)[:, None], 3, 1)
    assert np.isfinite(marginal(MultivariateNormal(3), y)).all()


def test_conditional_gaussian(gaussian):
    """p(a₂ | a₁) = p(a₁, a₂) / p(a₁), whatever the order of the indices."""
    mean, covariance = gaussian
    z, rest = np.array([0.3, -0.7]), np.array([1.1])
    u, S = condition(mean, covariance, [2, 0], z)
    whole = stats.multivariate_normal(mean, covariance).logpdf([z[1], rest[0], z[0]])
    part = stats.multivariate_normal(mean[[2, 0]], covariance[np.ix_([2, 0], [2, 0])])
    conditional = stats.multivariate_normal(u, S).logpdf(rest)
    np.testing.assert_allclose(conditional, whole - part.logpdf(z), rtol=1e-12)
    many, _ = condition(mean, covariance, [2, 0], np.stack([z, z + 1]))
    np.testing.assert_allclose(many[0], u)


def test_conditional_refuses_nonsense(gaussian):
    mean, covariance = gaussian
    with pytest.raises(InputError, match="different indices, 0 to 2"):
        condition(mean, covariance, [0, 0], np.zeros(2))
    with pytest.raises(InputError, match=r"give shape \(\.\.\., 1\)"):
        condition(mean, covariance, [0], np.zeros(2))
    with pytest.raises(InputError, match="not positive definite"):
        condition(mean, np.ones((3, 3)), [0, 1], np.zeros(2))


def test_product_parameters_are_numbered():
    both = at(Product(Normal(), Bernoulli()), 0.3, 0.5, 1.0)
    assert sorted(both.theta) == ["loc_0", "logits_1", "scale_0"]
    with pytest.raises(
        InputError, match="in column 0 finite numbers; in column 1 labels"
    ):
        both.family.check(np.array([[0.0, 2.0]]))


# Marginals ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "y"),
    [
        (Normal(), np.full(9, 3.0)),
        (StudentT(), np.full(9, 3.0)),
        (Poisson(), np.zeros(9)),
        (NegativeBinomial(), np.zeros(9)),
        (NegativeBinomial(), np.arange(9) % 2.0 + 4),  # less variance than Poisson
        (Bernoulli(), np.ones(9)),
        (Geometric(), np.zeros(9)),
        (Gamma(), np.full(9, 3.0)),
        (Exponential(), np.zeros(9)),
        (Mixture(Normal()), np.full(9, 3.0)),
    ],
)
def test_data_without_a_maximum_give_a_finite_eta(family, y):
    eta = marginal(family, y)
    assert np.isfinite(eta).all()
    assert np.isfinite(at(family, *eta, rows=9).log_prob(y)).all()


def test_weights_need_not_be_whole():
    """Weights that sum to 1 change no frequency."""
    y, w = np.array([1.0, 0.0, 0.0]), np.array([0.1, 0.5, 0.4])
    for family in (Bernoulli(), Binomial(1)):
        np.testing.assert_allclose(marginal(family, y, w), np.log(0.1 / 0.9))


def test_marginals_under_vmap():
    """Folds as rows of weights: each gives what it gives alone."""
    y = at(StudentT(), 0.5, 0.3, 0.5).sample(256, random_state=0)[:64, 0]
    w = np.random.default_rng(0).integers(0, 3, size=(4, 64)).astype(float)
    with float64():
        many = jax.jit(jax.vmap(lambda w: Huber().marginal(jnp.asarray(y), w)))(w)
    np.testing.assert_allclose(many[2], marginal(Huber(), y, w[2]), rtol=1e-10)
    assert len(np.unique(many[:, 0])) == 4


def test_mixture_finds_its_components():
    truth = at(Mixture(Normal()), 0.4, -0.4, -3.0, -0.5, 2.0, 0.0)
    y = truth.sample(256, random_state=0)[:, 0]
    eta = marginal(Mixture(Normal()), y[:192])
    np.testing.assert_allclose(eta, truth.eta[0], atol=0.4)
