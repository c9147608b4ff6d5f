r"""Many runs as one: seeds, row weights and numeric settings along a member axis.

A function `build(member, shared) -> Plan` describes a run by what is the member's own
(a key, weights, a rate, ...) and what all members share (the data). Everything in
`members` has a leading axis m; the program is one `vmap` over it, in which members that
have stopped are frozen. So folds, bootstraps, ensembles and grids are the same thing.

Small members run side by side, as many at once as `memory` allows; large ones, for
which that is slower, one after another, through one compiled program either way. With a
mesh each device gets a share of the members and needs no data of the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, PyTree

from likely.core.checks import InputError
from likely.core.forks import check_not_forked
from likely.core.precision import to_numpy
from likely.core.random import is_key
from likely.solvers.first_order.stochastic import Loop, Progress
from likely.solvers.flat import trace_capacity
from likely.solvers.training.checkpoints import Checkpoints, digest, environment
from likely.solvers.training.events import Callback, as_callbacks
from likely.solvers.training.layout import Layout
from likely.solvers.training.observers import ProgressBar
from likely.solvers.training.run import TrainingRun
from likely.solvers.training.sources import AbstractSource
from likely.typing import DIVERGED, Batch, Key, Solution, State

MAX_PARALLEL_BYTES = 16 * 2**20
"""Bytes of one step beyond which members run one after another."""


class Plan(NamedTuple):
    """One run: what `solver.minimize(objective, model, data, key=key)` would be given."""

    solver: Any
    objective: Any
    model: Any
    data: Batch
    key: Key | None
    state: State = None
    n_present: Any = None
    """The number of present rows, if those after them have weight 0 and are not drawn."""


Build = Callable[[Any, Any], Plan]


def train_members(
    build: Build,
    members: PyTree,
    shared: PyTree = None,
    *,
    mesh: Mesh | None = None,
    memory: int = 2**29,
    at_once: int | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    checkpoints: Checkpoints | None = None,
    resume: bool = False,
    every: int | None = None,
    verbose: bool | ProgressBar = False,
) -> Solution:
    """Train every member; the solution has a leading axis m everywhere.

    Args:
        build: a named function of one member and of what is shared, to its `Plan`.
            It is traced, and compiled once for all members.
        members: arrays with a leading axis m (keys, weights, rates, ...).
        shared: what all members have in common.
        mesh: devices that share the members.
        memory: bytes that the steps of members side by side may take.
        at_once: the number of members side by side, in place of `memory`.
        callbacks: functions of an `Event`; one that returns True ends the runs.
        checkpoints: where and when to save the runs.
        resume: whether to continue from the newest checkpoints.
        every: steps between events.
        verbose: whether to show a progress bar, or a `ProgressBar`.
    """
    check_not_forked()
    m = _count(members)
    capacity = trace_capacity(np.max(_limits(build, *_clone_keys((members, shared)))))
    loop, step_bytes = _outline(build, *_shapes(members, shared), capacity)
    parallel = step_bytes <= MAX_PARALLEL_BYTES
    size = at_once or (max(1, memory // step_bytes) if parallel else 1)
    devices = 1 if mesh is None else mesh.size
    groups = -(-m // min(m, size))  # of equal size, so that they share one program
    size = -(-m // (groups * devices)) * devices
    solutions = []
    for start in range(0, m, size):
        rows = np.minimum(np.arange(start, start + size), m - 1)
        group = jax.tree.map(lambda a, rows=rows: a[rows], members)
        own = checkpoints
        if checkpoints is not None and size < m:
            folder = Path(checkpoints.folder) / f"members-{start:06d}"
            own = replace(checkpoints, folder=folder)
        run = TrainingRun(
            Members(build, group, shared, loop, mesh),
            as_callbacks(callbacks),
            own,
            resume=resume,
            every=every,
            verbose=verbose,
        )
        fingerprint = {} if own is None else _fingerprint(group, shared, mesh)
        solutions.append(to_numpy(run.run(fingerprint)))
    return jax.tree.map(
        lambda *a: np.concatenate(a)[:m] if eqx.is_array(a[0]) else a[0], *solutions
    )


class Members(AbstractSource):
    """Members that run side by side."""

    def __init__(
        self, build: Build, members: PyTree, shared: PyTree, loop: Loop, mesh: Any
    ):
        layout = Layout.of(mesh, cut=False)
        self.mesh = None if layout is None else layout.mesh
        self.members, self.shared = self.to_devices(members), shared
        if self.mesh is not None:
            copied = NamedSharding(self.mesh, PartitionSpec())
            self.shared = jax.device_put(shared, copied)
        limits = _limits(build, *_clone_keys((members, shared)))
        self.limits = self.to_devices(limits)
        self.loop = eqx.tree_at(
            lambda loop: loop.stepper.solver.steps, loop, np.asarray(limits).max()
        )
        self.settings = (build, loop.capacity, self.mesh, _count(members))
        self.progress = self._call("start")

    def advance(self, progress: Progress, first: int, until: int) -> Progress:
        return self._advance(progress, first, until, self.limits)

    def finish(self, progress: Progress) -> Solution:
        found = self._call("finish", progress)
        static = eqx.filter(self.loop.stepper.static, _is_static)
        return eqx.tree_at(lambda s: s.model, found, eqx.combine(found.model, static))

    def roll_back(
        self, before: Progress, first: int, after: Progress
    ) -> tuple[Progress, str]:
        """Return the members whose loss was not finite to their last good state."""
        diverged = np.asarray(after.run.reason == DIVERGED)
        new = diverged & np.asarray(before.run.reason != DIVERGED)
        steps = np.asarray(after.run.step)
        limits = np.where(new, steps - 1, np.asarray(self.limits))
        limits = self.to_devices(jnp.asarray(limits, jnp.int32))
        again = self._advance(before, first, int(steps.max()), limits)
        early = new & (steps - 1 <= first)  # their last good state is `before`
        choose_new, choose_before = jnp.asarray(new), jnp.asarray(early)

        def choose(a: Array, b: Array, c: Array) -> Array:
            wide = (slice(None),) + (None,) * (a.ndim - 1)
            kept = jnp.where(choose_before[wide], b, c)
            return jnp.where(choose_new[wide], kept, a)

        params = jax.tree.map(
            choose, after.run.params, before.run.params, again.run.params
        )
        names = ", ".join(map(str, np.flatnonzero(new)[:5]))
        more = ", ..." if new.sum() > 5 else ""
        message = f"The loss became NaN or infinite for members {names}{more}."
        return after._replace(run=after.run._replace(params=params)), message

    def to_devices(self, tree: PyTree) -> PyTree:
        """Arrays with a leading axis m, on the devices of their members."""
        tree = jax.tree.map(jnp.asarray, tree)
        if self.mesh is None:
            return tree
        by_member = NamedSharding(self.mesh, PartitionSpec(self.mesh.axis_names[0]))
        return jax.device_put(tree, by_member)

    def gather(self, tree: PyTree) -> PyTree:
        return tree

    def _advance(self, progress, first: int, until: int, limits: Array) -> Progress:
        bounds = jnp.asarray([first, until, self.loop.solver.steps], jnp.int32)
        return self._call("advance", progress, limits, bounds)

    def _call(self, task: str, *args: Any) -> Any:
        given = _clone_keys((self.members, self.shared))
        return _call(task, *self.settings, *given, *args)


@eqx.filter_jit
def _call(task: str, build, capacity, mesh, m: int, members, shared, *args) -> Any:  # noqa: PLR0917
    """Start, advance or finish all members, on one device or several."""

    def one(member, shared, *args):
        if task == "advance":
            progress, limit, bounds = args
            limits = limit, bounds[2]
            loop, _ = _member_loop(build, capacity, member, shared, limits)
            return loop.advance(progress, bounds[0], bounds[1])
        loop, plan = _member_loop(build, capacity, member, shared, None)
        if task == "finish":
            return eqx.filter(loop.finish(*args), eqx.is_array)
        return loop.start(plan.model, plan.state)

    axes = (0, None, 0, 0, None)[: 2 + len(args)]
    if m == 1:
        given = (members, shared, *args)
        first = [
            jax.tree.map(lambda a: a[0], a) if axis == 0 else a
            for a, axis in zip(given, axes, strict=True)
        ]
        return jax.tree.map(lambda a: a[None], one(*first))
    every = jax.vmap(one, in_axes=axes)
    if mesh is not None:
        name = mesh.axis_names[0]
        every = jax.shard_map(
            every,
            mesh=mesh,
            in_specs=tuple(PartitionSpec(*[name] * (axis == 0)) for axis in axes),
            out_specs=PartitionSpec(name),
            check_vma=False,
        )
    return every(members, shared, *args)


def _plan(build: Build, member: Any, shared: Any) -> Plan:
    plan = build(member, shared)
    if not isinstance(plan, tuple) or len(plan) not in (5, 6, 7):
        raise InputError(
            "build(member, shared) has to return a Plan(solver, objective, model, data, "
            "key, state, n_present)."
        )
    return Plan(*plan)


def _member_loop(
    build: Build, capacity: int, member: Any, shared: Any, limits: tuple | None
) -> tuple[Loop, Plan]:
    """The loop of a member, and its plan.

    Args:
        build: makes the plan.
        capacity: length of the trace.
        member: what is the member's own.
        shared: what all members have in common.
        limits: the step limit of this member and the largest of all; None for the
            member's own in both places.
    """
    plan = _plan(build, member, shared)
    solver = plan.solver
    options = {"key": plan.key, "capacity": capacity, "n_present": plan.n_present}
    if limits is not None:
        solver = eqx.tree_at(lambda s: s.steps, solver, limits[0])
        options["steps"] = limits[1]
    loop = Loop.of(solver, plan.objective, plan.model, plan.data, **options)
    return loop, plan


def _is_static(leaf: Any) -> bool:
    """Whether a leaf is neither an array nor the shape of one."""
    return not eqx.is_array(leaf) and not isinstance(leaf, jax.ShapeDtypeStruct)


@eqx.filter_jit
def _limits(build: Build, members: PyTree, shared: PyTree) -> Int[Array, " m"]:
    """The step limit of each member."""

    def limit(member):
        return jnp.asarray(_plan(build, member, shared).solver.steps, jnp.int32)

    return jax.vmap(limit)(members)


def _count(members: PyTree) -> int:
    """The number of members m: the length of the leading axis of every array."""
    sizes = {np.shape(a)[:1] for a in jax.tree.leaves(members)}
    if len(sizes) != 1 or sizes == {()}:
        raise InputError(
            "members need one leading axis, of the same length in every array; "
            f"found {sorted(sizes)}."
        )
    return sizes.pop()[0]


def _shapes(members: PyTree, shared: PyTree) -> tuple[Any, tuple]:
    """The structure and the shapes of one member and of what is shared; hashable."""
    arrays, treedef = jax.tree.flatten((members, shared))
    of_members = len(jax.tree.leaves(members))
    shapes = [(np.shape(a), jnp.asarray(a).dtype) for a in arrays]
    of_one = [(shape[1:], dtype) for shape, dtype in shapes[:of_members]]
    return treedef, (*of_one, *shapes[of_members:])


@lru_cache(maxsize=64)
def _outline(
    build: Build, treedef: Any, shapes: tuple, capacity: int
) -> tuple[Loop, int]:
    """The loop of a member, with shapes for arrays, and the bytes of one step.

    One step of one member is traced and not computed.
    """

    def begin(member, shared):
        loop, plan = _member_loop(build, capacity, member, shared, None)
        loop.solver.check(plan.key)
        return loop

    def step(member, shared):
        loop, plan = _member_loop(build, capacity, member, shared, None)
        progress = loop.start(plan.model, plan.state)
        first = jnp.asarray(0)
        batch = loop.batch(loop.order(first), first, first)
        moved = loop.stepper.step(progress.run, batch, first)
        return eqx.filter(moved, eqx.is_array)

    given = treedef.unflatten([jax.ShapeDtypeStruct(*shape) for shape in shapes])
    loop = eqx.filter_eval_shape(begin, *given)
    return loop, _bytes(jax.make_jaxpr(step)(*given).jaxpr)


def _bytes(program: Any) -> int:
    """The size of all intermediate values, which is more than is alive at a time."""
    total = 0
    for equation in program.eqns:
        inner = [p for p in equation.params.values() if hasattr(p, "jaxpr")]
        total += sum(_bytes(p.jaxpr) for p in inner)
        if not inner:
            total += sum(_size(v.aval) for v in equation.outvars)
    return total


def _size(aval: Any) -> int:
    try:
        return int(np.prod(aval.shape, dtype=int)) * np.dtype(aval.dtype).itemsize
    except TypeError:  # keys
        return 16 * int(np.prod(aval.shape, dtype=int))


def _fingerprint(members: PyTree, shared: PyTree, mesh: Any) -> dict[str, Any]:
    """Digests of the members and the data, and versions."""
    keyless = jax.tree.map(
        lambda a: jax.random.key_data(a) if is_key(a) else a, (members, shared)
    )
    of = {"members": digest(keyless[0]), "data": digest(keyless[1])}
    return {"of": of, "with": environment(Layout.of(mesh, cut=False))}


def _clone_keys(tree: PyTree) -> PyTree:
    """The tree with its keys cloned: every call of a run uses the same keys again."""
    return jax.tree.map(lambda a: jax.random.clone(a) if is_key(a) else a, tree)
