import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from likely.core import InputError
from likely.layers import (
    Dense,
    GaussianInit,
    HeInit,
    UniformInit,
    XavierInit,
    ZeroInit,
    initializer,
)

VARIANCES = {
    "he": 2 / 60,
    "he_out": 2 / 40,
    "he_average": 4 / 100,
    "xavier": 2 / 100,
    ("gaussian", 0.3): 0.3,
}


@pytest.mark.parametrize("spec", VARIANCES)
def test_weights_are_normal_with_the_variance_of_the_formula(spec, getkey):
    dense = Dense(60, 40, init=spec, key=getkey())
    W, variance = np.asarray(dense.weight, float), VARIANCES[spec]
    low, high = stats.chi2(W.size).ppf([1e-4, 1 - 1e-4]) / W.size
    assert low < (W**2).mean() / variance < high
    assert stats.kstest(W.ravel() / variance**0.5, "norm").pvalue > 1e-3
    np.testing.assert_array_equal(dense.bias, 0)
    assert initializer(spec).variance(60, 40) == pytest.approx(variance)


def test_uniform_weights_and_biases_lie_within_the_same_bound(getkey):
    dense = Dense(60, 400, init="uniform", key=getkey())
    for values in (dense.weight, dense.bias):
        scaled = np.asarray(values, float).ravel() * 60**0.5
        assert np.abs(scaled).max() <= 1
        assert stats.kstest(scaled, "uniform", args=(-1, 2)).pvalue > 1e-3
    assert np.var(dense.weight) == pytest.approx(
        UniformInit().variance(60, 400), rel=0.05
    )
    assert np.unique(np.concatenate([dense.weight[0], dense.bias])).size == 800


def test_zero_and_names(getkey):
    np.testing.assert_array_equal(ZeroInit()(3, 2, key=getkey()), 0)
    assert initializer("he_out") == HeInit("out")
    assert initializer(["gaussian", 0.5]) == GaussianInit(0.5)
    assert initializer(XavierInit()) == XavierInit()


def test_each_form_of_he_keeps_what_it_promises(getkey):
    """From 400 to 200: `in` keeps the variance of the signal, `out` that of the gradient."""
    narrow, X = (400, 200), jax.random.normal(getkey(), (300, 400))
    seen = jax.random.normal(getkey(), (300, 200))
    for init, forward, back in (
        ("he", 1, 0.5),
        ("he_out", 2, 1),
        ("he_average", 4 / 3, 2 / 3),
    ):
        W = Dense(*narrow, init=init, key=getkey()).weight
        half = jnp.maximum(X, 0)  # after a ReLU: E h² = ½ Var
        assert (half @ W).var() == pytest.approx(float(forward * X.var()), rel=0.1)
        returned = (seen @ W.T) * (X > 0)
        assert returned.var() == pytest.approx(float(back * seen.var()), rel=0.1)


@pytest.mark.parametrize("bad", ["hee", ("he", 3), ("gaussian", -1.0), HeInit])
def test_what_is_no_initialiser_is_refused(bad):
    with pytest.raises((InputError, TypeError)):
        initializer(bad)
    with pytest.raises(InputError, match='"in", "out" or "average"'):
        HeInit("both")
