"""A training run by its options: members, validation rows, checkpoints, single passes."""

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PyTree
from sklearn.exceptions import ConvergenceWarning

from likely.base.training.members import (
    Member,
    Network,
    SharedRows,
    cross_fitted,
    is_short,
    learn_members,
    members_of,
    one_pass,
    single,
    train,
    train_at_once,
)
from likely.base.training.options import TrainingOptions
from likely.base.training.regimes import released
from likely.base.training.replay import Epochs, known_limit, replay
from likely.core.checks import InputError
from likely.core.precision import float64, to_numpy
from likely.core.random import key_of
from likely.core.rows import pad
from likely.solvers import Minibatches
from likely.solvers.first_order.rules import AbstractFirstOrder
from likely.solvers.training import Callback, Checkpoints, ProgressBar
from likely.solvers.training.events import as_callbacks
from likely.typing import CALLED_OFF, VALIDATION, Batch, Trace

FALL = 0.01
"""Nats by which a loss that still falls gets lower in the last tenth of a run."""


class Observers(NamedTuple):
    """Who follows a training, and where it is saved: nothing that decides its result.

    A fit on all rows, or one of a small table with held-out rows, is one short program:
    its callbacks are notified when it has run, and nothing of it is saved, since the same
    fit gives the same result.
    """

    callbacks: Callback | Sequence[Callback] = ()
    """Functions of an `Event`; one that returns True ends the fit."""
    checkpoints: Checkpoints | str | PathLike | None = None
    resume: bool = False
    mesh: Mesh | None = None
    """Devices that share each batch; several members share them anyway."""

    @property
    def settings(self) -> dict[str, Any]:
        """As `Training` takes them."""
        where = self.checkpoints
        if where is not None and not isinstance(where, Checkpoints):
            where = Checkpoints(where)
        return self._asdict() | {"checkpoints": where}


class Trainer(NamedTuple):
    """A learner that is trained with some options."""

    options: TrainingOptions
    learner: Any

    @property
    def by_minibatches(self) -> bool:
        """Whether the solver takes steps on minibatches, in float32."""
        return isinstance(self.learner.solver, AbstractFirstOrder)

    def fit(
        self,
        batch: Batch,
        *,
        validation: Batch | None = None,
        fold: np.ndarray | None = None,
        begin: Any = None,
        observers: Observers,
    ) -> Network:
        """φ of all members, leading axis m, as NumPy arrays.

        Args:
            batch: the rows to learn from.
            validation: rows to stop by.
            fold: (n,) the fold of each row, of which member k holds out number k.
            begin: weights to begin with, a `Network` or a `Body`, leading axis m.
            observers: callbacks, checkpoints, devices.
        """
        members = self._members(batch, validation, begin, fold)
        if self.by_minibatches and not is_short(*members):
            verbose = self.options.verbose
            if not isinstance(verbose, ProgressBar):
                verbose = bool(verbose)
            found = train(*members, **observers.settings, verbose=verbose)
            return released(to_numpy(found))
        callbacks = as_callbacks(observers.callbacks)
        epochs = self._epochs(*members)
        steps = known_limit(callbacks, epochs)
        epochs = epochs if steps is None else epochs._replace(limit=steps)
        found = self._until(steps, members)
        return replay(found, callbacks, lambda k: self._until(k, members), epochs)

    def _epochs(self, members: Member, shared: SharedRows) -> Epochs:
        """How the steps of a program are counted."""
        solver, limit = shared.learner.solver, int(self._limit(shared.learner))
        if not self.by_minibatches:
            return Epochs(limit=limit)
        steps = Minibatches.of(members.w.shape[1], solver.batch_size).count
        looks = 1 if shared.patience is None else shared.patience.every
        return Epochs(steps, limit, looks, points=False)

    def _until(self, steps: int | None, members: tuple[Member, SharedRows]) -> Network:
        """φ after at most so many steps, or all, by one program."""
        own, shared = members
        if steps is not None:
            own = own._replace(key=jax.random.clone(own.key))  # the same run again
            limit = np.asarray(steps, self._limit(shared.learner).dtype)
            learner = eqx.tree_at(self._limit, shared.learner, limit)
            shared = shared._replace(learner=learner)
        if self.by_minibatches:
            return released(to_numpy(train_at_once(own, shared)))
        with float64():
            return to_numpy(learn_members(own, shared))

    def _limit(self, learner: Any) -> Any:
        """The step limit of a learner's solver."""
        solver = learner.solver
        return solver.steps if self.by_minibatches else solver.rules.max_steps

    def iterations(self, phi: Network, batch: Batch) -> int:
        """How often the rows were used: epochs, or steps on all rows.

        A first-order solver of one's own has a number of steps in place of `max_iter`,
        so that its steps are counted.
        """
        steps = int(np.max(phi.solution.status.steps))
        own = isinstance(self.options.solver, AbstractFirstOrder)
        if own or not self.by_minibatches:
            return steps
        n = self.options.padded_rows(len(batch.w))
        if self.options.bootstrap:
            n = self._members(batch, None, None)[0].w.shape[1]
        return -(-steps // Minibatches.of(n, self.options.batch_rows).count)

    def one_pass(
        self,
        batch: Batch,
        begin: Any,
        memory: list[np.ndarray] | None,
        *,
        passes: int,
        seen: float,
    ) -> tuple[Network, list[np.ndarray]]:
        """φ after one more epoch on these rows, and what the solver remembers.

        Args:
            batch: the rows of this pass.
            begin: the weights so far, or None at the first pass.
            memory: what the solver remembered, or None.
            passes: how many there were before.
            seen: the weight of all rows so far, these included: the prior counts once.
        """
        with jax.enable_x64(False):
            members, shared = self._members(batch, None, begin)
            number = jnp.asarray(passes, jnp.uint32)
            keys = jax.vmap(jax.random.fold_in, (0, None))(members.key, number)
            members = members._replace(key=keys)
            members, shared, before = single((members, shared, memory))
            total = jnp.asarray(seen, jnp.float32)
            phi, after = one_pass(members, shared, before, total)
            return released(to_numpy(phi)), [np.asarray(a) for a in after]

    def _members(
        self,
        batch: Batch,
        validation: Batch | None,
        begin: Any,
        fold: np.ndarray | None = None,
    ) -> tuple[Member, SharedRows]:
        """What is each member's own, and what all share."""
        options, learner = self.options, self.learner
        size = options.padded_rows(len(batch.w)) if self.by_minibatches else None
        batch = pad(batch, size)
        members = members_of(
            key_of(options.random_state),
            options.member_count,
            batch.w,
            bootstrap=bool(options.bootstrap),
            begin=begin,
        )
        if self.by_minibatches:  # an epoch of its own rows
            solver = options.first_order(members.w.shape[1])
            learner = eqx.tree_at(lambda each: each.solver, learner, solver)
        if fold is not None:
            absent = np.full(len(batch.w) - len(fold), -1)
            members = cross_fitted(members, np.concatenate([fold, absent]))
        if validation is None and fold is None:
            return members, SharedRows(learner, options.hyper, batch)
        patience = options.patience(len(batch.w))
        other = None if validation is None else pad(validation)
        return members, SharedRows(learner, options.hyper, batch, other, patience)


# φ of members -------------------------------------------------------------------------


def stacked(phi: Network) -> Network:
    """φ with an axis of members, also where there is one member."""
    if np.ndim(phi.solution.loss):
        return phi
    return jax.tree.map(lambda a: a[None] if eqx.is_array(a) else a, phi)


def unstacked(phi: Network) -> Network:
    """φ without an axis of members where there is one member."""
    if len(phi.solution.loss) > 1:
        return phi
    return jax.tree.map(lambda a: a[0] if eqx.is_array(a) else a, phi)


def member_of(phi: Network, number: int) -> Network:
    """φ of one member."""
    return jax.tree.map(lambda a: a[number] if eqx.is_array(a) else a, stacked(phi))


def cast(phi: PyTree, dtype: Any) -> PyTree:
    """φ in another precision."""
    return jax.tree.map(
        lambda a: np.asarray(a, dtype) if eqx.is_inexact_array(a) else a, phi
    )


def weights_of(phi: Network, dtype: Any) -> Network:
    """φ to begin with: of how it was found only the first entries stay."""
    phi = stacked(phi)
    trace = jax.tree.map(lambda a: a[:, :1], phi.solution.trace)
    trace = Trace(trace.loss, trace.gradient, trace.step)
    return cast(eqx.tree_at(lambda p: p.solution.trace, phi, trace), dtype)


class Earlier(NamedTuple):
    """What a warm start begins from."""

    phi: Any
    learner: Any
    classes: Any
    shape: tuple[int, ...]

    def begin(self, now: "Earlier", trainer: Trainer) -> Network:
        """The weights to begin with; they have to fit the new problem.

        Args:
            now: the new problem (its φ is not looked at).
            trainer: of the new fit.
        """
        old, new = self.learner, now.learner
        same = (
            old.network == new.network
            and type(old.family) is type(new.family)
            and old.family.n_eta == new.family.n_eta
            and self.shape == now.shape
            and np.array_equal(self.classes, now.classes)
            and len(stacked(self.phi).solution.loss) == trainer.options.member_count
        )
        if not same:
            raise InputError(
                "warm_start goes on with the same network, columns, classes and "
                "members as before; give warm_start=False to begin anew."
            )
        return weights_of(
            self.phi, np.float32 if trainer.by_minibatches else np.float64
        )


def is_still_falling(losses: Any, reason: Any) -> bool:
    """Whether members that reached the limit got better on held-out rows to the end.

    That is by more than `FALL` nats on average in the last tenth of their looks.

    Args:
        losses: (m, looks) held-out losses, NaN after the last.
        reason: (m,) why each member ended.
    """
    gains = []
    for each, why in zip(losses, reason, strict=True):
        known = each[~np.isnan(each)]
        early = known[: max(1, 9 * len(known) // 10)]
        ended = why in (VALIDATION, CALLED_OFF) or not len(known)
        gains.append(0.0 if ended else early.min() - known.min())
    return bool(np.mean(gains) > FALL)


def publish(
    estimator: Any, phi: Network, n_iter: int, *, warn: bool, warn_falling: bool = False
) -> None:
    """Keep φ and how the training went: `history_`, `loss_`, `n_iter_`, `status_`.

    Args:
        estimator: where.
        phi: what was found.
        n_iter: epochs, or steps on all rows.
        warn: whether to warn of a minimum that was not reached.
        warn_falling: whether to warn of a held-out loss that was still falling.
    """
    solution, trace = phi.solution, phi.solution.trace
    status = solution.status
    estimator.phi_ = unstacked(phi)
    estimator.n_iter_ = n_iter
    estimator.status_ = "\n".join(status.sentences)
    known = ~np.isnan(trace.loss).all(0)
    history = {"loss": trace.loss[..., known], "rate": trace.step[..., known]}
    if trace.validation is not None:
        looked = ~np.isnan(trace.validation).all(0)
        history["validation"] = trace.validation[..., looked]
    alone = len(solution.loss) == 1
    estimator.history_ = {k: v[0] if alone else v for k, v in history.items()}
    estimator.loss_ = float(np.mean(solution.loss))
    if warn_falling and is_still_falling(trace.validation, status.reason):
        warnings.warn(
            f"{type(estimator).__name__} was trained for {n_iter} epochs, its limit, and "
            "the loss on held-out rows was still falling; give a larger "
            "learning_rate_init, or a larger max_iter with early_stopping=True.",
            ConvergenceWarning,
            stacklevel=3,
        )
    wanted = status.converged | (np.asarray(status.reason) == CALLED_OFF)
    if warn and not wanted.all():
        sentence = status.sentences[int(np.argmin(wanted))]
        name = type(estimator).__name__
        warnings.warn(f"{name} {sentence}.", ConvergenceWarning, stacklevel=3)
