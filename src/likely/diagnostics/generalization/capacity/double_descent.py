r"""Double descent: the test error by capacity, through the interpolation threshold and beyond.

With fewer parameters than rows a model fits the training rows in the mean; with as many as there
are rows it interpolates them, in the one way that is left, noise and all; with more, the
least-norm solution has many to choose from, and the test error falls again.
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from likely.base.settings import at_least
from likely.core.checks import check_choice
from likely.core.random import seed_of
from likely.diagnostics.generalization.capacity.curve import CapacityCurve
from likely.diagnostics.generalization.capacity.families import (
    CAPACITIES,
    Capacity,
    capacity_of,
)
from likely.diagnostics.generalization.capacity.features import FEATURES
from likely.diagnostics.generalization.capacity.least_norm_curve import (
    Design,
    least_norm_curve,
)
from likely.diagnostics.generalization.refits.loop import Options
from likely.diagnostics.generalization.refits.question import Question
from likely.diagnostics.generalization.refits.refit import refit
from likely.diagnostics.generalization.refits.training_sets import generated_sets
from likely.diagnostics.generalization.refits.truth import (
    draw,
    known_classes,
    squared_target,
    truth_at,
)
from likely.diagnostics.generalization.risk.losses import losses_from, what_loss_needs

FEATURE_REPEATS, REPEATS = 30, 10


def double_descent(
    model: Any = "random features",
    generator: Any = None,
    *,
    n: int | None = None,
    sizes: Any = None,
    parameter: str | None = None,
    repeats: int | None = None,
    test: int = 1000,
    tolerance: float | None = None,
    random_state: Any = 0,
    executor: Any = None,
    verbose: bool = False,
) -> CapacityCurve:
    """Training and test error by the capacity of a model, over several training sets.

    Args:
        model: "random features", "polynomial" (Legendre's) or "columns", fitted by least norm;
            "network" (the width of an MLP); "forest" (leaves of one tree, then trees); or an
            estimator, with the parameter that is its capacity.
        generator: called as `generator(n, random_state=rng)`; returns a `data.Dataset` or
            (X, y). By default one on which the descent can be seen.
        n: training rows; by default 100, 12 for polynomials, 80 for networks, 40 for forests.
        sizes: the capacities (for an estimator the values of the parameter), rising.
        parameter: the parameter of an estimator.
        repeats: training sets; by default 30, of estimators 10.
        test: new rows.
        tolerance: the share of the variance of y (for classes, of rows) below which a training
            error counts as zero; by default 1e-8, for networks 0.01.
        random_state: the seed.
        executor: a `concurrent.futures.Executor` in which fits run that are no program.
        verbose: whether to show a progress bar for them.
    """
    by_features = isinstance(model, str) and model in FEATURES
    given = FEATURE_REPEATS if by_features else REPEATS
    design = Design(
        generator,
        None if n is None else at_least("n", n, 2, whole=True),
        at_least("repeats", given if repeats is None else repeats, 1, whole=True),
        at_least("test", test, 2, whole=True),
        tolerance,
        np.random.default_rng(seed_of(random_state)),
    )
    if by_features:
        return least_norm_curve(model, sizes, design)
    if isinstance(model, str):
        check_choice("model", model, (*FEATURES, *CAPACITIES))
        capacity = CAPACITIES[model](sizes)
    else:
        capacity = capacity_of(model, parameter, sizes)
    return _by_refits(capacity, design, Options(executor, verbose))


def _by_refits(capacity: Capacity, design: Design, options: Options) -> CapacityCurve:
    """The errors of estimators of growing capacity."""
    source = design.generator or capacity.generator
    n, rng = design.n or capacity.rows, design.rng
    sets = generated_sets(source, n, design.repeats, rng)
    new = draw(source, design.test, rng)
    truth, classes, loss = truth_at(new.truth, new.X), None, "squared"
    if is_classifier(capacity.models[0]):
        loss = "zero-one"
        drawn = np.concatenate([sets.y, np.asarray(new.y)])
        classes = known_classes(drawn, truth.probs)
    target, noise = np.asarray(new.y), None
    if loss == "squared":
        target, noise = squared_target(truth, new.y)
    question = Question(what_loss_needs(loss), new.X, new.y, classes=classes)
    train, test, seed = [], [], int(rng.integers(2**31))
    for model in capacity.models:
        fits = refit(model, sets, question, seed=seed, options=options)
        errors = losses_from(loss, fits.points, target, classes)
        test.append(errors.mean(1) + (noise or 0.0))
        own = losses_from(loss, fits.own, sets.y[sets.rows], classes)
        train.append(np.where(sets.w > 0, own, 0.0).sum(1) / sets.sizes)
    share = capacity.tolerance if design.tolerance is None else design.tolerance
    return CapacityCurve(
        capacity.name,
        capacity.axis,
        capacity.sizes,
        capacity.labels,
        n,
        np.array(train).T,
        np.array(test).T,
        noise,
        share * (1.0 if classes is not None else float(np.var(sets.y))),
        loss,
    )
