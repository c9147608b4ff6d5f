"""Misprints about the evidence lower bound, and its picture."""

import importlib.util

import numpy as np
import pytest
from ledger import ROOT

from likely import plots
from likely.inference import elbo_identity

Q, PRIOR, LIKELIHOOD = [0.4, 0.6], [0.3, 0.7], [0.8, 0.25]
FOUND = elbo_identity(Q, PRIOR, LIKELIHOOD)


def pictures():
    """The program that draws the bounds."""
    path = ROOT / "docs" / "figures" / "bayes.py"
    spec = importlib.util.spec_from_file_location("figures_bayes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_elbo_of_em_is_that_of_autoencoders():
    """E_q log p(x, z) + H(q) = E_q log p(x | z) − KL(q, p(z))."""
    em = FOUND.energy + FOUND.entropy
    autoencoder = FOUND.reconstruction - FOUND.kl_from_prior
    assert em == pytest.approx(autoencoder, abs=1e-12)


def test_the_bound_is_tight_at_the_posterior():
    """∫ q log(p(x, z)/q) = log p(x) − KL(q, p(z | x)); a ratio without log is no bound."""
    joint = np.multiply(PRIOR, LIKELIHOOD)
    elbo = np.sum(Q * np.log(joint / Q))
    assert elbo == pytest.approx(FOUND.log_evidence - FOUND.kl, abs=1e-12)
    printed = np.sum(Q * (np.array(LIKELIHOOD) / Q))
    assert abs(printed - elbo) > 1
    tight = elbo_identity(FOUND.posterior, PRIOR, LIKELIHOOD)
    assert tight.elbo == pytest.approx(FOUND.log_evidence, abs=1e-12)


def test_the_third_line_has_the_evidence_not_the_prior():
    """E log p(z | x) + log p(x) − E log q; with E log p(z) the number is another."""
    mean = np.array(Q) @ np.log(FOUND.posterior)
    assert mean + FOUND.log_evidence + FOUND.entropy == pytest.approx(FOUND.elbo)
    printed = mean + np.array(Q) @ np.log(PRIOR) + FOUND.entropy
    assert abs(printed - FOUND.elbo) > 0.05


def test_the_gap_is_the_divergence_from_the_posterior():
    """log p(x) − ELBO is KL(q, p(z | x)), not KL(q, p(z))."""
    gap = FOUND.log_evidence - FOUND.elbo
    assert gap == pytest.approx(FOUND.kl, abs=1e-12)
    assert abs(gap - FOUND.kl_from_prior) > 0.02


def test_bounds_touch_the_likelihood():
    """Each bound is below log p(x; θ), and equal to it where q is the posterior."""
    theta, curve, bounds, touch = pictures().bounds()
    assert (bounds <= curve + 1e-12).all()
    for bound, at in zip(bounds, touch, strict=True):
        gap = np.interp(at, theta, curve - bound)
        assert gap == pytest.approx(0, abs=1e-3)
    assert touch[1] == pytest.approx(theta[np.argmax(bounds[0])], abs=0.03)
    (ax,) = plots.elbo_curves(theta, curve, bounds, touch).axes
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[0] == "log p(x; θ)"
    assert len(labels) == 3
