r"""Many small networks at once on a CPU: members in the lanes of its registers.

An ensemble or a bootstrap of small perceptrons is trained by `lanes_kernel`, eight
members at a time in each core, about twice as fast as XLA's products of many small
matrices. It is the same run: the same rows in the same order from the same first weights,
by the same rule, equal to rounding; so events, checkpoints and what follows a fit do not
know of it. `fits` says what it can do; everything else is left to XLA.
"""

from collections.abc import Callable
from functools import cached_property
from heapq import heappop, heappush
from queue import SimpleQueue
from threading import Lock
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree, UInt

from likely.core.compiled import share, threads
from likely.core.permutation import FEW, round_keys
from likely.families import Normal
from likely.layers import Chain, Dense
from likely.layers.composition.chain import Pointwise
from likely.models import Shared
from likely.objectives import GaussianPrior, NegativeLogLikelihood
from likely.solvers import Adam, Constant
from likely.solvers.first_order.stochastic import Loop, Progress, stride_of
from likely.solvers.training.members import Build, Crowd, Special, member_loop
from likely.typing import DIVERGED, RUNNING, Batch, Trace

FEWEST = 16
"""Members below which lanes or cores would be idle."""
LARGEST = 2**14
"""Parameters of a member that fit into a core's cache eightfold, with their moments."""
PIECE = 16
"""Steps of the last pieces: how long one core may wait for another."""
EPOCHS = 64
"""Epochs whose keys are drawn together."""


def fits(loop: Loop, model: Any, m: int) -> bool:
    """Whether m runs like this one can be done here; shapes may stand for arrays."""
    if m < FEWEST or jax.default_backend() != "cpu":
        return False
    return (
        _is_plain(loop.solver)
        and _is_normal(loop.stepper.objective)
        and not loop.stepper.batches.full
        and loop.stepper.batches.n > FEW
        and loop.data.y.ndim == 1
        and loop.data.x.ndim == 2
        and _is_perceptron(model)
        and sum(a.size for a in _arrays(model)) <= LARGEST
    )


def _is_plain(solver: Any) -> bool:
    """Adam at one rate, and nothing else."""
    return (
        type(solver) is Adam
        and isinstance(solver.rate, Constant)
        and solver.validation is None
        and solver.average is None
        and solver.noise is None
        and not (solver.clip or solver.stop or solver.path)
        and solver.accumulate == 1
    )


def _is_normal(objective: Any) -> bool:
    """A normal with one σ for all rows, weights with a normal prior."""
    if type(objective) is not NegativeLogLikelihood:
        return False
    family, prior = objective.family, objective.prior
    gaussian = isinstance(prior, GaussianPrior) and prior.on == "weight"
    return gaussian and isinstance(family, Normal) and family.scale is None


def _is_perceptron(model: Any) -> bool:
    """Dense layers with ReLUs between, one output, and log σ beside it."""
    if not isinstance(model, Shared) or model.order is not None:
        return False
    if not isinstance(model.model, Chain) or model.tail.shape != (1,):
        return False
    layers: tuple[Any, ...] = model.model.layers
    dense, bends = layers[::2], layers[1::2]
    return (
        len(dense) == len(bends) + 1
        and all(isinstance(a, Dense) and a.bias is not None for a in dense)
        and all(isinstance(a, Pointwise) and a.function is jax.nn.relu for a in bends)
        and dense[-1].weight.shape[1] == 1
    )


def _arrays(tree: PyTree) -> list[Any]:
    return [a for a in jax.tree.leaves(tree) if hasattr(a, "shape")]


class Own(NamedTuple):
    """What the members' plans say, leading axis m."""

    data: Batch
    there: Array | None
    mean_weight: Array
    total_weight: Array
    alpha: Array
    rule: tuple[Array, ...]
    """β₁, β₂, ε, η."""


class Lanes(Crowd):
    """Members that run side by side in lanes; see `Crowd`."""

    def __init__(
        self, build: Build, members: PyTree, shared: PyTree, loop: Loop, mesh: Any
    ):
        super().__init__(build, members, shared, loop, mesh)
        # numba takes a while
        from likely.estimators.networks import lanes_blocks, lanes_kernel

        self.kernel, batches = lanes_kernel, loop.stepper.batches
        self.streams = lanes_blocks.STREAMS
        own: Own = _own(*self.settings[:2], *self.given())
        self.rule = np.array([a[0] for a in own.rule], np.float32)  # of all alike
        drawn = (np.asarray(own.data.w) > 0).sum(1)
        self.turns = np.argsort(drawn, kind="stable")  # eight wait for the longest
        self.records = self.dealt(self._recorded(own.data))
        self.evenly = own.there is not None
        there = own.there if self.evenly else np.full(self.m, batches.n)
        self.there = self.dealt(np.asarray(there, np.int64))
        self.scale = self.dealt(1 / (batches.size * own.mean_weight))
        self.decay = self.dealt(own.alpha / own.total_weight)
        params = jax.tree.leaves(self.progress.run.params)  # W, b, W, b, ..., log σ
        self.shapes = [a.shape[1:] for a in params]
        self.sizes = np.array([*(s[0] for s in self.shapes[:-1:2]), 1], np.int64)
        most = int(lanes_kernel.rooms.py_func(self.sizes, batches.size)[-1])
        self.kept: tuple[Any, Any] = (None, None)  # a run, and how it is in lanes
        self.latest: tuple[int, Any] = (-1, None)  # an epoch, and keys from it on
        self.free: SimpleQueue = SimpleQueue()
        for _ in range(threads(None)):
            self.free.put((self.blank(sum(self.parts)), self.blank(most)))

    def _advanced(self, progress, first: int, until: int, limits: Any) -> Progress:
        run, batches = progress.run, self.loop.stepper.batches
        until = min(until, max(int(np.max(limits)), first + 1))
        if until <= first:
            return progress
        state = self.kept[1] if run is self.kept[0] else self._packed(run)
        self.kept = None, None  # changed in its place
        last = self.dealt(np.stack([run.loss, run.gradient, run.value], 1))
        last = np.ascontiguousarray(last.swapaxes(1, 2))
        limits, steps, reasons = map(self.dealt, (limits, run.step, run.reason))
        seen: Any = np.empty(
            (2, len(state), until - first, self.kernel.LANES), np.float32
        )

        keys = self._keys(first // batches.count, -(-until // batches.count))

        cuts = [first]
        while cuts[-1] < until:  # halves of what is left
            step = max((until - cuts[-1]) // 2, PIECE)
            cuts.append(min(cuts[-1] + step, until))

        def advance(group: int, piece: int) -> None:
            at, end = cuts[piece : piece + 2]
            epoch = at // batches.count - first // batches.count
            rooms = self.free.get()
            self.kernel.advance(
                *(self.sizes, state[group], self.parts[0], *rooms),
                *(self.records[group], self.there[group], self.evenly),
                *(np.ascontiguousarray(keys[group, :, epoch:]), at, batches.count),
                *(batches.size, self.rule, self.scale[group], self.decay[group]),
                *(limits[group], steps[group], reasons[group], last[group]),
                *seen[:, group, at - first : end - first],
            )
            self.free.put(rooms)

        in_turns(advance, len(state), len(cuts) - 1)
        reason, step = self.gathered(reasons), self.gathered(steps)
        moved = step - np.asarray(run.step)
        ran = moved + ((reason == DIVERGED) & (np.asarray(run.reason) == RUNNING))
        loss, gradient, value = np.moveaxis(self.gathered(last.swapaxes(1, 2)), 1, 0)
        params, memory = self._unpacked(state, run, until - first)
        rate = np.where(ran > 0, self.rule[3], np.asarray(run.rate))
        run = run._replace(
            step=step, params=params, memory=memory, reason=reason, loss=loss,
            gradient=gradient, rate=rate.astype(np.float32), value=value,
        )  # fmt: skip
        seen = [self.gathered(a.swapaxes(1, 2)) for a in seen]
        trace = self._traced(progress.trace, first, ran, *seen)
        progress = jax.tree.map(jnp.asarray, progress._replace(run=run, trace=trace))
        self.kept = progress.run, state
        return progress

    def _keys(self, first: int, until: int) -> UInt[np.ndarray, "g 8 epochs rounds 2"]:
        """Of the order of these epochs."""
        start = first - first % EPOCHS
        found = [self._some_keys(at) for at in range(start, until, EPOCHS)]
        return np.concatenate(found, 2)[:, :, first - start : until - start]

    def _some_keys(self, start: int) -> UInt[np.ndarray, "g 8 epochs rounds 2"]:
        """Keys of some epochs; the last ones are kept."""
        if self.latest[0] != start:
            keys = _keys(*self.settings[:2], *self.given(), jnp.asarray(start))
            self.latest = start, self.dealt(keys)
        return self.latest[1]

    def _traced(self, trace: Trace, first: int, ran, losses, slopes) -> Trace:
        """The trace with these steps, of members that ran."""
        stride = int(stride_of(self.loop.solver.steps, self.loop.capacity))
        at = np.arange(first, first + losses.shape[1])
        kept = at % stride == 0
        runs = (at - first)[None, kept] < ran[:, None]

        def put(old: Array, new: np.ndarray | float) -> np.ndarray:
            filled = np.array(old)
            filled[:, at[kept] // stride] = np.where(runs, new, np.nan)
            return filled

        new = (
            put(trace.loss, losses[:, kept]),
            put(trace.gradient, slopes[:, kept]),
            put(trace.step, float(self.rule[3])),
        )
        return eqx.tree_at(lambda t: (t.loss, t.gradient, t.step), trace, new)

    # From members to lanes and back ---------------------------------------------------

    @cached_property
    def parts(self) -> tuple[int, int]:
        """Vectors of the weights, and of the biases and log σ, each with padding."""
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        counts = sum(sizes[:-1:2]), sum(sizes[1:-1:2]) + sizes[-1]
        weights, others = (-(-n // self.streams) * self.streams for n in counts)
        return weights, others

    def blank(self, vectors: int) -> Float[np.ndarray, " p"]:
        """Room for so many, where a line of the cache begins."""
        return aligned(vectors * self.kernel.LANES)

    @cached_property
    def seats(self) -> tuple[np.ndarray, np.ndarray]:
        """The group and the lane of each member."""
        return np.divmod(np.argsort(self.turns), self.kernel.LANES)

    def dealt(self, a: Any) -> np.ndarray:
        """(m, ...) to (groups, 8, ...); the last group is filled up with its last member."""
        a, lanes = np.asarray(a), self.kernel.LANES
        rows = np.minimum(np.arange(-(-len(a) // lanes) * lanes), len(a) - 1)
        return a[self.turns[rows]].reshape(-1, lanes, *a.shape[1:])

    def gathered(self, a: np.ndarray) -> np.ndarray:
        """The way back."""
        return a[self.seats]

    def _recorded(self, data: Batch) -> Float[np.ndarray, "m rows c"]:
        """Target, weight and columns of each row, and a row of zeros."""
        x, lanes = np.asarray(data.x), self.kernel.LANES
        m, n, d = x.shape
        records = np.zeros((m, n + 1, -(-(d + 2) // lanes) * lanes), np.float32)
        records[:, :n, 0], records[:, :n, 1] = data.y, data.w
        records[:, :n, 2 : d + 2] = x
        return records

    def _places(self) -> list[slice]:
        """Where each parameter is: weights, then biases and log σ, with padding between."""
        starts, found = [0, self.parts[0]], []
        for i, shape in enumerate(self.shapes):
            half = i % 2 if i + 1 < len(self.shapes) else 1
            end = starts[half] + int(np.prod(shape))
            found.append(slice(starts[half], end))
            starts[half] = end
        return found

    def _packed(self, run: Any) -> Float[np.ndarray, "groups 3 p"]:
        """θ, m and v of each group."""
        leaves = [np.asarray(a) for a in jax.tree.leaves((run.params, run.memory))]
        k, lanes = len(self.shapes), self.kernel.LANES
        trees = leaves[:k], leaves[k + 1 : 2 * k + 1], leaves[2 * k + 1 :]
        groups = -(-self.m // lanes)
        state = self.blank(groups * 3 * sum(self.parts)).reshape(groups, 3, -1)
        seats = state.reshape(groups, 3, -1, lanes).swapaxes(2, 3)
        for i, tree in enumerate(trees):
            for leaf, place in zip(tree, self._places(), strict=True):
                seats[:, i, :, place] = self.dealt(leaf.reshape(self.m, -1))
        return state

    def _unpacked(self, state: np.ndarray, run: Any, steps: int) -> tuple[Any, Any]:
        """Parameters and the memory of Adam."""
        group, lane = self.seats
        state = state.reshape(len(state), 3, -1, self.kernel.LANES)
        trees = [
            [
                state[group, i, place, lane].reshape(self.m, *shape)
                for shape, place in zip(self.shapes, self._places(), strict=True)
            ]
            for i in range(3)
        ]
        count = np.asarray(jax.tree.leaves(run.memory)[0]) + steps
        params = jax.tree.structure(run.params).unflatten(trees[0])
        memory = [count.astype(np.int32), *trees[1], *trees[2]]
        return params, jax.tree.structure(run.memory).unflatten(memory)


SPECIAL = Special(Lanes, fits)


def in_turns(job: Callable[[int, int], None], groups: int, pieces: int) -> None:
    """job(group, piece) for all, the pieces of a group in order.

    There is a thread for each processor, and all end at about the same time.
    """
    waiting, lock = [(0, group) for group in range(groups)], Lock()

    def work(_: int) -> None:
        while True:
            with lock:
                if not waiting:
                    return
                piece, group = heappop(waiting)
            job(group, piece)
            if piece + 1 < pieces:
                with lock:
                    heappush(waiting, (piece + 1, group))

    share(work, range(threads(None)), None)


def aligned(size: int) -> Float[np.ndarray, " size"]:
    """Zeros that begin where a line of the cache does."""
    whole = np.zeros(size + 16, np.float32)
    start = -(whole.ctypes.data // 4) % 16
    return whole[start : start + size]


@eqx.filter_jit
def _own(build: Build, capacity: int, members: PyTree, shared: PyTree) -> Own:
    def one(member):
        loop, _ = member_loop(build, capacity, member, shared, None)
        solver, objective = loop.solver, loop.stepper.objective
        rule = solver.decay, solver.decay_square, solver.epsilon, solver.rate.value
        rows = objective.rows
        return Own(
            loop.data,
            loop.there,
            rows.mean_weight,
            rows.total_weight,
            jnp.asarray(objective.prior.alpha),
            tuple(map(jnp.asarray, rule)),
        )

    return jax.vmap(one)(members)


@eqx.filter_jit
def _keys(
    build: Build, capacity: int, members: PyTree, shared: PyTree, start: Int[Array, ""]
) -> UInt[Array, "m epochs rounds 2"]:
    """What the order of each of some epochs depends on."""

    def one(member):
        key: Any = member_loop(build, capacity, member, shared, None)[0].key
        return jax.vmap(lambda e: round_keys(jax.random.fold_in(key, e)))(epochs)

    epochs = start + jnp.arange(EPOCHS)
    return jax.vmap(one)(members)
