"""Diagnostics of chains: against ArviZ, on chains that are good and on chains that are not."""

import numpy as np
import pytest

from likely.core.checks import InputError
from likely.inference import (
    Draws,
    ess_bulk,
    ess_mean,
    ess_tail,
    mcse,
    pareto_smooth,
    r_hat,
)
from likely.inference.mcmc.target import Layout


def autoregressive(c, n, rho, seed=7):
    """Chains with correlation ρ between neighbours."""
    x = np.random.default_rng(seed).normal(size=(c, n))
    for t in range(1, n):
        x[:, t] += rho * x[:, t - 1]
    return x


# r_hat, ess bulk, tail and mean, mcse of the mean by ArviZ 0.22
ARVIZ = {
    (4, 500, 0.7): (1.0100875137716163, 314.17674242789343, 718.5938018321922,
                    314.4663546014206, 0.08127909102526165),
    (4, 501, 0.0): (1.0029083376326986, 1622.4976895523353, 1934.5286037229473,
                    1631.6947462938635, 0.024363826445238504),
    (2, 200, -0.5): (0.9988612566317839, 1040.823996531185, 287.4270651575406,
                     1040.823996531185, 0.03208897637596941),
}  # fmt: skip


@pytest.mark.parametrize("case", ARVIZ)
def test_diagnostics_are_arvizs(case):
    x = autoregressive(*case)[..., None]
    found = [f(x)[0] for f in (r_hat, ess_bulk, ess_tail, ess_mean, mcse)]
    np.testing.assert_allclose(found, ARVIZ[case], rtol=1e-9)


def test_pareto_smoothing_is_arvizs():
    """The largest weights and k̂ of heavy-tailed weights, by ArviZ 0.22."""
    log_w, k = pareto_smooth(np.random.default_rng(7).standard_t(5, 1000))
    assert k == pytest.approx(0.910578993452229, rel=1e-9)
    np.testing.assert_allclose(
        np.sort(log_w)[-3:], [-3.46141803, -3.00277105, -2.00938394], rtol=1e-7
    )
    assert np.exp(log_w).sum() == pytest.approx(1)


def test_equal_weights_are_left_alone():
    log_w, k = pareto_smooth(np.zeros(400))
    np.testing.assert_allclose(log_w, -np.log(400))
    assert k == -np.inf


def as_draws(values, **other):
    c, n, d = values.shape
    layout, _ = Layout.of(np.zeros(d))
    return Draws(values, np.zeros((c, n)), layout, "test", **other)


def test_nothing_speaks_against_good_chains():
    good = as_draws(np.random.default_rng(0).normal(size=(4, 1000, 3)))
    assert good.believable, good.verdict
    assert "Nothing speaks against" in str(good)
    assert np.all(np.abs(good.mean) < 5 * good.mcse)
    assert good.summary().to_frame().shape == (3, 8)


BAD = {
    "one chain elsewhere": ("disagree about z[0]", lambda x: x.__setitem__(0, x[0] + 2)),
    "a drift": ("disagree", lambda x: x.__iadd__(np.linspace(0, 3, 1000)[None, :, None])),
    "one chain wider": ("disagree", lambda x: x.__setitem__(0, 5 * x[0])),
    "a chain that stands still": ("does not move", lambda x: x.__setitem__(1, 0.0)),
}  # fmt: skip


@pytest.mark.parametrize("how", BAD)
def test_a_bad_chain_is_not_believed(how):
    words, spoil = BAD[how]
    x = np.random.default_rng(0).normal(size=(4, 1000, 1))
    spoil(x)
    found = as_draws(x)
    assert not found.believable
    assert words in found.verdict
    assert found.verdict.startswith("Do not believe")


def test_slow_chains_divergences_and_weights_are_named():
    slow = as_draws(autoregressive(4, 500, 0.98)[..., None])
    assert "independent draws" in slow.verdict
    x = np.random.default_rng(0).normal(size=(4, 1000, 1))
    diverged = np.zeros((4, 1000), bool)
    diverged[2, 5] = True
    assert "diverged" in as_draws(x, divergent=diverged).verdict
    assert "k̂" in as_draws(x, pareto_k=0.9).verdict
    assert as_draws(x, pareto_k=0.3).believable
    assert (
        "shorter steps"
        in as_draws(x, acceptance=np.array([0.3, 0.01, 0.3, 0.3])).verdict
    )


def test_heavy_tails_have_diagnostics_too():
    """Ranks exist for Cauchy draws, which have no variance."""
    x = np.random.default_rng(3).standard_cauchy((4, 1000, 1))
    found = as_draws(x)
    assert found.r_hat[0] < 1.01
    assert found.ess_bulk[0] > 3000


def test_an_interval_needs_a_coverage():
    draws = as_draws(np.random.default_rng(0).normal(size=(2, 10, 1)))
    with pytest.raises(InputError, match="coverage"):
        draws.interval(1.5)
    with pytest.raises(InputError, match="kind"):
        draws.plot("pie")
