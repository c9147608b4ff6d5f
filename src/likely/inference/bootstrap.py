r"""The bootstrap: refits on rows drawn with replacement, all in one program.

A resample is a weight vector: how often each row was drawn. With frequency weights w,
Σw rows are drawn, each row with probability wᵢ/Σw, so w=2 is exactly "this row twice".
The spread of the refits estimates that of the estimate, whether or not the family is right.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.typing import Batch, Key, Learner

CHUNK_BYTES, MAX_CHUNK = 2**27, 64
"""Memory for η of the refits made at once, and the largest number of them."""


def resampled_weights(
    w: Float[np.ndarray, " n"], members: int, rng: np.random.Generator
) -> Float[np.ndarray, "m n"]:
    """The number of times that each row is drawn, for each of m resamples.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> lk.inference.resampled_weights(np.ones(5), 2, rng).sum(axis=1)
        array([5., 5.])
    """
    share = np.asarray(w, float) / np.sum(w)
    draws = rng.multinomial(int(round(float(np.sum(w)))), share, size=members)
    return draws.astype(np.float64)


def bootstrap(
    learner: Learner,
    key: Key,
    hyper: dict[str, Any],
    batch: Batch,
    weights: Float[np.ndarray, "m n"],
) -> PyTree:
    """φ of every resample, leading axis m.

    Rows have to be padded (`core.pad`), with absent ones filled (`core.fill_absent`).
    """
    n = weights.shape[1]
    size = max(1, CHUNK_BYTES // (8 * n * max(1, learner.family.n_eta)))
    learn = eqx.Partial(learner.learn, key, hyper)
    return _fits(learn, batch, jnp.asarray(weights), min(size, MAX_CHUNK))


@eqx.filter_jit
def _fits(learn, batch: Batch, weights: Float[Array, "m n"], size: int) -> PyTree:
    """The fits of all weights, `size` of them at a time."""
    return jax.lax.map(lambda w: learn(batch._replace(w=w)), weights, batch_size=size)
