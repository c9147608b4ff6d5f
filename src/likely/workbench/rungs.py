"""The ladder: from the null model to networks, each rung as large as its cost allows.

A rung makes an estimator for a situation, or says why it stays out. Sizes follow from
(n, d) and the table of `costs`, never from the clock.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import likely as lk
from likely.core.checks import InputError
from likely.estimators.linear.null import FAMILIES
from likely.preprocess import NaturalSpline
from likely.workbench import costs

MANY, SMALL = 1000, 2000
NUMBERS = ("real", "positive", "count")
CLASSES = ("binary", "classes")
GLMS = {
    "poisson": "PoissonRegressor",
    "negative_binomial": "NegativeBinomialRegressor",
    "gamma": "GammaRegressor",
}


class Situation(NamedTuple):
    """What a rung needs to know to set itself up."""

    kind: str
    """Of the target."""
    family: str
    n: int
    """Rows to learn from."""
    d: int
    """Columns after encoding."""
    effort: str
    seed: int
    words: tuple[int, ...] = ()
    """Which columns of the ordinal encoding are categories."""
    classes: int = 0
    """How many classes the target has; 0 for numbers."""
    spread: float = 1.0
    """Standard deviation of the numbers to learn from, of their logs where positive."""

    @property
    def is_class(self) -> bool:
        """Whether the target is a label."""
        return self.kind in CLASSES

    @property
    def budget(self) -> float:
        """Seconds of one core for this fit."""
        return costs.BUDGET[self.effort]

    def by_effort(self, quick: Any, normal: Any, thorough: Any) -> Any:
        """The setting for this effort."""
        return {"quick": quick, "normal": normal, "thorough": thorough}[self.effort]


class Rung(NamedTuple):
    """One kind of model."""

    name: str
    label: str
    build: Callable[[Situation], Any]
    """An estimator, or a sentence that says why not."""
    encoding: str = "scaled"
    """"scaled" (one-hot, mean 0, variance 1) or "ordinal"."""
    kinds: tuple[str, ...] = (*NUMBERS, *CLASSES)


def _on_scale(at: Situation, regressor: Any) -> Any:
    """A regressor of real numbers, made to fit the target."""
    if at.kind == "count":
        return lk.CountTarget(regressor, family=at.family, random_state=at.seed)
    return lk.LogTarget(regressor) if at.kind == "positive" else regressor


def _affordable(at: Situation, cost: float, most: int, least: int = 1) -> int:
    """How many things of this cost the budget allows."""
    return int(min(most, max(least, at.budget / cost)))


def _null(at: Situation) -> Any:
    if at.is_class:
        return lk.NullClassifier()
    if at.kind == "positive" and at.family == "lognormal":
        return lk.LogTarget(lk.NullRegressor())
    return lk.NullRegressor(at.family)


def _linear(at: Situation, **settings: Any) -> Any:
    settings = {"alpha": 1e-6} | settings
    if at.is_class:
        return lk.LogisticRegression(**settings)
    if at.family in GLMS:
        return getattr(lk, GLMS[at.family])(**settings)
    return _on_scale(at, lk.Ridge(**settings))


def _penalised(at: Situation) -> Any:
    chosen = _by_cv(at, at.d, 1.0)
    return (
        "so many rows need a penalty least, and make its choice costly"
        if chosen is None
        else chosen
    )


def _by_cv(at: Situation, p: int, unit: float, basis: Any = None) -> Any:
    """A linear model of p columns, its penalty chosen as finely as the budget allows.

    `unit` is about the mean square of a column.
    """
    glm = at.is_class or at.family in GLMS
    whole = p * max(1, at.classes - 1) if at.is_class else p
    sizes = ((40, 5), (8, 3), (4, 2)) if basis is None else ((8, 3), (4, 2))
    on_counts = at.kind == "count" and basis is not None
    whole_fits = 4 if on_counts else 1  # `CountTarget` fits folds too
    for strengths, folds in sizes:
        fits = strengths * folds * whole_fits
        cost = costs.newton if glm else costs.linear
        if cost(at.n, whole, fits) <= at.budget:
            grid = unit * np.geomspace(10, 1e-4, strengths)
            scale = 1 if at.family in GLMS else at.n  # a mean of losses, or a sum
            alphas = None if strengths == 40 else (scale * grid).tolist()
            settings = {"alpha": "cv", "alphas": alphas, "cv": folds, "basis": basis}
            if on_counts:
                return _on_scale(at, lk.PoissonRegressor(**settings))
            return _linear(at, **settings)
    return None


def _spline(at: Situation) -> Any:
    if at.n < 50:
        return "there are too few rows for curves"
    if not (at.is_class or at.family in GLMS):
        if at.d > at.by_effort(30, 100, 200) or costs.curves(at.n, at.d) > at.budget:
            return "there are too many columns for curves"
        return _on_scale(at, lk.SplineRegressor())
    knots = 5
    chosen = _by_cv(at, (knots - 1) * at.d, 1.0, NaturalSpline(n_knots=knots))
    return "there are too many columns for curves" if chosen is None else chosen


def _neighbors(at: Situation) -> Any:
    k = max(5, min(50, round(at.n**0.5 / 2)))
    fits = 3 if at.kind == "count" else 1
    if fits * costs.distances(at.n, at.d) > at.budget:
        return "distances between so many rows cost too much"
    if at.is_class:
        return lk.SmoothedClassifier(lk.KNeighborsClassifier(n_neighbors=k), votes=k)
    return _on_scale(at, lk.KNeighborsRegressor(n_neighbors=k))


def _svm(at: Situation) -> Any:
    """The dual where rows are few; the same kernel by landmarks where they are many."""
    if costs.machine(at.n, at.d, 6) > at.budget:
        return _landmarks(at)
    if at.is_class:
        return lk.SVC(probability=True)
    alone = at.kind != "count"
    machine = lk.SVR(C=at.spread, epsilon=0.1 * at.spread, probability=alone)
    return _on_scale(at, machine)


def _landmarks(at: Situation) -> Any:
    for m in (300, 200, 100, 50):
        if costs.features(at.n, at.d, m) <= at.budget:
            basis = lk.Nystroem(n_components=m, random_state=at.seed)
            chosen = _by_cv(at, m, 1 / m, basis)
            if chosen is not None:
                return chosen
    return "kernels of so many rows cost too much"


def _forest(at: Situation) -> Any:
    tried = 1.0 if at.d < 30 else 1 / 3
    share = at.d**0.5 if at.is_class else tried * at.d
    trees = at.by_effort(50, 100, 300)
    afford = _affordable(at, costs.tree(at.n, share), trees, least=min(trees, 30))
    rows = at.n
    while rows > 2000 and afford * costs.tree(rows, share) > at.budget:
        rows = rows // 2
    settings = {
        "n_estimators": afford,
        "min_samples_leaf": 5 if at.n >= 200 else 2,
        "max_samples": None if rows == at.n else rows,
        "random_state": at.seed,
    }
    if at.is_class:
        forest = lk.RandomForestClassifier(**settings)
        return lk.SmoothedClassifier(forest, votes=afford)
    judges = at.kind == "count"
    forest = lk.RandomForestRegressor(max_features=tried, oob_score=judges, **settings)
    return _on_scale(at, forest)


def _boosting(at: Situation) -> Any:
    scales = at.kind in ("real", "positive") and at.n >= MANY
    outputs = at.classes if at.classes > 2 else 2 if scales or at.family in GLMS else 1
    rounds = at.by_effort(100, 300, 1000)
    rounds = _affordable(
        at, costs.boosting_round(at.n, at.d, outputs), rounds, least=20
    )
    settings = {
        "n_estimators": rounds,
        "learning_rate": max(at.by_effort(0.1, 0.05, 0.03), min(0.3, 12 / rounds)),
        "early_stopping": True,
        "random_state": at.seed,
        "categorical_features": list(at.words) or None,
    }
    if at.is_class:
        return lk.GradientBoostingClassifier(**settings)
    if at.kind == "count" or at.family == "gamma":
        family = FAMILIES[at.family]()
        return lk.GradientBoostingRegressor(family=family, **settings)
    # a scale for each row needs rows to learn it from
    family = FAMILIES["normal"]() if scales else None
    return _on_scale(at, lk.GradientBoostingRegressor(family=family, **settings))


def _network(at: Situation) -> Any:
    if at.d > 5000:
        return "there are too many columns"
    members, hidden = at.by_effort(2, 4, 8), 64
    epoch = 0.5 * costs.epoch(at.n, at.d, hidden)  # twice the share of others
    epochs = _affordable(at, epoch, 200 * members, 8)
    members = max(2, min(members, epochs // 8))
    settings = {
        "hidden_layer_sizes": (hidden,),
        "max_iter": max(4, min(200, epochs // members)),
        "early_stopping": True,
        "batch_size": 32 if at.n < SMALL else 200,
        "learning_rate_init": 5e-3 if at.n < SMALL else 1e-3,
        "n_members": members,
        "random_state": at.seed,
    }
    if at.is_class:
        return lk.MLPClassifier(**settings)
    if at.kind == "count":
        return lk.MLPRegressor(family=at.family, **settings)
    return _on_scale(at, lk.MLPRegressor(**settings))


LADDER = (
    Rung("null", "null model", _null),
    Rung("linear", "linear model", _linear),
    Rung("penalised", "penalised linear model", _penalised),
    Rung("spline", "smooth curves", _spline),
    Rung("neighbors", "nearest neighbours", _neighbors),
    Rung("svm", "support vector machine", _svm),
    Rung("forest", "random forest", _forest, "ordinal"),
    Rung("boosting", "gradient boosting", _boosting, "ordinal"),
    Rung("network", "network ensemble", _network),
)
STACK = "stack"


def rungs_for(kind: str, asked: tuple[str, ...]) -> list[Rung]:
    """The rungs for a kind of target: those asked for, or all; the null model always."""
    known = {rung.name: rung for rung in LADDER}
    for name in asked:
        if name not in known and name != STACK:
            raise InputError(
                f"there is no model {name!r}; there are {', '.join((*known, STACK))}."
            )
        if name in known and kind not in known[name].kinds:
            raise InputError(f"model {name!r} is not made for a target that is {kind}.")
    return [
        rung
        for rung in LADDER
        if kind in rung.kinds
        and (not asked or rung.name in asked or rung.name == "null")
    ]
