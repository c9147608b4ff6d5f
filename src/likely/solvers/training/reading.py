r"""Reading a stream: the rows of each step, read ahead while the last steps compute.

An epoch visits windows of consecutive rows in random order and shuffles the rows of a
few windows at a time: random enough to learn from, and near enough to sequential for a
disk. The rows of a step are a function of (seed, step).
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
from likely.solvers.training.layout import Layout, put
from likely.solvers.training.sources import AbstractSingleSource
from likely.solvers.training.stream import Stream
from likely.typing import Batch, Key

WINDOWS_PER_GROUP = 16
"""Windows whose rows are shuffled together."""
MAX_CHUNK_BYTES = 32 * 2**20
"""Size of the rows that are read at once; three such chunks are alive at a time."""
MAX_CHUNK_STEPS = 256


class Shuffled:
    """The rows of each step, in an order that is a function of (seed, step)."""

    def __init__(self, batches: Minibatches, seed: tuple[int, ...], window: int):
        self.batches, self.seed, self.window = batches, seed, window
        self._group = lru_cache(maxsize=3)(self._group)
        self._windows = lru_cache(maxsize=2)(self._windows)

    def rows(self, step: int) -> np.ndarray:
        """The rows of a step; the number n means a missing row."""
        epoch, i = divmod(step, self.batches.count)
        n, size = self.batches.n, self.batches.size
        if self.batches.full:
            return np.arange(n)
        full_batches = n - self.batches.count * (size - 1)
        begin = i * (size - 1) + min(i, full_batches)
        end = begin + size - (i >= full_batches)
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
        """The windows of an epoch in random order, and the end of each group of them."""
        n = self.batches.n
        order = self._random(epoch).permutation(-(-n // self.window))
        sizes = np.minimum(n - order * self.window, self.window)
        sums = [
            sizes[i : i + WINDOWS_PER_GROUP].sum()
            for i in range(0, len(sizes), WINDOWS_PER_GROUP)
        ]
        return order, np.cumsum(sums)

    def _group(self, epoch: int, group: int) -> np.ndarray:
        """The rows of a group of windows, shuffled."""
        order, _ = self._windows(epoch)
        windows = order[group * WINDOWS_PER_GROUP : (group + 1) * WINDOWS_PER_GROUP]
        rows = (windows[:, None] * self.window + np.arange(self.window)).ravel()
        rows = rows[rows < self.batches.n]
        return self._random(epoch, group).permutation(rows)

    def _random(self, *position: int) -> np.random.Generator:
        seed = np.random.SeedSequence([*self.seed, *position])
        return np.random.Generator(np.random.Philox(seed))


class StreamBatches:
    """The batches of a stream, read from disk when they are asked for."""

    def __init__(
        self, stream: Stream, key: Key | None, solver: Any, layout: Layout | None
    ):
        self.stream, self.layout = stream, layout
        numbers = () if key is None else np.asarray(jax.random.key_data(key)).ravel()
        batches = Minibatches.of(stream.n, solver.batch_size)
        self.order = Shuffled(batches, tuple(map(int, numbers)), stream.window)

    def batch(self, step: int) -> Batch:
        """The rows of a step; missing ones have weight 0, for which the others make up."""
        return self._read([self._rows(step)])

    def batches(self, start: int, count: int) -> Batch:
        """The rows of `count` steps from `start` on, (steps, rows, ...), on the device."""
        rows = [self._rows(start + i) for i in range(count)]
        batch, size = self._read(rows), len(rows[0])
        stacked = jax.tree.map(lambda a: a.reshape(count, size, *a.shape[1:]), batch)
        if self.layout is None:
            return jax.tree.map(jnp.asarray, stacked)
        by_rows = self.layout.sharding(None, self.layout.mesh.axis_names[0])
        return jax.tree.map(lambda a: put(a, by_rows), stacked)

    def _rows(self, step: int) -> np.ndarray:
        rows = self.order.rows(step)
        extra = 0 if self.layout is None else -len(rows) % self.layout.count
        return np.concatenate([rows, np.full(extra, self.stream.n)])

    def _read(self, rows: list[np.ndarray]) -> Batch:
        """The rows of several steps, one after another, in one read."""
        batch = self.stream.rows(np.concatenate(rows))
        shares = [len(r) / (r < self.stream.n).sum() for r in rows]
        share = np.repeat(np.asarray(shares, np.float32), len(rows[0]))
        return _fill_absent(batch._replace(w=batch.w * share))


class StreamSource(AbstractSingleSource):
    """A run on a stream: a thread reads the next chunk of steps ahead."""

    def __init__(self, loop: Loop, progress: Progress, batches: StreamBatches):
        self.loop, self.progress, self.batches = loop, progress, batches
        step_bytes = sum(a.nbytes for a in jax.tree.leaves(batches.batch(0)))
        self.length = self.max_steps = max(
            1, min(MAX_CHUNK_BYTES // step_bytes, MAX_CHUNK_STEPS, loop.block)
        )
        self.reader = ThreadPoolExecutor(1, "reader")
        self.ahead: tuple[int, Future] | None = None
        self.last: tuple[int, Batch] | None = None

    def advance(self, progress, first, until):
        block = self.loop.block
        block_start = first - first % block
        start = first - (first - block_start) % self.length
        end = min(start + self.length, block_start + block)
        chunk = self._chunk(start)
        self._read_ahead(end)
        bounds = jnp.asarray((start, first, min(until, end)), jnp.int32)
        return _advance(self.loop, progress, chunk, bounds)

    def batch(self, step):
        return jax.tree.map(jnp.asarray, self.batches.batch(step))

    def close(self):
        self.reader.shutdown(wait=True, cancel_futures=True)

    def _chunk(self, start: int) -> Batch:
        if self.last is not None and self.last[0] == start:
            return self.last[1]
        ahead = self.ahead
        if ahead is not None and ahead[0] == start:
            chunk = ahead[1].result()
        else:
            chunk = self.batches.batches(start, self.length)
        self.last = (start, chunk)
        return chunk

    def _read_ahead(self, start: int) -> None:
        if self.ahead is None or self.ahead[0] != start:
            future = self.reader.submit(self.batches.batches, start, self.length)
            self.ahead = (start, future)


def _fill_absent(batch: Batch) -> Batch:
    """Rows of weight 0 made harmless: copies of a row with weight, or zeros."""
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
        return rows if loop.layout is None else loop.layout.shard_rows(rows)

    at, progress = loop.steps(progress, first, until, batch)
    return loop.validate(progress, at % loop.block == 0)
