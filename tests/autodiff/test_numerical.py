"""Differences against exact derivatives, and checks that find what is wrong."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.autodiff import check_gradients, numerical_gradient, step_advice
from likely.core import InputError


def wave(w, x):
    return jnp.sum(jnp.sin(x @ w) ** 2)


W, X = np.array([0.3, -0.2]), np.arange(6.0).reshape(3, 2) / 3
EXACT = X.T @ np.sin(2 * X @ W)


@pytest.mark.parametrize(
    ("method", "error"), [("forward", 1e-6), ("central", 1e-9), ("complex", 1e-14)]
)
def test_methods_reach_their_accuracy(method, error):
    """Differences, by the definition of the derivative."""
    found = numerical_gradient(wave, W, X, argnums=0, method=method)
    assert np.abs(found - EXACT).max() < error


def test_the_complex_step_has_no_best_step():
    for step in (1e-8, 1e-50, 1e-150):
        found = numerical_gradient(wave, W, X, argnums=0, method="complex", step=step)
        assert np.abs(found - EXACT).max() < 1e-13


def test_float32_arguments_are_differenced_in_float64():
    arguments = W.astype(np.float32), X.astype(np.float32)
    found = numerical_gradient(wave, *arguments, argnums=0)
    assert found.dtype == np.float64
    assert np.abs(found - EXACT).max() < 1e-6


def test_trees_and_jacobians():
    def f(p, scale=1.0):
        return scale * jnp.stack([p["a"] * p["b"][0], p["b"].sum() ** 2])

    found = numerical_gradient(f, {"a": 2.0, "b": np.array([1.0, 3.0])}, scale=2.0)
    np.testing.assert_allclose(found["a"], [2, 0], atol=1e-8)
    np.testing.assert_allclose(found["b"], [[4, 0], [16, 16]], atol=1e-8)


def test_best_steps_are_near_the_rules():
    advice = step_advice(wave, W, X, argnums=0)
    assert 1e-11 < advice.best["forward"] < 1e-6
    assert 1e-8 < advice.best["central"] < 1e-3
    central, forward = (advice.errors[m].min() for m in ("central", "forward"))
    assert central < 1e-8
    assert forward < 1e-5
    assert "the rule says" in str(advice)


@jax.custom_vjp
def wrong(x):
    return x**2


wrong.defvjp(lambda x: (wrong(x), x), lambda x, ct: (ct * 2 * x.at[1].add(0.5),))


def test_right_gradients_pass_and_wrong_ones_are_found():
    good = check_gradients(wave, W, X)
    assert good
    assert good.worst.worst < 1e-9
    assert "agree" in str(good)
    assert check_gradients(wave, (W, X)).worst == good.worst
    assert check_gradients(lambda pair: wave(*pair), (W, X))
    bad = check_gradients(lambda x: wrong(x).sum(), np.array([1.0, 2.0, 3.0]))
    assert not bad
    assert bad.worst.entry == "x[1]"
    assert (bad.worst.automatic, round(bad.worst.numerical, 6)) == (5.0, 4.0)
    assert "DIFFER at x[1]: automatic 5, numerical 4" in str(bad)


def test_large_arguments_are_checked_in_places():
    report = check_gradients(lambda x: jnp.sum(x**3), np.ones(1000), entries=20)
    assert report.leaves[0].checked == 20
    assert report


def test_outputs_with_several_entries():
    report = check_gradients(lambda x: wrong(x), np.array([1.0, 2.0]))
    assert report.worst.entry == "x[1] of output [1]"


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (lambda: numerical_gradient(wave, W, X, method="exact"), "method='exact'"),
        (lambda: numerical_gradient(lambda n: n, 3), "no float argument"),
        (lambda: numerical_gradient(lambda x: (x, x), 3.0), "has to return one float"),
        (
            lambda: numerical_gradient(jnp.abs, 3.0, method="complex"),
            "analytic and takes complex numbers; it uses abs",
        ),
        (lambda: step_advice(lambda x: x * X, 3.0), "returns one number"),
    ],
)
def test_errors_are_sentences(job, sentence):
    with pytest.raises(InputError, match=sentence):
        job()
