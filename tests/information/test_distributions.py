"""Entropy and divergences of families: closed forms, quadrature, SciPy, mpmath, laws."""

import numpy as np
import pytest
from registries.families import FAMILIES

from likely import information as info
from likely.core.checks import InputError
from likely.families import (
    Gamma,
    Geometric,
    Laplace,
    Mixed,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    Predictive,
    StudentT,
    Weibull,
)
from likely.information.expectation import expectation, log_prob_at

QUICK = ("Normal", "Categorical", "Poisson")
SLOW = pytest.mark.slow
NAMES = [
    pytest.param(name, marks=() if name in QUICK else SLOW)
    for name in FAMILIES
    if name != "Tweedie"  # a density takes a second
]


def pair(name):
    """Two distributions of the family, the second one of another η."""
    example = FAMILIES[name]
    eta = np.array(example.eta)
    return [Predictive(example.make(), np.array([v])) for v in (eta, 0.7 * eta + 0.1)]


@pytest.mark.parametrize("name", NAMES)
def test_laws(name):
    """Gibbs, H(p, q) = H(p) + KL(p, q), and bounds of Jensen and Shannon's divergence."""
    p, q = pair(name)
    kl, js = info.kl(p, q), info.jensen_shannon(p, q)
    assert (kl.value > 0).all()
    sums = info.entropy(p).value + kl.value
    slack = 1e-9 + 4 * (kl.error + info.entropy(p).error)
    assert (np.abs(info.cross_entropy(p, q).value - sums) <= slack).all()
    assert (np.abs(info.kl(p, p).value) <= 1e-9).all()
    assert (js.value > 0).all()
    assert (js.value <= np.log(2)).all()
    back = info.kl(q, p)  # KL is convex: KL(p, m) is at most half of KL(p, q)
    slack = 1e-12 + 4 * (js.error + kl.error + back.error)
    assert (js.value <= 0.25 * (kl.value + back.value) + slack).all()


@pytest.mark.parametrize("name", NAMES)
def test_entropy_is_the_mean_surprise(name):
    """Closed forms and SciPy's entropy equal the sum or integral."""
    p, _ = pair(name)
    found = info.entropy(p)
    peer = FAMILIES[name].peer
    if peer is not None and not name.startswith("Censored"):
        known = np.ravel(peer(p.theta).entropy())
        slack = 1e-10 + 5 * np.max(found.error)
        np.testing.assert_allclose(found.value, known, atol=slack)
    if name.startswith("Censored"):
        return
    plain = expectation(p, lambda rows, y: -log_prob_at(p, rows, y))
    slack = 1e-10 + 5 * np.max(plain.error)
    np.testing.assert_allclose(found.value, plain.value, atol=slack)


def normal(loc, scale) -> Predictive:
    return Predictive(Normal(), np.array([[loc, np.log(scale)]]))


def test_divergence_of_normals_by_mpmath():
    """log(s₁/s₀) − ½ + (s₀² + (m₁ − m₀)²)/(2s₁²), by quadrature to thirty digits."""
    import mpmath

    with mpmath.workdps(30):
        log = [
            lambda y, m=m, s=s: -((y - m) ** 2) / (2 * s**2) - mpmath.log(s)
            for m, s in (
                (mpmath.mpf("0.3"), mpmath.mpf("0.7")),
                (-0.4, mpmath.mpf("1.6")),
            )
        ]
        exact = mpmath.quad(
            lambda y: (
                mpmath.exp(log[0](y))
                / mpmath.sqrt(2 * mpmath.pi)
                * (log[0](y) - log[1](y))
            ),
            [-12, -2, 0.3, 2, 12],
        )
    found = info.kl(normal(0.3, 0.7), normal(-0.4, 1.6))
    np.testing.assert_allclose(found.value, float(exact), rtol=1e-12)
    np.testing.assert_allclose(
        info.gaussian_kl(0.3, 0.49, -0.4, 2.56), float(exact), rtol=1e-12
    )


CLOSED = {
    "Gamma": (Gamma(), (0.3, 0.8), (0.1, 0.2)),
    "Weibull": (Weibull(), (0.3, 0.6), (0.0, 0.2)),
    "Laplace": (Laplace(), (0.5, 0.3), (-0.4, 0.6)),
    "Geometric": (Geometric(), (0.4,), (-0.6,)),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("Laplace", "Geometric") else SLOW)
        for name in CLOSED
    ],
)
def test_closed_divergences_are_integrals(name):
    family, *etas = CLOSED[name]
    p, q = (Predictive(family, np.array([eta])) for eta in etas)
    found = info.kl(p, q)
    assert found.method == "a closed form"
    plain = expectation(
        p, lambda rows, y: log_prob_at(p, rows, y) - log_prob_at(q, rows, y), also=q
    )
    np.testing.assert_allclose(found.value, plain.value, atol=1e-11)


@pytest.mark.slow
def test_heavy_tails_are_followed_and_divergence_is_said():
    """Student's t against a normal: finite above two degrees of freedom, infinite below."""
    t = [Predictive(StudentT(df=df), np.array([[0.0, 0.0]])) for df in (3.0, 1.5)]
    q = normal(0.0, 1.0)
    exact = 0.5 * np.log(2 * np.pi) + 0.5 * 3  # the variance is 3
    found = info.cross_entropy(t[0], q)
    np.testing.assert_allclose(found.value, exact, rtol=1e-6)
    diverging = info.cross_entropy(t[1], q)
    assert diverging.value == np.inf
    assert "does not converge" in diverging.method


@pytest.mark.slow
def test_mixtures_of_predictions_have_entropy_too():
    parts = [normal(-3.0, 1.0), normal(3.0, 1.0)]
    both = Mixed(parts, np.array([0.5, 0.5]))
    apart = info.entropy(parts[0]).value + np.log(2)  # nearly disjoint
    found = info.entropy(both).value
    assert apart - 0.02 < found[0] < apart
    js = info.jensen_shannon(*parts).value
    np.testing.assert_allclose(js, found - info.entropy(parts[0]).value, atol=1e-9)


def test_gaussians():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 4, 4))
    S, R = A @ A.T + np.eye(4), B @ B.T + np.eye(4)
    m, r = rng.normal(size=(2, 4))
    trace = np.trace(np.linalg.solve(R, S)) + (r - m) @ np.linalg.solve(R, r - m)
    logs = np.linalg.slogdet(R)[1] - np.linalg.slogdet(S)[1]
    found = info.gaussian_kl(m, S, r, R)
    np.testing.assert_allclose(found, 0.5 * (trace - 4 + logs), rtol=1e-12)
    np.testing.assert_allclose(
        info.gaussian_entropy(S), 0.5 * np.linalg.slogdet(2 * np.pi * np.e * S)[1]
    )
    family = MultivariateNormal(4)
    dists = [
        Predictive(
            family,
            np.asarray(family.eta(loc=v, scale_tril=np.linalg.cholesky(C)), float)[
                None
            ],
        )
        for v, C in ((m, S), (r, R))
    ]
    np.testing.assert_allclose(info.kl(*dists).value, found, rtol=1e-5)
    rho = 0.6
    np.testing.assert_allclose(
        info.gaussian_mutual_information([[4, 2 * rho], [2 * rho, 1]]),
        -0.5 * np.log(1 - rho**2),
    )
    chain = info.gaussian_mutual_information(S, 0, 1)
    chain += info.gaussian_mutual_information(S, 0, (2, 3), given=1)
    np.testing.assert_allclose(
        info.gaussian_mutual_information(S, 0, (1, 2, 3)), chain, rtol=1e-10
    )
    with pytest.raises(InputError, match="lowest eigenvalue"):
        info.gaussian_entropy([[1, 2], [2, 1]])
    with pytest.raises(InputError, match="not symmetric"):
        info.gaussian_entropy([[1, 0.5], [0, 1]])


def test_mismatched_distributions_are_refused():
    counts = Predictive(Poisson(), np.zeros((1, 1)))
    with pytest.raises(InputError, match="density"):
        info.kl(normal(0.0, 1.0), counts)
    with pytest.raises(InputError, match="rows"):
        info.kl(normal(0.0, 1.0), normal(0.0, 1.0)[[0, 0]])
    with pytest.raises(InputError, match="two of a kind"):
        info.kl(counts, [0.5, 0.5])


def test_projections_cover_or_seek():
    eta = np.array([[0.2, -0.2, -2.0, np.log(0.6), 2.2, np.log(0.8)]])
    p = Predictive(Mixture(Normal(), 2), eta)
    found = info.kl_projections(p)
    np.testing.assert_allclose(found.covering.mean, p.mean[0], rtol=1e-9)
    np.testing.assert_allclose(found.covering.std, p.std[0], rtol=1e-9)
    covering, seeking = (normal(g.mean, g.std) for g in (found.covering, found.seeking))
    np.testing.assert_allclose(info.kl(p, covering).value, found.covering.kl, rtol=1e-6)
    np.testing.assert_allclose(info.kl(seeking, p).value, found.seeking.kl, rtol=1e-4)
    assert abs(found.seeking.mean + 2.0) < 0.05  # the mode with more weight
    assert abs(found.seeking.std - 0.6) < 0.05
    assert abs(found.local[1].mean - 2.2) < 0.05
    assert info.kl(p, seeking).value > info.kl(p, covering).value
    assert info.kl(covering, p).value > info.kl(seeking, p).value
    with pytest.raises(InputError, match="one row"):
        info.kl_projections(p[[0, 0]])
    with pytest.raises(InputError, match="infinite for all of them"):
        info.kl_projections(Predictive(Gamma(), np.array([[0.3, 0.8]])))


@pytest.mark.slow
def test_the_nearest_member_has_the_lowest_cross_entropy():
    """Of a normal family it has the moments; nothing beside it is lower."""
    p = Predictive(Gamma(), np.array([[0.3, 0.8]]))
    found = info.cross_entropy_fit(p, Normal())
    np.testing.assert_allclose(found.theta["loc"], p.mean[0], rtol=1e-9)
    np.testing.assert_allclose(found.theta["scale"], p.std[0], rtol=1e-8)
    np.testing.assert_allclose(
        found.kl, found.cross_entropy - found.entropy, atol=1e-10
    )
    for step in ((0.01, 0.0), (0.0, 0.01)):
        other = Predictive(Normal(), found.q.eta + np.array([step]))
        assert info.cross_entropy(p, other).value > found.cross_entropy
    with pytest.raises(InputError, match="two of a kind"):
        info.cross_entropy_fit(p, Poisson())
