r"""Fits on every fold and for every setting, judged on the rows held out: one program.

For every fold j and every setting the fit has weights $w\,t_j$ ($t_j$ is 0 on the rows held
out) and is judged in nats on those rows. `selection.cross_validate` is the public face; the
estimators use it to choose their own penalty (`alpha="cv"`).
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from sklearn.model_selection import check_cv

from likely.core.checks import InputError
from likely.core.precision import to_numpy
from likely.core.rows import fill_absent, pad, size_class, weighted_mean
from likely.typing import Batch, Key, Learner, PartsLearner

CHUNK_BYTES = 2**29


def fits(
    learner: Learner,
    key: Key,
    hypers: Mapping[str, Any],
    batch: Batch,
    train: Float[np.ndarray, "j n"],
) -> tuple[PyTree, Float[np.ndarray, "m j"]]:
    """φ and held-out nats of m settings on j folds, as NumPy arrays; in float64 scope."""
    if isinstance(learner, PartsLearner) and learner.leaves_out and _parted(train):
        return to_numpy(_leave_out(learner, dict(hypers), _parts(batch, train)))
    padded = jax.tree.map(jnp.asarray, pad(batch))
    extra = ((0, 0), (0, len(padded.w) - len(batch.w)))
    folds = jnp.asarray(np.pad(train, extra))
    parts = [
        _run(learner, key, part, padded, folds)
        for part in _chunks(hypers, learner, padded, folds)
    ]
    phi, nll = to_numpy(jax.tree.map(lambda *a: np.concatenate(a), *parts))
    keep = max((len(v) for v in hypers.values()), default=1)
    return jax.tree.map(lambda a: a[:keep], phi), nll[:keep]


@eqx.filter_jit
def _run(
    learner: Learner,
    key: Key,
    hypers: Mapping[str, Any],
    batch: Batch,
    train: Float[Array, "j n"],
) -> tuple[PyTree, Float[Array, "m j"]]:
    """φ and held-out nats of every setting (first axis) on every fold (second)."""
    batch = fill_absent(batch)

    def one(hyper, t: Float[Array, " n"]):
        phi = learner.learn(key, hyper, batch._replace(w=batch.w * t))
        losses = learner.losses(phi, batch)
        held = batch.w * (1 - t)
        return phi, weighted_mean(losses, held)

    m = jax.tree.leaves(hypers)[0].shape[0] if hypers else 1
    over_settings = jax.vmap(one, in_axes=(0, None), axis_size=m)
    return jax.vmap(over_settings, in_axes=(None, 0), out_axes=1)(hypers, train)


@eqx.filter_jit
def _leave_out(learner: PartsLearner, hypers: dict[str, Any], parts: Batch):
    """The same by the learner's shorter way, where folds part the rows."""
    return learner.leave_out(hypers, parts)


def _parted(train: Float[np.ndarray, "j n"]) -> bool:
    """Whether every row is held out exactly once."""
    return bool((train.sum(0) == len(train) - 1).all())


def _parts(batch: Batch, train: Float[np.ndarray, "j n"]) -> Batch:
    """The rows by the fold that holds them out, (j, s, ...), filled up with absent ones."""
    keep = int(np.argmax(batch.w > 0))
    size = size_class(int((train == 0).sum(1).max()))
    rows = np.full((len(train), size), keep)
    w = np.zeros(rows.shape)
    for j, t in enumerate(train):
        held = np.flatnonzero(t == 0)
        w[j, : len(held)] = batch.w[held]
        rows[j, : len(held)] = np.where(batch.w[held] > 0, held, keep)
    return Batch(batch.x[rows], batch.y[rows], w)


def training_weights(cv: Any, batch: Batch, classes: bool) -> Float[np.ndarray, "j n"]:
    """One row of zeros and ones for each fold: 1 where a row may teach."""
    splitter: Any = check_cv(cv, batch.y, classifier=classes)
    splits = list(splitter.split(np.zeros(len(batch.w)), batch.y))
    train = np.zeros((len(splits), len(batch.w)))
    for row, (rows, _) in zip(train, splits, strict=True):
        row[rows] = 1.0
    for j, row in enumerate(train):
        if not (batch.w[row > 0].any() and batch.w[row == 0].any()):
            raise InputError(
                f"fold {j} has no weight to learn from or to be judged on; "
                "use fewer folds or other weights."
            )
    return train


def _chunks(hypers: Mapping[str, np.ndarray], learner, batch: Batch, train):
    """Settings in parts of one size whose η fit in memory; the last is filled up."""
    m = max((len(v) for v in hypers.values()), default=1)
    each = 8 * train.size * learner.family.n_eta
    size = min(m, max(1, CHUNK_BYTES // each))
    for start in range(0, m, size):
        rows = np.minimum(np.arange(start, start + size), m - 1)
        yield {name: values[rows] for name, values in hypers.items()}
