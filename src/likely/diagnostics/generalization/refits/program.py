r"""Refits of linear models and their like as one program: `vmap` over rows, weights and keys.

Where the sets are parts of one table, the table is shared and a set is a vector of weights. Sets
of rows of their own are stacked. Where columns are learned from the rows (splines, polynomials
about the mean), each set has columns of its own, at its rows and at the points.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from likely.base.learning import JudgedLearner, Problem
from likely.core.compiling import lean_jit
from likely.core.precision import float64, to_numpy
from likely.core.rows import fill_absent, pad_rows, size_class
from likely.diagnostics.generalization.refits.training_sets import TrainingSets
from likely.typing import Batch

MAX_LEAN_ENTRIES = 1_000_000
"""The most numbers in the rows of all sets for which compiling takes longer than running."""
CHUNK_BYTES = 2**27
"""Memory for the rows and points of the fits that run side by side."""


class Own(NamedTuple):
    """What is a set's own, leading axis m; None for what all sets share."""

    key: Any
    w: Any
    x: Any = None
    y: Any = None
    points: Any = None
    learner: Any = None
    """The arrays of its learner."""


class Shared(NamedTuple):
    """What all sets share, where they do not have their own."""

    learner: Any
    hyper: dict[str, Any]
    x: Any
    y: Any
    points: Any
    targets: Any
    """y at the points, for losses."""


def refit_program(
    problem: Problem,
    sets: TrainingSets,
    points: Any,
    keys: Any,
    *,
    losses: bool,
) -> tuple[np.ndarray, np.ndarray] | None:
    """η (or losses) of each fit at the points and at its own rows.

    None where the sets lead to columns of different number.

    Args:
        problem: the learner, with the rows of all sets and then the points as its batch.
        sets: the training sets.
        points: which rows of the batch are points.
        keys: (m,) for whatever is random in the learner.
        losses: whether −log p of the targets is asked for, in place of η.
    """
    if problem.relearn is None:
        shared, own = _common_columns(problem, sets, points, keys)
    else:
        made = _learned_columns(problem, sets, points, keys)
        if made is None:
            return None
        shared, own = made
    m, r, t = len(sets), own.w.shape[1], len(points)
    width = shared.x.shape[-1] if own.x is None else own.x.shape[-1]
    numbers = (r + t) * (width + problem.learner.family.n_eta)
    at_once = max(1, CHUNK_BYTES // (8 * numbers))
    chunk = max(k for k in range(1, min(m, at_once) + 1) if m % k == 0)
    run = _small if m * (r + t) * width <= MAX_LEAN_ENTRIES else _large
    with float64():
        new, known = to_numpy(run(_refits)(shared, own, chunk, losses))
    new = new[:, :t]
    if own.x is None:  # weights of all rows of the table
        return new, known[np.arange(m)[:, None], sets.rows]
    return new, known[:, : sets.rows.shape[1]]


@cache
def _small(function: Callable) -> Callable:
    return lean_jit(function)


@cache
def _large(function: Callable) -> Callable:
    return eqx.filter_jit(function)


def _refits(shared: Shared, own: Own, chunk: int, losses: bool) -> tuple[Any, Any]:
    """The fits of all sets, some at a time."""

    def one(own: Own) -> tuple[Any, Any]:
        learner: Any = shared.learner
        if own.learner is not None:
            learner = eqx.combine(own.learner, learner)
        x = shared.x if own.x is None else own.x
        y = shared.y if own.y is None else own.y
        known = fill_absent(Batch(x, y, own.w))
        phi = learner.learn(own.key, shared.hyper, known)
        points = shared.points if own.points is None else own.points
        new = Batch(points, shared.targets, jnp.ones(len(points)))
        rows = Batch(x, y, jnp.ones(len(own.w)))
        ask = _losses if losses else _eta
        return tuple(ask(learner, phi, shared.hyper, known, at) for at in (new, rows))

    return jax.lax.map(one, own, batch_size=chunk)


def _eta(learner: Any, phi: PyTree, hyper: dict, known: Batch, rows: Batch) -> Any:
    return learner.eta(phi, rows.x)


def _losses(learner: Any, phi: PyTree, hyper: dict, known: Batch, rows: Batch) -> Any:
    """−log p, with the uncertainty of φ where the learner knows it."""
    if isinstance(learner, JudgedLearner):
        return learner.held_out_losses(phi, hyper, known, rows)
    return learner.losses(phi, rows)


# Rows ----------------------------------------------------------------------------------


def _common_columns(
    problem: Problem, sets: TrainingSets, points: np.ndarray, keys: Any
) -> tuple[Shared, Own]:
    """Sets whose columns do not depend on which rows they hold."""
    batch, n = problem.batch, len(sets.y)
    shared = Shared(
        problem.learner,
        problem.hyper,
        None,
        None,
        pad_rows(batch.x[points]),
        pad_rows(batch.y[points]),
    )
    if sets.is_shared:
        x, y = pad_rows(batch.x[:n]), pad_rows(batch.y[:n])
        extra = ((0, 0), (0, len(x) - n))
        w = np.pad(sets.table_weights(), extra)
        return shared._replace(x=x, y=y), Own(keys, w)
    rows, w = padded_sets(sets)
    return shared, Own(keys, w, batch.x[rows], batch.y[rows])


def padded_sets(
    sets: TrainingSets, size: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers and weights, filled up to a size (by default the size class)."""
    r = sets.rows.shape[1]
    extra = (size_class(r) if size is None else size) - r
    rows = np.concatenate([sets.rows, np.repeat(sets.rows[:, :1], extra, 1)], 1)
    return rows, np.pad(sets.w, ((0, 0), (0, extra)))


def _learned_columns(
    problem: Problem, sets: TrainingSets, points: np.ndarray, keys: Any
) -> tuple[Shared, Own] | None:
    """Sets of which each has columns of its own, learned from its rows."""
    assert problem.relearn is not None
    batch, parts = problem.batch, []
    for weights in _full_weights(sets, len(batch.w)):
        learner, columns = problem.relearn(weights)
        arrays, static = eqx.partition(learner, eqx.is_array)
        parts.append((to_numpy(arrays), static, columns))
    forms = {
        (columns.shape[1], jax.tree.structure(arrays), _shapes(arrays))
        for arrays, _, columns in parts
    }
    if len(forms) > 1 or any(s != parts[0][1] for _, s, _ in parts):
        return None
    rows, w = padded_sets(sets)
    at = np.r_[points, np.repeat(points[:1], size_class(len(points)) - len(points))]
    columns = [c for *_, c in parts]
    arrays = jax.tree.map(lambda *a: np.stack(a), *(a for a, *_ in parts))
    own = Own(
        keys,
        w,
        np.stack([c[i] for c, i in zip(columns, rows, strict=True)]),
        batch.y[rows],
        np.stack([c[at] for c in columns]),
        arrays,
    )
    static = parts[0][1]
    return Shared(static, problem.hyper, None, None, None, batch.y[at]), own


def _full_weights(sets: TrainingSets, n: int) -> Any:
    """The weights of all rows of a batch, set after set."""
    for rows, w in zip(sets.rows, sets.w, strict=True):
        full = np.zeros(n)
        np.add.at(full, rows, w)
        yield full


def _shapes(arrays: PyTree) -> tuple:
    return tuple((a.shape, a.dtype) for a in jax.tree.leaves(arrays))
