import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from likely.core import InputError
from likely.layers import Chain, Dropout
from likely.layers.units.dropout import random_bits


def masks(rate: float, shape=(400, 500), seed=0) -> np.ndarray:
    y, _ = Dropout(rate)(jnp.ones(shape), key=jax.random.key(seed))
    return np.asarray(y)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5, 0.9])
def test_a_value_is_dropped_with_its_probability_or_scaled(rate):
    y = masks(rate)
    np.testing.assert_allclose(np.unique(y[y > 0]), 1 / (1 - rate), rtol=1e-6)
    dropped = int((y == 0).sum())
    assert stats.binomtest(dropped, y.size, max(rate, 1e-12)).pvalue > 1e-4
    np.testing.assert_allclose(Dropout(rate).rate, rate, atol=1e-9)


def test_the_mean_is_that_of_use():
    """A worked example: p = 0.2, w·x = 7.263; masked it is 5.81 = (1 − p) 7.263.

    So the masked sum is divided by 1 − p here, and not the weights times p at the end.
    """
    x = jnp.asarray(np.random.default_rng(0).uniform(0, 1, 20), jnp.float32)
    x = x * (7.263 / x.sum())
    keys = jax.random.split(jax.random.key(0), 20_000)
    y = jax.vmap(lambda k: Dropout(0.2)(x[None], key=k)[0].sum())(keys)
    error = y.std() / len(y) ** 0.5
    assert abs(y.mean() - 7.263) < 4 * error
    assert abs((y * 0.8).mean() - 5.810) < 4 * error
    np.testing.assert_array_equal(Dropout(0.2)(x[None])[0][0], x)


def test_masks_of_places_rows_and_keys_are_independent():
    """Correlations of neighbours, of rows, of steps and of neighbouring keys are noise."""
    a = masks(0.5) > 0
    others = {
        "next column": (a[:, 1:], a[:, :-1]),
        "next row": (a[1:], a[:-1]),
        "power of two": (a[256:], a[: len(a) - 256]),
        "next seed": (a, masks(0.5, seed=1) > 0),
        "bits of one draw": (a[:, ::2], a[:, 1::2]),
    }
    key = jax.random.key(0)
    for i in range(3):
        folded = np.asarray(random_bits(jax.random.fold_in(key, i), a.shape)) >= 2**31
        others[f"step {i}"] = (a, folded)
    for name, (one, two) in others.items():
        r = np.corrcoef(one.ravel(), two.ravel())[0, 1]
        assert abs(r) * one.size**0.5 < 4, name
    # sums of rows and columns scatter like binomials
    for axis in (0, 1):
        n = a.shape[axis]
        z2 = (a.sum(axis) - n / 2) ** 2 / (n / 4)
        assert 1e-4 < stats.chi2(z2.size).cdf(z2.sum()) < 1 - 1e-4


def test_noise_is_uniform_and_does_not_depend_on_the_number_of_rows():
    key = jax.random.key(3)
    u = np.asarray(random_bits(key, (300, 300)), float).ravel() / 2**32
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    np.testing.assert_array_equal(
        random_bits(key, (5, 7)), random_bits(key, (9, 7))[:5]
    )


def test_every_layer_of_a_chain_draws_its_own_mask():
    y, _ = Chain(Dropout(0.5), Dropout(0.5))(
        jnp.ones((100, 100)), key=jax.random.key(0)
    )
    assert (y > 0).mean() == pytest.approx(0.25, abs=0.02)
    np.testing.assert_allclose(np.unique(y), [0, 4])


def test_another_rate_compiles_nothing():
    traces = []

    @jax.jit
    def drop(layer, X, key):
        traces.append(1)
        return layer(X, key=key)[0]

    X = jnp.ones((50, 40))
    shares = [
        float((drop(Dropout(rate), X, jax.random.key(0)) == 0).mean())
        for rate in (0.1, 0.5, 0.8)
    ]
    np.testing.assert_allclose(shares, [0.1, 0.5, 0.8], atol=0.03)
    assert len(traces) == 1
    two = jax.tree.map(lambda *a: jnp.stack(a), Dropout(0.1), Dropout(0.9))
    many = jax.vmap(drop, in_axes=(0, None, None))(two, X, jax.random.key(0))
    np.testing.assert_allclose((many == 0).mean((1, 2)), [0.1, 0.9], atol=0.03)


@pytest.mark.parametrize("rate", [-0.1, 1.0, np.nan])
def test_what_is_no_probability_is_refused(rate):
    with pytest.raises(InputError, match="probability to drop"):
        Dropout(rate)
