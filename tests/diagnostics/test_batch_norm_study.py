"""What batch norm buys: its measures against closed forms, and a whole study."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely import families
from likely.core import InputError
from likely.diagnostics import batch_norm_study
from likely.diagnostics.batch_norm.measures import (
    batch_noise,
    output_change,
    smoothness,
)
from likely.diagnostics.batch_norm.report import Pair
from likely.diagnostics.batch_norm.study import _arms
from likely.diagnostics.batch_norm.training import (
    Runs,
    final_losses,
    first_weights,
    picked,
    train,
)
from likely.typing import Batch


def rows(n: int = 64, d: int = 3) -> Batch:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = jnp.asarray(X[:, 0] - X[:, 1], jnp.float32)
    return Batch((jnp.asarray(X), jnp.arange(n)), y, jnp.ones(n, jnp.float32))


def arms(hidden=(8,), batch_size: int = 64):
    return _arms(families.Normal(scale=1.0), rows(), (hidden, "relu"), batch_size)


def start(arm) -> Runs:
    keys = jax.random.split(jax.random.key(0), 2)
    return picked(first_weights(arm, keys, 1), 0)


@pytest.mark.slow
def test_statistics_of_all_rows_are_those_of_a_full_batch():
    """The control differs from batch norm by nothing but the noise of minibatches."""
    _, normed, control = arms()
    keys = jax.random.split(jax.random.key(0), 2)
    usual, exact = (train(arm, np.array([0.05]), keys, 5) for arm in (normed, control))
    np.testing.assert_allclose(
        final_losses(normed, usual[-1], jax.random.key(0)),
        final_losses(control, exact[-1], jax.random.key(0)),
        rtol=1e-5,
    )


@pytest.mark.slow
def test_batch_norm_removes_scale_and_shift_and_adds_noise():
    plain, normed, _ = arms()
    changes, noises = [], []
    for arm in (plain, normed):
        first = start(arm)
        X = 10 * arm.data.x[0] + 5
        changes.append(np.asarray(output_change(arm, first, X, jax.random.key(0))))
        noises.append(
            [
                np.asarray(batch_noise(arm, first, jnp.asarray(b), jax.random.key(1)))
                for b in (4, 16)
            ]
        )
    assert (changes[1] < 1e-4).all()
    assert (changes[0] > 1).all()
    assert np.max(noises[0]) < 1e-6  # nothing but rounding
    few, many = noises[1]
    assert (few > 1.5 * many).all()
    assert (many > 0.01).all()


def test_smoothness_of_a_linear_network_is_its_curvature():
    """g(φ − tg) − g = −tHg, so that β = |Hg|/|g| whatever t is."""
    plain = arms(hidden=())[0]
    run = start(plain)
    found = smoothness(plain, run, jnp.asarray(0.1), jax.random.key(0))
    X, y = np.asarray(plain.data.x[0], float), np.asarray(plain.data.y, float)
    A = np.column_stack([X, np.ones(len(X))])
    H = A.T @ A / len(X)
    for seed in range(2):
        layer = run.params.layers[0]
        phi = np.append(np.asarray(layer.weight)[seed], np.asarray(layer.bias)[seed])
        g = A.T @ (A @ phi - y) / len(X)
        beta = np.linalg.norm(H @ g) / np.linalg.norm(g)
        assert found.beta[seed] == pytest.approx(beta, rel=1e-3)
        missed = 0.5 * 0.4 * (g @ H @ g) / (g @ g)  # at the longest step, 4 × 0.1
        assert found.forecast_error[seed] == pytest.approx(missed, rel=1e-2)
        assert found.gradient_change[seed] == pytest.approx(0.4 * beta, rel=1e-3)


def test_differences_within_two_errors_are_not_called_shown():
    assert not Pair.of([1.0, 3.0, 2.0], [2.5, 1.5, 2.4]).shown
    assert Pair.of([1.0, 1.1, 0.9], [2.0, 2.1, 1.95]).shown
    diverged = Pair.of([np.inf, 1.0], [1.0, 1.0])
    assert diverged.plain.value == np.inf
    assert not diverged.shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rates": [0.1]}, "two positive rates"),
        ({"n_seeds": 1}, "n_seeds"),
        ({"y": np.ones(3)}, "n targets"),
        ({"X": np.ones((6, 2)), "y": np.arange(6.0)}, "at least 8"),
    ],
)
def test_what_is_wrong_is_said(change, message, rng):
    given = {"X": rng.normal(size=(20, 2)), "y": rng.normal(size=20)} | change
    with pytest.raises(InputError, match=message):
        batch_norm_study(**given)


@pytest.mark.slow
def test_a_whole_study(rng):
    """Larger rates, a smoother loss and invariance, on classes with names."""
    X = rng.normal(size=(300, 5)) * [1, 10, 100, 1, 1] + 7
    y = np.where((X[:, 0] - 7) * (X[:, 3] - 7) + rng.normal(size=300) > 0, "a", "b")
    found = batch_norm_study(X, y, hidden=(16,) * 6, n_steps=100)
    assert (
        found.invariance.outputs.normed.value
        < 1e-3
        < 1
        < found.invariance.outputs.plain.value
    )
    assert abs(found.invariance.loss.normed.value) < 0.02
    assert found.rates.highest.shown
    assert found.rates.highest.difference.value < 0
    assert found.smoothness.beta.difference.value > 0
    assert -1 < found.noise.slope.value < -0.3
    assert "highest usable rate" in found.verdict
    assert len(found.table()["measure"]) == 8
    assert len(found.plot().axes) == 4
    again = batch_norm_study(X, y, hidden=(16,) * 6, n_steps=100)
    np.testing.assert_array_equal(found.rates.plain, again.rates.plain)
