"""Climb the ladder: every rung on every fold, each result kept as soon as it is there.

Folds come first and rungs second, so that a fold's table is encoded once. A result that
was kept by an earlier run of the same spec on the same data is not computed again.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.base import clone

from likely.core.checks import InputError
from likely.preprocess import TableEncoder
from likely.selection.mixing import mixing_weights
from likely.workbench.candidate import Candidate, encoder_of, word_columns
from likely.workbench.held import Held, describe, joined, mixed
from likely.workbench.rungs import STACK, Rung, Situation
from likely.workbench.spec import Spec
from likely.workbench.table import Table

LEAST = 0.01
"""Parts of a mixture with less weight are left out."""
KEPT_FOLDS = 3
"""Folds whose models are kept in memory, to be asked about effects of columns."""


class Event(NamedTuple):
    """What a run is doing: for progress bars."""

    kind: str
    """"start", "fit", "done", "skip" or "stage"."""
    rung: str = ""
    fold: int = 0
    text: str = ""
    total: int = 0
    loss: float = float("nan")


class Fold:
    """One part of the rows held out; encodings are made when they are asked for."""

    def __init__(self, table: Table, number: int | None):
        self.table = table
        n = len(table)
        everything = np.arange(n)
        self.train, self.test = everything, everything[:0]
        if number is not None:
            self.train = np.flatnonzero(table.folds.train[number] > 0)
            self.test = np.flatnonzero(table.folds.held_out[number] > 0)
        self.encoders: dict[str, TableEncoder] = {}
        self.arrays: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def encoded(self, encoding: str) -> tuple[np.ndarray, np.ndarray]:
        """X of the rows to learn from, and of those held out."""
        if encoding not in self.arrays:
            encoder = encoder_of(encoding, self.table.schema)
            w = self.table.w[self.train]
            train = encoder.fit_transform(self.rows(self.train), sample_weight=w)
            if not train.shape[1]:
                raise InputError(
                    "some fold has no column with values to learn from; use fewer folds, "
                    "or columns with fewer holes."
                )
            test = (
                encoder.transform(self.rows(self.test)) if len(self.test) else train[:0]
            )
            self.encoders[encoding] = encoder
            self.arrays[encoding] = train, test
        return self.arrays[encoding]

    def light(self) -> "Fold":
        """The fold without its arrays, which take most of the memory."""
        self.arrays.clear()
        return self

    def rows(self, rows: np.ndarray) -> pa.Table:
        """Some rows of the table."""
        return self.table.frame.take(pa.array(rows))


class Ladder:
    """All rungs on all folds of a table.

    Args:
        spec: what was asked for.
        table: the rows.
        rungs: which models.
        folder: where results are kept between runs, or None.
        tell: is told what happens.
    """

    def __init__(
        self,
        spec: Spec,
        table: Table,
        rungs: list[Rung],
        folder: Path | None = None,
        tell: Callable[[Event], None] = lambda event: None,
    ):
        self.spec, self.table, self.folder, self.tell = spec, table, folder, tell
        self.rungs = {rung.name: rung for rung in rungs}
        self.skipped: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.held: dict[str, Held] = {}
        self.models: dict[tuple[str, int], Any] = {}
        self.folds: dict[int, Fold] = {}
        self.stack_weights: dict[str, float] = {}

    def climb(self) -> None:
        """Fit everything, and judge the mixture of all."""
        k = len(self.table.folds.train)
        parts: dict[str, list[Held]] = {name: [] for name in self.rungs}
        self.tell(Event("start", total=k * len(self.rungs)))
        for number in range(k):
            fold = Fold(self.table, number)
            for name, rung in self.rungs.items():
                if name in self.skipped:
                    self.tell(Event("skip", rung.label, number, self.skipped[name]))
                else:
                    parts[name].append(self._unit(rung, number, fold))
            if number < KEPT_FOLDS:
                self.folds[number] = fold.light()
        self.held = {n: joined(p) for n, p in parts.items() if n not in self.skipped}
        asked = self.spec.models
        if len(self.held) > 2 and (not asked or STACK in asked):
            self._stack({n: parts[n] for n in self.held})

    def _unit(self, rung: Rung, number: int, fold: Fold) -> Any:
        """One rung on one fold: kept, or computed and kept."""
        path = self.folder and self.folder / f"{rung.name}-{number}.npz"
        if path and path.exists():
            held = Held.load(path)
            self.tell(Event("done", rung.label, number, loss=_mean(held, self.table)))
            return held
        self.tell(Event("fit", rung.label, number))
        start = time.perf_counter()
        held, why = self._tried(rung, number, fold)
        if held is None:
            self.skipped[rung.name] = why
            self.tell(Event("skip", rung.label, number, why))
            return None
        self.seconds[rung.name] = (
            self.seconds.get(rung.name, 0.0) + time.perf_counter() - start
        )
        if path:
            held.save(path)
        self.tell(Event("done", rung.label, number, loss=_mean(held, self.table)))
        return held

    def _tried(self, rung: Rung, number: int, fold: Fold) -> tuple[Held | None, str]:
        """What a rung says about the rows held out, or why it says nothing.

        A rung that fails leaves the ladder; the others go on. Without the null model
        there is nothing to compare with, so its failure is that of the run.
        """
        try:
            fitted = self.fit(rung, fold)
            if isinstance(fitted, str):
                return None, fitted
            _, X = fold.encoded(rung.encoding)
            dist = self.candidate([(rung, fitted, 1.0)], fold).dist(fitted, X)
            y = self.table.y[fold.test]
            held = describe(dist, y, fold.test, self.table.target.kind)
        except Exception as error:
            if rung.name == "null":
                raise
            said = " ".join(str(error).split()).rstrip(".")
            if isinstance(error, InputError):
                return None, said
            return None, f"it failed ({type(error).__name__}: {said})"
        if not all(v is None or np.isfinite(v).all() for v in held):
            if rung.name == "null":
                name = self.table.target.name
                raise InputError(f"no distribution fits the target {name!r}.")
            return None, "what it predicts is not finite"
        if number < KEPT_FOLDS:
            self.models[rung.name, number] = fitted
        return held, ""

    def fit(self, rung: Rung, fold: Fold) -> Any:
        """The rung's estimator on the rows to learn from, or why there is none."""
        table = self.table
        X, _ = fold.encoded(rung.encoding)
        words = ()
        if rung.encoding == "ordinal":
            words = word_columns(fold.encoders["ordinal"])
        target = table.target
        y, w = table.y[fold.train], table.w[fold.train]
        at = Situation(
            target.kind, target.family, len(table), X.shape[1],
            self.spec.effort, self.spec.seed, words, len(target.classes),
            _spread(target.kind, y, w),
        )  # fmt: skip
        estimator = rung.build(at)
        if isinstance(estimator, str):
            return estimator
        y = y.astype(int) if target.is_class else y
        plain = bool((w == 1).all())
        fresh: Any = clone(estimator)
        return fresh.fit(X, y, **({} if plain else {"sample_weight": w}))

    def model(self, name: str, number: int) -> Any:
        """The estimator of a rung on a fold; fitted again if it was not kept."""
        if (name, number) not in self.models:
            self.models[name, number] = self.fit(self.rungs[name], self.fold(number))
        return self.models[name, number]

    def fold(self, number: int) -> Fold:
        """A fold; encoded again if it was not kept."""
        if number not in self.folds:
            self.folds[number] = Fold(self.table, number)
        return self.folds[number]

    def candidate(self, parts: list[tuple[Rung, Any, float]], fold: Fold) -> Candidate:
        """Fitted estimators as a model of tables."""
        return Candidate(
            dict(fold.encoders),
            tuple((rung.encoding, fitted) for rung, fitted, _ in parts),
            np.array([weight for _, _, weight in parts]),
            len(self.table.target.classes),
        )

    def of_fold(self, name: str, number: int) -> Candidate:
        """A rung, or the stack, as it was fitted to one fold."""
        fold = self.fold(number)
        return self.candidate(
            [
                (self.rungs[part], self.model(part, number), weight)
                for part, weight in self.weights(name).items()
            ],
            fold,
        )

    def of_all(self, name: str) -> Candidate:
        """A rung, or the stack, fitted to all rows."""
        fold = Fold(self.table, None)
        parts = []
        for part, weight in self.weights(name).items():
            self.tell(Event("stage", text=f"refitting: {self.rungs[part].label}"))
            parts.append((self.rungs[part], self.fit(self.rungs[part], fold), weight))
        return self.candidate(parts, fold)

    def weights(self, name: str) -> dict[str, float]:
        """The rungs that a model is mixed of."""
        return self.stack_weights if name == STACK else {name: 1.0}

    def _stack(self, parts: dict[str, list[Held]]) -> None:
        """Mix by held-out likelihood; each fold is judged by weights from the others."""
        names, w = list(parts), self.table.w
        k = len(self.table.folds.train)
        together = []
        for number in range(k):
            others = [j for j in range(k) if j != number]
            weights = _weights([[parts[n][j] for j in others] for n in names], w)
            together.append(mixed([parts[n][number] for n in names], weights))
        self.held[STACK] = joined(together)
        weights = _weights([parts[n] for n in names], w)
        self.stack_weights = {
            n: float(p) for n, p in zip(names, weights, strict=True) if p > 0
        }


def _weights(parts: list[list[Held]], w: np.ndarray) -> np.ndarray:
    losses = np.stack([np.concatenate([h.loss for h in p]) for p in parts], axis=1)
    rows = np.concatenate([h.rows for h in parts[0]])
    weights = mixing_weights(-losses, w[rows], tolerance=1e-7).weights
    weights = np.where(weights < LEAST, 0.0, weights)
    return weights / weights.sum()


def _spread(kind: str, y: np.ndarray, w: np.ndarray) -> float:
    """The standard deviation of what a regressor is given."""
    z = np.log(y) if kind == "positive" else y
    top = max(np.abs(z).max(), 1e-300)  # squares of huge numbers are infinite
    z = z / top
    return top * float(np.sqrt(np.cov(z, aweights=w, ddof=0))) or 1.0


def _mean(held: Held, table: Table) -> float:
    w = table.w[held.rows]
    return float(w @ held.loss / w.sum())
