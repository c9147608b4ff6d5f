"""Rows that do not fit in memory: arrays mapped from files and not loaded."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.typing import Batch

WINDOW = 4096
"""Consecutive rows of a file that are read together."""


class Stream:
    """Rows on disk, given to `Training` in place of a `Batch`.

    Args:
        x: (n, ...) inputs: an array, usually `np.load(path, mmap_mode="r")`.
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
        total = self.n if w is None else sum(np.sum(p) for p in _parts(w))
        self.total_weight = float(total)
        if not self.total_weight > 0:
            raise InputError("the weights sum to zero; there is no row to learn from.")

    @property
    def mean_weight(self) -> float:
        """The mean weight of all rows."""
        return self.total_weight / self.n

    @classmethod
    def open(cls, folder: str | os.PathLike, **options: Any) -> "Stream":
        """Open what `Stream.write` wrote."""
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
        """Write chunks of (x, y) or (x, y, w) to disk, one after another, and open them.

        For tables that can only be read from front to back.
        """
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        parts: dict[str, dict] = {}
        files: dict[str, Any] = {}
        try:
            for chunk in chunks:
                for name, rows in zip(("x", "y", "w"), chunk, strict=False):
                    rows = np.ascontiguousarray(_as_float32(np.asarray(rows)))
                    part = parts.setdefault(
                        name, {"dtype": rows.dtype.str, "shape": [0, *rows.shape[1:]]}
                    )
                    if part["shape"][1:] != list(rows.shape[1:]):
                        raise InputError(
                            f"the chunks of {name} have different columns."
                        )
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
        """These rows, in this order, in memory; the number n means a missing row."""
        present = rows < self.n
        at = np.where(present, rows, 0)
        order = np.argsort(at, kind="stable")

        def read(a: Any) -> np.ndarray:
            """Read in the order of the file, a window at a time."""
            first = _as_float32(np.asarray(a[:1]))
            found = np.empty((len(rows), *first.shape[1:]), first.dtype)
            for start in range(0, len(rows), WINDOW):
                some = order[start : start + WINDOW]
                found[some] = a[at[some]]
            return found

        w = np.ones(len(rows), np.float32)
        if self.w is not None:
            w = read(self.w).astype(np.float32)
        return Batch(read(self.x), read(self.y), np.where(present, w, np.float32(0)))


def _parts(a: Any) -> Iterable[np.ndarray]:
    for start in range(0, len(a), 2**20):
        yield np.asarray(a[start : start + 2**20], np.float64)


def _as_float32(a: np.ndarray) -> np.ndarray:
    """Float64 rows as float32, which networks compute in; others as they are."""
    return a.astype(np.float32) if a.dtype == np.float64 else a
