r"""Learning curves: the loss on training and held-out rows by the number of training rows.

In every fold the training rows are put in random order, several times, and the learner is fitted
to the first s of them for each size s: sets of weights of one table, so that linear models and
networks need one program for all fits of a size.
"""

from typing import Any

import numpy as np

from likely.base.settings import at_least
from likely.diagnostics.generalization.learning.diagnose import diagnosis_of
from likely.diagnostics.generalization.learning.folds import FoldedTable
from likely.diagnostics.generalization.learning.forecast import forecast
from likely.diagnostics.generalization.learning.measures import (
    SizeLosses,
    Units,
    draw_variance,
)
from likely.diagnostics.generalization.learning.result import LearningCurve
from likely.diagnostics.generalization.learning.subsets import curve_sizes
from likely.diagnostics.generalization.refits.loop import Options
from likely.evaluate.scores import Score


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sizes: Any = None,
    cv: Any = 5,
    repeats: int = 3,
    loss: str = "auto",
    reference: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = 0,
    executor: Any = None,
    verbose: bool = False,
) -> LearningCurve:
    """The loss by the number of training rows, a diagnosis, and what more rows would bring.

    Args:
        estimator: any predictor of `likely` or scikit-learn, or a pipeline; it is not changed.
        X: (n, d) inputs: an array or a frame.
        y: (n,) targets.
        sizes: numbers of training rows, or shares of them (above 0, at most 1); by default
            eight, in equal ratios, up to all.
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        repeats: random orders of the training rows of each fold, of which the first are used.
        loss: "squared", "log" or "zero-one"; "auto" is the log loss for classes (0/1 where
            there are no probabilities) and the squared loss for numbers.
        reference: a more flexible estimator, to tell underfitting from noise; "auto" is
            gradient boosting, None none.
        sample_weight: how often each row counts, in fits and in losses.
        groups: what each row belongs to: groups are held out, drawn and resampled whole (give
            a splitter such as `GroupKFold` as cv).
        random_state: the seed of the draws.
        executor: a `concurrent.futures.Executor` in which fits run that are no program.
        verbose: whether to show a progress bar for them.
    """
    table = FoldedTable.of(
        estimator, X, y, cv=cv, loss=loss, sample_weight=sample_weight, groups=groups,
        random_state=random_state, options=Options(executor, verbose),
    )  # fmt: skip
    rng = np.random.default_rng(table.seed)
    n_classes = 0 if table.classes is None else len(table.classes)
    d = np.shape(X)[1] if np.ndim(X) == 2 else 0
    rows = curve_sizes(sizes, table.most, n_classes, d)
    orders = table.orders(at_least("repeats", repeats, 1, whole=True), rng)
    found = [table.losses(estimator, orders, int(size)) for size in rows]
    units = Units.of(table.w, table.groups, rng)
    held_out, train, gap, draws = _curves(found, units, rng)
    diagnosis = diagnosis_of(table, found[-1], units, orders, reference)
    lowest = -np.inf if table.loss == "log" and not n_classes else 0.0
    values = np.array([score.value for score in held_out])
    ahead = forecast(rows.astype(float), values, draws, n=table.present, lowest=lowest)
    return LearningCurve(
        table.loss,
        type(estimator).__name__,
        rows,
        tuple(train),
        tuple(held_out),
        tuple(gap),
        table.present,
        diagnosis,
        ahead,
    )


def _curves(
    found: list[SizeLosses], units: Units, rng: np.random.Generator
) -> tuple[list[Score], list[Score], list[Score], np.ndarray]:
    """Held-out losses, training losses and gaps by size, and resampled held-out curves."""
    held_out, train, gap, draws = [], [], [], []
    for each in found:
        new, own = each.by_row("held_out"), each.by_row("train")
        again = units.resampled(new), units.resampled(own)
        chance = [draw_variance(part, units.w) for part in each]
        means = units.mean(new), units.mean(own)
        held_out.append(Score(means[0], _error(again[0], chance[0])))
        train.append(Score(means[1], _error(again[1], chance[1])))
        spread = _error(again[0] - again[1], sum(chance))
        gap.append(Score(means[0] - means[1], spread))
        draws.append(again[0] + np.sqrt(chance[0]) * rng.normal(size=len(again[0])))
    return held_out, train, gap, np.stack(draws, 1)


def _error(resampled: np.ndarray, chance: float) -> float:
    """A standard error over rows and over draws of the training rows."""
    return float(np.sqrt(np.nanvar(resampled, ddof=1) + chance))
