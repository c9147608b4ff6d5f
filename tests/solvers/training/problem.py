"""A small network on a small table, for the tests of training."""

import jax
import jax.numpy as jnp
import numpy as np

from likely.families import Normal
from likely.models import mlp
from likely.objectives import NegativeLogLikelihood
from likely.typing import Batch


def rows(n=48, seed=0) -> Batch:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = (np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)).astype(np.float32)
    return jax.tree.map(jnp.asarray, Batch(X, y, np.ones(n, np.float32)))


def network(seed=0, **options):
    return mlp((3, 8, 1), key=jax.random.key(seed), **options)


def problem(n=48):
    data = rows(n)
    return NegativeLogLikelihood.of(Normal(0.3), data), network(), data


def leaves(tree) -> list[np.ndarray]:
    return [np.asarray(a) for a in jax.tree.leaves(tree) if hasattr(a, "shape")]


def assert_same(a, b) -> None:
    """To the last bit."""
    for left, right in zip(leaves(a), leaves(b), strict=True):
        np.testing.assert_array_equal(left, right)


def assert_close(a, b, tolerance=1e-5) -> None:
    for left, right in zip(leaves(a), leaves(b), strict=True):
        np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)
