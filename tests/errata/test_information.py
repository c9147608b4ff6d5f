"""Worked numbers, misprints and figures of information and analysis, by public calls."""

import importlib.util

import numpy as np
from ledger import ROOT
from scipy.special import gammaln

from likely import analysis, information as info
from likely.families import Geometric, Normal, Poisson, Predictive


def program(name: str):
    """A program of docs/figures as a module."""
    path = ROOT / "docs" / "figures" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"figures_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_surprises():
    """W1, X000-32, X000-33: −log p, which falls with p; printed as log p, rising."""
    p = np.array([0.01, 0.99])
    np.testing.assert_allclose(info.surprise(p), [4.605170, 0.010050], atol=5e-7)
    assert (np.log(p) < 0).all()
    assert info.surprise(0.5) < info.surprise(
        0.4
    )  # printed: higher than of the less probable
    assert info.kl(p[::-1], p[::-1]) == 0  # printed: never zero


def test_the_poisson_law_nearest_to_a_geometric_one():
    """W2 to W6, X000-34: rate 1, 1.50783 and 0.12154 nats; printed 2.01567 and 0.63."""
    p = Predictive(Geometric(), np.zeros((1, 1)))
    found = info.cross_entropy_fit(p, Poisson())
    np.testing.assert_allclose(found.theta["rate"], 1, rtol=1e-12)
    np.testing.assert_allclose(found.cross_entropy, 1.5078339, atol=5e-8)
    np.testing.assert_allclose(found.entropy, 2 * np.log(2), rtol=1e-12)
    np.testing.assert_allclose(found.kl, 0.1215396, atol=5e-8)
    k = np.arange(1, 200)
    shifted = 0.5**k  # the law that the printed sums are over
    C = shifted @ gammaln(k + 1)
    np.testing.assert_allclose(C, 1.0156678, atol=5e-8)
    printed = 1 + C  # of Poisson's law of rate 1, where the mean is taken as 1
    assert abs(printed - found.cross_entropy) > 0.5
    law = np.exp(k * np.log(2) - 2 - gammaln(k + 1))  # rate 2, its mean
    cells, other = np.r_[0.0, shifted], np.r_[np.exp(-2.0), law]
    np.testing.assert_allclose(info.kl(cells, other), 0.2430791, atol=5e-7)
    np.testing.assert_allclose(info.cross_entropy(cells, other), 1.62937, atol=5e-6)


def test_divergence_to_the_prior_has_one_half_of_all():
    """X001-28: ½ (tr S + mᵀm − d − log det S); printed with ½ of the trace alone."""
    m, S = np.array([1.0, -0.8]), np.array([[0.8, 0.2], [0.2, 0.3]])
    rest = m @ m - 2 - np.log(np.linalg.det(S))
    right, printed = 0.5 * (np.trace(S) + rest), 0.5 * np.trace(S) + rest
    found = info.gaussian_kl(m, S)
    np.testing.assert_allclose(found, right, rtol=1e-12)
    assert abs(found - printed) > 0.1


def test_divergence_of_two_normals():
    """X003-11: −½ where −1/(2s₀²) is printed; that one gives KL(q, q) = −0.520."""
    m0, s0, m1, s1 = 0.3, 0.7, -0.4, 1.6

    def printed(m0, s0, m1, s1):
        gap = (s0**2 + (m1 - m0) ** 2) / (2 * s1**2)
        return np.log(s1 / s0) - 1 / (2 * s0**2) + gap

    p, q = (
        Predictive(Normal(), np.array([[m, np.log(s)]]))
        for m, s in ((m0, s0), (m1, s1))
    )
    np.testing.assert_allclose(info.kl(p, q).value, 0.518085, atol=5e-7)
    np.testing.assert_allclose(printed(m0, s0, m1, s1), -0.002323, atol=5e-7)
    assert info.kl(p, p).value == 0
    np.testing.assert_allclose(printed(m0, s0, m0, s0), -0.520, atol=5e-4)


def test_divergence_is_no_difference_of_entropies():
    """X004-21: KL = H(p, q) − H(p); printed H(p) − H(q)."""
    p, q = [0.2, 0.8], [0.3, 0.7]
    np.testing.assert_allclose(info.kl(p, q), 0.0257, atol=5e-5)
    np.testing.assert_allclose(
        info.cross_entropy(p, q) - info.entropy(p), info.kl(p, q), rtol=1e-12
    )
    np.testing.assert_allclose(info.entropy(p) - info.entropy(q), -0.1105, atol=5e-5)


def test_convexity_is_about_the_second_derivative():
    """X004-9: f'' ≥ 0; printed f' ≥ 0, which x² does not have at −1."""
    found = analysis.convexity(lambda x: x[0] ** 2, -1, 1, by="hessian", n=50)
    assert not found.refuted
    assert 2 * -1.0 < 0  # f'(−1)
    falling = analysis.convexity(lambda x: -(x[0] ** 2), -1, -0.1, by="hessian", n=50)
    assert falling.refuted  # though its derivative −2x is positive there


def test_leading_minors_are_not_enough():
    """X004-11: positive leading minors are for definite ones; others need all minors."""
    first, second = np.diag([0.0, 1.0]), np.diag([0.0, -1.0])
    assert analysis.positive_definite(first, semi=True, by="minors").proved
    assert not (analysis.leading_minors(first) > 0).all()  # printed: all positive
    np.testing.assert_array_equal(analysis.leading_minors(second), [0, 0])
    assert analysis.positive_definite(second, semi=True, by="minors").refuted
    assert not analysis.positive_definite(first).proved


def test_strong_convexity_takes_the_same_order_twice():
    """X004-27: ⟨∇f(x) − ∇f(y), x − y⟩ ≥ μ|x − y|²; printed with y − x."""
    H = np.array([1.0, 25.0])

    def f(x):
        return 0.5 * (H * x**2).sum()

    found = analysis.strong_convexity(f, 1.0, [-2, -2], [2, 2], n=100)
    assert not found.refuted
    x, y = np.array([1.0, 1.0]), np.array([-1.0, -0.5])
    slopes, gap = H * x - H * y, x - y
    assert slopes @ gap >= gap @ gap
    assert slopes @ -gap < gap @ gap


def test_bars_of_the_geometric_and_the_poisson_law(monkeypatch):
    """Fig30: bars of p(k) beside those of the fitted Poisson law."""
    drawn = {}
    module = program("information")
    monkeypatch.setattr(
        module, "save", lambda figure, name: drawn.update({name: figure})
    )
    module.counts()
    (ax,) = drawn["fitted-counts"].axes
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(2, -1)
    k = np.arange(heights.shape[1])
    np.testing.assert_allclose(heights[0], 0.5 ** (k + 1), rtol=1e-9)
    np.testing.assert_allclose(heights[1], np.exp(-1 - gammaln(k + 1)), rtol=1e-9)
    assert "λ = 1" in ax.get_legend().get_texts()[1].get_text()
