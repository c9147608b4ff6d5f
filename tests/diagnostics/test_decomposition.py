"""The parts of a risk: they sum to it, and are what they are known to be."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from likely.diagnostics.generalization.decomposition.log_loss import log_parts
from likely.diagnostics.generalization.decomposition.parts import Judged
from likely.diagnostics.generalization.decomposition.squared import squared_parts
from likely.diagnostics.generalization.decomposition.zero_one import zero_one_parts


def everywhere(m, t, *, fixed=False):
    return Judged(np.ones((m, t), bool), np.ones(t), fixed)


def z_score(score, truth):
    return (score.value - truth) / score.error


@pytest.mark.parametrize("masked", [False, True])
def test_squared_parts_sum_to_the_measured_error(rng, masked):
    F, mu, noise = rng.normal(size=(40, 30)), rng.normal(size=30), rng.uniform(size=30)
    here = rng.uniform(size=F.shape) < 0.4 if masked else np.ones(F.shape, bool)
    v = rng.uniform(size=30)
    judged = Judged(here, v, fixed=False)
    found = squared_parts(np.where(here, F, np.nan), mu, noise, judged)
    each = np.array([((F - mu)[here[:, t], t] ** 2).mean() for t in range(30)]) + noise
    assert found.risk.value == pytest.approx(v @ each / v.sum(), abs=1e-12)
    total = found.noise.value + found.bias.value + found.variance.value
    assert abs(total - found.risk.value) < 1e-12


def test_squared_parts_and_their_errors_are_those_of_a_known_normal():
    """f ~ N(μ + 0.3, 0.5²) with a point effect: 200 experiments, each of 20 fits."""
    m, t, scores = 20, 50, []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        mu = rng.normal(size=t)
        common = rng.normal(size=(m, 1))
        F = mu + 0.3 + 0.4 * rng.normal(size=(m, t)) + 0.3 * common
        found = squared_parts(F, mu, np.full(t, 0.2), everywhere(m, t))
        scores.append((found.bias, found.variance, found.risk))
    for k, truth in enumerate((0.09, 0.25, 0.54)):
        values = np.array([s[k].value for s in scores])
        errors = np.array([s[k].error for s in scores])
        assert abs(values.mean() - truth) < 3 * values.std() / np.sqrt(200)
        assert 0.85 < np.sqrt((errors**2).mean()) / values.std() < 1.2


def test_without_each_fit_in_turn_is_what_is_left(rng):
    values, here = rng.normal(size=(6, 4)), rng.uniform(size=(6, 4)) < 0.7
    judged = Judged(here, np.ones(4), fixed=False)
    for j in range(6):
        others = here.copy()
        others[j] = False
        left = Judged(others, np.ones(4), fixed=False).mean(values)
        np.testing.assert_allclose(judged.without(values)[j], left, atol=1e-12)


def test_points_that_are_given_add_nothing_to_the_errors(rng):
    F, mu = np.full((5, 40), 1.0), rng.normal(size=40)
    assert squared_parts(F, mu, None, everywhere(5, 40, fixed=True)).bias.error == 0
    assert squared_parts(F, mu, None, everywhere(5, 40)).bias.error > 0


# The log loss --------------------------------------------------------------------------


def test_log_parts_are_divergences_around_the_geometric_mean(rng):
    L = np.log(rng.dirichlet(np.ones(3), size=(7, 5)))
    probs = rng.dirichlet(np.ones(3), size=5)
    found = log_parts(L, probs, everywhere(7, 5), known=True)
    middle = np.exp(L.mean(0))
    middle /= middle.sum(1, keepdims=True)
    bias = (probs * np.log(probs / middle)).sum(1).mean()
    variance = (middle * (np.log(middle) - L)).sum(2).mean()
    noise = -(probs * np.log(probs)).sum(1).mean()
    risk = -(probs * L).sum(2).mean()
    assert noise + bias + variance == pytest.approx(risk, abs=1e-12)
    assert found.risk.value == pytest.approx(risk, abs=1e-12)
    assert found.noise.value == pytest.approx(noise, abs=1e-12)
    # the jackknife moves a share of the variance from the bias, and nothing else
    assert found.bias.value + found.variance.value == pytest.approx(bias + variance)
    assert variance < found.variance.value < 1.5 * variance


def test_log_parts_of_random_log_odds_are_those_of_an_integral():
    """log-odds ~ N(1, 0.8²) and P(1) = 0.6; few fits, so that the correction matters."""

    def log_mean(sign):
        return quad(lambda s: np.log(expit(sign * (1 + 0.8 * s))) * norm.pdf(s), -8, 8)[
            0
        ]

    down, up = log_mean(-1), log_mean(1)
    variance = -np.log(np.exp(down) + np.exp(up))
    risk = -0.4 * down - 0.6 * up
    bias = risk - variance + (0.4 * np.log(0.4) + 0.6 * np.log(0.6))
    found = []
    for seed in range(100):
        odds = 1 + 0.8 * np.random.default_rng([1, seed]).normal(size=(8, 20))
        L = np.log(expit(np.stack([-odds, odds], 2)))
        probs = np.tile([0.4, 0.6], (20, 1))
        found.append(log_parts(L, probs, everywhere(8, 20), known=True))
    for name, truth in (("risk", risk), ("bias", bias), ("variance", variance)):
        values = np.array([getattr(parts, name).value for parts in found])
        errors = np.array([getattr(parts, name).error for parts in found])
        assert abs(values.mean() - truth) < 3 * values.std() / np.sqrt(100), name
        assert 0.8 < np.sqrt((errors**2).mean()) / values.std() < 1.6, name


def test_an_impossible_class_that_happens_makes_the_log_loss_infinite():
    L = np.tile([np.log(0.5), np.log(0.5), -np.inf], (4, 2, 1))
    possible = log_parts(
        L, np.array([[0.5, 0.5, 0.0]] * 2), everywhere(4, 2), known=True
    )
    assert possible.risk.value == pytest.approx(np.log(2))
    assert possible.variance.value == pytest.approx(0, abs=1e-12)
    happens = log_parts(
        L, np.array([[0.5, 0.4, 0.1]] * 2), everywhere(4, 2), known=True
    )
    assert happens.risk.value == np.inf
    assert np.isnan(happens.bias.value)


# The 0/1 loss --------------------------------------------------------------------------


def test_zero_one_parts_are_those_of_domingos():
    """Two classes: risk = (2q − 1)N + B + c₂V at each point, c₂ = 1 or −1."""
    codes = np.array([[0, 1, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])
    probs = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]])
    found = zero_one_parts(codes, probs, everywhere(5, 3), known=True)
    right = np.array([0.8, 0.2, 0.6])  # the share of fits that predict the best class
    noise = np.array([0.1, 0.3, 0.2])
    biased = np.array([0.0, 1.0, 0.0])
    variance = np.array([0.2, 0.2, 0.4])
    sign = np.where(biased, -1, 1)
    risk = (2 * right - 1) * noise + biased + sign * variance
    assert found.risk.value == pytest.approx(risk.mean())
    assert found.noise.value == pytest.approx(((2 * right - 1) * noise).mean())
    assert found.bias.value == pytest.approx(1 / 3)
    assert found.variance.value == pytest.approx((sign * variance).mean())
    details = {name: score.value for name, score in found.details.items()}
    assert details["bayes_error"] == pytest.approx(noise.mean())
    assert details["unbiased_variance"] == pytest.approx(0.6 / 3)
    assert details["biased_variance"] == pytest.approx(0.2 / 3)


def test_zero_one_parts_recover_known_votes_of_three_classes():
    votes = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    probs = np.array([[0.5, 0.2, 0.3], [0.6, 0.3, 0.1]])
    rng = np.random.default_rng(0)
    codes = np.stack([rng.choice(3, size=400, p=q) for q in votes], 1)
    found = zero_one_parts(codes, probs, everywhere(400, 2, fixed=True), known=True)
    risk = 1 - (votes * probs).sum(1).mean()
    assert abs(z_score(found.risk, risk)) < 3
    assert found.bias.value == 0.5
    assert abs(z_score(found.variance, (0.4 + 0.8 - 1) / 2)) < 3
    sum_of_parts = found.noise.value + found.bias.value + found.variance.value
    assert sum_of_parts == pytest.approx(found.risk.value, abs=1e-12)
