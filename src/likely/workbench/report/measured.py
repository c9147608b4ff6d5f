"""The records of a report about what was measured of the best model and of a linear one."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from likely.workbench.report.facts import Number, Numbers


@dataclasses.dataclass(frozen=True)
class Coefficient:
    """A coefficient of the linear model, in the units of the table.

    Attributes:
        name: the column, or the column and the level of a category.
        column: the column of the table; empty for the intercept.
        level: the level of a category, which is compared with the reference level.
        reference: the reference level of a category.
        of_class: the class whose log-odds it belongs to, if there are several.
        estimate: the change of the linear predictor by one unit.
        error: its standard error.
        low: the lower end of its 95 % confidence interval.
        high: the upper end.
        p: the p-value of the hypothesis that it is zero.
        ratio: exp(estimate): an odds ratio, a rate ratio or a factor of the target; null
            for intercepts and thresholds.
        ratio_low: the lower end of the interval of the ratio.
        ratio_high: the upper end.
        spread: the standard deviation of the column, to compare sizes of effects.
    """

    name: str
    column: str
    level: str
    reference: str
    of_class: str
    estimate: Number
    error: Number
    low: Number
    high: Number
    p: Number
    ratio: Number
    ratio_low: Number
    ratio_high: Number
    spread: Number


@dataclasses.dataclass(frozen=True)
class Simple:
    """A linear model without a penalty, fitted to all rows in the units of the table.

    Attributes:
        title: the model in words.
        ratio: what exp(estimate) is, such as "odds ratio"; empty for least squares.
        base: the class that the log-odds are compared with, if there are classes.
        rows: its coefficients.
        facts: numbers about the fit: observations, log-likelihood, AIC, BIC, R² or
            pseudo-R².
        inflation: the variance inflation factor of each column of the table; null where
            other columns determine it.
        warnings: the kind and the sentence of each warning of the fit.
        refusal: why there are no coefficients.
    """

    title: str = ""
    ratio: str = ""
    base: str = ""
    rows: tuple[Coefficient, ...] = ()
    facts: Mapping[str, Number] = dataclasses.field(default_factory=dict)
    inflation: Mapping[str, Number] = dataclasses.field(default_factory=dict)
    warnings: tuple[tuple[str, str], ...] = ()
    refusal: str = ""


@dataclasses.dataclass(frozen=True)
class Calibration:
    """How predicted probabilities and distributions agree with held-out rows.

    Attributes:
        confidence: the mean predicted probability of the likeliest class, in bins.
        frequency: how often that class was right, in the same bins.
        frequency_error: the standard errors of these frequencies.
        expected_error: the expected calibration error before recalibration.
        expected_noise: about that error if the probabilities were right.
        expected_error_after: the expected calibration error after recalibration.
        pit: the share of rows in bins of F(y), for numbers.
        predicted: predicted medians of some held-out rows, for numbers.
        true: the targets of the same rows.
        times: of events, for times until an event.
        survival: the share of rows without an event until then (Kaplan and Meier).
        survival_low: the lower ends of its 95 % confidence intervals.
        survival_high: the upper ends.
    """

    confidence: Numbers = ()
    frequency: Numbers = ()
    frequency_error: Numbers = ()
    expected_error: Number = None
    expected_noise: Number = None
    expected_error_after: Number = None
    pit: Numbers = ()
    predicted: Numbers = ()
    true: Numbers = ()
    times: Numbers = ()
    survival: Numbers = ()
    survival_low: Numbers = ()
    survival_high: Numbers = ()


@dataclasses.dataclass(frozen=True)
class ClassScores:
    """How well rows of one class are recognised.

    Attributes:
        label: of the class.
        rows: how many held-out rows belong to it.
        predicted: how many are predicted to.
        precision: the share of the rows predicted so that belong to it.
        recall: the share of its rows that are predicted so.
        f1: the harmonic mean of precision and recall.
    """

    label: str
    rows: float
    predicted: float
    precision: Number
    recall: Number
    f1: Number


@dataclasses.dataclass(frozen=True)
class Decision:
    """What follows from calling a row positive above a threshold.

    Attributes:
        threshold: of the predicted probability.
        cost_ratio: how many false alarms one missed positive costs, if the threshold
            follows from that.
        flagged: the share of rows that are called positive.
        precision: the share of those that are positive.
        recall: the share of positive rows that are called so.
        false_positive_rate: the share of negative rows that are called positive.
        cost: the mean cost of a row, in false alarms.
        cost_of_none: the cost of calling no row positive.
        cost_of_all: the cost of calling every row positive.
    """

    threshold: float
    cost_ratio: Number
    flagged: float
    precision: Number
    recall: Number
    false_positive_rate: Number
    cost: Number = None
    cost_of_none: Number = None
    cost_of_all: Number = None


@dataclasses.dataclass(frozen=True)
class Decisions:
    """Decisions between two classes by recalibrated probabilities of held-out rows.

    Attributes:
        positive: the label of the class that is called positive.
        thresholds: decisions at round thresholds.
        costs: decisions at the best threshold for each ratio of costs.
        area: the area under the ROC curve.
        average_precision: the area under the curve of precision and recall.
        false_positive_rate: of points of the ROC curve.
        recall: of the same points.
        precision: of the same points.
    """

    positive: str
    thresholds: tuple[Decision, ...]
    costs: tuple[Decision, ...]
    area: float
    average_precision: float
    false_positive_rate: Numbers
    recall: Numbers
    precision: Numbers


@dataclasses.dataclass(frozen=True)
class GroupScores:
    """The held-out rows of one group.

    Attributes:
        label: of the group.
        rows: how many there are.
        nats: their mean negative log-likelihood.
        nats_error: its standard error.
        scores: familiar scores by name.
        coverage: the share of rows that intervals or sets cover.
    """

    label: str
    rows: int
    nats: float
    nats_error: Number
    scores: Mapping[str, Number]
    coverage: Number


@dataclasses.dataclass(frozen=True)
class Groups:
    """Scores and coverage by the values of a column.

    Attributes:
        column: the column of groups.
        groups: the largest groups.
        others: how many smaller groups are not listed.
    """

    column: str
    groups: tuple[GroupScores, ...]
    others: int


@dataclasses.dataclass(frozen=True)
class RowError:
    """A held-out row that the best model finds unlikely.

    Attributes:
        row: its number in the file, from 0.
        key: its identifier, if the table has one.
        true: its target.
        predicted: the predicted median or class.
        probability: the predicted probability of its class, for classes.
        low: the lower end of its interval, for numbers.
        high: the upper end.
        nats: its negative log-likelihood.
        values: its values in the most important columns.
    """

    row: int
    key: str
    true: float | str
    predicted: float | str
    probability: Number
    low: Number
    high: Number
    nats: float
    values: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class ImportanceFacts:
    """How much a column matters.

    Attributes:
        column: its name.
        nats: the nats per row that are lost when its values are shuffled.
        error: the standard error.
    """

    column: str
    nats: Number
    error: Number


@dataclasses.dataclass(frozen=True)
class EffectFacts:
    """The mean prediction along the values of a column.

    Attributes:
        column: its name.
        kind: of the column.
        values: numbers, dates or categories.
        means: the mean prediction at each value, or the probability of each class.
        errors: the standard deviations over folds.
    """

    column: str
    kind: str
    values: tuple[Any, ...]
    means: tuple[Numbers, ...]
    errors: tuple[Numbers, ...]


@dataclasses.dataclass(frozen=True)
class Interaction:
    """How far the joint effect of two columns is from the sum of their effects.

    Attributes:
        columns: the two columns.
        share: the part of the variance of their joint effect that is no sum.
        size: the standard deviation of that part, in units of the prediction.
    """

    columns: tuple[str, ...]
    share: Number
    size: Number


@dataclasses.dataclass(frozen=True)
class WordFacts:
    """How a word of a column of text changes predictions.

    Attributes:
        column: the column of text.
        word: the word.
        effect: the change of the linear predictor when it is in a text.
        error: its standard deviation over folds.
        share: of the rows that have it.
        of_class: the class whose log-odds change, if there are classes.
    """

    column: str
    word: str
    effect: Number
    error: Number
    share: float
    of_class: str


@dataclasses.dataclass(frozen=True)
class LearningCurve:
    """The held-out loss of a simple model that is fitted to parts of the rows.

    Attributes:
        model: the name of the model in words.
        rows: how many rows it is fitted to.
        nats: the mean loss of held-out rows.
        errors: the standard errors.
        still_falling: whether the last doubling of rows gained more than two standard
            errors, and the model is better than the null model.
    """

    model: str
    rows: tuple[int, ...]
    nats: Numbers
    errors: Numbers
    still_falling: bool
