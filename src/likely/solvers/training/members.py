r"""Many runs as one: seeds, row weights and numeric settings along a member axis.

A run is described by a function `build(member, shared) -> Plan` of what is the member's
own (a key, weights, a rate, ...) and what all share (the data). Everything in `members`
has a leading axis m; the program is one `vmap` over it, in which those that have
stopped are frozen. So folds, bootstraps, ensembles and grids are the same thing.

Small members run side by side, as many at once as `memory` allows; large ones, for
which that is slower, one after another, through one compiled program either way. With a
mesh the members are dealt out to its devices, which then need not talk to each other.
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
from likely.core.precision import to_numpy
from likely.solvers.first_order.stochastic import Loop, Progress
from likely.solvers.flat import capacity_of
from likely.solvers.training.checkpoints import Checkpoints, digest, made_with
from likely.solvers.training.course import Course
from likely.solvers.training.events import Callback
from likely.solvers.training.feeds import AbstractFeed
from likely.solvers.training.layout import Layout
from likely.typing import DIVERGED, Batch, Key, Solution, State

LARGE = 16 * 2**20
"""Bytes of one step from which members run one after another."""


class Plan(NamedTuple):
    """One run: what `solver.minimize(objective, model, data, key=key)` would be given."""

    solver: Any
    objective: Any
    model: Any
    data: Batch
    key: Key | None
    state: State = None
    there: Any = None
    """How many rows are, if only the first ones: those after them are never drawn."""


Build = Callable[[Any, Any], Plan]


def train_members(
    build: Build,
    members: PyTree,
    shared: PyTree = None,
    *,
    mesh: Mesh | None = None,
    memory: int = 2**29,
    at_once: int | None = None,
    special: "Special | None" = None,
    callbacks: Callback | Sequence[Callback] = (),
    checkpoints: Checkpoints | None = None,
    resume: bool = False,
    every: int | None = None,
    verbose: bool = False,
) -> Solution:
    """Train every member; the solution has a leading axis m everywhere.

    Args:
        build: a named function of one member and of what is shared, to its `Plan`.
            It is traced, and compiled once for all members.
        members: arrays with a leading axis m (keys, weights, rates, ...).
        shared: what all members have alike.
        mesh: devices to deal the members out to.
        memory: bytes that the steps of members side by side may take.
        at_once: members side by side, if you know better.
        special: another kind of `Crowd` that runs all of them on the host, if it takes
            such members.
        callbacks: as in `Training`, and so are the others.
        checkpoints: where and when to save the runs.
        resume: whether to go on from the newest checkpoints.
        every: steps between events.
        verbose: whether to show a progress bar.
    """
    m = _count(members)
    steps = np.max(_limits(build, *_again((members, shared))))
    capacity = capacity_of(steps)
    outline = _outline(build, *_shapes(members, shared), capacity)
    kind: type[Crowd] = Crowd
    if special is not None and special.fits(outline.loop, outline.model, m):
        kind, mesh, at_once = special.crowd, None, m
    size = at_once or outline.at_once(memory)
    devices = 1 if mesh is None else mesh.size
    groups = -(-m // min(m, size))  # of equal size, so that one program does for all
    size = -(-m // (groups * devices)) * devices
    audience = (callbacks,) if callable(callbacks) else tuple(callbacks)
    found = []
    for start in range(0, m, size):
        rows = np.minimum(np.arange(start, start + size), m - 1)
        group = jax.tree.map(lambda a, rows=rows: a[rows], members)
        crowd = kind(build, group, shared, outline.loop, mesh)
        places = checkpoints
        if checkpoints is not None and size < m:
            part = Path(checkpoints.folder) / f"members-{start:06d}"
            places = replace(checkpoints, folder=part)
        course = Course(
            crowd, audience, places, resume=resume, every=every, verbose=verbose
        )
        found.append(to_numpy(course.run(_about(build, group, shared, mesh))))
    return jax.tree.map(
        lambda *a: np.concatenate(a)[:m] if eqx.is_array(a[0]) else a[0], *found
    )


class Crowd(AbstractFeed):
    """Members that run side by side."""

    def __init__(
        self, build: Build, members: PyTree, shared: PyTree, loop: Loop, mesh: Any
    ):
        layout = Layout.of(mesh, cut=False)
        self.mesh = None if layout is None else layout.mesh
        self.members, self.shared = self.place(members), shared
        if self.mesh is not None:
            whole = NamedSharding(self.mesh, PartitionSpec())
            self.shared = jax.device_put(shared, whole)
        self.m = _count(members)
        limits = _limits(build, *_again((members, shared)))
        self.limits = self.place(limits)
        self.loop = eqx.tree_at(
            lambda loop: loop.stepper.solver.steps, loop, np.asarray(limits).max()
        )
        self.settings = (build, loop.capacity, self.mesh)
        self.progress = self._call("start")

    def advance(self, progress: Progress, first: int, until: int) -> Progress:
        return self._advanced(progress, first, until, self.limits)

    def finish(self, progress: Progress) -> Solution:
        found = self._call("finish", progress)
        static = eqx.filter(self.loop.stepper.static, _is_static)
        return eqx.tree_at(lambda s: s.model, found, eqx.combine(found.model, static))

    def rescue(
        self, before: Progress, first: int, after: Progress
    ) -> tuple[Progress, str]:
        """Take those whose loss was no longer a number back to their last good state."""
        bad = np.asarray(after.run.reason == DIVERGED)
        new = bad & np.asarray(before.run.reason != DIVERGED)
        steps = np.asarray(after.run.step)
        limits = np.where(new, steps - 1, np.asarray(self.limits))
        until = int(steps.max())
        again = self._advanced(
            before, first, until, self.place(jnp.asarray(limits, jnp.int32))
        )
        early = new & (steps - 1 <= first)  # their last good state is the one before
        choice = jnp.asarray(new), jnp.asarray(early)

        def chosen(a: Array, b: Array, c: Array) -> Array:
            wide = (slice(None),) + (None,) * (a.ndim - 1)
            kept = jnp.where(choice[1][wide], b, c)
            return jnp.where(choice[0][wide], kept, a)

        run = after.run._replace(
            params=jax.tree.map(
                chosen, after.run.params, before.run.params, again.run.params
            )
        )
        who = ", ".join(map(str, np.flatnonzero(new)[:5]))
        message = f"The loss of {new.sum()} members became no number ({who} ...)."
        return after._replace(run=run), message

    def place(self, tree: PyTree) -> PyTree:
        """Where the members are."""
        tree = jax.tree.map(jnp.asarray, tree)
        if self.mesh is None:
            return tree
        spread = NamedSharding(self.mesh, PartitionSpec(self.mesh.axis_names[0]))
        return jax.device_put(tree, spread)

    def gather(self, tree: PyTree) -> PyTree:
        return tree

    def most(self) -> None:
        return None

    def close(self) -> None:
        pass

    def _advanced(self, progress, first: int, until: int, limits: Array) -> Progress:
        bounds = jnp.asarray([first, until, self.loop.solver.steps], jnp.int32)
        return self._call("advance", progress, limits, bounds)

    def given(self) -> tuple[PyTree, PyTree]:
        """What is the members' own, and what they share."""
        return _again((self.members, self.shared))

    def _call(self, what: str, *args: Any) -> Any:
        return _call(what, *self.settings, self.m, *self.given(), *args)


class Special(NamedTuple):
    """Another kind of crowd, for some members."""

    crowd: type[Crowd]
    fits: Callable[[Loop, Any, int], bool]
    """Of a member's loop and model, with shapes for arrays, and how many there are."""


@eqx.filter_jit
def _call(what: str, build, capacity, mesh, m: int, members, shared, *args) -> Any:  # noqa: PLR0917
    """Start, advance or finish all members, on one device or dealt out."""

    def one(member, shared, *args):
        if what == "advance":
            progress, limit, bounds = args
            limits = limit, bounds[2]
            loop, _ = member_loop(build, capacity, member, shared, limits)
            return loop.advance(progress, bounds[0], bounds[1])
        loop, plan = member_loop(build, capacity, member, shared, None)
        if what == "finish":
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
            "key, state, there)."
        )
    return Plan(*plan)


def member_loop(
    build: Build, capacity: int, member: Any, shared: Any, limits: tuple | None
) -> tuple[Loop, Plan]:
    """The loop of a member, and its plan; the limits are its own and the largest."""
    plan = _plan(build, member, shared)
    solver = plan.solver
    options = {"key": plan.key, "capacity": capacity, "there": plan.there}
    if limits is not None:
        solver = eqx.tree_at(lambda s: s.steps, solver, limits[0])
        options["steps"] = limits[1]
    loop = Loop.of(solver, plan.objective, plan.model, plan.data, **options)
    return loop, plan


def _is_static(leaf: Any) -> bool:
    """Neither an array nor the shape of one."""
    return not eqx.is_array(leaf) and not isinstance(leaf, jax.ShapeDtypeStruct)


@eqx.filter_jit
def _limits(build: Build, members: PyTree, shared: PyTree) -> Int[Array, " m"]:
    """The step limit of each member."""

    def limit(member):
        return jnp.asarray(_plan(build, member, shared).solver.steps, jnp.int32)

    return jax.vmap(limit)(members)


def _count(members: PyTree) -> int:
    """m, the length of the leading axis of everything."""
    sizes = {np.shape(a)[:1] for a in jax.tree.leaves(members)}
    if len(sizes) != 1 or sizes == {()}:
        raise InputError(
            "members need one leading axis, of the same length in every array; "
            f"found {sorted(sizes)}."
        )
    return sizes.pop()[0]


class Outline(NamedTuple):
    """What is known of a member before anything is computed."""

    loop: Loop
    """With shapes in the place of arrays."""
    model: Any
    """The same."""
    each: int
    """Bytes of all the values of one step."""

    def at_once(self, memory: int) -> int:
        """How many members to run side by side."""
        return 1 if self.each > LARGE else max(1, int(memory // self.each))


def _shapes(members: PyTree, shared: PyTree) -> tuple[Any, tuple]:
    """The structure of one member and of what is shared, as something to look up."""
    one, treedef = jax.tree.flatten((members, shared))
    of_members = len(jax.tree.leaves(members))
    shapes = [(np.shape(a), jnp.asarray(a).dtype) for a in one]
    first = [(shape[1:], dtype) for shape, dtype in shapes[:of_members]]
    return treedef, (*first, *shapes[of_members:])


@lru_cache(maxsize=64)
def _outline(build: Build, treedef: Any, shapes: tuple, capacity: int) -> Outline:
    """Trace one step of one member, without computing it."""

    def begin(member, shared):
        loop, plan = member_loop(build, capacity, member, shared, None)
        loop.solver.check(plan.key)
        return loop, plan.model

    def step(member, shared):
        loop, plan = member_loop(build, capacity, member, shared, None)
        progress = loop.start(plan.model, plan.state)
        batch = loop.batch(loop.order(jnp.asarray(0)), jnp.asarray(0))
        moved = loop.stepper.step(progress.run, batch, jnp.asarray(0))
        return eqx.filter(moved, eqx.is_array)

    given = treedef.unflatten([jax.ShapeDtypeStruct(*shape) for shape in shapes])
    loop, model = eqx.filter_eval_shape(begin, *given)
    return Outline(loop, model, _bytes(jax.make_jaxpr(step)(*given).jaxpr))


def _bytes(program: Any) -> int:
    """Of all intermediate values: more than is alive at a time."""
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


def _about(build: Build, members: PyTree, shared: PyTree, mesh: Any) -> dict[str, Any]:
    keyless = jax.tree.map(
        lambda a: jax.random.key_data(a) if _is_key(a) else a, (members, shared)
    )
    of = {"members": digest(keyless[0]), "data": digest(keyless[1])}
    return {"of": of, "with": made_with(Layout.of(mesh, cut=False))}


def _again(tree: PyTree) -> PyTree:
    """The same keys once more: a run is a function of them, whenever it is continued."""
    return jax.tree.map(lambda a: jax.random.clone(a) if _is_key(a) else a, tree)


def _is_key(a: Any) -> bool:
    return isinstance(a, jax.Array) and jnp.issubdtype(a.dtype, jax.dtypes.prng_key)
