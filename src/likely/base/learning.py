r"""A `Learner` run on rows as they come: padded, compiled once, one fit or many.

Few shapes mean few programs: rows are padded to their size class, and the columns of
small problems to 15, 31, ... where the learner takes a column of zeros for absent.

For every fold j and every setting, `held_out_fits` fits with weights $w\,t_j$ and judges in
nats with weights $w\,h_j$ ($h_j = 1 - t_j$ unless a fold leaves rows out of both sides): one
program where nothing but φ is learned from the rows, one run of it for each fold where
columns are learned too.
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
from likely.core.threads import threads_for
from likely.evaluate.splits import Folds
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
class ManyFitsLearner(Learner, Protocol):
    """A learner that solves many problems at once in another way than a single one."""

    def for_many(self, fits: int, X: Any) -> Learner:
        """The learner for so many fits to these columns at once."""
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
    run = _compiled(_learned, batch.x)
    with threads_for(_width(batch.x)):
        return jax.block_until_ready(run(learner, key, hyper, batch))


def _width(X: Any) -> int:
    """The number of columns of the widest part of the inputs."""
    return max((a.shape[-1] for a in jax.tree.leaves(X)), default=0)


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
    with float64(_work(batch)):
        return to_numpy(_learn_padded(learner, key, hyper, batch))


def _work(batch: Batch, fits: int = 1) -> float:
    """Products of two numbers in a step of Newton's method, of so many fits."""
    return fits * float(len(batch.w)) * _width(batch.x) ** 2


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
    with float64(work=0.0):
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
    train: Callable[..., tuple[PyTree, np.ndarray]] | None = None
    """How many settings are fitted on many folds, with the arguments and results of
    `held_out_fits`; None where it is by `learn` of the learner, on all rows at once."""

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
    held_out: Float[np.ndarray, "j n"] | None = None,
    *,
    judged: bool = True,
) -> tuple[PyTree, Float[np.ndarray, "m j"]]:
    """φ and held-out nats of m settings on j folds, as NumPy arrays.

    Args:
        problem: what is fitted.
        key: for whatever is random in the learner.
        hypers: (m,) values of each numeric hyper-parameter.
        train: one row for each fold: how often each row is learned from.
        held_out: how often each row is judged; 1 − `train` where None.
        judged: whether nats are needed; where they take longer than φ they are otherwise
            left out, and are zero.
    """
    held_out = 1 - train if held_out is None else held_out
    if problem.train is not None:
        return problem.train(problem, key, hypers, train, held_out)
    settings = max((len(v) for v in hypers.values()), default=1)
    with float64(_work(problem.batch, settings * len(train))):
        folds = Folds(train, held_out)
        if problem.relearn is None:
            quick = None if judged else _quick_fits(problem, hypers, folds)
            if quick is not None:
                return quick, np.zeros((len(next(iter(hypers.values()))), len(train)))
            return _fits(problem.learner, key, hypers, problem.batch, folds)
        return _relearned_fits(problem, key, hypers, folds)


def _relearned_fits(problem: Problem, key: Key, hypers, folds: Folds):
    """Fold after fold, each with columns of its own, filled up to one width."""
    assert problem.relearn is not None
    batch, parts, width = problem.batch, [], None

    def fit_fold(learner: Learner, columns: np.ndarray, j: int, width: int):
        extra = width - columns.shape[1]
        if extra:
            columns = np.pad(columns, ((0, 0), (0, extra)))
            if isinstance(learner, WideningLearner):
                learner = learner.widened(extra)
        x = (columns, *batch.x[1:]) if isinstance(batch.x, tuple) else columns
        one = Folds(*(side[[j]] for side in folds))
        return _fits(learner, key, hypers, batch._replace(x=x), one)

    for j, t in enumerate(folds.train):  # one after the other: columns may be large
        learner, columns = problem.relearn(batch.w * t)
        if width not in (None, columns.shape[1]):
            break
        width = columns.shape[1]
        parts.append(fit_fold(learner, columns, j, width))
    else:
        return _join_folds(parts)
    learned = [problem.relearn(batch.w * t) for t in folds.train]
    width = max(columns.shape[1] for _, columns in learned)
    return _join_folds([fit_fold(*one, j, width) for j, one in enumerate(learned)])


def _join_folds(parts: list) -> Any:
    return jax.tree.map(lambda *a: np.concatenate(a, 1), *parts)


def _fits(learner: Learner, key: Key, hypers, batch: Batch, folds: Folds):
    if isinstance(learner, PartsLearner) and learner.leaves_out and _partition(folds):
        parts = held_out_rows(batch, folds.held_out)
        with threads_for(_width(batch.x)):
            return to_numpy(_leave_out(learner, dict(hypers), parts))
    if isinstance(learner, HostFoldsLearner) and learner.folds_on_host:
        found = _fits_on_host(learner, hypers, batch, folds)
        if found is not None:
            return found
    padded = jax.tree.map(jnp.asarray, pad(batch))
    extra = ((0, 0), (0, len(padded.w) - len(batch.w)))
    sides = tuple(jnp.asarray(np.pad(side, extra)) for side in folds)
    if isinstance(learner, ManyFitsLearner):
        m = max((len(values) for values in hypers.values()), default=1)
        learner = learner.for_many(m * len(folds.train), padded.x)
    parts = []
    for part in _chunks(hypers, learner, sides[0].size):
        copies = len(folds.train) * len(next(iter(part.values()), [0]))
        trains = isinstance(learner, TrainingLearner)
        run = _full_jit if trains else partial(_compiled, X=padded.x, copies=copies)
        parts.append(run(_all_fits)(learner, key, part, padded, sides))
    phi, nll = to_numpy(jax.tree.map(lambda *a: np.concatenate(a), *parts))
    keep = max((len(v) for v in hypers.values()), default=1)
    return jax.tree.map(lambda a: a[:keep], phi), nll[:keep]


def _fits_on_host(learner: HostFoldsLearner, hypers, batch: Batch, folds: Folds):
    """φ and held-out nats, one fit after the other; None where a fit needs a program."""
    m = max((len(values) for values in hypers.values()), default=1)
    padded = pad(batch)
    extra = ((0, 0), (0, len(padded.w) - len(batch.w)))
    wide = [np.pad(side, extra) for side in folds]
    columns, nats = [], np.empty((m, len(folds.train)))
    for j, t in enumerate(folds.train):
        known = batch._replace(w=batch.w * t)
        found = []
        for i in range(m):
            hyper = {name: np.asarray(values[i]) for name, values in hypers.items()}
            phi = learner.on_host(hyper, known)
            if phi is None:
                return None
            fold = wide[0][j], wide[1][j]
            nats[i, j] = float(_judge(learner, phi, hyper, padded, fold))
            found.append(to_numpy(phi))
        columns.append(jax.tree.map(lambda *a: np.stack(a), *found))
    return jax.tree.map(lambda *a: np.stack(a, 1), *columns), nats


@lean_jit
def _judge(learner: Learner, phi, hyper, batch: Batch, fold: tuple):
    """The mean loss of the rows that are held out."""
    return _held_out_mean(learner, phi, hyper, fill_absent(batch), fold)


def _held_out_mean(learner: Learner, phi, hyper, batch: Batch, fold: tuple):
    t, h = fold
    if isinstance(learner, JudgedLearner):
        known = batch._replace(w=batch.w * t)
        losses = learner.held_out_losses(phi, hyper, known, batch)
    else:
        losses = learner.losses(phi, batch)
    return weighted_mean(losses, batch.w * h)


def _all_fits(learner: Learner, key: Key, hypers, batch: Batch, sides: tuple):
    """φ and held-out nats of every setting (first axis) on every fold (second)."""
    batch = fill_absent(batch)

    def one(hyper, t: Float[Array, " n"], h: Float[Array, " n"]):
        phi = learner.learn(key, hyper, batch._replace(w=batch.w * t))
        return phi, _held_out_mean(learner, phi, hyper, batch, (t, h))

    m = jax.tree.leaves(hypers)[0].shape[0] if hypers else 1
    over_settings = jax.vmap(one, in_axes=(0, None, None), axis_size=m)
    return jax.vmap(over_settings, in_axes=(None, 0, 0), out_axes=1)(hypers, *sides)


def _quick_fits(problem: Problem, hypers, folds: Folds) -> PyTree | None:
    """φ alone by the learner that leaves parts out; None where it is not of this kind."""
    learner = problem.learner
    if not (isinstance(learner, PartsLearner) and learner.leaves_out):
        return None
    if not _partition(folds):
        return None
    quick = learner.leave_out_on_host(dict(hypers), problem.batch, folds.train)
    if quick is not None:
        return to_numpy(quick)
    parts = held_out_rows(problem.batch, folds.held_out)
    with threads_for(_width(parts.x)):
        return to_numpy(_leave_out_phi(learner, dict(hypers), parts))


@lean_jit
def _leave_out_phi(learner: PartsLearner, hypers: dict[str, Any], parts: Batch):
    return learner.leave_out(hypers, parts)[0]


@lean_jit
def _leave_out(learner: PartsLearner, hypers: dict[str, Any], parts: Batch):
    return learner.leave_out(hypers, parts)


def _partition(folds: Folds) -> bool:
    """Whether every row is held out exactly once, and otherwise learned from."""
    train, held_out = folds
    once = (held_out.sum(0) == 1).all() and np.isin(held_out, (0, 1)).all()
    return bool(once and np.array_equal(train, 1 - held_out))


def held_out_rows(batch: Batch, held_out: Float[np.ndarray, "j n"]) -> Batch:
    """The rows by the fold that holds them out, (j, s, ...), filled up with absent ones."""
    present = int(np.argmax(batch.w > 0))
    size = size_class(int((held_out > 0).sum(1).max()))
    rows = np.full((len(held_out), size), present)
    w = np.zeros(rows.shape)
    for j, h in enumerate(held_out):
        out = np.flatnonzero(h)
        w[j, : len(out)] = batch.w[out] * h[out]
        rows[j, : len(out)] = np.where(batch.w[out] > 0, out, present)
    return jax.tree.map(lambda a: a[rows], batch)._replace(w=w)


def held_out_etas(
    problem: Problem, phi: PyTree, held_out: Float[np.ndarray, "j n"]
) -> tuple[Float[np.ndarray, "m j s *k"], Batch]:
    """η of the rows that each fold holds out, by every fit, and these rows.

    Args:
        problem: what was fitted, where φ is all that was learned from the rows.
        phi: of m settings on j folds, as `held_out_fits` returns it.
        held_out: how often each row is judged.
    """
    rows = held_out_rows(problem.batch, held_out)
    single = problem.train is not None
    with jax.enable_x64(not single):
        etas = np.asarray(_all_etas(problem.learner, phi, rows.x))
    return etas, rows


@lean_jit
def _all_etas(learner: Learner, phi: PyTree, X: Any) -> Array:
    arrays, static = eqx.partition(phi, eqx.is_array)

    def one(arrays: PyTree, X: Any) -> Array:
        return learner.eta(eqx.combine(arrays, static), X)

    return jax.vmap(jax.vmap(one), in_axes=(0, None))(arrays, X)


def _chunks(hypers: Mapping[str, np.ndarray], learner: Learner, size: int):
    """Settings in parts of one size whose η fit in memory; the last is filled up."""
    m = max((len(v) for v in hypers.values()), default=1)
    at_once = min(m, max(1, CHUNK_BYTES // (8 * size * learner.family.n_eta)))
    for start in range(0, m, at_once):
        rows = np.minimum(np.arange(start, start + at_once), m - 1)
        yield {name: values[rows] for name, values in hypers.items()}
