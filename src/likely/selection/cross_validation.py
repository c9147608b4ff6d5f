r"""Cross-validation as one program: folds are weights, so all fits are one `vmap`.

For every fold j and every setting α the fit has weights $w\,t_j$ ($t_j$ is 0 on the rows held
out) and is judged on the rows held out, in nats:
$\text{nll}_{αj} = \sum_i w_i (1 - t_{ji})\,(-\log p_{αj}(y_i \mid x_i)) / \sum_i w_i (1 - t_{ji})$.
What does not depend on α, such as the decomposition in ridge regression, is computed
once for each fold; what does not depend on the fold, once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from likely.core.checks import InputError
from likely.core.precision import float64, to_numpy
from likely.core.random import key_of
from likely.core.rows import fill_absent, pad, size_class, weighted_mean
from likely.estimators.shell import AbstractPredictor
from likely.typing import Batch, Key, Learner, PartsLearner

CHUNK_BYTES = 2**29


@dataclass(frozen=True)
class CrossValidation:
    """What cross-validation found; m settings, j folds.

    Attributes:
        params: the m settings.
        nll: (m, j) held-out negative log-likelihood, nats per unit of weight.
        phi: the parameters of all fits, leading axes (m, j).
    """

    params: list[dict[str, float]]
    nll: Float[np.ndarray, "m j"]
    phi: PyTree

    @property
    def mean_nll(self) -> Float[np.ndarray, " m"]:
        """The mean over folds."""
        return self.nll.mean(1)

    @property
    def standard_error(self) -> Float[np.ndarray, " m"]:
        """Of `mean_nll`, from the spread over folds."""
        return self.nll.std(1, ddof=1) / np.sqrt(self.nll.shape[1])

    @property
    def best_params(self) -> dict[str, float]:
        """The setting with the lowest held-out nats."""
        return self.params[int(np.argmin(self.mean_nll))]


def cross_validate(
    estimator: AbstractPredictor,
    X: Any,
    y: Any,
    *,
    grid: Mapping[str, Any] | None = None,
    cv: Any = 5,
    sample_weight: Any = None,
) -> CrossValidation:
    """Fit every setting of a grid on every fold, in one compiled program.

    Args:
        estimator: one of `likely.estimators`.
        X: (n, d) inputs.
        y: (n,) targets.
        grid: values for numeric hyper-parameters, such as `{"alpha": [0.1, 1.0]}`.
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        sample_weight: how often each row counts.
    """
    batch = estimator._batch(X, y, sample_weight)
    train = _training_weights(cv, batch, is_classifier(estimator))
    params, hypers = _settings(estimator, grid or {})
    learner = estimator._learner(batch.y)
    learner.family.check(batch.y, batch.w)
    with float64():
        if isinstance(learner, PartsLearner) and learner.leaves_out and _parted(train):
            phi, nll = to_numpy(_leave_out(learner, hypers, _parts(batch, train)))
            return CrossValidation(params, nll, phi)
        key = key_of(getattr(estimator, "random_state", 0))
        padded = jax.tree.map(jnp.asarray, pad(batch))
        extra = ((0, 0), (0, len(padded.w) - len(batch.w)))
        folds = jnp.asarray(np.pad(train, extra))
        parts = [
            _run(learner, key, part, padded, folds)
            for part in _chunks(hypers, learner, padded, folds)
        ]
        phi, nll = to_numpy(jax.tree.map(lambda *a: np.concatenate(a), *parts))
    keep = len(params)
    return CrossValidation(params, nll[:keep], jax.tree.map(lambda a: a[:keep], phi))


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


def _training_weights(cv: Any, batch: Batch, classes: bool) -> Float[np.ndarray, "j n"]:
    """One row of zeros and ones for each fold: 1 where a row may teach."""
    splitter: Any = check_cv(cv, batch.y, classifier=classes)
    splits = list(splitter.split(batch.x, batch.y))
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


def _settings(estimator: AbstractPredictor, grid: Mapping[str, Any]):
    """The settings as dictionaries, and as arrays with one entry for each."""
    fixed = estimator._hyper()
    unknown = [name for name in grid if name not in fixed]
    if unknown:
        raise InputError(
            f"{type(estimator).__name__} has no numeric hyper-parameter {unknown[0]!r}; "
            f"it has {list(fixed) or 'none'}."
        )
    values = [np.asarray(v).tolist() for v in grid.values()]
    params = [dict(zip(grid, row, strict=True)) for row in product(*values)]
    rows = [type(estimator)(**estimator.get_params() | p)._hyper() for p in params]
    return params, {name: np.array([row[name] for row in rows]) for name in fixed}


def _chunks(hypers: Mapping[str, np.ndarray], learner, batch: Batch, train):
    """Settings in parts of one size whose η fit in memory; the last is filled up."""
    m = max((len(v) for v in hypers.values()), default=1)
    each = 8 * train.size * learner.family.n_eta
    size = min(m, max(1, CHUNK_BYTES // each))
    for start in range(0, m, size):
        rows = np.minimum(np.arange(start, start + size), m - 1)
        yield {name: values[rows] for name, values in hypers.items()}
