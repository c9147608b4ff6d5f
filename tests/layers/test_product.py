"""The product of a dense layer: the derivative in every form is JAX's own."""

import jax
import numpy as np
import pytest

from likely.layers.units.product import plain_product, product

SHAPES = {
    "narrow": (12, 40, 5),
    "small": (9, 6, 20),
    "large": (130, 70, 80),
    "tall": (256, 40, 17),
    "one column": (12, 40, 1),
    "short": (12, 5, 4),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_derivatives_are_those_of_the_plain_product(shape):
    n, d, k = shape
    rng = np.random.default_rng(0)
    X, W, G = rng.normal(size=(n, d)), rng.normal(size=(d, k)), rng.normal(size=(n, k))

    def parts(multiply):
        def loss(X, W):
            return (G * jax.numpy.tanh(multiply(X, W) / 8)).sum()

        along = lambda X, W: jax.jvp(jax.grad(loss, (0, 1)), (X, W), (X**2, W**2))[1]  # noqa: E731
        slopes = jax.grad(loss, (0, 1))(X, W)
        many = jax.vmap(jax.grad(loss, 1), (None, 0))(X, np.stack([W, 2 * W]))
        only = jax.grad(loss, 1)(X, W)
        return jax.jit(lambda: (slopes, along(X, W), many, only))()

    with jax.enable_x64(True):
        ours, plain = (jax.tree.leaves(parts(f)) for f in (product, plain_product))
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
