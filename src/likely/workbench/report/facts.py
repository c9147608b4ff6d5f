"""The records of a report about the data, the target, the models and the findings."""

import dataclasses
from collections.abc import Mapping

Number = float | None
"""A number, or None where there is none (null in JSON)."""
Numbers = tuple[Number, ...]


@dataclasses.dataclass(frozen=True)
class ColumnFacts:
    """A column of the table, and what it was read as.

    Attributes:
        name: the name of the column.
        kind: number, boolean, code, category, date or text.
        reason: why it is of that kind.
        used: whether models learn from it.
        constant: whether it holds a single value.
        identifier: whether it only names the rows.
        missing: how many rows have no value.
        distinct: how many different values there are, if they were counted.
        low: the smallest number, or the first date.
        high: the largest number, or the last date.
        examples: the commonest values.
        reading: how its cells were read.
    """

    name: str
    kind: str
    reason: str
    used: bool
    constant: bool
    identifier: bool
    missing: int
    distinct: int | None
    low: float | str | None
    high: float | str | None
    examples: tuple[str, ...]
    reading: str


@dataclasses.dataclass(frozen=True)
class Data:
    """The rows of the run.

    Attributes:
        name: of the file or data set.
        rows: how many rows have a target.
        weight: the sum of the row weights.
        split: how the rows are split into folds.
        folds: a checksum of the folds.
        truths: a checksum of the numbers of the rows, their targets and weights.
        digest: a checksum of rows, targets and weights.
        notes: what was guessed about the file.
        columns: the columns beside the target.
    """

    name: str
    rows: int
    weight: float
    split: str
    folds: str
    truths: str
    digest: str
    notes: tuple[str, ...]
    columns: tuple[ColumnFacts, ...]


@dataclasses.dataclass(frozen=True)
class TargetFacts:
    """The column that is predicted.

    Attributes:
        name: the name of the column.
        kind: such as real, positive, count, binary or classes.
        family: the distribution that it is taken to have.
        reason: why it is of that kind.
        classes: the labels of the classes, if it has some.
        missing: the number of rows without a value, which are left out.
        single: classes of one row, which are left out.
        event: the column that says whether the event happened, for times.
        times: for which predictions say how likely no event is until then.
    """

    name: str
    kind: str
    family: str
    reason: str
    classes: tuple[str, ...]
    missing: int
    single: tuple[str, ...]
    event: str = ""
    times: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class ModelScores:
    """A model of the comparison, scored on held-out rows.

    Attributes:
        name: as `--models` takes it.
        label: the name in words.
        nats: the mean negative log-likelihood of a row; lower is better.
        error: its standard error.
        gain: nats per row gained over the best simpler model (those listed before it).
        gain_error: the standard error of that paired difference.
        gain_over: the name of that simpler model; empty for the first one.
        gain_over_null: nats per row gained over the null model.
        gain_over_null_error: the standard error of that paired difference.
        scores: familiar scores by name, such as accuracy or rmse.
        weights: the shares of the models in a stacked mixture.
        notes: what has to be known about this model, as sentences.
    """

    name: str
    label: str
    nats: float
    error: Number
    gain: Number
    gain_error: Number
    gain_over: str
    gain_over_null: Number
    gain_over_null_error: Number
    scores: Mapping[str, Number]
    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Simpler:
    """A simpler model that is as good as the best one, within two standard errors.

    Attributes:
        name: of that model.
        label: its name in words.
        behind: how many nats per row it is behind the best model.
        error: the standard error of that paired difference.
    """

    name: str
    label: str
    behind: float
    error: Number


@dataclasses.dataclass(frozen=True)
class Winner(ModelScores):
    """The best model: its scores, how it was recalibrated, and what its intervals cover.

    Attributes:
        name: as `--models` takes it.
        label: the name in words.
        nats: the mean negative log-likelihood of a row; lower is better.
        error: its standard error.
        gain: nats per row gained over the best simpler model.
        gain_error: the standard error of that paired difference.
        gain_over: the name of that simpler model.
        gain_over_null: nats per row gained over the null model.
        gain_over_null_error: the standard error of that paired difference.
        scores: familiar scores by name.
        weights: the shares of the models in a stacked mixture.
        notes: what has to be known about this model, as sentences.
        temperature: of class probabilities; 1 changes nothing.
        stretch: of deviations from the median; 1 changes nothing.
        coverage_asked: the coverage that intervals or sets should have.
        coverage: the share of held-out rows that they cover.
        coverage_error: the standard error of that share.
        size: the mean width of intervals, or the mean number of classes of sets; null
            where there are too few rows.
        simpler: the simplest model that is within error of the best, if there is one.
        better_mean: a sentence about a model whose means are better, if there is one.
    """

    temperature: float = 1.0
    stretch: float = 1.0
    coverage_asked: float = 0.9
    coverage: Number = None
    coverage_error: Number = None
    size: Number = None
    simpler: Simpler | None = None
    better_mean: str = ""
