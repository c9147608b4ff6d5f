r"""Rows that do not fit in memory: read from disk while the last ones are computed on.

A `Stream` is arrays that are mapped and not loaded. An epoch visits the rows window by
window, the windows in random order and the rows of some windows at a time mixed:
random enough to learn from, and near enough to sequential for a disk. Which rows a
step has is a function of (seed, step); a thread reads the next steps ahead.
"""

import json
import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from likely.core.checks import InputError
from likely.solvers.minibatches import Minibatches
from likely.solvers.stochastic import Loop, Progress
from likely.solvers.training.feeds import AbstractFeed
from likely.typing import Batch, Key

WINDOW = 4096
"""Rows that stand together on the disk and are read together."""
MIXED = 16
"""Windows whose rows are mixed."""
CHUNK_BYTES = 32 * 2**20
"""Of the steps that are read at once; three such chunks are alive at a time."""
LONGEST = 256


class Stream:
    """Rows on disk, in the place of a `Batch`.

    Args:
        x: (n, ...) inputs: an array, by custom `np.load(path, mmap_mode="r")`.
        y: (n, ...) targets.
        w: (n,) row weights, or None for ones.
        window: rows that are read together.
    """

    def __init__(self, x: Any, y: Any, w: Any = None, *, window: int = WINDOW):
        self.x, self.y, self.w, self.window = x, y, w, window
        self.n = len(y)
        if len(x) != self.n or (w is not None and len(w) != self.n):
            raise InputError(
                f"x has {len(x)} rows, y has {self.n}"
                f"{'' if w is None else f' and w has {len(w)}'}; give as many of each."
            )
        total = self.n if w is None else sum(np.sum(p) for p in _pieces(w))
        self.total_weight = float(total)
        if not self.total_weight > 0:
            raise InputError("the weights sum to zero; there is no row to learn from.")

    @property
    def mean_weight(self) -> float:
        """Of all rows."""
        return self.total_weight / self.n

    @classmethod
    def open(cls, folder: str | os.PathLike, **options: Any) -> "Stream":
        """What `Stream.write` wrote."""
        path = Path(folder)
        parts = json.loads((path / "stream.json").read_text("utf-8"))
        arrays = {
            name: np.memmap(
                path / f"{name}.bin", part["dtype"], "r", shape=tuple(part["shape"])
            )
            for name, part in parts.items()
        }
        return cls(**arrays, **options)

    @classmethod
    def write(cls, folder: str | os.PathLike, chunks: Iterable[tuple]) -> "Stream":
        """Put chunks of (x, y) or (x, y, w) on disk, one after another, and open them.

        For tables that can only be read from front to back.
        """
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        parts: dict[str, dict] = {}
        files: dict[str, Any] = {}
        try:
            for chunk in chunks:
                for name, rows in zip(("x", "y", "w"), chunk, strict=False):
                    rows = np.ascontiguousarray(_single(np.asarray(rows)))
                    part = parts.setdefault(
                        name, {"dtype": rows.dtype.str, "shape": [0, *rows.shape[1:]]}
                    )
                    if part["shape"][1:] != list(rows.shape[1:]):
                        raise InputError(f"the chunks of {name} have different columns.")
                    if name not in files:
                        files[name] = (path / f"{name}.bin").open("wb")
                    part["shape"][0] += len(rows)
                    files[name].write(rows.astype(part["dtype"]).data)
        finally:
            for file in files.values():
                file.close()
        if not parts:
            raise InputError("there are no chunks, so there is no row to learn from.")
        (path / "stream.json").write_text(json.dumps(parts), "utf-8")
        return cls.open(folder)

    def rows(self, rows: np.ndarray) -> Batch:
        """Some rows, in this order, in memory; n stands for a missing one."""
        present = rows < self.n
        at = np.where(present, rows, 0)
        order = np.argsort(at, kind="stable")
        back = np.argsort(order, kind="stable")
        x, y = (_single(np.asarray(a[at[order]]))[back] for a in (self.x, self.y))
        w = np.ones(len(rows), np.float32)
        if self.w is not None:
            w = np.asarray(self.w[at[order]], np.float32)[back]
        return Batch(x, y, np.where(present, w, np.float32(0)))


def _pieces(a: Any) -> Iterable[np.ndarray]:
    for start in range(0, len(a), 2**20):
        yield np.asarray(a[start : start + 2**20], np.float64)


def _single(a: np.ndarray) -> np.ndarray:
    """Numbers as networks take them: float32."""
    return a.astype(np.float32) if a.dtype == np.float64 else a


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


class Streamed(AbstractFeed):
    """A feed that reads the next steps while the last ones are computed on."""

    def __init__(self, stream: Stream, key: Key | None, solver: Any):
        self.stream = stream
        batches = Minibatches.of(stream.n, solver.batch_size)
        numbers = () if key is None else np.asarray(jax.random.key_data(key)).ravel()
        self.order = Shuffled(batches, tuple(map(int, numbers)), stream.window)
        self.batches = batches
        self.reader = ThreadPoolExecutor(1, "reader")
        self.ahead: tuple[int, Future] | None = None
        self.length, self.block, self.layout = 1, 1, None
        self.last: tuple[int, Batch] | None = None

    def sample(self) -> Batch:
        """Some rows, for the shapes."""
        return _filled(self.stream.rows(self.order.rows(0)))

    def open(self, loop: Loop) -> None:
        """Begin to read ahead."""
        each = sum(a.nbytes for a in jax.tree.leaves(self.sample()))
        self.block, self.layout = loop.block, loop.layout
        self.length = max(1, min(CHUNK_BYTES // each, LONGEST, self.block))

    def most(self) -> int:
        return self.length

    def advance(
        self, loop: Loop, progress: Progress, first: int, until: int
    ) -> Progress:
        place = first - first % self.block
        start = first - (first - place) % self.length
        end = min(start + self.length, place + self.block)
        chunk = self._chunk(start)
        self._read_ahead(end)
        bounds = (jnp.asarray(v, jnp.int32) for v in (start, first, min(until, end)))
        return _advance(loop, progress, chunk, *bounds)

    def batch(self, loop: Loop, step: int) -> Batch:
        return jax.tree.map(jnp.asarray, self._one(step))

    def close(self) -> None:
        self.reader.shutdown(wait=True, cancel_futures=True)

    def _chunk(self, start: int) -> Batch:
        if self.last is not None and self.last[0] == start:
            return self.last[1]
        ahead = self.ahead
        if ahead is not None and ahead[0] == start:
            chunk = ahead[1].result()
        else:
            chunk = self._read(start)
        self.last = (start, chunk)
        return chunk

    def _read_ahead(self, start: int) -> None:
        if self.ahead is None or self.ahead[0] != start:
            self.ahead = (start, self.reader.submit(self._read, start))

    def _read(self, start: int) -> Batch:
        """The batches of the chunk that begins here, (steps, rows, ...), on the device."""
        steps = [self._one(start + i) for i in range(self.length)]
        stacked = jax.tree.map(lambda *a: np.stack(a), *steps)
        if self.layout is None:
            return jax.tree.map(jnp.asarray, stacked)
        spread = self.layout.sharding(None, self.layout.mesh.axis_names[0])
        return jax.tree.map(lambda a: jax.device_put(a, spread), stacked)

    def _one(self, step: int) -> Batch:
        """The rows of a step, missing ones absent and the others worth more."""
        rows = self.order.rows(step)
        if self.layout is not None:
            extra = -len(rows) % self.layout.count
            rows = np.concatenate([rows, np.full(extra, self.stream.n)])
        present = rows < self.stream.n
        batch = self.stream.rows(rows)
        share = np.float32(len(rows) / present.sum())
        return _filled(batch._replace(w=batch.w * share))


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
def _advance(
    loop: Loop, progress: Progress, chunk: Batch, start: Array, first: Array, until: Array
) -> Progress:
    def batch(t: Array) -> Batch:
        rows = jax.tree.map(lambda a: a[t - start], chunk)
        return rows if loop.layout is None else loop.layout.rows(rows)

    at, progress = loop.steps(progress, first, until, batch)
    return loop.look(progress, at % loop.block == 0)
