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
    learn_members,
    members_of,
    one_pass,
    single,
    train,
)
from likely.base.training.options import TrainingOptions
from likely.core.checks import InputError
from likely.core.precision import float64, to_numpy
from likely.core.random import key_of
from likely.core.rows import pad
from likely.solvers.first_order.rules import AbstractFirstOrder
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch, Trace


class Observers(NamedTuple):
    """Who follows a training, and where it is saved."""

    callbacks: Callback | Sequence[Callback] = ()
    """Functions of an `Event`; one that returns True ends the fit."""
    checkpoints: Checkpoints | str | PathLike | None = None
    resume: bool = False
    mesh: Mesh | None = None
    """Devices that share each batch; several members share them anyway."""

    @property
    def any(self) -> bool:
        """Whether there are some, so that the run has to be made in steps."""
        given = self.checkpoints is not None or self.mesh is not None
        return bool(self.callbacks) or given

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
        begin: Network | None = None,
        observers: Observers,
    ) -> Network:
        """φ of all members, leading axis m, as NumPy arrays.

        Args:
            batch: the rows to learn from.
            validation: rows to stop by.
            begin: weights to begin with, leading axis m.
            observers: callbacks, checkpoints, devices.
        """
        members = self._members(batch, validation, begin)
        if self.by_minibatches:
            verbose = bool(self.options.verbose)
            return to_numpy(train(*members, **observers.settings, verbose=verbose))
        with float64():
            return to_numpy(learn_members(*members))

    def one_pass(
        self,
        batch: Batch,
        begin: Network | None,
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
            return to_numpy(phi), [np.asarray(a) for a in after]

    def _members(
        self, batch: Batch, validation: Batch | None, begin: Network | None
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
        if validation is None:
            return members, SharedRows(learner, options.hyper, batch)
        patience = np.asarray(options.n_iter_no_change, np.int32)
        other = pad(validation)
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


def publish(estimator: Any, phi: Network, *, warn: bool) -> None:
    """Keep φ and how the training went: `history_`, `loss_`, `n_iter_`, `status_`."""
    solution, trace = phi.solution, phi.solution.trace
    status = solution.status
    estimator.phi_ = unstacked(phi)
    estimator.n_iter_ = int(np.max(status.steps))
    estimator.status_ = "\n".join(status.sentences)
    known = ~np.isnan(trace.loss).all(0)
    history = {"loss": trace.loss[..., known], "rate": trace.step[..., known]}
    if trace.validation is not None:
        looked = ~np.isnan(trace.validation).all(0)
        history["validation"] = trace.validation[..., looked]
    alone = len(solution.loss) == 1
    estimator.history_ = {k: v[0] if alone else v for k, v in history.items()}
    estimator.loss_ = float(np.mean(solution.loss))
    if warn and not status.converged.all():
        sentence = status.sentences[int(np.argmin(status.converged))]
        name = type(estimator).__name__
        warnings.warn(f"{name} {sentence}.", ConvergenceWarning, stacklevel=3)
