r"""Reading a stream: which rows a step has, and the next steps while the last compute.

An epoch visits the rows window by window, the windows in random order and the rows of
some windows at a time mixed: random enough to learn from, and near enough to
sequential for a disk. Which rows a step has is a function of (seed, step).
"""

from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from likely.solvers.first_order.minibatches import Minibatches
from likely.solvers.first_order.stochastic import Loop, Progress
from likely.solvers.training.feeds import AbstractSingle
from likely.solvers.training.layout import Layout, put
from likely.solvers.training.stream import Stream
from likely.typing import Batch, Key

MIXED = 16
"""Windows whose rows are mixed."""
CHUNK_BYTES = 32 * 2**20
"""Of the steps that are read at once; three such chunks are alive at a time."""
LONGEST = 256


class Shuffled:
    """Which rows a step has: a function of (seed, step)."""

    def __init__(self, batches: Minibatches, seed: tuple[int, ...], window: int):
        self.batches, self.seed, self.window = batches, seed, window
        self._group = lru_cache(maxsize=3)(self._group)
        self._windows = lru_cache(maxsize=2)(self._windows)

    def rows(self, step: int) -> np.ndarray:
        """The rows of a step; n stands for a missing one."""
        epoch, i = divmod(step, self.batches.count)
        n, size = self.batches.n, self.batches.size
        if self.batches.full:
            return np.arange(n)
        longer = n - self.batches.count * (size - 1)
        begin = i * (size - 1) + min(i, longer)
        end = begin + size - (i >= longer)
        _, ends = self._windows(epoch)
        found = []
        while begin < end:
            group = int(np.searchsorted(ends, begin, side="right"))
            start = 0 if group == 0 else int(ends[group - 1])
            stop = min(end, int(ends[group]))
            found.append(self._group(epoch, group)[begin - start : stop - start])
            begin = stop
        rows = np.concatenate(found)
        return np.concatenate([rows, np.full(size - len(rows), n)])

    def _windows(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """The windows of an epoch in their order, and where each group of them ends."""
        n = self.batches.n
        order = self._random(epoch).permutation(-(-n // self.window))
        sizes = np.minimum(n - order * self.window, self.window)
        sums = [sizes[i : i + MIXED].sum() for i in range(0, len(sizes), MIXED)]
        return order, np.cumsum(sums)

    def _group(self, epoch: int, group: int) -> np.ndarray:
        """The rows of a group of windows, mixed."""
        order, _ = self._windows(epoch)
        some = order[group * MIXED : (group + 1) * MIXED]
        rows = (some[:, None] * self.window + np.arange(self.window)).ravel()
        rows = rows[rows < self.batches.n]
        return self._random(epoch, group).permutation(rows)

    def _random(self, *place: int) -> np.random.Generator:
        seed = np.random.SeedSequence([*self.seed, *place])
        return np.random.Generator(np.random.Philox(seed))


class Reading:
    """The batches of a stream, in memory when they are asked for."""

    def __init__(
        self, stream: Stream, key: Key | None, solver: Any, layout: Layout | None
    ):
        self.stream, self.layout = stream, layout
        numbers = () if key is None else np.asarray(jax.random.key_data(key)).ravel()
        batches = Minibatches.of(stream.n, solver.batch_size)
        self.order = Shuffled(batches, tuple(map(int, numbers)), stream.window)

    def batch(self, step: int) -> Batch:
        """The rows of a step, missing ones absent and the others worth more."""
        return self._read([self._rows(step)])

    def batches(self, start: int, count: int) -> Batch:
        """Those of some steps, (steps, rows, ...), on the device."""
        rows = [self._rows(start + i) for i in range(count)]
        batch, size = self._read(rows), len(rows[0])
        stacked = jax.tree.map(lambda a: a.reshape(count, size, *a.shape[1:]), batch)
        if self.layout is None:
            return jax.tree.map(jnp.asarray, stacked)
        spread = self.layout.sharding(None, self.layout.mesh.axis_names[0])
        return jax.tree.map(lambda a: put(a, spread), stacked)

    def _rows(self, step: int) -> np.ndarray:
        rows = self.order.rows(step)
        extra = 0 if self.layout is None else -len(rows) % self.layout.count
        return np.concatenate([rows, np.full(extra, self.stream.n)])

    def _read(self, rows: list[np.ndarray]) -> Batch:
        """The rows of some steps, one after another, in one go."""
        batch = self.stream.rows(np.concatenate(rows))
        shares = [len(r) / (r < self.stream.n).sum() for r in rows]
        share = np.repeat(np.asarray(shares, np.float32), len(rows[0]))
        return _filled(batch._replace(w=batch.w * share))


class Streamed(AbstractSingle):
    """A run on a stream: a thread reads the next chunk of steps ahead."""

    def __init__(self, loop: Loop, progress: Progress, reading: Reading):
        self.loop, self.progress, self.reading = loop, progress, reading
        each = sum(a.nbytes for a in jax.tree.leaves(reading.batch(0)))
        self.length = max(1, min(CHUNK_BYTES // each, LONGEST, loop.block))
        self.reader = ThreadPoolExecutor(1, "reader")
        self.ahead: tuple[int, Future] | None = None
        self.last: tuple[int, Batch] | None = None

    def advance(self, progress, first, until):
        block = self.loop.block
        place = first - first % block
        start = first - (first - place) % self.length
        end = min(start + self.length, place + block)
        chunk = self._chunk(start)
        self._read_ahead(end)
        bounds = jnp.asarray((start, first, min(until, end)), jnp.int32)
        return _advance(self.loop, progress, chunk, bounds)

    def batch(self, step):
        return jax.tree.map(jnp.asarray, self.reading.batch(step))

    def most(self):
        return self.length

    def close(self):
        self.reader.shutdown(wait=True, cancel_futures=True)

    def _chunk(self, start: int) -> Batch:
        if self.last is not None and self.last[0] == start:
            return self.last[1]
        ahead = self.ahead
        if ahead is not None and ahead[0] == start:
            chunk = ahead[1].result()
        else:
            chunk = self.reading.batches(start, self.length)
        self.last = (start, chunk)
        return chunk

    def _read_ahead(self, start: int) -> None:
        if self.ahead is None or self.ahead[0] != start:
            future = self.reader.submit(self.reading.batches, start, self.length)
            self.ahead = (start, future)


def _filled(batch: Batch) -> Batch:
    """Rows of weight 0 made harmless: copies of one that counts, or zeros."""
    absent = batch.w == 0
    if not absent.any():
        return batch
    keep = int(np.argmin(absent))

    def fill(a: np.ndarray) -> np.ndarray:
        a = np.array(a)
        a[absent] = np.zeros_like(a[0]) if absent.all() else a[keep]
        return a

    return Batch(jax.tree.map(fill, batch.x), jax.tree.map(fill, batch.y), batch.w)


@eqx.filter_jit
def _advance(loop: Loop, progress: Progress, chunk: Batch, bounds: Array) -> Progress:
    start, first, until = bounds

    def batch(t: Array) -> Batch:
        rows = jax.tree.map(lambda a: a[t - start], chunk)
        return rows if loop.layout is None else loop.layout.rows(rows)

    at, progress = loop.steps(progress, first, until, batch)
    return loop.look(progress, at % loop.block == 0)
