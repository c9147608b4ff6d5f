"""Restricted Boltzmann machines against enumeration of all states."""

import itertools
from typing import Any

import jax
import numpy as np
import pytest
from scipy.special import logsumexp as scipy_logsumexp

import likely as lk
from likely.core.precision import float64
from likely.generative import RestrictedBoltzmannMachine
from likely.generative.energies import hidden_states
from likely.generative.energies.machine import BoltzmannMachine
from likely.generative.energies.partition import (
    Annealing,
    annealed_log_partition,
    exact_log_partition,
)


def logsumexp(logs, axis=None) -> Any:
    return scipy_logsumexp(logs, axis=axis)


def machine(rng, d=6, m=4, *, real=False) -> BoltzmannMachine:
    scale = 0.3 * rng.normal(size=d) if real else None
    weights = rng.normal(size=(d, m)), rng.normal(size=d), rng.normal(size=m)
    return BoltzmannMachine(*weights, scale)


def states(d: int) -> np.ndarray:
    return np.array(list(itertools.product((0.0, 1.0), repeat=d)))


def minus_energy(own: BoltzmannMachine, v: np.ndarray, h: np.ndarray) -> np.ndarray:
    """(n, k) −E(v, h) by the definition."""
    return v @ own.weight @ h.T + (v @ own.visible_bias)[:, None] + h @ own.hidden_bias


def rows(n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = (rng.random((n, 5)) < 0.35).astype(float)
    X[:, 1] = X[:, 0]
    X[: n // 2, 3] = X[: n // 2, 2]
    return X


@pytest.fixture(scope="module")
def exact() -> RestrictedBoltzmannMachine:
    return RestrictedBoltzmannMachine(2, alpha=0.0, max_iter=2000).fit(rows())


@pytest.mark.parametrize(("d", "m"), [(6, 4), (3, 7)])
def test_partition_is_enumeration(rng, d, m):
    own = machine(rng, d, m)
    expected = logsumexp(minus_energy(own, states(d), states(m)))
    assert abs(exact_log_partition(own).value - expected) < 1e-10
    joint = minus_energy(own, states(d), states(m)) - expected
    with float64():
        free = np.asarray(own.free_energy(jax.numpy.asarray(states(d))))
    np.testing.assert_allclose(-free - expected, logsumexp(joint, axis=1), atol=1e-10)


def test_partition_of_real_units_is_quadrature(rng):
    own = machine(rng, 1, 3, real=True)
    grid = np.linspace(-40, 40, 200_001)
    with float64():
        free = np.asarray(own.free_energy(jax.numpy.asarray(grid[:, None])))
    total = np.log(np.trapezoid(np.exp(-free), grid))
    assert abs(exact_log_partition(own).value - total) < 1e-9


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_annealing_agrees_within_its_error(rng, real):
    own = machine(rng, 6, 4, real=real)
    base = Annealing(np.zeros(6), np.ones(6) if real else np.zeros(6))
    draws = hidden_states.draw_visible(own, np.full((300, 6), np.nan), rng)
    options = {"n_chains": 300, "n_temperatures": 200, "draws": draws}
    found = annealed_log_partition(own, base, jax.random.key(0), **options)
    exact = exact_log_partition(own).value
    assert 0 < found.error < 0.1
    assert abs(found.value - exact) < 4 * found.error
    assert abs(found.upper - exact) < 0.2


@pytest.mark.slow
def test_fewer_temperatures_are_too_low_on_average(rng):
    """E[log Ẑ] ≤ log Z: seen where one temperature has to do."""
    own = machine(rng, 6, 4)
    base, exact = Annealing(np.zeros(6), np.zeros(6)), exact_log_partition(own).value
    values = [
        annealed_log_partition(
            own, base, jax.random.key(k), n_chains=5, n_temperatures=2
        ).value
        for k in range(60)
    ]
    assert np.mean(values) < exact


def test_missing_units_are_summed_out(rng):
    own = machine(rng)
    V = states(6)
    joint = minus_energy(own, V, states(4))
    joint -= logsumexp(joint)
    part = np.array([[1.0, np.nan, 0.0, np.nan, np.nan, 1.0]])
    like = (V[:, 0] == 1) & (V[:, 2] == 0) & (V[:, 5] == 1)
    found = hidden_states.log_probs(own, part)
    assert abs(found[0] - logsumexp(joint[like])) < 1e-10
    p = np.exp(joint[like].T).sum(0)
    means = p @ V[like] / p.sum()
    np.testing.assert_allclose(
        hidden_states.expected_visible(own, part)[0][1], means[1]
    )
    drawn = hidden_states.draw_visible(own, np.repeat(part, 20_000, axis=0), rng)
    np.testing.assert_allclose(drawn.mean(0), means, atol=0.02)


def test_exact_fit_has_the_moments_of_the_rows(exact):
    """At the maximum of the likelihood E[v h] is the same under rows and model."""
    X, model = rows(), exact
    assert model.algorithm_ == "exact"
    S = states(5)
    p = np.exp(model.log_prob(S))
    assert abs(p.sum() - 1) < 1e-10
    np.testing.assert_allclose(X.mean(0), p @ S, atol=2e-3)
    pairs = X.T @ model.transform(X) / len(X)
    np.testing.assert_allclose(
        pairs, (S * p[:, None]).T @ model.transform(S), atol=2e-3
    )
    alone = -np.log(np.where(X == 1, X.mean(0), 1 - X.mean(0))).sum(1).mean()
    assert model.nll(X) < alone - 0.3


def test_pseudo_likelihood_is_that_of_the_conditionals(exact):
    X, model, total = states(5), exact, np.zeros(32)
    for i in range(5):
        other = X.copy()
        other[:, i] = 1 - X[:, i]
        both = np.stack([model.log_prob(X), model.log_prob(other)])
        total += both[0] - logsumexp(both, axis=0)
    np.testing.assert_allclose(model.pseudo_log_likelihood(X), total, rtol=1e-9)


@pytest.mark.slow
def test_missing_values_in_fit_and_imputation():
    X = rows()
    holes = X.copy()
    holes[:, 1] = np.where(np.arange(200) % 4 == 0, np.nan, X[:, 1])
    model = RestrictedBoltzmannMachine(2).fit(holes)
    filled = model.impute(holes)
    np.testing.assert_array_equal(filled, X)  # column 1 is column 0
    assert np.isfinite(model.log_prob(holes)).all()
    assert len(model.impute(holes, n_draws=2)) == 2


@pytest.mark.slow
def test_contrastive_divergence_learns(rng):
    """Both variants come near the likelihood of the exact fit; draws have its means."""
    X = rows()
    best = RestrictedBoltzmannMachine(3).fit(X).nll(X)
    alone = -np.log(np.where(X == 1, X.mean(0), 1 - X.mean(0))).sum(1).mean()
    for algorithm in ("cd", "pcd"):
        model = RestrictedBoltzmannMachine(
            14, algorithm=algorithm, max_iter=800, n_steps=2
        ).fit(X)
        assert model.log_partition_.is_exact
        assert model.nll(X) < alone - 0.85 * (alone - best)
    drawn = model.sample(2000, random_state=0)
    np.testing.assert_allclose(drawn.mean(0), X.mean(0), atol=0.08)
    given = np.array([1.0, np.nan, np.nan, np.nan, 0.0])
    clamped = model.sample(300, given=given, random_state=0)
    assert (clamped[:, 0] == 1).all()
    assert clamped[:, 1].mean() > 0.9
    part = np.where(np.arange(5) == 1, np.nan, X[:20])
    np.testing.assert_array_equal(model.impute(part), X[:20])


def test_real_units():
    X = lk.data.iris().X
    model = RestrictedBoltzmannMachine(3).fit(X)
    assert not model.machine_.binary
    scale = X.std(0)
    alone = (0.5 * np.log(2 * np.pi * scale**2) + 0.5).sum()
    assert model.nll(X) < alone - 1
    drawn = model.sample(4000, random_state=0)
    np.testing.assert_allclose(drawn.mean(0), X.mean(0), atol=0.1)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(X.T), atol=0.3)
    few = RestrictedBoltzmannMachine(3).fit(X[:3])  # three rows
    assert np.isfinite(few.log_prob(X[:3])).all()


def test_sentences(exact):
    X, model = rows(20), exact
    with pytest.raises(lk.core.InputError, match="binary units are 0 or 1"):
        RestrictedBoltzmannMachine(2, visible="binary").fit(X * 0.5)
    with pytest.raises(lk.core.InputError, match="0 or 1"):
        model.log_prob(X + 0.5)
    with pytest.raises(lk.core.InputError, match="states"):
        RestrictedBoltzmannMachine(30, algorithm="exact").fit(X)
    with pytest.raises(lk.core.InputError, match="missing"):
        model.free_energy(np.full((1, 5), np.nan))


@pytest.mark.slow
def test_digits_are_learned():
    """Held-out nats of binarised digits: far below independent pixels."""
    images = lk.data.digits().X
    X = (images > images.max() / 2).astype(float)
    train, test = X[:1400], X[1400:]
    p = (train.sum(0) + 0.5) / (len(train) + 1)
    alone = -(test * np.log(p) + (1 - test) * np.log1p(-p)).sum(1).mean()
    model = RestrictedBoltzmannMachine(64, max_iter=200).fit(train)
    assert model.log_partition_.error < 0.3
    assert model.nll(test) < alone - 6
