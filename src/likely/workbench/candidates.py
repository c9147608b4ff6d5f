"""The candidate models, from the null model to networks, as large as costs allow.

A candidate builds an estimator for a problem, or says why it is left out. Sizes follow
from (n, d) and the table of `costs`, never from the clock.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import likely as lk
from likely.core.checks import InputError
from likely.estimators.linear.null import FAMILIES
from likely.estimators.linear.penalty import MIN_LOGIT_PRECISION
from likely.preprocess import NaturalSpline
from likely.workbench import costs

MIN_ROWS_FOR_SCALE = 1000
"""The fewest rows from which boosting learns a scale for each row."""
MAX_ROWS_SMALL_BATCH = 2000
"""Networks are trained with small batches below so many rows."""
NUMBERS = ("real", "positive", "count")
CLASSES = ("binary", "classes")
GLMS = {
    "poisson": "PoissonRegressor",
    "negative_binomial": "NegativeBinomialRegressor",
    "gamma": "GammaRegressor",
}


class Problem(NamedTuple):
    """The properties of the data and the settings that an estimator is built for."""

    kind: str
    """The kind of the target."""
    family: str
    n: int
    """The number of rows."""
    d: int
    """The number of columns after encoding."""
    effort: str
    seed: int
    categories: tuple[int, ...] = ()
    """The columns of the ordinal encoding that are categories."""
    classes: int = 0
    """The number of classes of the target; 0 for numbers."""
    spread: float = 1.0
    """The standard deviation of the target, or of its logarithm where it is positive."""

    @property
    def is_class(self) -> bool:
        """Whether the target is a class and not a number."""
        return self.kind in CLASSES

    @property
    def has_glm(self) -> bool:
        """Whether its linear model is fitted by Newton's method."""
        return self.is_class or self.family in GLMS

    @property
    def budget(self) -> float:
        """The seconds of one core that the fit may take."""
        return costs.BUDGET[self.effort]

    def by_effort(self, quick: Any, normal: Any, thorough: Any) -> Any:
        """The setting for this effort."""
        return {"quick": quick, "normal": normal, "thorough": thorough}[self.effort]


class Candidate(NamedTuple):
    """One kind of model that is compared with others."""

    name: str
    label: str
    build: Callable[[Problem], Any]
    """A function that returns an estimator, or a sentence that says why there is none."""
    encoding: str = "scaled"
    """"scaled" (one-hot, mean 0, variance 1) or "ordinal"."""
    kinds: tuple[str, ...] = (*NUMBERS, *CLASSES)


def _on_scale(problem: Problem, regressor: Any) -> Any:
    """A regressor of real numbers, wrapped for counts and positive targets."""
    if problem.kind == "count":
        family, seed = problem.family, problem.seed
        return lk.CountTarget(regressor, family=family, random_state=seed)
    return lk.LogTarget(regressor) if problem.kind == "positive" else regressor


def _affordable(problem: Problem, cost: float, maximum: int, minimum: int = 1) -> int:
    """The number of steps of this cost that the budget allows."""
    return int(min(maximum, max(minimum, problem.budget / cost)))


def _null(problem: Problem) -> Any:
    if problem.is_class:
        return lk.NullClassifier()
    if problem.kind == "positive" and problem.family == "lognormal":
        return lk.LogTarget(lk.NullRegressor())
    return lk.NullRegressor(problem.family)


def _unpenalised(problem: Problem) -> Any:
    """Maximum likelihood as far as it exists: separated classes need a weak prior."""
    if problem.is_class:
        return _linear(problem, alpha=MIN_LOGIT_PRECISION)
    if problem.d + 2 > problem.n / 2:
        return "there are too many columns for a linear model without a penalty"
    return _linear(problem, alpha=1e-6)


def _linear(problem: Problem, **settings: Any) -> Any:
    if problem.is_class:
        return lk.LogisticRegression(**settings)
    if problem.family in GLMS:
        return getattr(lk, GLMS[problem.family])(**settings)
    return _on_scale(problem, lk.Ridge(**settings))


def _penalised(problem: Problem) -> Any:
    return _by_cv(
        problem,
        problem.d,
        refusal="with so many rows a penalty matters little, and choosing it costs too much",
    )


def _by_cv(
    problem: Problem, p: int, unit: float = 1.0, basis: Any = None, *, refusal: str
) -> Any:
    """A linear model of p columns, its penalty chosen as finely as the budget allows.

    `unit` is about the mean square of a column. If even the coarsest choice costs too
    much, there is the `refusal` instead.
    """
    cost = costs.newton if problem.has_glm else costs.linear
    coefficients = p * max(1, problem.classes - 1)
    sizes = ((40, 5), (8, 3), (4, 2)) if basis is None else ((8, 3), (4, 2))
    on_counts = problem.kind == "count" and basis is not None
    repeats = 4 if on_counts else 1  # `CountTarget` fits folds too
    for strengths, folds in sizes:
        fits = strengths * folds * repeats
        if cost(problem.n, coefficients, fits) <= problem.budget:
            grid = unit * np.geomspace(10, 1e-4, strengths)
            # the losses are a mean, or a sum
            scale = 1 if problem.family in GLMS else problem.n
            alphas = None if strengths == 40 else (scale * grid).tolist()
            settings = {"alpha": "cv", "alphas": alphas, "cv": folds, "basis": basis}
            if problem.is_class and basis is None:  # safe where classes are separated
                least = MIN_LOGIT_PRECISION
                grid = np.geomspace(10 * problem.n, least, min(strengths, 13))
                settings["alphas"] = grid.tolist()
            if on_counts:
                return _on_scale(problem, lk.PoissonRegressor(**settings))
            return _linear(problem, **settings)
    return refusal


def _spline(problem: Problem) -> Any:
    if problem.n < 50:
        return "there are too few rows for curves"
    refusal = "there are too many columns for curves"
    if problem.has_glm:
        basis = NaturalSpline(n_knots=5)  # four columns for each
        return _by_cv(problem, 4 * problem.d, basis=basis, refusal=refusal)
    many = problem.d > problem.by_effort(30, 100, 200)
    if many or costs.curves(problem.n, problem.d) > problem.budget:
        return refusal
    return _on_scale(problem, lk.SplineRegressor())


def _neighbors(problem: Problem) -> Any:
    k = max(5, min(50, round(problem.n**0.5 / 2)))
    fits = 3 if problem.kind == "count" else 1
    if fits * costs.distances(problem.n, problem.d) > problem.budget:
        return "distances between so many rows cost too much"
    if problem.is_class:
        return lk.SmoothedClassifier(lk.KNeighborsClassifier(n_neighbors=k), votes=k)
    return _on_scale(problem, lk.KNeighborsRegressor(n_neighbors=k))


def _svm(problem: Problem) -> Any:
    """The dual for few rows; for many a linear model on Nyström features of the kernel."""
    if costs.support_vectors(problem.n, problem.d, 6) > problem.budget:
        return _nystroem(problem)
    if problem.is_class:
        return lk.SVC(probability=True)
    spread, calibrated = problem.spread, problem.kind != "count"
    svr = lk.SVR(C=spread, epsilon=0.1 * spread, probability=calibrated)
    return _on_scale(problem, svr)


def _nystroem(problem: Problem) -> Any:
    refusal = "kernels of so many rows cost too much"
    for m in (300, 200, 100, 50):
        if costs.features(problem.n, problem.d, m) <= problem.budget:
            basis = lk.Nystroem(n_components=m, random_state=problem.seed)
            chosen = _by_cv(problem, m, 1 / m, basis, refusal=refusal)
            if not isinstance(chosen, str):
                return chosen
    return refusal


def _forest(problem: Problem) -> Any:
    max_features = 1.0 if problem.d < 30 else 1 / 3
    tried = problem.d**0.5 if problem.is_class else max_features * problem.d
    cost = costs.tree(problem.n, tried)
    trees = _affordable(problem, cost, problem.by_effort(50, 100, 300), minimum=30)
    rows = problem.n
    while rows > 2000 and trees * costs.tree(rows, tried) > problem.budget:
        rows = rows // 2
    settings = {
        "n_estimators": trees,
        "min_samples_leaf": 5 if problem.n >= 200 else 2,
        "max_samples": None if rows == problem.n else rows,
        "random_state": problem.seed,
    }
    if problem.is_class:
        forest = lk.RandomForestClassifier(**settings)
        return lk.SmoothedClassifier(forest, votes=trees)
    settings |= {"max_features": max_features, "oob_score": problem.kind == "count"}
    return _on_scale(problem, lk.RandomForestRegressor(**settings))


def _boosting(problem: Problem) -> Any:
    scales = problem.kind in ("real", "positive") and problem.n >= MIN_ROWS_FOR_SCALE
    outputs = 2 if scales or problem.family in GLMS else 1
    if problem.classes > 2:
        outputs = problem.classes
    cost = costs.boosting_round(problem.n, problem.d, outputs)
    rounds = _affordable(problem, cost, problem.by_effort(100, 300, 1000), minimum=20)
    settings = {
        "n_estimators": rounds,
        "learning_rate": max(problem.by_effort(0.1, 0.05, 0.03), min(0.3, 12 / rounds)),
        "early_stopping": True,
        "random_state": problem.seed,
        "categorical_features": list(problem.categories) or None,
    }
    if problem.is_class:
        return lk.GradientBoostingClassifier(**settings)
    if problem.kind == "count" or problem.family == "gamma":
        family = FAMILIES[problem.family]()
        return lk.GradientBoostingRegressor(family=family, **settings)
    # a scale for each row needs many rows to learn it from
    family = FAMILIES["normal"]() if scales else None
    return _on_scale(problem, lk.GradientBoostingRegressor(family=family, **settings))


def _network(problem: Problem) -> Any:
    if problem.d > 5000:
        return "there are too many columns"
    members, hidden = problem.by_effort(2, 4, 8), 64
    # networks get twice the budget
    epoch = 0.5 * costs.epoch(problem.n, problem.d, hidden)
    epochs = _affordable(problem, epoch, 200 * members, 8)
    members = max(2, min(members, epochs // 8))
    settings = {
        "hidden_layer_sizes": (hidden,),
        "max_iter": max(4, min(200, epochs // members)),
        "early_stopping": True,
        "batch_size": 32 if problem.n < MAX_ROWS_SMALL_BATCH else 200,
        "learning_rate_init": 5e-3 if problem.n < MAX_ROWS_SMALL_BATCH else 1e-3,
        "n_members": members,
        "random_state": problem.seed,
    }
    if problem.is_class:
        return lk.MLPClassifier(**settings)
    if problem.kind == "count":
        return lk.MLPRegressor(family=problem.family, **settings)
    return _on_scale(problem, lk.MLPRegressor(**settings))


CANDIDATES = (
    Candidate("null", "null model", _null),
    Candidate("linear", "linear model", _unpenalised),
    Candidate("penalised", "penalised linear model", _penalised),
    Candidate("spline", "smooth curves", _spline),
    Candidate("neighbors", "nearest neighbours", _neighbors),
    Candidate("svm", "support vector machine", _svm),
    Candidate("forest", "random forest", _forest, "ordinal"),
    Candidate("boosting", "gradient boosting", _boosting, "ordinal"),
    Candidate("network", "network ensemble", _network),
)
STACK = "stack"


def candidates_for(kind: str, chosen: tuple[str, ...]) -> list[Candidate]:
    """The candidates for a kind of target: those chosen, or all; the null model always."""
    known = {candidate.name: candidate for candidate in CANDIDATES}
    for name in chosen:
        if name not in known and name != STACK:
            raise InputError(
                f"there is no model {name!r}; there are {', '.join((*known, STACK))}."
            )
        if name in known and kind not in known[name].kinds:
            raise InputError(f"model {name!r} is not made for a target that is {kind}.")
    return [
        candidate
        for candidate in CANDIDATES
        if kind in candidate.kinds
        and (not chosen or candidate.name in chosen or candidate.name == "null")
    ]
