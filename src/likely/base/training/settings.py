r"""Many settings of a network on many folds: members of one program, in float32.

A member is one setting on the training rows of one fold. It is trained exactly as a fit to
these rows alone is: as many epochs, batches of the same rows in the same order. So a search
over learning rates and penalties with k folds costs what an ensemble of as many members does.
"""

import warnings
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.base.learning import Problem, held_out_rows
from likely.base.training.members import (
    Member,
    Network,
    SharedRows,
    plan,
    scaling_of,
    single,
)
from likely.base.training.options import TrainingOptions
from likely.base.training.regimes import released
from likely.core.compiling import lean_jit
from likely.core.precision import to_numpy
from likely.core.rows import weighted_mean
from likely.solvers.training import Plan, train_members
from likely.solvers.training.divergence import DivergenceWarning
from likely.typing import DIVERGED, Batch, Key


class Setting(NamedTuple):
    """What is a member's own: its hyper-parameters, and the rows that it learns from."""

    key: Key
    hyper: dict[str, Any]
    rows: Any
    """(r,) their numbers, those of weight 0 last."""
    w: Any


class SettingTrainer(NamedTuple):
    """Settings of a network that learns from minibatches; called by `held_out_fits`."""

    options: TrainingOptions

    def __call__(
        self,
        problem: Problem,
        key: Key,
        hypers: dict[str, np.ndarray],
        train: Float[np.ndarray, "j n"],
        held_out: Float[np.ndarray, "j n"],
    ) -> tuple[PyTree, Float[np.ndarray, "m j"]]:
        """φ and held-out nats of m settings on j folds.

        Folds of about the same size are trained together; those of a time series, which
        grow, size by size, for an epoch of more rows has more steps. Where a training
        diverged the nats are NaN.

        Args:
            problem: the learner, with the rows of all folds.
            key: of the first weights and the batches, the same for all members.
            hypers: (m,) values of each hyper-parameter.
            train: how often each row is learned from, in each fold.
            held_out: how often each row is judged.
        """
        w = problem.batch.w * train
        sizes = np.array([self.options.padded_rows(int(k)) for k in (w > 0).sum(1)])
        parts, order = [], []
        for size in np.unique(sizes).tolist():
            folds = np.flatnonzero(sizes == size)
            phi = self._fits(problem, key, hypers, _rows_of(w[folds], size))
            out = held_out_rows(problem.batch, held_out[folds])
            parts.append((phi, _nats(problem.learner, phi, out)))
            order += folds.tolist()
        places = np.argsort(order)
        return jax.tree.map(
            lambda *a: _joined(a)[:, places] if eqx.is_array(a[0]) else a[0], *parts
        )

    def _fits(self, problem: Problem, key: Key, hypers: Any, rows: tuple) -> Network:
        """φ of every setting on folds of one size, leading axes (m, j)."""
        numbers, w = rows
        m, j = max((len(v) for v in hypers.values()), default=1), len(w)
        solver = self.options.first_order(w.shape[1])
        learner = eqx.tree_at(lambda each: each.solver, problem.learner, solver)
        keys = np.broadcast_to(jax.random.key_data(key), (m * j, 2))
        members = Setting(
            jax.random.wrap_key_data(jnp.asarray(keys)),
            {name: np.repeat(values, j) for name, values in hypers.items()},
            np.tile(numbers, (m, 1)),
            np.tile(w, (m, 1)),
        )
        shared = SharedRows(learner, problem.hyper, problem.batch)
        with jax.enable_x64(False):
            members, shared = single((members, shared))
            with warnings.catch_warnings():  # who asked is told by the nats
                warnings.simplefilter("ignore", DivergenceWarning)
                found = train_members(_plan, members, shared)
            first = jax.tree.map(
                lambda a: a[:j], members
            )  # units are those of the rows
            scaling = jax.tree.map(
                lambda a: np.tile(a, (m, *[1] * (a.ndim - 1))),
                to_numpy(_scalings(first, shared)),
            )
        phi = released(Network(found, scaling))
        return jax.tree.map(
            lambda a: a.reshape(m, j, *a.shape[1:]) if eqx.is_array(a) else a, phi
        )


def _joined(parts: tuple[np.ndarray, ...]) -> np.ndarray:
    """Folds beside each other; traces of fewer steps are filled up with NaN."""
    if parts[0].ndim > 2:
        most = max(part.shape[2] for part in parts)
        parts = tuple(_filled(part, most - part.shape[2]) for part in parts)
    return np.concatenate(parts, 1)


def _filled(part: np.ndarray, extra: int) -> np.ndarray:
    if not extra:
        return part
    end = np.full((*part.shape[:2], extra, *part.shape[3:]), np.nan, part.dtype)
    return np.concatenate([part, end], 2)


def _rows_of(w: Float[np.ndarray, "j n"], size: int) -> tuple[np.ndarray, np.ndarray]:
    """(j, size) the rows of each fold, in their order, and their weights; absent ones last."""
    rows = np.argsort(w == 0, axis=1, kind="stable")[:, :size]
    rows = np.pad(rows, ((0, 0), (0, size - rows.shape[1])), mode="edge")
    weights = np.take_along_axis(w, rows, 1)
    weights[:, w.shape[1] :] = 0.0
    return rows, weights


def _plan(setting: Setting, shared: SharedRows) -> Plan:
    """The training of a member; traced, for all members at once."""
    return plan(*_alone(setting, shared))


@lean_jit
def _scalings(settings: Setting, shared: SharedRows) -> Any:
    """The units of the rows of each member."""
    return jax.vmap(lambda s: scaling_of(*_alone(s, shared)))(settings)


def _alone(setting: Setting, shared: SharedRows) -> tuple[Member, SharedRows]:
    """A member as if its rows were all there are."""
    batch = jax.tree.map(lambda a: jnp.asarray(a)[setting.rows], shared.batch)
    own = shared._replace(hyper=setting.hyper, batch=batch._replace(w=setting.w))
    return Member(setting.key, setting.w), own


def _nats(learner: Any, phi: Network, rows: Batch) -> Float[np.ndarray, "m j"]:
    """The mean held-out loss of every setting on every fold."""
    arrays, static = eqx.partition(phi, eqx.is_array)
    with jax.enable_x64(False):
        given = single((learner, arrays, rows))
        nats = np.asarray(_mean_losses(static, *given), np.float64)
    return np.where(phi.solution.status.reason == DIVERGED, np.nan, nats)


@lean_jit
def _mean_losses(static: Any, learner: Any, arrays: Any, rows: Batch) -> Array:
    def one(arrays: Any, batch: Batch) -> Array:
        losses = learner.losses(eqx.combine(arrays, static), batch)
        return weighted_mean(losses, batch.w)

    return jax.vmap(jax.vmap(one), in_axes=(0, None))(arrays, rows)
