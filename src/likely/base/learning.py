r"""A `Learner` run on rows as they come: padded, compiled once, one fit or many.

Few shapes mean few programs: rows are padded to their size class, and the columns of
small problems to 15, 31, ... where the learner takes a column of zeros for absent.

For every fold j and every setting, `held_out_fits` fits with weights $w\,t_j$ ($t_j$ is 0
on the rows held out) and judges in nats on those rows: one program where nothing but φ is
learned from the rows, one run of it for each fold where columns are learned too.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from sklearn.exceptions import ConvergenceWarning

from likely.core.compiling import lean_jit
from likely.core.precision import float64, to_numpy
from likely.core.rows import fill_absent, pad, pad_rows, size_class, weighted_mean
from likely.typing import (
    TRAINED,
    VALIDATION,
    Batch,
    Key,
    Learner,
    PartsLearner,
    Solution,
)

MAX_LEAN_ENTRIES = 1_000_000
"""The most numbers in the rows of all fits for which compiling takes longer than running."""
SMALL_ROWS = 1024
"""Rows up to which columns are padded too."""
CHUNK_BYTES = 2**29
"""Memory for η of the settings that are fitted side by side."""


@runtime_checkable
class ColumnLearner(Learner, Protocol):
    """A learner for which a column of zeros is as good as absent."""

    def trimmed(self, phi: PyTree, d: int) -> PyTree:
        """φ with the first d columns only."""
        ...


@runtime_checkable
class HostLearner(Learner, Protocol):
    """A learner with a shorter way in NumPy, outside of any program."""

    def on_host(self, hyper: dict[str, Any], batch: Batch) -> PyTree | None:
        """φ as NumPy arrays, or None where the shorter way is not safe."""
        ...


@runtime_checkable
class HostFoldsLearner(HostLearner, Protocol):
    """A learner whose shorter way also pays where a strength is chosen by folds."""

    folds_on_host: bool
    """Whether fold after fold in NumPy is quicker than compiling a program for all."""


@runtime_checkable
class JudgedLearner(Learner, Protocol):
    """A learner whose predictions are wider than those at φ: they know its uncertainty."""

    def held_out_losses(
        self, phi: PyTree, hyper: dict[str, Any], known: Batch, rows: Batch
    ) -> Float[Array, " n"]:
        """−log p of rows, φ fitted to the known ones."""
        ...


@runtime_checkable
class WideningLearner(Learner, Protocol):
    """A learner that has to know how many columns there are."""

    def widened(self, extra: int) -> Learner:
        """The learner for rows with this many columns of zeros at the end."""
        ...


@runtime_checkable
class TrainingLearner(Learner, Protocol):
    """A learner that takes many small steps: its programs run longer than they compile."""

    def scaling_of(self, data: Batch) -> Any:
        """The units of rows."""
        ...


def _learn(learner: Learner, key: Key, hyper: dict[str, Any], batch: Batch) -> PyTree:
    return _compiled(_learned, batch.x)(learner, key, hyper, batch)


def _learned(learner: Learner, key: Key, hyper: dict[str, Any], batch: Batch) -> PyTree:
    return learner.learn(key, hyper, batch)


def _compiled(function: Callable, X: Any, copies: int = 1) -> Callable:
    """The function as a program: one that compiles fast, unless rows are many."""
    entries = copies * sum(a.size for a in jax.tree.leaves(X))
    return (lean_jit if entries <= MAX_LEAN_ENTRIES else _full_jit)(function)


@cache
def _full_jit(function: Callable) -> Callable:
    return eqx.filter_jit(function)


@lean_jit
def _eta(learner: Learner, phi: PyTree, X: Any) -> Array:
    return learner.eta(phi, X)


def learn(learner: Learner, key: Key, hyper: dict[str, Any], batch: Batch) -> PyTree:
    """φ as NumPy arrays, in float64, from rows of any number."""
    with float64():
        return to_numpy(_learn_padded(learner, key, hyper, batch))


def _learn_padded(learner: Learner, key: Key, hyper: dict[str, Any], batch: Batch):
    if isinstance(learner, HostLearner):
        phi = learner.on_host(hyper, batch)
        if phi is not None:
            return phi
    small = len(batch.w) <= SMALL_ROWS
    if not (small and isinstance(learner, ColumnLearner)):
        return _learn(learner, key, hyper, pad(batch))
    d = jax.tree.leaves(batch.x)[0].shape[1]
    padded = pad(batch, max(SMALL_ROWS // 2, size_class(len(batch.w))))
    wide = jax.tree.map(lambda a: _pad_columns(a) if a.ndim == 2 else a, padded.x)
    return learner.trimmed(_learn(learner, key, hyper, padded._replace(x=wide)), d)


def _pad_columns(X: np.ndarray) -> np.ndarray:
    """X with columns of zeros up to 15, 31, ... (an intercept makes them 16, 32)."""
    extra = max(16, size_class(X.shape[1] + 1)) - 1 - X.shape[1]
    return np.pad(X, ((0, 0), (0, extra)))


def eta_of(learner: Learner, phi: PyTree, X: Any) -> np.ndarray:
    """η of each row, compiled once for each learner and size class."""
    with float64():
        return np.asarray(_eta(learner, phi, pad_rows(X)))[: len(X)]


def report_convergence(estimator: Any, phi: PyTree) -> None:
    """Keep `n_iter_` and `status_`; warn where no minimum was reached."""
    if not isinstance(phi, Solution):
        return
    estimator.n_iter_, estimator.status_ = int(phi.status.steps), str(phi.status)
    planned = np.isin(phi.status.reason, (VALIDATION, TRAINED))
    if not (phi.status.converged or planned):
        name = type(estimator).__name__
        warnings.warn(f"{name} {estimator.status_}.", ConvergenceWarning, stacklevel=4)


# Many fits ----------------------------------------------------------------------------


class Problem(NamedTuple):
    """The pure core of an estimator together with the rows it is fitted to."""

    learner: Any
    hyper: dict[str, np.ndarray]
    """Numeric hyper-parameters."""
    batch: Batch
    relearn: Callable[[np.ndarray], tuple[Learner, np.ndarray]] | None = None
    """From weights to the learner and the columns that these rows alone give; None
    where columns do not depend on the rows."""

    def present(self) -> "Problem":
        """The same without absent rows, so that no number depends on how many there are."""
        here, relearn = self.batch.w > 0, self.relearn
        if here.all():
            return self

        def relearn_present(w: np.ndarray) -> tuple[Learner, np.ndarray]:
            assert relearn is not None
            every = np.zeros(len(here))
            every[here] = w
            learner, columns = relearn(every)
            return learner, columns[here]

        batch = jax.tree.map(lambda a: a[here], self.batch)
        return self._replace(
            batch=batch, relearn=None if relearn is None else relearn_present
        )


def held_out_fits(
    problem: Problem,
    key: Key,
    hypers: Mapping[str, np.ndarray],
    train: Float[np.ndarray, "j n"],
) -> tuple[PyTree, Float[np.ndarray, "m j"]]:
    """φ and held-out nats of m settings on j folds, as NumPy arrays.

    Args:
        problem: what is fitted.
        key: for whatever is random in the learner.
        hypers: (m,) values of each numeric hyper-parameter.
        train: one row of zeros and ones for each fold: 1 where a row is learned from.
    """
    with float64():
        if problem.relearn is None:
            return _fits(problem.learner, key, hypers, problem.batch, train)
        return _relearned_fits(problem, key, hypers, train)


def _relearned_fits(problem: Problem, key: Key, hypers, train):
    """Fold after fold, each with columns of its own, filled up to one width."""
    assert problem.relearn is not None
    batch, parts, width = problem.batch, [], None

    def fit_fold(learner: Learner, columns: np.ndarray, t: np.ndarray, width: int):
        extra = width - columns.shape[1]
        if extra:
            columns = np.pad(columns, ((0, 0), (0, extra)))
            if isinstance(learner, WideningLearner):
                learner = learner.widened(extra)
        x = (columns, *batch.x[1:]) if isinstance(batch.x, tuple) else columns
        return _fits(learner, key, hypers, batch._replace(x=x), t[None])

    for t in train:  # one after the other: columns may be large
        learner, columns = problem.relearn(batch.w * t)
        if width not in (None, columns.shape[1]):
            break
        width = columns.shape[1]
        parts.append(fit_fold(learner, columns, t, width))
    else:
        return _join_folds(parts)
    folds = [problem.relearn(batch.w * t) for t in train]
    width = max(columns.shape[1] for _, columns in folds)
    each = zip(folds, train, strict=True)
    return _join_folds([fit_fold(*fold, t, width) for fold, t in each])


def _join_folds(parts: list) -> Any:
    return jax.tree.map(lambda *a: np.concatenate(a, 1), *parts)


def _fits(learner: Learner, key: Key, hypers, batch: Batch, train):
    if isinstance(learner, PartsLearner) and learner.leaves_out and _partition(train):
        return to_numpy(_leave_out(learner, dict(hypers), _parts(batch, train)))
    if isinstance(learner, HostFoldsLearner) and learner.folds_on_host:
        found = _fits_on_host(learner, hypers, batch, train)
        if found is not None:
            return found
    padded = jax.tree.map(jnp.asarray, pad(batch))
    extra = ((0, 0), (0, len(padded.w) - len(batch.w)))
    folds = jnp.asarray(np.pad(train, extra))
    parts = []
    for part in _chunks(hypers, learner, folds.size):
        copies = len(folds) * len(next(iter(part.values()), [0]))
        trains = isinstance(learner, TrainingLearner)
        run = _full_jit if trains else partial(_compiled, X=padded.x, copies=copies)
        parts.append(run(_all_fits)(learner, key, part, padded, folds))
    phi, nll = to_numpy(jax.tree.map(lambda *a: np.concatenate(a), *parts))
    keep = max((len(v) for v in hypers.values()), default=1)
    return jax.tree.map(lambda a: a[:keep], phi), nll[:keep]


def _fits_on_host(learner: HostFoldsLearner, hypers, batch: Batch, train):
    """φ and held-out nats, one fit after the other; None where a fit needs a program."""
    m = max((len(values) for values in hypers.values()), default=1)
    padded = pad(batch)
    folds = np.pad(train, ((0, 0), (0, len(padded.w) - len(batch.w))))
    columns, nats = [], np.empty((m, len(train)))
    for j, t in enumerate(train):
        known = batch._replace(w=batch.w * t)
        found = []
        for i in range(m):
            hyper = {name: np.asarray(values[i]) for name, values in hypers.items()}
            phi = learner.on_host(hyper, known)
            if phi is None:
                return None
            nats[i, j] = float(_judge(learner, phi, hyper, padded, folds[j]))
            found.append(to_numpy(phi))
        columns.append(jax.tree.map(lambda *a: np.stack(a), *found))
    return jax.tree.map(lambda *a: np.stack(a, 1), *columns), nats


@lean_jit
def _judge(learner: Learner, phi, hyper, batch: Batch, t: Float[Array, " n"]):
    """The mean loss of the rows that are held out."""
    batch = fill_absent(batch)
    return _held_out_mean(learner, phi, hyper, batch, t)


def _held_out_mean(learner: Learner, phi, hyper, batch: Batch, t: Float[Array, " n"]):
    if isinstance(learner, JudgedLearner):
        known = batch._replace(w=batch.w * t)
        losses = learner.held_out_losses(phi, hyper, known, batch)
    else:
        losses = learner.losses(phi, batch)
    return weighted_mean(losses, batch.w * (1 - t))


def _all_fits(
    learner: Learner, key: Key, hypers, batch: Batch, train: Float[Array, "j n"]
):
    """φ and held-out nats of every setting (first axis) on every fold (second)."""
    batch = fill_absent(batch)

    def one(hyper, t: Float[Array, " n"]):
        phi = learner.learn(key, hyper, batch._replace(w=batch.w * t))
        return phi, _held_out_mean(learner, phi, hyper, batch, t)

    m = jax.tree.leaves(hypers)[0].shape[0] if hypers else 1
    over_settings = jax.vmap(one, in_axes=(0, None), axis_size=m)
    return jax.vmap(over_settings, in_axes=(None, 0), out_axes=1)(hypers, train)


@lean_jit
def _leave_out(learner: PartsLearner, hypers: dict[str, Any], parts: Batch):
    return learner.leave_out(hypers, parts)


def _partition(train: Float[np.ndarray, "j n"]) -> bool:
    """Whether every row is held out exactly once."""
    return bool((train.sum(0) == len(train) - 1).all())


def _parts(batch: Batch, train: Float[np.ndarray, "j n"]) -> Batch:
    """The rows by the fold that holds them out, (j, s, ...), filled up with absent ones."""
    present = int(np.argmax(batch.w > 0))
    size = size_class(int((train == 0).sum(1).max()))
    rows = np.full((len(train), size), present)
    w = np.zeros(rows.shape)
    for j, t in enumerate(train):
        out = np.flatnonzero(t == 0)
        w[j, : len(out)] = batch.w[out]
        rows[j, : len(out)] = np.where(batch.w[out] > 0, out, present)
    return Batch(batch.x[rows], batch.y[rows], w)


def _chunks(hypers: Mapping[str, np.ndarray], learner: Learner, size: int):
    """Settings in parts of one size whose η fit in memory; the last is filled up."""
    m = max((len(v) for v in hypers.values()), default=1)
    at_once = min(m, max(1, CHUNK_BYTES // (8 * size * learner.family.n_eta)))
    for start in range(0, m, at_once):
        rows = np.minimum(np.arange(start, start + at_once), m - 1)
        yield {name: values[rows] for name, values in hypers.items()}
