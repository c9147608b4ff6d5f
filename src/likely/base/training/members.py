r"""Trained members: one alone, or many as one program, each with its key and weights.

An ensemble is the same rows under other keys; a bootstrap other weights as well. A
member of a bootstrap looks only at the rows that it has drawn, each as often as drawn.
"""

from functools import partial
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.core.compiling import lean_jit
from likely.core.rows import fill_absent, size_class
from likely.inference import resampled_weights
from likely.solvers import Minibatches, Validation
from likely.solvers.first_order.stochastic import Loop
from likely.solvers.flat import trace_capacity
from likely.solvers.training import Plan, Training, train_members
from likely.typing import Batch, Key, Solution

MAX_PARALLEL_MEMBERS = 16
"""Members that L-BFGS fits side by side."""
MAX_SHORT_ENTRIES = 1_000_000
"""Members times rows times columns up to which a training with held-out rows is one
program, which is quicker to compile."""
ROW_MULTIPLE = 32
"""Rows of a bootstrap are padded to a multiple of this."""


class Network(eqx.Module):
    """φ of what was trained: the solution on scaled rows, the scaling, the calibration.

    The calibration is None, or a slope and an offset for each entry of η in the units of
    the data, learned on held-out rows.
    """

    solution: Solution
    scaling: Any
    calibration: Any = None


class Start(eqx.Module):
    """What a solver needs to begin."""

    objective: Any
    model: Any
    data: Batch
    state: Any
    scaling: Any


class TrainedLearner(Protocol):
    """What a training asks of a learner."""

    solver: Any

    def scaling_of(self, data: Batch) -> Any:
        """The units of rows: `scaling(data)` are the rows in these units."""
        ...

    def start(self, key: Key, hyper: dict, batch: Batch, begin: Any = None) -> Start:
        """The objective on scaled rows, and the first weights, or those of `begin`."""
        ...

    def learn(self, key: Key, hyper: dict, batch: Batch, begin: Any = None) -> Network:
        """φ from all rows at once, in one program."""
        ...

    def with_rate(self, hyper: dict) -> Any:
        """The solver at the learning rate of these settings."""
        ...


class HeldOut(NamedTuple):
    """Rows that a member does not learn from and stops by."""

    rows: Any
    """(h,) their numbers."""
    w: Any
    """(h,) their weights, 0 for padding."""


class Member(NamedTuple):
    """What is a member's own; all members together have a leading axis m."""

    key: Key
    w: Any
    """(r,) weights."""
    rows: Any = None
    """Which rows the weights are of, those of weight 0 last; None for all."""
    begin: Any = None
    """A `Network` to go on from, a `Body` to begin from, or None."""
    held_out: HeldOut | None = None


class Patience(eqx.Module):
    """How long to go on without a lower loss on held-out rows."""

    looks: Any
    """Looks in a row that may be no better than the best."""
    every: int = eqx.field(static=True, default=1)
    """Epochs between looks."""


class SharedRows(NamedTuple):
    """What all members have in common."""

    learner: Any
    hyper: dict[str, Any]
    batch: Batch
    other: Batch | None = None
    """Rows that all members stop by."""
    patience: Patience | None = None


def members_of(
    key: Key, m: int, w: np.ndarray, *, bootstrap: bool, begin: Any
) -> Member:
    """Keys and weights of m members; w are the weights of the (padded) rows.

    The key of the first is the one given: a single network is an ensemble of one.
    """
    numbers = np.asarray(jax.random.key_data(key))[None]
    if m > 1:
        others = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(1, m))
        numbers = np.concatenate([numbers, jax.random.key_data(others)])
    keys = jax.random.wrap_key_data(jnp.asarray(numbers))
    if not bootstrap:
        return Member(keys, np.broadcast_to(w, (m, len(w))), None, begin)
    rng = np.random.default_rng(numbers[0])
    counts = resampled_weights(w, m, rng)
    most = int((counts > 0).sum(1).max())
    size = min(len(w), -(-most // ROW_MULTIPLE) * ROW_MULTIPLE)
    rows = np.argsort(counts == 0, axis=1, kind="stable")[:, :size]
    return Member(keys, np.take_along_axis(counts, rows, 1), rows, begin)


def cross_fitted(members: Member, fold: np.ndarray) -> Member:
    """Members of which number k stops by the rows of fold k and learns from all others.

    Args:
        members: members that learn from all rows.
        fold: (r,) the fold of each row, −1 where it is absent.
    """
    m = len(members.w)
    held = fold == np.arange(m)[:, None]
    size = size_class(int(held.sum(1).max()))
    rows = np.argsort(~held, axis=1, kind="stable")[:, :size]
    w = np.where(held, members.w, 0.0)
    held_out = HeldOut(rows, np.take_along_axis(w, rows, 1))
    return members._replace(w=members.w - w, held_out=held_out)


def own_batch(member: Member, batch: Batch) -> Batch:
    """The rows of a member with its weights."""
    if member.rows is not None:
        batch = jax.tree.map(lambda a: jnp.asarray(a)[member.rows], batch)
    return batch._replace(w=member.w)


# All rows at once, in one program -----------------------------------------------------


@lean_jit
def learn_members(members: Member, shared: SharedRows) -> Network:
    """φ of every member, leading axis m."""

    def one(member: Member) -> Network:
        batch = own_batch(member, shared.batch)
        return shared.learner.learn(member.key, shared.hyper, batch, member.begin)

    if len(members.w) == 1:
        found = one(jax.tree.map(lambda a: a[0], members))
        return jax.tree.map(lambda a: jnp.asarray(a)[None], found)
    return jax.lax.map(one, members, batch_size=MAX_PARALLEL_MEMBERS)


def is_short(members: Member, shared: SharedRows) -> bool:
    """Whether members with held-out rows are quickly trained: they are few, so are rows."""
    if members.held_out is None:
        return False
    X = shared.batch.x
    return X.ndim == 2 and X.size * len(members.w) <= MAX_SHORT_ENTRIES


def train_at_once(members: Member, shared: SharedRows) -> Network:
    """φ of every member, leading axis m; the steps of `train` as one program."""
    with jax.enable_x64(False):
        capacity = trace_capacity(shared.learner.solver.steps)
        members, shared = single((members, shared))
        return _train_at_once(members, shared, capacity)


@partial(lean_jit, low=True)
def _train_at_once(members: Member, shared: SharedRows, capacity: int) -> Network:
    def one(member: Member) -> Network:
        run = plan(member, shared)
        options = {"key": run.key, "capacity": capacity, "n_present": run.n_present}
        loop = Loop.of(run.solver, run.objective, run.model, run.data, **options)
        found = loop.finish(loop.advance(loop.start(run.model, run.state), 0))
        return Network(found, scaling_of(member, shared))

    return jax.vmap(one)(members)


# Minibatches, from the host -----------------------------------------------------------


def plan(member: Member, shared: SharedRows) -> Plan:
    """One run; traced, for all members at once."""
    learner, hyper, batch, other, patience = shared
    if member.held_out is not None:
        rows, w = member.held_out
        other = jax.tree.map(lambda a: jnp.asarray(a)[rows], batch)._replace(w=w)
    first, then = jax.random.split(member.key)
    start = learner.start(first, hyper, own_batch(member, batch), member.begin)
    solver = learner.with_rate(hyper)
    if other is not None and patience is not None:
        scaled = start.scaling(fill_absent(other))
        watch = Validation(scaled, patience.looks, patience.every)
        solver = eqx.tree_at(
            lambda s: s.validation, solver, watch, is_leaf=lambda v: v is None
        )
    n_present = None if member.rows is None else (member.w > 0).sum()
    return Plan(
        solver, start.objective, start.model, start.data, then, start.state, n_present
    )


@lean_jit
def _plan_and_scaling(member: Member, shared: SharedRows) -> tuple[Plan, Any]:
    """A run, and the units of its rows, which it is described in."""
    return plan(member, shared), scaling_of(member, shared)


def scaling_of(member: Member, shared: SharedRows) -> Any:
    """The units of a member's rows."""
    begin = member.begin
    if isinstance(begin, Network):
        return begin.scaling
    data = fill_absent(jax.tree.map(jnp.asarray, own_batch(member, shared.batch)))
    found = shared.learner.scaling_of(data)
    return found if begin is None else begin.scaled(found)


@eqx.filter_jit
def _scalings(members: Member, shared: SharedRows) -> Any:
    return jax.vmap(scaling_of, in_axes=(0, None))(members, shared)


def train(members: Member, shared: SharedRows, **options: Any) -> Network:
    """φ of every member, leading axis m; one alone is a `Training` as any other.

    Args:
        members: what is their own.
        shared: what is not.
        options: of `Training`: callbacks, checkpoints, resume, mesh, verbose.
    """
    with jax.enable_x64(False):
        members, shared = single((members, shared))
        if len(members.w) > 1:
            mesh = options.pop("mesh", None)
            if mesh is None and jax.device_count() > 1:
                mesh = jax.make_mesh((jax.device_count(),), ("members",))
            found = train_members(plan, members, shared, mesh=mesh, **options)
            return Network(found, _scalings(members, shared))
        first = jax.tree.map(lambda a: a[0], members)
        one, scaling = _plan_and_scaling(first, shared)
        training = Training(one.solver, **options)
        found = training.minimize(
            one.objective, one.model, one.data, key=one.key, state=one.state
        )
        return jax.tree.map(
            lambda a: np.asarray(a)[None] if eqx.is_array(a) else a,
            Network(found, scaling),
        )


# One pass more ------------------------------------------------------------------------


@eqx.filter_jit
def one_pass(
    members: Member,
    shared: SharedRows,
    memory: list[Array] | None,
    seen: Float[Array, ""],
) -> tuple[Network, list[Array]]:
    """One epoch from where the members are, and the memory of their rule after it.

    Args:
        members: with `begin`, or at the first pass without.
        shared: the rows of this pass.
        memory: the leaves of what the rule remembers, leading axis m.
        seen: the weight of all rows so far, these included: the prior counts once.
    """

    def one(member: Member, memory: list[Array] | None):
        run = plan(member, shared)
        batches = Minibatches.of(len(member.w), run.solver.batch_size)
        steps = jnp.asarray(batches.count, jnp.int32)
        solver = eqx.tree_at(lambda s: s.steps, run.solver, steps)
        objective = eqx.tree_at(
            lambda o: o.rows.total_weight, run.objective, seen.astype(jnp.float32)
        )
        options = {"key": run.key, "capacity": 2}
        loop = Loop.of(solver, objective, run.model, run.data, **options)
        progress = loop.start(run.model, run.state)
        if memory is not None:
            kept = jax.tree.structure(progress.run.memory).unflatten(memory)
            progress = progress._replace(run=progress.run._replace(memory=kept))
        progress = loop.advance(progress, 0)
        found: Solution = loop.finish(progress)
        after = jax.tree.leaves(progress.run.memory)
        return Network(found, scaling_of(member, shared)), after

    return jax.vmap(one)(members, memory)


def single(tree: PyTree) -> PyTree:
    """Numbers in float32; keys and whole numbers as they are."""

    def cast(a: Any) -> Any:
        inexact = eqx.is_array(a) and jnp.issubdtype(a.dtype, jnp.floating)
        return jnp.asarray(a, jnp.float32) if inexact else a

    return jax.tree.map(cast, tree)
