"""Gradients through sampling and through time, and signals through depth."""

import jax
import jax.numpy as jnp
import numpy as np

from likely.autodiff import (
    depth_profile,
    gradient_estimates,
    reparameterised,
    through_time,
)
from likely.core import float64

MEAN, FACTOR = np.array([1.0, -0.5]), np.array([[0.5, 0.0], [0.3, 0.8]])


def test_both_estimators_are_unbiased_and_one_is_less_noisy(getkey):
    """For f = ‖z‖², ∂E f/∂μ = 2μ and ∂E f/∂L = 2L."""
    found = gradient_estimates(
        lambda z: (z**2).sum(), MEAN, FACTOR, samples=4000, key=getkey()
    )
    for name, exact in (("mean", 2 * MEAN), ("factor", 2 * FACTOR)):
        for estimates in (found.score_function, found.reparameterised):
            estimate = estimates[name]
            error = np.abs(estimate.mean - exact)
            assert (error <= 4.5 * estimate.standard_error + 1e-12).all()
    # Var of 2z is 4 Σ_ii exactly; the score function is much noisier.
    variance = found.reparameterised["mean"].variance
    np.testing.assert_allclose(variance, 4 * np.diag(FACTOR @ FACTOR.T), rtol=0.15)
    assert min(found.variance_ratio.values()) > 3
    assert "variance of the score function" in str(found)


def test_reparameterised_samples_have_the_right_moments(getkey):
    noise = jax.random.normal(getkey(), (4000, 2))
    z = np.asarray(reparameterised(MEAN, FACTOR, noise))
    np.testing.assert_allclose(z.mean(axis=0), MEAN, atol=0.06)
    np.testing.assert_allclose(np.cov(z.T), FACTOR @ FACTOR.T, atol=0.06)


def cell(p, h, x):
    return jnp.tanh(p["W"] @ h + p["u"] * x)


def loss(p, h, y):
    return 0.5 * (p["v"] @ h - y) ** 2


def test_backpropagation_through_time(getkey):
    """The double sum over t and s ≤ t is the gradient, part by part."""
    rng = np.random.default_rng(0)
    theta = {
        "W": rng.normal(size=(3, 3)),
        "u": rng.normal(size=3),
        "v": rng.normal(size=3),
    }
    xs, ys, start = rng.normal(size=5), rng.normal(size=5), rng.normal(size=3)

    def total(p, until=5):
        h, value = jnp.asarray(start), 0.0
        for x, y in zip(xs[:until], ys[:until], strict=True):
            h = cell(p, h, x)
            value = value + loss(p, h, y)
        return value

    run = through_time(cell, loss, theta, start=start, inputs=xs, targets=ys)
    with float64():
        exact = jax.grad(total)(theta)
        last = jax.tree.map(
            lambda a, b: a - b, exact, jax.grad(lambda p: total(p, 4))(theta)
        )
    for name in theta:
        np.testing.assert_allclose(run.gradient[name], exact[name], rtol=1e-10)
    from_last = np.concatenate([np.ravel(last[name]) for name in ("W", "u", "v")])
    np.testing.assert_allclose(
        run.parts[4].sum(axis=0), from_last, rtol=1e-9, atol=1e-12
    )
    assert (run.parts[0, 1:] == 0).all()
    assert "by way of step 5" in str(run)


def test_the_printed_sum_through_time_is_wrong():
    """With sums and products up to T, the gradient of a scalar network is wrong."""
    w, u, xs, ys = 0.9, 0.7, [0.5, -1.0, 0.8, 0.3], [0.2, 0.4, -0.3, 0.1]
    run = through_time(
        lambda p, h, x: jnp.tanh(p * h + u * x),
        lambda p, h, y: 0.5 * ((h - y) ** 2).sum(),
        w,
        start=np.zeros(1),
        inputs=np.array(xs),
        targets=np.array(ys),
    )
    h = [0.0]
    for x in xs:
        h.append(np.tanh(w * h[-1] + u * x))
    state, slope = np.array(h[1:]), w * (1 - np.array(h[1:]) ** 2)
    direct = (1 - state**2) * np.array(h[:-1])
    printed = sum(
        (state[t] - ys[t]) * np.prod(slope[s + 1 :]) * direct[s]
        for t in range(4)
        for s in range(4)
    )

    def total(w):
        h, value = 0.0, 0.0
        for x, y in zip(xs, ys, strict=True):
            h = np.tanh(w * h + u * x)
            value += 0.5 * (h - y) ** 2
        return value

    rough = (total(w + 1e-6) - total(w - 1e-6)) / 2e-6
    np.testing.assert_allclose(run.gradient, rough, rtol=1e-6)
    assert abs(printed - rough) > 0.1 * abs(rough)


def test_gradients_vanish_or_explode_with_time():
    """The carried Jacobians shrink or grow geometrically."""
    for scale, shrinks in ((0.5, True), (1.6, False)):
        run = through_time(
            lambda p, h, x: p * h + x,
            lambda p, h, y: h.sum(),
            scale,
            start=np.zeros(1),
            inputs=np.ones(12),
            targets=np.ones(12),
        )
        np.testing.assert_allclose(run.carried[11, 0], scale**11)
        assert (run.carried[11, 0] < 1) == shrinks


def test_signals_through_depth(getkey):
    """Variances are proportional to (σ²/2)ᵏ for ReLU in both passes; σ² = 2 keeps them."""
    profile = depth_profile((1.0, 2.0, 4.0), depth=20, width=200, key=getkey())
    np.testing.assert_allclose(profile.growth, [0.5, 1.0, 2.0], rtol=0.12)
    back = (profile.gradients[:, 0] / profile.gradients[:, -1]) ** (1 / 19)
    np.testing.assert_allclose(back, [0.5, 1.0, 2.0], rtol=0.12)
    assert "per layer" in str(profile)
