"""Settings of first-order solvers: averages, noise, accumulation, bfloat16."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from solvers.training.problem import assert_close, network, problem, rows

from likely.core import InputError, float64
from likely.families import Normal
from likely.layers.composition.chain import initial_state
from likely.models import Linear, mlp
from likely.objectives import GaussianPrior, NegativeLogLikelihood
from likely.solvers import (
    Adam,
    ExponentialAverage,
    GradientDescent,
    Noise,
    UniformAverage,
)
from likely.solvers.training import Training
from likely.typing import Batch


def key():
    return jax.random.key(1)


@pytest.mark.parametrize(
    ("average", "weights"),
    [
        (ExponentialAverage(0.8), 0.8 ** np.arange(29, -1, -1)),
        (UniformAverage(), np.ones(30)),
        (UniformAverage(10), np.arange(30) >= 10),
    ],
)
def test_an_average_is_that_of_the_weights_after_each_update(average, weights):
    objective, model, data = problem()
    solver = Adam(0.01, steps=31, batch_size=16, path=True)
    path = solver.minimize(objective, model, data, key=key()).trace.model
    mean = jax.tree.map(
        lambda p: np.average(np.asarray(p, np.float64)[1:31], 0, weights), path
    )
    averaged = Adam(0.01, steps=30, batch_size=16, average=average)
    found = Training(averaged).minimize(objective, model, data, key=key())
    assert_close(found.model, mean, 1e-5)


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_a_gradient_in_parts_is_the_gradient(parts):
    """Also where the parts do not divide the batch, with weights and a prior."""
    data = rows(48)
    data = data._replace(w=jnp.asarray(np.arange(48) % 3, jnp.float32))
    objective = NegativeLogLikelihood.of(Normal(0.3), data, GaussianPrior(2.0))
    whole, accumulated = (
        GradientDescent(0.01, steps=20, batch_size=10, accumulate=k).minimize(
            objective, network(), data, key=key()
        )
        for k in (1, parts)
    )
    assert_close(whole.model, accumulated.model, 1e-5)
    assert_close(whole.trace.loss[:20], accumulated.trace.loss[:20], 1e-5)


def test_parts_take_less_memory():
    def peak(parts: int) -> int:
        data = rows(4096)
        objective = NegativeLogLikelihood.of(Normal(0.3), data)
        model = mlp((3, 256, 256, 1), key=jax.random.key(0))
        from likely.solvers.first_order.stochastic import Loop

        solver = Adam(0.01, steps=3, accumulate=parts)
        loop = Loop.of(solver, objective, model, data, key=None, capacity=8)
        run = loop.start(model, None).run
        step = jax.jit(lambda run: loop.stepper.step(run, data, jnp.asarray(0))[0])
        return step.lower(run).compile().memory_analysis().temp_size_in_bytes

    assert peak(16) < peak(1) / 3


def test_running_statistics_are_threaded_through_the_parts():
    data = rows(48)
    model = mlp((3, 8, 1), norm="batch", key=jax.random.key(0))
    objective = NegativeLogLikelihood.of(Normal(0.3), data)
    state = initial_state(model)
    solver = GradientDescent(0.0, steps=1, accumulate=2)
    found = solver.minimize(objective, model, data, key=key(), state=state)
    for part in (slice(0, 24), slice(24, 48)):
        some = Batch(*(a[part] for a in data))
        _, state = model(some.x, w=some.w, key=key(), state=state)
    assert_close(found.state, state, 1e-5)


def test_bfloat16_computes_and_float32_is_kept():
    objective, _, data = problem()
    losses = {}
    for dtype in (None, "bfloat16"):
        model = mlp((3, 32, 1), dtype=dtype, key=jax.random.key(0))
        found = Training(Adam(0.01, steps=60, batch_size=16)).minimize(
            objective, model, data, key=key()
        )
        kept = jax.tree.leaves(eqx.filter(found.model, eqx.is_inexact_array))
        assert {leaf.dtype for leaf in kept} == {jnp.dtype("float32")}
        losses[dtype] = np.asarray(found.trace.loss[:60])
    gap = np.abs(losses[None] - losses["bfloat16"])
    assert 0 < gap.max() < 0.1 * np.abs(losses[None]).max()


# Noise (J6) ---------------------------------------------------------------------------


def test_noise_on_inputs_is_ridge_regression():
    """E‖y − (X + σε)b‖² = ‖y − Xb‖² + nσ²‖b‖²: the minimum is known."""
    rng = np.random.default_rng(0)
    X, sigma = rng.normal(size=(40, 2)), 0.7
    y = X @ [2.0, -1.0] + 0.1 * rng.normal(size=40)
    ridge = np.linalg.solve(X.T @ X + 40 * sigma**2 * np.eye(2), X.T @ y)
    with float64():
        data = jax.tree.map(jnp.asarray, Batch(X, y, np.ones(40)))
        objective = NegativeLogLikelihood.of(Normal(1.0), data)
        solver = GradientDescent(
            0.01, steps=20_000, noise=Noise(inputs=sigma), average=UniformAverage(1000)
        )
        found = solver.minimize(objective, Linear.zeros(2, bias=False), data, key=key())
    np.testing.assert_allclose(found.model.weight[:, 0], ridge, atol=0.02)
    assert np.abs(ridge - [2, -1]).max() > 0.2


def test_noise_disturbs_what_it_says():
    data = Batch(jnp.zeros((4000, 1)), jnp.zeros(4000), jnp.ones(4000))
    noise = Noise(inputs=0.5, weights=0.1, targets=2.0)
    weights, batch = noise({"a": jnp.ones(4000)}, data, key())
    for values, scale in ((batch.x, 0.5), (batch.y, 2.0), (weights["a"] - 1, 0.1)):
        assert float(values.std()) == pytest.approx(scale, rel=0.05)
        assert abs(float(values.mean())) < 4 * scale / 4000**0.5
    np.testing.assert_array_equal(batch.w, data.w)
    _, flipped = Noise(flips=0.3, classes=3)({}, data, key())
    assert float((flipped.y != 0).mean()) == pytest.approx(0.2, abs=0.03)
    assert set(np.unique(flipped.y)) == {0.0, 1.0, 2.0}


def test_noise_is_a_function_of_seed_and_step_and_absent_in_use():
    objective, model, data = problem()
    solver = Adam(0.01, steps=20, batch_size=16, noise=Noise(inputs=0.1, weights=0.01))
    found = [
        Training(solver, every=every).minimize(objective, model, data, key=key())
        for every in (None, 3)
    ]
    assert_close(found[0], found[1], 0)
    still = Adam(0.01, steps=20, noise=Noise(inputs=0.1))
    quiet = Adam(0.01, steps=20)
    without = [s.minimize(objective, model, data, key=None) for s in (still, quiet)]
    assert_close(without[0].model, without[1].model, 0)


def test_impossible_settings():
    objective, model, data = problem()
    with pytest.raises(InputError, match="accumulate is 0"):
        Adam(accumulate=0).minimize(objective, model, data, key=key())
    with pytest.raises(InputError, match="how many classes"):
        Noise(flips=0.1)


# Initialisation (F29) and the gradient's norm (F22) --------------------------------------


def start_of(scale):
    data = rows(48)
    model = mlp((3, 16, 16, 16, 1), activation="tanh", key=jax.random.key(0))
    model = jax.tree.map(
        lambda a: a * scale if eqx.is_inexact_array(a) and a.ndim == 2 else a, model
    )
    objective = NegativeLogLikelihood.of(Normal(1.0), data)
    solver = GradientDescent(0.05, steps=60)
    return solver.minimize(objective, model, data, key=None)


def test_sensitivity_to_the_first_weights():
    """Zero weights stay alike, small ones have vanishing gradients, large ones huge."""
    zero, small, good, large = (start_of(s) for s in (0.0, 0.05, 1.0, 30.0))
    first = [float(run.trace.gradient[0]) for run in (small, good, large)]
    inner = [float(jnp.abs(run.model.layers[2].weight).max()) for run in (zero,)]
    assert inner == [0.0]  # nothing tells the units apart
    assert first[0] < first[1] < first[2]
    assert float(good.loss) < min(float(small.loss), float(zero.loss))


def test_the_norm_of_the_gradient_is_monitored():
    """The trace has it at every step; it may grow while the loss falls (F22)."""
    run = start_of(0.3)
    gradient, loss = (np.asarray(a)[:60] for a in (run.trace.gradient, run.trace.loss))
    assert np.isfinite(gradient).all()
    assert loss[-1] < loss[0]
    assert gradient.max() > gradient[0]
