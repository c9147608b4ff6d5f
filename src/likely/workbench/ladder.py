"""The comparison of models on a table: every candidate model on every fold.

The loop over folds is the outer one, so that the table is encoded once for each fold.
Each result is saved at once; a result that was saved by an earlier run of the same spec
on the same data is not computed again.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.base import clone

from likely.core.checks import InputError
from likely.evaluate import mean_score
from likely.preprocess import TableEncoder
from likely.selection.mixing import mixing_weights
from likely.workbench import fitted, held_out
from likely.workbench.candidates import STACK, TEXT
from likely.workbench.fitted import EncodedRows, FittedMixture
from likely.workbench.held_out import HeldOutPredictions
from likely.workbench.plan import Plan, planned
from likely.workbench.problem import Candidate, Problem
from likely.workbench.spec import Spec
from likely.workbench.table import Table
from likely.workbench.unseen import KnownLevels, level_effect

MIN_STACK_WEIGHT = 0.01
"""Models that have less weight in the stacked mixture are left out of it."""
MIN_CLASS_ROWS = 20
"""The rows of each class that are kept where a model learns from a part of the rows."""
KEPT_FOLDS = 3
"""The number of folds whose models are kept in memory, to compute effects of columns."""


class Event(NamedTuple):
    """A step of a run, for progress bars."""

    kind: str
    """"start", "fit", "done", "skip" or "stage"."""
    model: str = ""
    """The label of the candidate model."""
    fold: int = 0
    text: str = ""
    total: int = 0
    loss: float = float("nan")


Notify = Callable[[Event], None]
"""A function that is called with each step of a run."""


def ignore(event: Event) -> None:
    """Show nothing: the default of `notify`."""


class Fold:
    """A split into training rows and held-out rows; encodings are computed when needed."""

    def __init__(self, table: Table, number: int | None, words: int = 0):
        self.table, self.words = table, words
        self.train, self.test = np.arange(len(table)), np.arange(0)
        if number is not None:
            self.train = np.flatnonzero(table.folds.train[number] > 0)
            self.test = np.flatnonzero(table.folds.held_out[number] > 0)
        self.encoders: dict[str, TableEncoder] = {}
        self.arrays: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.codes: np.ndarray | None = None
        self.known_levels: KnownLevels | None = None

    def encoded(self, encoding: str) -> tuple[np.ndarray, np.ndarray]:
        """The encoded training rows and the encoded held-out rows."""
        if encoding not in self.arrays:
            table = self.table
            encoder = fitted.encoder_of(encoding, table.schema, len(table), self.words)
            for known in self.arrays:
                if self.encoders[known].get_params() == encoder.get_params():
                    self.encoders[encoding] = self.encoders[known]
                    self.arrays[encoding] = self.arrays[known]
                    return self.arrays[encoding]
            w = table.w[self.train]
            train = encoder.fit_transform(self.rows(self.train), sample_weight=w)
            if not train.shape[1]:
                raise InputError(
                    "some fold has no column with values to learn from; use fewer folds, "
                    "or columns with fewer missing values."
                )
            test = train[:0]
            if len(self.test):
                test = encoder.transform(self.rows(self.test))
            self.encoders[encoding] = encoder
            self.arrays[encoding] = train, test
        return self.arrays[encoding]

    def held_out(self, encoding: str) -> EncodedRows:
        """The encoded held-out rows, and what stands in for their unseen levels."""
        _, X = self.encoded(encoding)
        encoder = self.encoders[encoding]
        if self.codes is None:
            self.codes = encoder.level_codes(self.rows(self.test))
        return EncodedRows(X, encoder, self.codes, self.known())

    def known(self) -> KnownLevels:
        """The levels of the categories in the training rows."""
        if self.known_levels is None:
            encoder = next(iter(self.encoders.values()))
            codes = encoder.level_codes(self.rows(self.train))
            y = level_effect(self.table.target.kind, self.table.y[self.train])
            self.known_levels = KnownLevels.of(codes, y, self.table.w[self.train])
        return self.known_levels

    def rows(self, rows: np.ndarray) -> pa.Table:
        """Some rows of the table."""
        return self.table.frame.take(pa.array(rows))


class Ladder:
    """All candidate models on all folds of a table.

    Args:
        spec: the settings of the run.
        table: the rows.
        candidates: the models to compare, from simple to flexible.
        folder: where results are kept between runs, or None.
        notify: a function that is called with each step of the run.
        plan: the sizes of the models; made for these candidates where None.
    """

    def __init__(
        self,
        spec: Spec,
        table: Table,
        candidates: list[Candidate],
        folder: Path | None = None,
        notify: Notify = ignore,
        *,
        plan: Plan | None = None,
    ):
        self.spec, self.table, self.folder, self.notify = spec, table, folder, notify
        self.candidates = {candidate.name: candidate for candidate in candidates}
        self.plan = planned(spec, table, candidates) if plan is None else plan
        self.skipped: dict[str, str] = dict(self.plan.skipped)
        self.seconds: dict[str, float] = {}
        self.held_out: dict[str, HeldOutPredictions] = {}
        self.estimators: dict[tuple[str, int], Any] = {}
        self.folds: dict[int, Fold] = {}
        self.stack_weights: dict[str, float] = {}

    def run(self) -> None:
        """Fit every candidate on every fold, and score the stacked mixture of all."""
        k = len(self.table.folds.train)
        parts: dict[str, list[HeldOutPredictions]] = {n: [] for n in self.candidates}
        self.notify(Event("start", total=k * len(self.candidates)))
        for number in range(k):
            fold = Fold(self.table, number, self.plan.words)
            for name, candidate in self.candidates.items():
                if name not in self.skipped:
                    parts[name].append(self._fit_fold(candidate, number, fold))
                if name in self.skipped:
                    why = self.skipped[name]
                    self.notify(Event("skip", candidate.label, number, why))
            if number < KEPT_FOLDS:
                fold.arrays.clear()  # they take most of the memory
                self.folds[number] = fold
        self.held_out = {
            name: held_out.concatenated(found)
            for name, found in parts.items()
            if name not in self.skipped
        }
        chosen = self.spec.models
        if len(self.held_out) > 2 and (not chosen or STACK in chosen):
            self._stack({name: parts[name] for name in self.held_out})

    def _fit_fold(self, candidate: Candidate, number: int, fold: Fold) -> Any:
        """The predictions of one fold: read from an earlier run, or computed and saved."""
        path = self.folder and self.folder / f"{candidate.name}-{number}.npz"
        if path and path.exists():
            found = HeldOutPredictions.load(path)
        else:
            self.notify(Event("fit", candidate.label, number))
            start, name = time.perf_counter(), candidate.name
            found = self.predictions(candidate, number, fold)
            if isinstance(found, str):
                self.skipped[name] = found
                return None
            seconds = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
            if path:
                found.save(path)
        loss = mean_score(found.loss, self.table.w[found.rows]).value
        self.notify(Event("done", candidate.label, number, loss=loss))
        return found

    def predictions(
        self, candidate: Candidate, number: int, fold: Fold
    ) -> HeldOutPredictions | str:
        """The predictions of held-out rows, or the reason why there are none.

        A candidate that fails is left out, and the run continues. Without the null model
        there is nothing to compare with, so its failure is that of the run.
        """
        try:
            estimator = self.fit(candidate, fold)
            if isinstance(estimator, str):
                return estimator
            rows, target = fold.held_out(candidate.encoding), self.table.target
            dist = fitted.distribution(estimator, rows, len(target.classes))
            y = self.table.y[fold.test]
            mean = None if target.is_class else fitted.means(estimator, rows, dist)
            found = held_out.held_out_predictions(dist, y, fold.test, target.kind, mean)
        except Exception as error:
            if candidate.name == "null":
                raise
            reason = " ".join(str(error).split()).rstrip(".")
            if isinstance(error, InputError):
                return reason
            return f"it failed ({type(error).__name__}: {reason})"
        if not all(v is None or np.isfinite(v).all() for v in found):
            if candidate.name == "null":
                name = self.table.target.name
                raise InputError(f"no distribution fits the target {name!r}.")
            return "its predictions are not finite"
        if number < KEPT_FOLDS:
            self.estimators[candidate.name, number] = estimator
        return found

    def fit(self, candidate: Candidate, fold: Fold) -> Any:
        """The candidate's estimator fitted to the training rows, or why there is none."""
        table = self.table
        X, _ = fold.encoded(candidate.encoding)
        categories, levels = (), ()
        if candidate.encoding == "ordinal":
            encoder = fold.encoders["ordinal"]
            categories = fitted.category_columns(encoder)
            levels = tuple(map(len, encoder.seen_))
        target, size = table.target, self.plan.models[candidate.name]
        y, w = table.y[fold.train], table.w[fold.train]
        if size.rows < len(table):
            m = round(size.rows / len(table) * len(y))
            some = _some_rows(y if target.is_class else None, len(y), m, self.spec.seed)
            X, y, w = X[some], y[some], w[some]
        zeros = int((table.y == 0).sum()) if target.kind == "nonnegative" else 0
        problem = Problem(
            target.kind, target.family, size.rows, X.shape[1],
            self.spec.effort, self.spec.seed, categories, len(target.classes),
            _spread(target.kind, y, w), levels=levels,
            zeros=zeros * size.rows // len(table), seconds=size.seconds,
            events=int((y > 0).sum()) if target.kind == "survival" else 0,
        )  # fmt: skip
        estimator = candidate.build(problem)
        if isinstance(estimator, str):
            return estimator
        y = y.astype(int) if target.is_class else y
        fresh: Any = clone(estimator)
        return fresh.fit(X, y, **({} if (w == 1).all() else {"sample_weight": w}))

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return len(self.table.folds.train)

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of text that a model was compared on."""
        return self.plan.texts if TEXT.name in self.held_out else ()

    def parts_of(self, name: str) -> list[str]:
        """The candidates that a model consists of: itself, or those of the mixture."""
        return list(self.stack_weights) if name == STACK else [name]

    def estimator(self, name: str, number: int) -> Any:
        """The estimator of a candidate on a fold; fitted again if it was not kept."""
        if (name, number) not in self.estimators:
            estimator = self.fit(self.candidates[name], self.fold(number))
            self.estimators[name, number] = estimator
        return self.estimators[name, number]

    def fold(self, number: int) -> Fold:
        """A fold; encoded again if it was not kept."""
        return self.folds.setdefault(number, Fold(self.table, number, self.plan.words))

    def of_fold(self, name: str, number: int) -> FittedMixture:
        """A candidate, or the stacked mixture, as it was fitted to one fold."""
        return self._mixture(
            name, self.fold(number), lambda part: self.estimator(part.name, number)
        )

    def of_all(self, name: str) -> FittedMixture:
        """A candidate, or the stacked mixture, fitted to all rows."""
        fold = Fold(self.table, None, self.plan.words)

        def refit(part: Candidate) -> Any:
            self.notify(Event("stage", text=f"refitting: {part.label}"))
            return self.fit(part, fold)

        return self._mixture(name, fold, refit)

    def _mixture(
        self, name: str, fold: Fold, estimator: Callable[[Candidate], Any]
    ) -> FittedMixture:
        """A candidate, or the stacked mixture, from the estimators of its parts."""
        weights = self.stack_weights if name == STACK else {name: 1.0}
        used = [self.candidates[part] for part in weights]
        parts = tuple((part.encoding, estimator(part)) for part in used)
        share, c = np.array([*weights.values()]), len(self.table.target.classes)
        return FittedMixture(dict(fold.encoders), parts, share, c, fold.known())

    def _stack(self, parts: dict[str, list[HeldOutPredictions]]) -> None:
        """Mix by held-out likelihood; each fold is scored by weights from the others."""
        w, k = self.table.w, self.n_folds
        names = self._stackable(parts)
        scored = []
        for number in range(k):
            others = [j for j in range(k) if j != number]
            weights = _stack_weights([[parts[n][j] for j in others] for n in names], w)
            scored.append(held_out.mixed([parts[n][number] for n in names], weights))
        self.held_out[STACK] = held_out.concatenated(scored)
        weights = _stack_weights([parts[n] for n in names], w)
        self.stack_weights = {
            n: float(p) for n, p in zip(names, weights, strict=True) if p > 0
        }

    def _stackable(self, parts: dict[str, list[HeldOutPredictions]]) -> list[str]:
        """The models with the largest weights, as many as the plan allows to refit."""
        names = list(parts)
        weights = _stack_weights([parts[n] for n in names], self.table.w)
        used = {n: float(p) for n, p in zip(names, weights, strict=True) if p > 0}
        kept = self.plan.stacked(used)
        return names if len(kept) == len(used) else [n for n in names if n in kept]


def _stack_weights(parts: list[list[HeldOutPredictions]], w: np.ndarray) -> np.ndarray:
    losses = np.stack([np.concatenate([h.loss for h in p]) for p in parts], axis=1)
    rows = np.concatenate([h.rows for h in parts[0]])
    weights = mixing_weights(-losses, w[rows], tolerance=1e-7).weights
    weights = np.where(weights < MIN_STACK_WEIGHT, 0.0, weights)
    return weights / weights.sum()


def _some_rows(y: np.ndarray | None, n: int, m: int, seed: int) -> np.ndarray:
    """m of n rows at random, with some of each class."""
    order = np.random.default_rng([seed, 5]).permutation(n)
    if y is not None:
        codes = y[order].astype(int)
        by_class = np.argsort(codes, kind="stable")
        count = np.bincount(codes)
        rank = np.empty(n, int)
        rank[by_class] = np.arange(n) - np.repeat(np.cumsum(count) - count, count)
        order = order[np.argsort(rank >= MIN_CLASS_ROWS, kind="stable")]
    return np.sort(order[:m])


def _spread(kind: str, y: np.ndarray, w: np.ndarray) -> float:
    """The standard deviation of the numbers that a regressor is fitted to."""
    if kind == "nonnegative":
        y, w, kind = y[y > 0], w[y > 0], "positive"
    if len(y) < 2:
        return 1.0
    z = np.log(y) if kind == "positive" else y
    top = max(np.abs(z).max(), 1e-300)  # squares of huge numbers are infinite
    z = z / top
    return top * float(np.sqrt(np.cov(z, aweights=w, ddof=0))) or 1.0
