"""Minibatches: every row once an epoch, unbiased, reproducible, with exact weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import float64, to_numpy
from likely.families import Normal
from likely.models import Linear
from likely.objectives import GaussianPrior, NegativeLogLikelihood
from likely.solvers import GradientDescent, InverseTime, Minibatches, Momentum
from likely.solvers.first_order.stochastic import Loop
from likely.typing import RUNNING, Batch


@pytest.mark.parametrize(
    ("n", "size", "sizes"),
    [
        (12, 4, [4, 4, 4]),
        (10, 4, [4, 3, 3]),
        (5, 1, [1] * 5),
        (3, 7, [3]),
        (9, 8, [5, 4]),
    ],
)
def test_an_epoch_has_every_row_once(n, size, sizes):
    """n = br + remainder: b batches as equal as possible, b updates an epoch (F5)."""
    batches = Minibatches.of(n, size)
    order = np.asarray(batches.order(jax.random.key(0), jnp.asarray(0)))
    assert [int((rows < n).sum()) for rows in order] == sizes
    assert sorted(order[order < n].tolist()) == list(range(n))
    assert batches.count == len(sizes)


def test_the_order_is_a_function_of_key_and_epoch():
    batches = Minibatches.of(20, 5)
    key = jax.random.key(1)
    orders = [np.asarray(batches.order(key, jnp.asarray(e))) for e in (0, 1, 0)]
    assert (orders[0] != orders[1]).any()
    np.testing.assert_array_equal(orders[0], orders[2])


SIZES = (1, 4, 12)


def problem(rng, n=10, prior=None):
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    data = jax.tree.map(jnp.asarray, Batch(X, y, rng.integers(0, 4, size=n) * 1.0))
    return NegativeLogLikelihood.of(Normal(1.0), data, prior), data


def gradient(objective, data):
    model = Linear(jnp.array([[0.3], [-0.7]]), jnp.array([0.1]))
    g = eqx.filter_grad(lambda m: objective(m, data)[0])(model)
    return jnp.append(g.weight, g.bias)


@pytest.mark.parametrize(
    "size", [3, 10, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4, 5))]
)
def test_the_mean_over_an_epoch_is_the_full_gradient(size, rng):
    """Exactly, with weights B/n, also with a remainder, a prior and row weights (F6)."""
    with float64():
        objective, data = problem(rng, prior=GaussianPrior(2.0))
        batches = Minibatches.of(10, size)
        order = batches.order(jax.random.key(2), jnp.asarray(0))
        parts = jax.vmap(lambda r: gradient(objective, batches.take(data, r)))(order)
        shares = (np.asarray(order) < 10).mean(1) * order.shape[1] / 10
        whole = gradient(objective, data)
    np.testing.assert_allclose(
        shares @ np.asarray(parts), whole, rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("k", [7, 9, 10])
def test_present_rows_are_assigned_evenly(k, rng):
    """Rows after the first k have no weight; each batch represents all k (F6)."""
    n, batches = 10, Minibatches.of(10, 4)
    with float64():
        objective, data = problem(rng, n)
        w = jnp.where(jnp.arange(n) < k, 1.0 + data.w, 0.0)
        data = data._replace(w=w)
        objective = NegativeLogLikelihood.of(Normal(1.0), data, None)
        present = jnp.asarray(k)
        order = batches.order(jax.random.key(3), jnp.asarray(0), present)
        taken = jax.vmap(lambda r: batches.take(data, r, present))(order)
        parts = jax.vmap(lambda batch: gradient(objective, batch))(taken)
        whole = gradient(objective, data)
    order = np.asarray(order)
    assert sorted(order[order < n].tolist()) == list(range(n))
    count = (order < k).sum(1)
    assert count.max() - count.min() <= 1
    assert (np.diff((order < k).astype(int), axis=1) <= 0).all()  # and come first
    np.testing.assert_allclose(count / k @ np.asarray(parts), whole, rtol=1e-12)


def test_a_minibatch_gradient_is_unbiased_and_its_variance_falls(rng):
    """E_S[∇R(S)] = ∇R(D); without replacement the variance is σ²/r · (n−r)/(n−1)."""
    n, draws = 24, 2000
    with float64():
        objective, data = problem(rng, n)
        whole = gradient(objective, data)
        spread = []
        for size in SIZES:
            batches = Minibatches.of(n, size)

            def one(key, batches=batches):
                rows = batches.order(key, jnp.asarray(0))[-1]
                return gradient(objective, batches.take(data, rows))

            keys = jax.random.split(jax.random.key(size), draws)
            g = np.asarray(jax.jit(jax.vmap(one))(keys))
            error = np.abs(g.mean(0) - whole) / (g.std(0) / draws**0.5)
            assert error.max() < 4
            spread.append(g.var(0).mean())
    expected = [(n - r) / (n - 1) / r for r in SIZES]
    np.testing.assert_allclose(
        np.divide(spread, spread[0]), np.divide(expected, expected[0]), rtol=0.15
    )


@pytest.mark.parametrize("size", [1, 7])
def test_stochastic_gradients_settle_with_falling_rates(size, rng):
    X = rng.normal(size=(64, 2))
    y = X @ [1.0, -2.0] + 0.3 * rng.normal(size=64)
    with float64():
        data = jax.tree.map(jnp.asarray, Batch(X, y, np.ones(64)))
        objective = NegativeLogLikelihood.of(Normal(1.0), data)
        solver = GradientDescent(InverseTime(0.2, 50), steps=20_000, batch_size=size)
        found = solver.minimize(
            objective, Linear.zeros(2, bias=False), data, key=jax.random.key(0)
        )
        whole, _ = objective(found.model, data)
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(found.model.weight[:, 0], exact, atol=0.01)
    np.testing.assert_allclose(found.loss, whole, rtol=1e-2)
    assert "trained for 20000 steps" in str(found.status)


def plain_sgd(X, y, rate, size, steps):
    """The textbook loop: shuffle, cut, one update for each batch, reshuffle."""
    batches, B = Minibatches.of(len(y), size), np.zeros(X.shape[1])
    for t in range(steps):
        epoch, i = divmod(t, batches.count)
        if i == 0:
            key, _ = jax.random.split(jax.random.key(5))
            order = np.asarray(batches.order(key, jnp.asarray(epoch)))
        rows = order[i][order[i] < len(y)]
        B -= rate * X[rows].T @ (X[rows] @ B - y[rows]) / len(rows)
    return B


@pytest.mark.parametrize("size", [1, 4])
def test_the_loop_is_the_textbook_loop(size, rng):
    """Over many epochs, whatever the chunks in which it runs."""
    X, y = rng.normal(size=(90, 2)), rng.normal(size=90)
    with float64():
        data = jax.tree.map(jnp.asarray, Batch(X, y, np.ones(90)))
        objective = NegativeLogLikelihood.of(Normal(1.0), data)
        solver = GradientDescent(0.05, steps=300, batch_size=size)
        model = Linear.zeros(2, bias=False)
        found = solver.minimize(objective, model, data, key=jax.random.key(5))
        expected = plain_sgd(X, y, 0.05, size, 300)
    np.testing.assert_allclose(found.model.weight[:, 0], expected, rtol=1e-9)


def test_a_run_in_segments_is_the_whole_run(rng):
    """What a checkpoint needs: segment after segment gives the same bits."""
    with float64():
        objective, data = problem(rng, 30)
        solver = Momentum(0.05, steps=200, batch_size=8)
        model = Linear.zeros(2)
        whole = solver.minimize(objective, model, data, key=jax.random.key(0))
        capacity = len(whole.trace.loss)
        options = {"key": jax.random.key(0), "capacity": capacity}
        loop = Loop.of(solver, objective, model, data, **options)
        advance = eqx.filter_jit(
            lambda loop, progress, first: loop.advance(progress, first, first + 37)
        )
        progress, segments = loop.start(model, None), 0
        while progress.run.reason == RUNNING:
            first = progress.run.step
            saved = to_numpy(advance(loop, progress, first))  # as to a file and back
            progress = jax.tree.map(jnp.asarray, saved)
            segments += 1
        found = loop.finish(progress)
    assert segments > 2
    np.testing.assert_array_equal(found.model.weight, whole.model.weight)
    np.testing.assert_array_equal(found.trace.loss, whole.trace.loss)


def test_members_with_their_own_keys_are_single_runs(rng):
    with float64():
        objective, data = problem(rng, 30)
        solver = Momentum(0.05, steps=150, batch_size=7)

        def fit(seed):
            key = jax.random.key(seed)
            return solver.minimize(objective, Linear.zeros(2), data, key=key)

        many = eqx.filter_vmap(fit)(jnp.arange(3))
        for seed in range(3):
            one = fit(jnp.asarray(seed))
            np.testing.assert_allclose(
                many.model.weight[seed], one.model.weight, rtol=1e-9
            )
