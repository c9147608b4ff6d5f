"""What a model of a table is built for, and what is known of each candidate."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from likely.workbench import costs
from likely.workbench.target import CLASS_KINDS

NUMBERS = ("real", "positive", "nonnegative", "count", "survival")
CLASSES = CLASS_KINDS
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
    zeros: int = 0
    """The number of rows with a target of zero, where zero has a probability."""
    share: float = 1.0
    """The share of the budget of the candidate that this fit may take."""
    levels: tuple[int, ...] = ()
    """The number of levels of each of the `categories`."""
    events: int = 0
    """The number of rows with an event, where the target is a time until one."""
    seconds: float = float("nan")
    """The seconds that the fit may take; those of `costs.BUDGET` where it is NaN."""

    @property
    def is_class(self) -> bool:
        """Whether the target is a class and not a number."""
        return self.kind in CLASSES

    @property
    def has_glm(self) -> bool:
        """Whether its linear model is fitted by Newton's method."""
        return self.is_class or self.family in GLMS or self.kind == "survival"

    @property
    def budget(self) -> float:
        """The seconds of one core that the fit may take."""
        usual = costs.BUDGET[self.effort]
        return self.share * (usual if math.isnan(self.seconds) else self.seconds)

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
    """One of `fitted.ENCODINGS`."""
    kinds: tuple[str, ...] = (*NUMBERS, *CLASSES)
