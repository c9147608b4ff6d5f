"""The continuous ranked probability score: formulas, sums and integrals against SciPy."""

import numpy as np
import pytest
from registries.families import FAMILIES, positive
from scipy import stats

from likely.core.checks import InputError
from likely.families import (
    AsymmetricLaplace,
    Bernoulli,
    Binomial,
    Categorical,
    Empirical,
    Exponential,
    Exponentiated,
    Gamma,
    Geometric,
    Huber,
    Laplace,
    Mixed,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Predictive,
    Product,
    Stretched,
    StudentT,
    Weibull,
)
from likely.families.crps import _sum, crps_of_counts, crps_of_numbers


def rows(family, *eta):
    return Predictive(family, np.array(eta, float))


def by_integral(peer, y):
    """∫ (F − 1[t ≥ y])² dt by Gauss's rule between many quantiles."""
    levels = np.concatenate(
        [np.geomspace(1e-14, 1e-2, 60), np.linspace(0.011, 0.5, 80)]
    )
    points = np.concatenate([peer.ppf(levels), peer.isf(levels), [y]])
    points = np.unique(points)
    x, weight = np.polynomial.legendre.leggauss(8)
    half = np.diff(points)[:, None] / 2
    t, w = points[:-1, None] + half * (1 + x), half * weight
    return np.sum(w * np.where(t < y, peer.cdf(t), peer.sf(t)) ** 2)


def by_sum(peer, y):
    """Σ (F(k) − 1[k ≥ y])² over counts."""
    k = np.arange(min(peer.ppf(1e-15), np.floor(y)) - 1, max(peer.isf(1e-15), y) + 2)
    before = np.clip(y - k, 0, 1)
    return np.sum(before * peer.cdf(k) ** 2 + (1 - before) * peer.sf(k) ** 2)


NUMBERS = {
    "normal": (Normal(), (0.5, 0.3), stats.norm(0.5, np.exp(0.3))),
    "laplace": (Laplace(), (0.5, 0.3), stats.laplace(0.5, np.exp(0.3))),
    "student": (StudentT(), (0.5, 0.3, 0.9), stats.t(np.exp(0.9), 0.5, np.exp(0.3))),
    "student without a mean": (StudentT(0.9), (0.0, 0.0), stats.t(0.9)),
    "student, nearly normal": (StudentT(1e6), (0.0, 0.0), stats.t(1e6)),
    "exponential": (Exponential(), (0.3,), stats.expon(scale=np.exp(-0.3))),
    "gamma": (Gamma(2.5), (0.3,), stats.gamma(2.5, scale=np.exp(0.3) / 2.5)),
    "gamma, small shape": (Gamma(0.1), (0.0,), stats.gamma(0.1, scale=10)),
    "weibull": (Weibull(0.8), (0.3,), stats.weibull_min(0.8, scale=np.exp(0.3))),
    "asymmetric laplace": (
        AsymmetricLaplace(0.3),
        (0.5, 0.0),
        stats.laplace_asymmetric(np.sqrt(0.3 / 0.7), 0.5, 0.5 / np.sqrt(0.21)),
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    family, eta, peer = NUMBERS[name]
    y = np.array([-1.0, 0.0, 0.5, 4.0])
    found = rows(family, *([eta] * 4)).crps(y)
    known = [by_integral(peer, v) for v in y]
    np.testing.assert_allclose(found, known, rtol=1e-5 if "without" in name else 1e-7)


COUNTS = {
    "poisson": (Poisson(), (1.2,), stats.poisson(np.exp(1.2))),
    "poisson, many": (Poisson(), (9.0,), stats.poisson(np.exp(9.0))),
    "geometric": (Geometric(), (-2.0,), stats.geom(1 / (1 + np.exp(2.0)), loc=-1)),
    "binomial": (Binomial(9), (0.4,), stats.binom(9, 1 / (1 + np.exp(-0.4)))),
    "bernoulli": (Bernoulli(), (0.4,), stats.bernoulli(1 / (1 + np.exp(-0.4)))),
    "negative binomial": (
        NegativeBinomial(),
        (3.0, 0.5),
        stats.nbinom(np.exp(0.5), 1 / (1 + np.exp(2.5))),
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    family, eta, peer = COUNTS[name]
    y = np.array([-1.0, 0.0, 2.0, 7.3, 8100.0])
    found = rows(family, *([eta] * 5)).crps(y)
    np.testing.assert_allclose(found, [by_sum(peer, v) for v in y], rtol=1e-9)


def test_integrals_and_sums_agree_with_the_formulas():
    student = rows(StudentT(4.0), (0.0, 0.0), (1.0, 2.0))
    y = np.array([0.3, 40.0])
    np.testing.assert_allclose(crps_of_numbers(student, y), student.crps(y), rtol=1e-6)
    poisson = rows(Poisson(), (1.0,), (3.0,))
    y = np.array([3.5, 300.0])
    np.testing.assert_allclose(crps_of_counts(poisson, y), poisson.crps(y), rtol=1e-9)


def test_sums_over_many_counts_by_blocks():
    scale, start = np.array([3.0, 500.0, 9e4]), np.array([-4.0, 17.0, 0.0])
    count = np.array([40.0, 4001.0, 400_000.0])

    def g(k):
        return np.exp(-0.5 * ((k - start) / scale) ** 2)

    known = [
        np.sum(np.exp(-0.5 * (np.arange(n) / s) ** 2))
        for n, s in zip(count, scale, strict=True)
    ]
    np.testing.assert_allclose(_sum(g, start, count), known, rtol=3e-6)


def test_mixtures_of_normals_and_of_points():
    eta = (np.log(0.3), np.log(0.7), 0.0, 0.0, 2.0, -40.0)  # the second is a point
    mixture, y = rows(Mixture(Normal()), eta, eta), np.array([1.0, 2.5])
    grid = np.linspace(-12, 12, 2_400_001)
    F = 0.3 * stats.norm.cdf(grid) + 0.7 * (grid >= 2)
    known = [np.sum((F - (grid >= v)) ** 2) * 1e-5 for v in y]
    np.testing.assert_allclose(mixture.crps(y), known, rtol=1e-4)
    parts = rows(Normal(), (0, 0), (0, 0)), rows(Normal(), (2, -40), (2, -40))
    mixed = Mixed(parts, np.array([0.3, 0.7]))
    np.testing.assert_allclose(mixed.crps(y), mixture.crps(y), rtol=1e-9)
    point = rows(Normal(), (1.0, -300.0))
    np.testing.assert_allclose(point.crps(3.0), 2.0)


def test_other_mixtures_log_normals_and_stretched():
    normal, y = rows(Normal(), (0.0, -0.5), (1.0, 0.0)), np.array([0.4, 5.0])
    peers = [stats.lognorm(np.exp(-0.5)), stats.lognorm(1.0, scale=np.e)]
    known = [by_integral(peer, v) for peer, v in zip(peers, y, strict=True)]
    np.testing.assert_allclose(Exponentiated(normal).crps(y), known, rtol=1e-8)
    wide = rows(Normal(), (0.0, -0.5 + np.log(2.0)), (1.0, np.log(2.0)))
    np.testing.assert_allclose(Stretched(normal, 2.0).crps(y), wide.crps(y), rtol=1e-9)
    same = Mixed([normal, rows(Huber(delta=40.0), (0, -0.5), (1, 0))], np.full(2, 0.5))
    np.testing.assert_allclose(same.crps(y), normal.crps(y), rtol=1e-6)


def test_several_outputs_have_a_score_each():
    y = np.array([[1.0, 2.0]])
    product = rows(Product(Normal(), Poisson()), (0.5, 0.3, 1.2))
    members = rows(Normal(), (0.5, 0.3)).crps(1.0), rows(Poisson(), (1.2,)).crps(2.0)
    np.testing.assert_allclose(product.crps(y), np.stack(members, 1))
    joint = rows(MultivariateNormal(2), (0.5, -0.3, 0.2, 0.1, 0.6))
    scale = np.sqrt((joint.theta["scale_tril"][0] ** 2).sum(1))
    known = [
        rows(Normal(s), (m,)).crps(v)
        for m, s, v in zip((0.5, -0.3), scale, y[0], strict=True)
    ]
    np.testing.assert_allclose(joint.crps(y)[0], np.concatenate(known))


def test_the_score_of_data_and_of_what_has_none():
    data = Empirical([3.0, 1.0, 2.0], w=[1.0, 2.0, 1.0])
    y = np.array([0.0, 1.5, 7.0])
    draws = np.array([1.0, 1.0, 2.0, 3.0])
    spread = np.abs(draws[:, None] - draws).mean() / 2
    known = np.abs(draws[:, None] - y).mean(0) - spread
    np.testing.assert_allclose(data.crps(y), known)
    classes = rows(Categorical(2), (0.0, 1.0))
    with pytest.raises(InputError, match="one of numbers, and y is a class here"):
        classes.crps(1)
    missing = rows(Poisson(), (0.0,), (0.0,)).crps([np.nan, 1.0])
    assert np.isnan(missing).tolist() == [True, False]


UNIVARIATE = [
    name
    for name, example in FAMILIES.items()
    if not (example.make().multivariate or name in ("Categorical", "CumulativeLogit"))
]


@pytest.mark.slow  # a program for each family
@pytest.mark.parametrize("name", UNIVARIATE)
def test_every_family_agrees_with_quadrature(name):
    """∫ (F − 1[t ≥ y])² dt by the rule of the registry, which knows the kinks of F."""
    example = FAMILIES[name]
    family, draws = example.make(), np.asarray(example.draw(100), float)
    y = np.quantile(draws, [0.5, 0.95] if example.costly else [0.02, 0.5, 0.95])
    found = rows(family, *([example.eta] * len(y))).crps(y)
    for at, score in zip(y, found, strict=True):
        rule = positive if family.zeros else example.rule
        t, weight = rule(example.eta, (float(at),) if at else ())
        F = rows(family, *([example.eta] * len(t))).cdf(t)
        if family.discrete:
            before = np.clip(at - t, 0, 1)
            known = np.sum(before * F**2 + (1 - before) * (1 - F) ** 2)
        else:
            known = np.sum(weight * (F - (t >= at)) ** 2)
        assert score == pytest.approx(known, rel=1e-8)
