"""The candidate models, from the null model to networks, as large as costs allow.

A candidate builds an estimator for a problem, or says why it is left out. Sizes follow
from (n, d) and the table of `costs`, never from the clock.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import likely as lk
from likely.core.checks import InputError, suggestion
from likely.estimators.linear.null import FAMILIES
from likely.estimators.linear.penalty import MIN_LOGIT_PRECISION
from likely.estimators.linear.survival import FAMILIES as SURVIVAL_FAMILIES
from likely.families import Censored
from likely.preprocess import NaturalSpline
from likely.solvers import LBFGS
from likely.workbench import costs
from likely.workbench.problem import GLMS, Candidate, Problem

MIN_ROWS_FOR_SCALE = 1000
"""The fewest rows from which boosting learns a scale for each row."""
MAX_TRIED = 400
"""The columns of a wide table that a forest tries at a split."""
MIN_WIDE = 300
"""The columns from which a table may be called wide."""
TOLERANCE = 1e-5
"""Where logistic regressions stop: half of its square is the error in nats."""
MIN_TREES, MIN_ROUNDS, MIN_EPOCHS = 30, 20, 8
"""The smallest forest, boosting and training that are worth comparing."""
MAX_ROWS_SMALL_BATCH = 2000
"""Networks are trained with small batches below so many rows."""
MIN_ROWS_PER_LEVEL = 50
"""Forests split categories with so many rows for each level as sets, others by order."""
MAX_PRECISION = 1e3
"""1/variance under the strongest prior of coefficients that penalised models try."""
ABOVE_ZERO = {
    "hurdle_lognormal": "lognormal",
    "hurdle_gamma": "gamma",
    "tweedie": "gamma",
}
"""The family of what is above zero, for each family of numbers with exact zeros."""


def _on_scale(problem: Problem, regressor: Any) -> Any:
    """A regressor of real numbers, wrapped for counts and positive targets."""
    if problem.kind == "count":
        family, seed = problem.family, problem.seed
        return lk.CountTarget(regressor, family=family, random_state=seed)
    return lk.LogTarget(regressor) if problem.kind == "positive" else regressor


def _from_zero(build: Callable[[Problem], Any]) -> Callable[[Problem], Any]:
    """A builder for all kinds of numbers, from one for classes and positive numbers.

    Numbers with exact zeros get two models: of whether there is anything, and of how
    much. On a log scale, means are kept near the targets that were seen.
    """

    def built(problem: Problem) -> Any:
        if problem.kind == "nonnegative":
            half = problem._replace(share=problem.share / 2)
            above, n = ABOVE_ZERO[problem.family], problem.n - problem.zeros
            parts = (
                build(half._replace(kind="binary", family="bernoulli", classes=2)),
                built(half._replace(kind="positive", family=above, n=n)),
            )
            refusals = [part for part in parts if isinstance(part, str)]
            return refusals[0] if refusals else lk.HurdleTarget(*parts)
        if problem.kind == "survival" and build in (
            _neighbors,
            _svm,
            _forest,
            _network,
        ):
            return "it is not made for times of which some are only known to be longer"
        found = build(problem)
        if isinstance(found, str) or problem.kind not in ("positive", "count"):
            return found
        return lk.BoundedTarget(found)

    return built


def _gamma(problem: Problem) -> Any:
    if problem.family != "hurdle_lognormal":
        return "gamma is the family of the other models, too"
    return _from_zero(_unpenalised)(problem._replace(family="hurdle_gamma"))


def _tweedie(problem: Problem) -> Any:
    if problem.d + 2 > problem.n / 2:
        return "there are too many columns for a linear model without a penalty"
    if costs.tweedie(problem.n) > problem.budget:
        return "the likelihood of so many rows costs too much"
    return lk.BoundedTarget(lk.TweedieRegressor(alpha=1e-6))


def _affordable(problem: Problem, cost: float, maximum: int, minimum: int = 1) -> int:
    """The number of steps of this cost that the budget allows."""
    return int(min(maximum, max(minimum, problem.budget / cost)))


def _null(problem: Problem) -> Any:
    if problem.is_class:
        return lk.NullClassifier()
    if problem.kind == "nonnegative":
        above = problem._replace(kind="positive", family=ABOVE_ZERO[problem.family])
        return lk.HurdleTarget(lk.NullClassifier(), _null(above))
    if problem.kind == "survival":
        return lk.NullRegressor(_censored(problem))
    if problem.kind == "positive" and problem.family == "lognormal":
        return lk.BoundedTarget(lk.LogTarget(lk.NullRegressor()))
    return lk.NullRegressor(problem.family)


def _censored(problem: Problem) -> Censored:
    """The family of times of which some are censored."""
    return Censored(SURVIVAL_FAMILIES[problem.family]())


def _unpenalised(problem: Problem) -> Any:
    """Maximum likelihood as far as it exists: separated classes need a weak prior."""
    if not problem.is_class and problem.d + 2 > problem.n / 2:
        return "there are too many columns for a linear model without a penalty"
    if _linear_cost(problem, problem.d, 1) > problem.budget:
        return "a linear model of so many rows and columns costs too much"
    if problem.events and problem.d + 2 > problem.events / 2:
        return "there are too many columns for so few events"
    if problem.kind == "survival":  # a level without an event would last for ever
        return _linear(problem, alpha=MIN_LOGIT_PRECISION / problem.n)
    return _linear(problem, alpha=MIN_LOGIT_PRECISION if problem.is_class else 1e-6)


def _linear(problem: Problem, **settings: Any) -> Any:
    if problem.kind == "ordinal":
        return lk.OrdinalRegression(**settings)
    if problem.kind == "survival":
        return lk.SurvivalRegression(problem.family, **settings)
    if problem.is_class:
        return lk.LogisticRegression(**settings, tol=TOLERANCE)
    if problem.family in GLMS:
        return getattr(lk, GLMS[problem.family])(**settings)
    return _on_scale(problem, lk.Ridge(**settings))


def _penalised(problem: Problem) -> Any:
    """The penalty is chosen as finely as the budget allows, down to almost none."""
    if is_wide(problem.n, problem.d):
        return _wide(problem)
    if not problem.has_glm:
        return _by_cv(problem, problem.d, refusal="there are too many columns")
    # the losses of classes are a sum, others are a mean
    scale = 1.0 if problem.is_class else 1.0 / problem.n
    for strengths, folds in ((13, 5), (10, 3), (7, 2)):
        if _linear_cost(problem, problem.d, strengths * folds) <= problem.budget:
            alphas = scale * np.geomspace(MAX_PRECISION, MIN_LOGIT_PRECISION, strengths)
            return _linear(problem, alpha="cv", alphas=alphas.tolist(), cv=folds)
    if _linear_cost(problem, problem.d, 1) > problem.budget:
        return "a linear model of so many rows and columns costs too much"
    return _linear(problem, alpha=scale)


def _text(problem: Problem) -> Any:
    """A linear model of the columns and of the words of texts, its penalty chosen."""
    refusal = "a linear model of so many rows and words costs too much"
    if not problem.has_glm:
        return _by_cv(problem, problem.d, refusal=refusal)
    scale = 1.0 if problem.is_class else 1.0 / problem.n
    q = _coefficients(problem, problem.d)
    several = problem.kind in ("binary", "classes") and q > costs.MAX_NEWTON
    solver = {"solver": LBFGS(search="backtracking", tolerance=1e-4)} if several else {}
    for strengths, folds in ((13, 5), (10, 3), (7, 2)):
        fits = strengths * folds
        cost = _linear_cost(problem, problem.d, fits)
        if several:
            cost = costs.descent(problem.n, problem.d, problem.classes, fits)
        if cost <= problem.budget:
            alphas = scale * np.geomspace(MAX_PRECISION, MIN_LOGIT_PRECISION, strengths)
            settings = {"alpha": "cv", "alphas": alphas.tolist(), "cv": folds}
            return _linear(problem, **settings, **solver)
    return refusal


def is_wide(n: int, d: int) -> bool:
    """Whether linear models are fitted in coordinates of rows, because columns are many."""
    return d > max(MIN_WIDE, n / 4)


def _wide(problem: Problem) -> Any:
    """A penalised linear model of many columns, in coordinates of some rows.

    A penalised fit is a sum over the rows of training: with all of them as landmarks of a
    linear kernel it is the same model, with fewer landmarks an approximation.
    """
    refusal = "there are too many columns"
    for m in (1000, 500, 250, 120, 60):
        if m > 2 * problem.n or problem.budget < costs.features(
            problem.n, problem.d, m
        ):
            continue
        basis = lk.Nystroem("linear", n_components=m, random_state=problem.seed)
        found = _by_cv(problem, m, 10 * problem.d / m, basis, refusal=refusal)
        if not isinstance(found, str):
            return found
    return refusal


def _linear_cost(problem: Problem, p: int, fits: int, basis: bool = False) -> float:
    """The cost of linear models of p columns, one for each penalty and fold."""
    if not problem.has_glm:
        return costs.linear(problem.n, p, fits, basis)
    dispersed = problem.family in ("negative_binomial", "gamma")
    shared = problem.kind in ("ordinal", "survival")
    q = _coefficients(problem, p)
    return costs.newton(problem.n, q, fits, p, counts=dispersed, shared=shared)


def _coefficients(problem: Problem, p: int) -> int:
    """The number of coefficients of a linear model of p columns."""
    if problem.kind == "ordinal":
        return p + problem.classes
    return p * max(1, problem.classes - 1)


def _by_cv(
    problem: Problem, p: int, unit: float = 1.0, basis: Any = None, *, refusal: str
) -> Any:
    """A linear model of p columns, its penalty chosen as finely as the budget allows.

    `unit` is about the mean square of a column. If even the coarsest choice costs too
    much, there is the `refusal` instead.
    """
    # without a basis all penalties of a fold have one decomposition
    sizes = ((40, 5), (40, 3), (40, 2)) if basis is None else ((8, 3), (4, 2))
    on_counts = problem.kind == "count" and basis is not None
    repeats = 4 if on_counts else 1  # `CountTarget` fits folds too
    for strengths, folds in sizes:
        fits = strengths * folds * repeats
        cost = _linear_cost(problem, p, fits, basis is not None)
        if isinstance(basis, lk.Nystroem):
            cost += (folds + 1) * repeats * costs.features(problem.n, problem.d, p)
        if cost <= problem.budget:
            grid = unit * np.geomspace(10, 1e-4, strengths)
            # the losses are a mean, or a sum
            is_mean = problem.family in GLMS or problem.kind == "survival"
            scale = 1 if is_mean else problem.n
            alphas = None if basis is None else (scale * grid).tolist()
            settings = {"alpha": "cv", "alphas": alphas, "cv": folds, "basis": basis}
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


def _dispersion(problem: Problem) -> float:
    """What a regressor costs more where its target is a count."""
    return costs.dispersion(problem.n) if problem.kind == "count" else 0.0


def _neighbors(problem: Problem) -> Any:
    k = max(5, min(50, round(problem.n**0.5 / 2)))
    fits = 3 if problem.kind == "count" else 1
    cost = fits * costs.distances(problem.n, problem.d) + _dispersion(problem)
    if cost > problem.budget:
        return "distances between so many rows cost too much"
    if problem.is_class:
        return lk.SmoothedClassifier(lk.KNeighborsClassifier(n_neighbors=k), votes=k)
    return _on_scale(problem, lk.KNeighborsRegressor(n_neighbors=k))


def _svm(problem: Problem) -> Any:
    """The dual for few rows; for many a linear model on Nyström features of the kernel."""
    pairs = max(1, problem.classes - 1)
    cost = costs.support_vectors(problem.n, problem.d, 6) * pairs**0.5
    if cost + _dispersion(problem) > problem.budget:
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
    max_features = 1.0 if problem.d < 30 else min(1 / 3, MAX_TRIED / problem.d)
    tried = problem.d**0.5 if problem.is_class else max_features * problem.d
    cost = costs.tree(problem.n, tried, problem.classes)
    trees = _affordable(problem, cost, problem.by_effort(50, 100, 300), MIN_TREES)
    rows = problem.n
    left = problem.budget - _dispersion(problem)
    while rows > 2000 and trees * cost > left:
        rows = rows // 2
        cost = costs.tree(rows, tried, problem.classes)
    if trees * cost > left:
        return "trees of so many rows and columns cost too much"
    settings = {
        "n_estimators": trees,
        "min_samples_leaf": 5 if problem.n >= 200 else 2,
        "max_samples": None if rows == problem.n else rows,
        "random_state": problem.seed,
        "categorical_features": _frequent(problem) or None,
    }
    if problem.is_class:
        forest = lk.RandomForestClassifier(**settings)
        return lk.SmoothedClassifier(forest, votes=trees)
    settings |= {"max_features": max_features, "oob_score": problem.kind == "count"}
    return _on_scale(problem, lk.RandomForestRegressor(**settings))


def _frequent(problem: Problem) -> list[int]:
    """The categories whose levels have rows enough for trees that are grown fully."""
    pairs = zip(problem.categories, problem.levels, strict=True)
    return [j for j, size in pairs if size * MIN_ROWS_PER_LEVEL <= problem.n]


def _boosting(problem: Problem) -> Any:
    scales = problem.kind in ("real", "positive") and problem.n >= MIN_ROWS_FOR_SCALE
    outputs = 2 if scales or (problem.has_glm and not problem.is_class) else 1
    if problem.classes > 2:
        outputs = problem.classes
    special = problem.kind == "count" or problem.family == "gamma"
    cost = costs.boosting_round(problem.n, problem.d, outputs, special)
    left = problem.budget - costs.binning(problem.d)
    if MIN_ROUNDS * cost > left:
        return "trees of so many rows and columns cost too much"
    rounds = int(min(problem.by_effort(100, 300, 1000), left / cost))
    settings = {
        "n_estimators": rounds,
        "learning_rate": max(problem.by_effort(0.1, 0.05, 0.03), min(0.3, 12 / rounds)),
        "early_stopping": True,
        "random_state": problem.seed,
        "categorical_features": list(problem.categories) or None,
    }
    if problem.is_class:
        return lk.GradientBoostingClassifier(**settings)
    if problem.kind == "survival":
        return lk.GradientBoostingRegressor(family=_censored(problem), **settings)
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
    if MIN_EPOCHS * epoch > problem.budget:
        return "epochs of so many rows and columns cost too much"
    epochs = _affordable(problem, epoch, 200 * members)
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
    Candidate("linear", "linear model", _from_zero(_unpenalised)),
    Candidate("gamma", "gamma linear model", _gamma, kinds=("nonnegative",)),
    Candidate("tweedie", "Tweedie linear model", _tweedie, kinds=("nonnegative",)),
    Candidate("penalised", "penalised linear model", _from_zero(_penalised)),
    Candidate("spline", "smooth curves", _from_zero(_spline), "compact"),
    Candidate("neighbors", "nearest neighbours", _from_zero(_neighbors), "compact"),
    Candidate("svm", "support vector machine", _from_zero(_svm), "compact"),
    Candidate("forest", "random forest", _from_zero(_forest), "ordinal"),
    Candidate("boosting", "gradient boosting", _from_zero(_boosting), "ordinal"),
    Candidate("network", "network ensemble", _from_zero(_network)),
)
STACK = "stack"
TEXT = Candidate("text", "linear model with text", _from_zero(_text), "text")
"""The model of tables with columns of text, after the penalised linear model."""


def candidates_for(
    kind: str, chosen: tuple[str, ...], *, texts: bool = False, others: bool = True
) -> list[Candidate]:
    """The candidates for a kind of target: those chosen, or all; the null model always.

    Args:
        kind: of the target.
        chosen: names of models; all where empty.
        texts: whether there are columns of text, which have a model of their own.
        others: whether there are other columns, which all other models need.
    """
    every = _with_text(others) if texts else CANDIDATES
    known = {candidate.name: candidate for candidate in every}
    for name in chosen:
        if name == TEXT.name and not texts:
            raise InputError(
                "model 'text' is for tables with a column of text, and there is none; set one "
                "with --kind COLUMN=text."
            )
        if name in {c.name for c in CANDIDATES} - set(known):
            raise InputError(
                f"model {name!r} needs a column that is not text; there are null and text."
            )
        if name not in known and name != STACK:
            near = suggestion(name, (*known, STACK), "there are")
            raise InputError(f"there is no model {name!r}; {near}")
        if name in known and kind not in known[name].kinds:
            raise InputError(f"model {name!r} is not made for a target that is {kind}.")
    return [
        candidate
        for candidate in every
        if kind in candidate.kinds
        and (not chosen or candidate.name in chosen or candidate.name == "null")
    ]


def _with_text(others: bool) -> list[Candidate]:
    """All candidates with the one for texts; that one alone where there are no others."""
    if not others:
        return [CANDIDATES[0]._replace(encoding=TEXT.encoding), TEXT]
    place = 1 + [candidate.name for candidate in CANDIDATES].index("penalised")
    return [*CANDIDATES[:place], TEXT, *CANDIDATES[place:]]
