"""Schedules: their formulas, against Optax, and inside a solver."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from likely.core import float64
from likely.solvers import (
    Adam,
    Constant,
    Cosine,
    ExponentialDecay,
    GradientDescent,
    InverseTime,
    ReduceOnPlateau,
    StepDecay,
    WarmUp,
)
from likely.solvers.function import Function
from likely.typing import Batch

NO_ROWS = Batch(None, None, np.ones(1))
STEPS = np.arange(120)

FORMULAS = {
    "constant": (Constant(0.3), optax.constant_schedule(0.3)),
    "step": (
        StepDecay(0.3, every=25, factor=0.5),
        optax.exponential_decay(0.3, 25, 0.5, staircase=True),
    ),
    "exponential": (
        ExponentialDecay(0.3, 0.5, every=25),
        optax.exponential_decay(0.3, 25, 0.5),
    ),
    "cosine": (Cosine(0.3, 100, 0.03), optax.cosine_decay_schedule(0.3, 100, 0.1)),
    "one over t": (InverseTime(0.3, 10), lambda t: 0.3 / (1 + t / 10)),
    "one over root t": (InverseTime(0.3, 10, 0.5), lambda t: 0.3 / (1 + t / 10) ** 0.5),
    "warm-up": (
        WarmUp(20, StepDecay(0.3, every=50)),
        lambda t: np.minimum(1, (t + 1) / 20) * 0.3 * 0.1 ** (t // 50),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name):
    ours, oracle = FORMULAS[name]
    rates = [ours.rate(jnp.asarray(t), ours.init()) for t in STEPS]
    np.testing.assert_allclose(rates, [oracle(t) for t in STEPS], rtol=2e-5, atol=1e-8)


def bowl(x):
    return 0.5 * jnp.sum(x**2)


def rates_of(schedule, steps=60):
    with float64():
        solver = GradientDescent(schedule, steps=steps)
        found = solver.minimize(Function(bowl), jnp.ones(1), NO_ROWS, key=None)
    return np.asarray(found.trace.step)[:steps]


def test_the_solver_uses_and_records_the_rate():
    expected = [0.3 * 0.5 ** (t // 20) for t in range(60)]
    np.testing.assert_allclose(rates_of(StepDecay(0.3, 20, 0.5)), expected)


def test_a_new_schedule_value_is_a_new_result_of_the_same_program():
    np.testing.assert_allclose(rates_of(ExponentialDecay(0.3, 0.9))[10], 0.3 * 0.9**10)
    np.testing.assert_allclose(rates_of(ExponentialDecay(0.2, 0.8))[10], 0.2 * 0.8**10)


def observe(schedule, losses):
    memory, rates = schedule.init(), []
    for t, loss in enumerate(losses):
        rates.append(float(schedule.rate(jnp.asarray(t), memory)))
        memory = schedule.observe(memory, jnp.asarray(loss))
    return np.array(rates)


def test_plateau_cuts_when_the_loss_stops_falling():
    falling, flat = np.linspace(2, 1, 10), np.ones(10)
    schedule = ReduceOnPlateau(1.0, factor=0.5, patience=3, threshold=0.0)
    rates = observe(schedule, [*falling, *flat])
    np.testing.assert_allclose(rates[:13], 1)
    np.testing.assert_allclose(rates[13:16], 0.5)
    np.testing.assert_allclose(rates[16:19], 0.25)


def test_plateau_averages_over_windows(rng):
    noise = np.tile([0.5, -0.5], 30)
    losses = np.linspace(6, 0, 60) + noise
    cut = observe(ReduceOnPlateau(1.0, patience=1), losses)
    averaged = observe(ReduceOnPlateau(1.0, patience=1, every=2), losses)
    assert cut[-1] < 1e-6
    assert averaged[-1] == 1


def test_plateau_agrees_with_optax():
    losses = np.abs(np.sin(np.arange(40)))
    ours = observe(ReduceOnPlateau(1.0, 0.5, 4, 1e-4), losses)
    theirs = optax.contrib.reduce_on_plateau(0.5, patience=4, rtol=1e-4)
    memory, rates = theirs.init(jnp.zeros(1)), []
    for loss in losses:
        rates.append(float(memory.scale))
        _, memory = theirs.update(jnp.zeros(1), memory, value=jnp.asarray(loss))
    np.testing.assert_allclose(ours, rates)


def test_schedules_nest_and_batch():
    """A warm-up around a plateau around a cosine, for three rates at once."""

    def solve(rate):
        schedule = WarmUp(5, ReduceOnPlateau(Cosine(rate, 100), 0.5, 3))
        solver = Adam(schedule, steps=80)
        return solver.minimize(Function(bowl), jnp.ones(2), NO_ROWS, key=None)

    with float64():
        rates = jnp.array([0.05, 0.1, 0.2])
        many = jax.vmap(solve)(rates)
        for i, rate in enumerate(rates):
            np.testing.assert_allclose(many.model[i], solve(rate).model, rtol=1e-9)
