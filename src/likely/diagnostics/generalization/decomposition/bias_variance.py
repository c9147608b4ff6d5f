r"""How much of a learner's risk is noise, bias and variance.

The learner is fitted to many training sets: fresh draws of a generator, or bootstraps of one table,
where each row is judged by the fits that did not see it. The formulas are in `decomposition`.
"""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from likely.base.labels import MIN_PROBABILITY
from likely.base.settings import at_least
from likely.core.checks import InputError, suggestion
from likely.core.random import seed_of
from likely.diagnostics.generalization.decomposition.log_loss import log_parts
from likely.diagnostics.generalization.decomposition.parts import (
    MIN_FITS,
    Judged,
    Parts,
)
from likely.diagnostics.generalization.decomposition.result import (
    BiasVariance,
    RepeatedFits,
)
from likely.diagnostics.generalization.decomposition.setup import (
    Setup,
    from_generator,
    from_table,
)
from likely.diagnostics.generalization.decomposition.squared import squared_parts
from likely.diagnostics.generalization.decomposition.zero_one import zero_one_parts
from likely.diagnostics.generalization.refits.loop import Options
from likely.diagnostics.generalization.refits.question import Question
from likely.diagnostics.generalization.refits.refit import Refits, refit
from likely.diagnostics.generalization.refits.training_sets import TrainingSets
from likely.diagnostics.generalization.refits.truth import known_classes
from likely.diagnostics.generalization.risk.losses import loss_name
from likely.evaluate.scores import Score, mean_score

SHOWN_FITS = 20
"""Fits that are kept whole, to be drawn."""
WANTED: Any = {"squared": "mean", "log": "probs", "zero-one": "classes"}


def bias_variance(
    estimator: Any,
    source: Any,
    *,
    loss: str = "auto",
    n: int = 100,
    refits: int = 200,
    test: Any = 1000,
    parameter: str | None = None,
    values: Any = None,
    sample_weight: Any = None,
    random_state: Any = 0,
    executor: Any = None,
    verbose: bool = False,
) -> BiasVariance:
    """The noise, bias and variance of a learner, each with its Monte Carlo error.

    Linear models and networks are refitted in one compiled program, other estimators in a
    loop. Every refit has a seed of its own (`random_state` of the estimator is replaced), so
    that what is random in the learner counts as variance. All settings see the same training
    sets and points.

    Args:
        estimator: any predictor of `likely` or scikit-learn, or a pipeline; it is not changed.
        source: a generator, called as `source(n, random_state=rng)`, that returns a
            `data.Dataset` or (X, y), such as `data.curve`; or one table, a `Dataset` or a pair
            (X, y), of which bootstraps are drawn. Noise is told from bias where the
            `Dataset` knows its truth.
        loss: "squared", "log" or "zero-one"; "auto" is the log loss for classes (0/1 where
            there are no probabilities) and the squared loss for numbers.
        n: rows of a training set, of a generator.
        refits: training sets.
        test: points at which fits are judged, of a generator: how many are drawn, or the
            points themselves, as an array, a pair (X, y) or a `Dataset`. Points that are given
            add nothing to the errors.
        parameter: a parameter of the estimator to be varied, as in `set_params`.
        values: the values that it takes.
        sample_weight: how often each row of a table counts.
        random_state: the seed.
        executor: a `concurrent.futures.Executor` in which fits run that are no program.
        verbose: whether to show a progress bar for them.
    """
    loss = loss_name(loss, estimator)
    if loss == "log" and not is_classifier(estimator):
        raise InputError(
            'the decomposition of the log loss is of classes; give loss="squared".'
        )
    models, values = settings_of(estimator, parameter, values)
    m = at_least("refits", refits, MIN_FITS, whole=True)
    seed = seed_of(random_state)
    rng = np.random.default_rng(seed)
    if callable(source):
        size = at_least("n", n, 1, whole=True)
        setup = from_generator(source, size, m, test, rng)
    else:
        is_class = bool(is_classifier(estimator))
        setup = from_table(source, sample_weight, m, rng, classes=is_class)
    classes = _classes(estimator, setup)
    question = Question(WANTED[loss], setup.X, setup.y, classes=classes)
    if setup.of_table:
        question = Question(WANTED[loss], asked=setup.judged.here, classes=classes)
    found, shown, empirical = [], [], []
    for model in models:
        options = Options(executor, verbose)
        fits = refit(model, setup.sets, question, seed=seed % 2**31, options=options)
        found.append(_parts(loss, fits.points, setup, classes))
        empirical.append(_training_risk(loss, fits, setup.sets, classes))
        if loss == "squared":
            shown.append(_curves(fits.points, setup.judged))
    return BiasVariance(
        loss,
        "bootstrap" if setup.of_table else "generator",
        parameter,
        tuple(values),
        m,
        len(setup.y) if setup.of_table else int(setup.sets.sizes.max()),
        tuple(found),
        tuple(empirical),
        RepeatedFits(setup.X, setup.y, setup.truth.mean, *_stacked(shown)),
    )


def _classes(estimator: Any, setup: Setup) -> np.ndarray | None:
    """All labels, sorted, where y is a class."""
    if is_classifier(estimator):
        drawn = np.concatenate([setup.sets.y, setup.y])
        return known_classes(drawn, setup.truth.probs)
    if setup.y.ndim > 1:
        raise InputError("y has several columns; decompose the risk of one at a time.")
    return None


def settings_of(
    estimator: Any, parameter: str | None, values: Any
) -> tuple[list[Any], list[Any]]:
    """Copies of the estimator, one for each value of the parameter, and the values."""
    if parameter is None:
        if values is not None:
            raise InputError("values are given without the name of a parameter.")
        return [clone(estimator)], []
    known = list(estimator.get_params())
    if parameter not in known:
        name = type(estimator).__name__
        raise InputError(
            f"{name} has no parameter {parameter!r}; "
            f"{suggestion(parameter, known, 'it has')}"
        )
    listed = [] if values is None or isinstance(values, str) else list(values)
    if not listed:
        raise InputError(f"give values for {parameter!r}, one or more in a list.")
    copies: list[Any] = [clone(estimator) for _ in listed]
    plain = [v.item() if isinstance(v, np.generic) else v for v in listed]
    for copy, value in zip(copies, plain, strict=True):
        copy.set_params(**{parameter: value})
    return copies, plain


# Parts ---------------------------------------------------------------------------------


def _parts(loss: str, found: np.ndarray, setup: Setup, classes: Any) -> Parts:
    at = np.flatnonzero(setup.judged.v > 0)
    judged, found, truth = setup.judged.at(at), found[:, at], setup.truth
    if loss == "squared":
        if truth.mean is None or truth.variance is None:
            return squared_parts(found, setup.y[at].astype(float), None, judged)
        return squared_parts(found, truth.mean[at], truth.variance[at], judged)
    known = truth.probs is not None
    if truth.probs is not None:
        probs = truth.probs[at]
    else:
        probs = np.eye(len(classes))[np.searchsorted(classes, setup.y[at])]
    if loss == "zero-one":
        codes = np.where(judged.here, found, 0).astype(int)
        return zero_one_parts(codes, probs, judged, known=known)
    never_seen = found <= 10 * MIN_PROBABILITY
    found = np.where(never_seen, 0.0, found)
    with np.errstate(divide="ignore"):
        return log_parts(np.log(found), probs, judged, known=known)


def _training_risk(loss: str, fits: Refits, sets: TrainingSets, classes: Any) -> Score:
    """The mean loss of fits on their own training rows."""
    y = sets.y[sets.rows]
    if loss == "squared":
        losses = (fits.own - y) ** 2
    else:
        codes = np.searchsorted(classes, y)
        if loss == "zero-one":
            losses = (fits.own != codes).astype(float)
        else:
            taken = np.take_along_axis(fits.own, codes[:, :, None], 2)[:, :, 0]
            with np.errstate(divide="ignore"):
                losses = -np.log(taken)
    losses = np.where(sets.w > 0, losses, 0.0)
    return mean_score((losses * sets.w).sum(1) / sets.w.sum(1))


def _curves(F: np.ndarray, judged: Judged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean and the standard deviation of fits at each point, and some of them whole."""
    counts = judged.counts
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = judged.mean(F)
        spread = np.where(judged.here, F - mean, 0.0)
        std = np.sqrt((spread**2).sum(0) / (counts - 1))
    return mean, std, F[:SHOWN_FITS]


def _stacked(shown: list) -> list[np.ndarray | None]:
    if not shown:
        return [None, None, None]
    return [np.stack(part) for part in zip(*shown, strict=True)]
