"""The plan of a run: which models are compared, how large they are, on how many rows.

The seconds of a run, by effort, are divided over what has to be computed, by the formulas
in `costs`. Where they are not enough for everything, models are left out, learn from a
part of the rows, are compared on fewer folds or scored on fewer held-out rows. The plan is
a function of the sizes of the table and the settings of the run; it never reads the clock.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from likely.core.rows import size_class
from likely.core.written_numbers import listed
from likely.workbench import costs
from likely.workbench.candidates import TEXT, is_wide
from likely.workbench.fitted import ENCODINGS, TEXT_ENCODING, Texts, encoded_width
from likely.workbench.problem import Candidate, Problem
from likely.workbench.spec import Spec
from likely.workbench.table import Table

VALUES = {
    "linear": 12.0,
    "text": 13.0,
    "boosting": 5.0,
    "penalised": 4.0,
    "forest": 3.5,
    "spline": 3.0,
    "network": 3.0,
    "svm": 2.0,
    "neighbors": 1.0,
}
"""How much it matters that a model is among those that are compared."""
OTHER_VALUE = 2.0
"""The same for a model that is not among them."""
ROWS_POWER = 0.5
"""What a model of a part of the rows is worth: the part to this power."""
FEWER_FOLDS = {3: 1.5, 2: 3.0}
"""How much it matters that there are fewer folds, for `FEW_ROWS`; less for more rows."""
FEW_ROWS = 5000
MAX_DUAL_ROWS = 2500
"""The rows from which support vector machines are usually fitted on features."""
MIN_ROWS, MIN_SHARE = 1000, 1 / 20
"""The fewest rows that a model learns from, and the smallest share of the rows."""
HELD_OUT = {"quick": 10_000, "normal": 40_000, "thorough": 200_000}
"""The largest number of held-out rows that are scored, by effort."""
REFIT = 0.25
"""The share of a run in which the parts of the stacked mixture are compiled again."""
LEVELS = 0.02 * 1.5 ** np.arange(28)
"""Seconds of a fit for which sizes are computed, about 0.02 to 1,000."""
WORDS = (5000, 2000, 1000, 500, 300, 200, 100, 50)
"""The numbers of words of a column of text that may have a column each."""
TEXT_SHARE, MAX_TEXT_ENTRIES = 0.15, 20_000_000
"""The share of a run for the model with text; rows times words of all its columns."""
NO_TEXT = Texts()
IMPORTANCE_ROWS, IMPORTANCE_FOLDS = 1000, 3
"""Held-out rows and folds by which importances are measured."""
MIN_EFFECT_ROWS, MAX_EFFECT_ROWS = 10, 100
"""The number of rows that an effect averages."""


class Sized(NamedTuple):
    """What a fit of a model may take, and the number of rows that it learns from."""

    seconds: float
    rows: int


class ImportanceSize(NamedTuple):
    """How importances of columns are measured."""

    folds: int
    shuffles: int
    evaluations: int
    """The largest number of columns, or groups of columns, that are shuffled."""


class Plan(NamedTuple):
    """The sizes of a run."""

    problem: Problem
    widths: dict[str, int]
    """The number of columns in each encoding."""
    folds: int
    """The number of folds that are used."""
    held_out: int
    """The largest number of held-out rows of all folds together."""
    models: dict[str, Sized]
    skipped: dict[str, str]
    """The models that are left out, with the reason."""
    refit: float
    """Seconds in which the parts of the stacked mixture have to be compiled again."""
    seconds: float
    """What the run is expected to take, in seconds of one core."""
    words: int = 0
    """The largest number of words of a column of text that have a column each."""
    texts: tuple[str, ...] = ()
    """The columns of text."""

    def stacked(self, weights: dict[str, float]) -> list[str]:
        """The parts of a mixture that can be refitted in time, the largest weights first."""
        kept: list[str] = []
        left = self.refit
        for name in sorted(weights, key=lambda name: -weights[name]):
            left -= costs.compiling(name, self.problem.kind, self.problem.family)
            if left >= 0 or not kept:
                kept.append(name)
        return kept

    def importances(self, columns: int, parts: Sequence[str]) -> ImportanceSize:
        """How many shuffles of how many columns are affordable for a mixture."""
        seconds = costs.IMPORTANCES * costs.available(self.problem.effort)
        rows, d = IMPORTANCE_ROWS // IMPORTANCE_FOLDS, self._width(parts)
        once = sum(costs.prediction(name, rows, self.problem.n, d) for name in parts)
        for folds, shuffles in ((3, 2), (3, 1), (1, 1)):
            evaluations = int(seconds / (once * folds * shuffles))
            if evaluations >= columns:
                return ImportanceSize(folds, shuffles, columns)
        return ImportanceSize(1, 1, max(evaluations, 16))

    def effects(self, columns: int, predictions: int, parts: Sequence[str]) -> int:
        """The number of rows that an effect averages, so that all effects are in time.

        Args:
            columns: the number of effects.
            predictions: how often a row is predicted for each of them.
            parts: the models of the mixture.
        """
        seconds = costs.EFFECTS * costs.available(self.problem.effort)
        n, d = self.problem.n, self._width(parts)
        once = sum(costs.prediction(name, 1000, n, d) for name in parts) / 1000
        most = seconds / (once * max(columns * predictions, 1))
        return int(np.clip(most, MIN_EFFECT_ROWS, MAX_EFFECT_ROWS))

    def _width(self, parts: Sequence[str]) -> int:
        """The largest number of columns that some models look at."""
        text = TEXT.name in parts
        return max(
            d for name, d in self.widths.items() if text or name != TEXT_ENCODING
        )

    def affords_coefficients(self, brief: bool = False) -> bool:
        """Whether there is time for a linear model with standard errors.

        Args:
            brief: of the mean alone, where the target has exact zeros.
        """
        problem, d = self.problem, self.widths["scaled"]
        kind = "count" if brief and problem.kind == "nonnegative" else problem.kind
        family = "poisson" if kind != problem.kind else problem.family
        cost = costs.coefficients(problem.n, d, problem.classes, kind, family)
        return cost <= costs.COEFFICIENTS * costs.available(problem.effort)

    def notes(self, total_folds: int, labels: dict[str, str]) -> list[str]:
        """What was made smaller than asked for, as sentences."""
        n, found = self.problem.n, []
        if self.folds < total_folds:
            found.append(
                f"models are compared on {self.folds} of {total_folds} folds, because "
                "the table is large"
            )
        if self.held_out < n * self.folds // total_folds:
            found.append(f"models are scored on {self.held_out:,} held-out rows")
        if TEXT.name in self.models:
            columns = listed([repr(name) for name in self.texts])
            found.append(
                f"the {labels[TEXT.name]} knows at most {self.words:,} words of {columns}"
            )
        for name, size in self.models.items():
            if size.rows < n:
                rows = f"{size.rows:,} of {n:,} rows"
                found.append(f"the {labels[name]} learns from {rows}")
        return found


def planned(spec: Spec, table: Table, candidates: Sequence[Candidate]) -> Plan:
    """The plan of the comparison of some models on a table."""
    target, n = table.target, len(table)
    zeros = int((table.y == 0).sum()) if target.kind == "nonnegative" else 0
    problem = Problem(
        target.kind, target.family, n, 0, spec.effort, spec.seed,
        classes=len(target.classes), zeros=zeros,
    )  # fmt: skip
    widths = {name: encoded_width(name, table.schema, n) for name in ENCODINGS}
    columns = sum(column.used for column in table.schema)
    folds, texts = len(table.folds.train), Texts.of(table.schema, table.frame)
    return plan_for(problem, widths, columns, folds, candidates, texts=texts)


def plan_for(
    problem: Problem,
    widths: dict[str, int],
    columns: int,
    folds: int,
    candidates: Sequence[Candidate],
    *,
    texts: Texts = NO_TEXT,
) -> Plan:
    """The plan for a table of this size.

    Args:
        problem: the target, the number of rows and the effort.
        widths: the number of columns in each encoding.
        columns: the number of columns of the table.
        folds: the number of folds asked for.
        candidates: the models to compare.
        texts: the columns of text.
    """
    words = 0
    for candidate in candidates:
        if candidate.name == TEXT.name:
            size = problem, widths["scaled"], len(texts.columns)
            words = _words(candidate, *size, folds)
    wide = widths["scaled"] + words * len(texts.columns)
    widths = {**widths, TEXT_ENCODING: wide}
    options = {c.name: _options(c, problem, widths[c.encoding]) for c in candidates}
    structural = {c.name: _refusal(c, problem, widths[c.encoding]) for c in candidates}
    possible = [c.name for c in candidates if not structural[c.name]]
    always = [name for name in possible if name == "null"]
    rest = [name for name in possible if name not in always]
    numbers = [folds, *(k for k in FEWER_FOLDS if k < folds)]
    text = costs.encoding_text(texts.characters, problem.n, words * len(texts.columns))
    size = _Size(problem, widths, columns, folds, tuple(possible), text)
    best: tuple[float, Plan] | None = None
    for kept in (*_subsets(always, rest), ["null"]):
        most = sum(size.value(name) for name in kept)
        for k in numbers:
            if best and most - size.fold_loss(k) <= best[0]:
                continue
            found = _filled(size, k, kept, options)
            if found and (best is None or found[0] > best[0]):
                best = found
    if best is None:  # a null model is always compared
        models = {"null": Sized(1.0, problem.n)}
        seconds = costs.available(problem.effort)
        smallest = Plan(problem, widths, numbers[-1], 1000, models, {}, 0.0, seconds)
        best = 0.0, smallest
    plan = best[1]
    late = "it would take longer than this effort allows; try a greater --effort"
    left = {name: late for name in possible if name not in plan.models}
    refused = {name: why for name, why in structural.items() if why}
    skipped = {**refused, **left}
    return plan._replace(skipped=skipped, words=words, texts=texts.columns)


def _words(  # noqa: PLR0917
    candidate: Candidate, problem: Problem, width: int, columns: int, folds: int
) -> int:
    """The most words of each column of text that the model with text can afford."""
    seconds = TEXT_SHARE * costs.available(problem.effort) / (folds + 1)
    for words in WORDS:
        if words * columns * problem.n > MAX_TEXT_ENTRIES:
            continue
        wide = _sized(problem, width + words * columns, seconds, problem.n)
        if not isinstance(candidate.build(wide), str):
            return words
    return WORDS[-1]


def _subsets(always: list[str], rest: list[str]) -> Iterable[list[str]]:
    """The models that are always compared, with some of the others."""
    for size in range(len(rest), -1, -1):
        for some in combinations(rest, size):
            yield [*always, *some]


class _Size(NamedTuple):
    """What is known before a plan is made."""

    problem: Problem
    widths: dict[str, int]
    columns: int
    folds: int
    possible: tuple[str, ...]
    text: float
    """Seconds to encode the texts of all rows once."""

    def value(self, name: str) -> float:
        """How much it matters that a model is compared."""
        is_first = name == "penalised" and "linear" not in self.possible
        return VALUES.get("linear" if is_first else name, OTHER_VALUE)

    def fold_loss(self, k: int) -> float:
        """How much it matters that there are k folds only."""
        if k == self.folds:
            return 0.0
        return FEWER_FOLDS[k] * (FEW_ROWS / self.problem.n) ** 0.5

    def on_features(self, name: str) -> bool:
        """Whether a model is a linear one on features of a kernel."""
        if name == "svm":
            return self.problem.n > MAX_DUAL_ROWS
        return name == "penalised" and is_wide(self.problem.n, self.widths["scaled"])


class _Option(NamedTuple):
    """A size of a model: the level of its seconds, and the rows that it learns from."""

    level: int
    rows: int


def _filled(
    size: _Size, k: int, kept: list[str], options: Mapping[str, list[_Option]]
) -> tuple[float, Plan] | None:
    """The value of comparing some models on k folds, and the plan, if there is time."""
    problem, widths, columns, total, _, text = size
    n, effort, about = problem.n, problem.effort, (problem.kind, problem.family)
    if not all(options[name] for name in kept):
        return None
    seconds = costs.available(effort)
    held_out = min(n * k // total, HELD_OUT[effort])
    compiling = [costs.compiling(c, *about, size.on_features(c)) for c in kept]
    again = size_class(n) != size_class(n * (total - 1) // total)
    refit = max(REFIT * seconds, *compiling) if again else seconds
    spent = costs.START + costs.reading(n, columns) + costs.compiling_scores(*about)
    spent += sum(compiling) + (min(sum(compiling), refit) if again else 0.0)
    spent += (k + 1) * (
        costs.encoding(n, columns) + (text if TEXT.name in kept else 0.0)
    )
    spent += len(kept) * costs.scoring(held_out, problem.classes, problem.kind)
    left = seconds * (1 - costs.AFTER) - spent
    chosen = {name: 0 for name in kept}
    taken = {name: LEVELS[options[name][0].level] for name in kept}
    if (k + 1) * sum(taken.values()) > left:
        return None
    growing = set(kept)
    while growing:  # the smallest share grows first
        name = min(growing, key=lambda name: (taken[name], name))
        if chosen[name] + 1 == len(options[name]):
            growing.remove(name)
            continue
        more = LEVELS[options[name][chosen[name] + 1].level]
        if (k + 1) * (sum(taken.values()) - taken[name] + more) > left:
            growing.remove(name)
            continue
        chosen[name], taken[name] = chosen[name] + 1, more
    used = {name: options[name][i] for name, i in chosen.items()}
    value = -size.fold_loss(k)
    for name, option in used.items():
        value += size.value(name) * (option.rows / n) ** ROWS_POWER
    models = {n: Sized(float(LEVELS[o.level]), o.rows) for n, o in used.items()}
    needed = seconds - left + (k + 1) * sum(taken.values())
    return value, Plan(problem, widths, k, held_out, models, {}, refit, needed)


def _options(candidate: Candidate, problem: Problem, d: int) -> list[_Option]:
    """The different sizes of a model, from the smallest to the largest."""
    sizes = [problem.n]
    while sizes[-1] // 2 >= max(MIN_ROWS, MIN_SHARE * problem.n):
        sizes.append(sizes[-1] // 2)
    found: list[_Option] = []
    before: tuple = ()
    for level, seconds in enumerate(LEVELS):
        for rows in sizes:
            if found and rows < found[-1].rows:
                break
            built = candidate.build(_sized(problem, d, float(seconds), rows))
            if isinstance(built, str):
                continue
            now = rows, _settings(built)
            if now != before:
                found.append(_Option(level, rows))
            before = now
            break
    return found


def _settings(estimator: Any) -> tuple:
    """The settings of an estimator and of those inside it, to compare."""
    found: list[Any] = [type(estimator).__name__]
    for name, value in vars(estimator).items():
        inside = hasattr(value, "get_params") and not isinstance(value, type)
        found.append((name, _settings(value) if inside else str(value)))
    return tuple(found)


def _refusal(candidate: Candidate, problem: Problem, d: int) -> str:
    """Why a model is not possible whatever it may cost, if it is not."""
    built = candidate.build(_sized(problem, d, float("inf"), problem.n))
    return built if isinstance(built, str) else ""


def _sized(problem: Problem, d: int, seconds: float, rows: int) -> Problem:
    zeros = problem.zeros * rows // problem.n
    return problem._replace(d=d, seconds=seconds, n=rows, zeros=zeros)


def shortened(table: Table, plan: Plan, seed: int) -> Table:
    """The table with the folds and held-out rows of the plan."""
    train, held_out = table.folds
    total = len(train)
    train, held_out = train[-plan.folds :], held_out[-plan.folds :].copy()
    rows = [np.flatnonzero(weights > 0) for weights in held_out]
    share = plan.held_out / max(sum(map(len, rows)), 1)
    if share < 1:
        rng = np.random.default_rng([seed, 11])
        for weights, own in zip(held_out, rows, strict=True):
            out = rng.permutation(own)[max(1, round(share * len(own))) :]
            weights[out] = 0
    if len(train) == total and share >= 1:
        return table
    folds = table.folds._replace(train=train, held_out=held_out)
    return dataclasses.replace(table, folds=folds)
