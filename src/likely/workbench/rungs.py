"""The ladder: from the null model to networks, each rung with what it costs.

A rung makes an estimator for a situation, or says why it stays out. Costs are formulas
of (n, d), never the clock, so that the same table always climbs the same ladder.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import likely as lk
from likely.core.checks import InputError
from likely.estimators.null import FAMILIES

MANY = 1000
NUMBERS = ("real", "positive", "count")
CLASSES = ("binary", "classes")


class Situation(NamedTuple):
    """What a rung needs to know to set itself up."""

    kind: str
    """Of the target."""
    family: str
    n: int
    """Rows."""
    d: int
    """Columns after encoding."""
    effort: str
    seed: int
    words: tuple[int, ...] = ()
    """Which columns of the ordinal encoding are categories."""

    @property
    def is_class(self) -> bool:
        """Whether the target is a label."""
        return self.kind in CLASSES

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
    """A regressor of real numbers, on the scale that suits the target."""
    return lk.LogTarget(regressor) if at.kind == "positive" else regressor


def _null(at: Situation) -> Any:
    if at.is_class:
        return lk.NullClassifier()
    if at.kind == "positive" and at.family == "lognormal":
        return lk.LogTarget(lk.NullRegressor())
    return lk.NullRegressor(at.family)


def _linear(at: Situation) -> Any:
    if at.is_class:
        return lk.LogisticRegression(alpha=1e-6)
    if at.family in ("poisson", "negative_binomial", "gamma"):
        return _glm(at.family, alpha=1e-6)
    return _on_scale(at, lk.Ridge(alpha=1e-6))


def _glm(family: str, **settings: Any) -> Any:
    makers = {
        "poisson": "PoissonRegressor",
        "negative_binomial": "NegativeBinomialRegressor",
        "gamma": "GammaRegressor",
    }
    return getattr(lk, makers[family])(**settings)


def _penalised(at: Situation) -> Any:
    if at.d * at.n > 2e8:
        return "the table is too large for its cost"
    if at.is_class:
        return lk.LogisticRegression(alpha="cv")
    if at.family in ("poisson", "negative_binomial", "gamma"):
        return _glm(at.family, alpha="cv")
    return _on_scale(at, lk.Ridge(alpha="cv"))


def _spline(at: Situation) -> Any:
    if at.n < 50:
        return "there are too few rows for curves"
    if at.d > at.by_effort(30, 100, 200):
        return "there are too many columns for curves"
    return _on_scale(at, lk.SplineRegressor())


def _neighbors(at: Situation) -> Any:
    if at.n * at.n * at.d > at.by_effort(2e9, 2e11, 2e12):
        return "distances between so many rows cost too much"
    k = max(5, min(50, round(at.n**0.5 / 2)))
    if at.is_class:
        return lk.KNeighborsClassifier(n_neighbors=k)
    return _on_scale(at, lk.KNeighborsRegressor(n_neighbors=k))


def _svm(at: Situation) -> Any:
    if at.n > at.by_effort(1000, 4000, 20_000):
        return "kernels of so many rows cost too much"
    if at.is_class:
        return lk.SVC(probability=True)
    return "a support vector regression has no likelihood"


def _forest(at: Situation) -> Any:
    trees = at.by_effort(50, 100, 300)
    leaf = 5 if at.n >= 200 else 2
    settings = {
        "n_estimators": trees,
        "min_samples_leaf": leaf,
        "random_state": at.seed,
    }
    if at.is_class:
        return lk.RandomForestClassifier(**settings)
    return _on_scale(at, lk.RandomForestRegressor(**settings))


def _boosting(at: Situation) -> Any:
    settings = {
        "n_estimators": at.by_effort(100, 300, 1000),
        "learning_rate": at.by_effort(0.1, 0.05, 0.03),
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
    family = FAMILIES["normal"]() if at.n >= MANY else None
    return _on_scale(at, lk.GradientBoostingRegressor(family=family, **settings))


def _network(at: Situation) -> Any:
    if at.d > 5000:
        return "there are too many columns"
    settings = {"random_state": at.seed, "early_stopping": True}
    if at.is_class:
        return lk.MLPClassifier(**settings)
    return _on_scale(at, lk.MLPRegressor(**settings))


LADDER = (
    Rung("null", "null model", _null),
    Rung("linear", "linear model", _linear),
    Rung("penalised", "penalised linear model", _penalised),
    Rung("spline", "smooth curves", _spline, kinds=("real", "positive")),
    Rung(
        "neighbors",
        "nearest neighbours",
        _neighbors,
        kinds=("real", "positive", *CLASSES),
    ),
    Rung("svm", "support vector machine", _svm, kinds=CLASSES),
    Rung("forest", "random forest", _forest, "ordinal", ("real", "positive", *CLASSES)),
    Rung("boosting", "gradient boosting", _boosting, "ordinal"),
    Rung("network", "network", _network, kinds=("real", "positive", *CLASSES)),
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
