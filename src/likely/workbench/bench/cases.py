"""The comparisons of `likely bench`: a job, its data, our side, its peers."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from likely.workbench.bench import learner_jobs, linear_jobs, tables
from likely.workbench.bench.turns import Answer, Case

MODULE = __name__
REPEATS = 3


class Job(NamedTuple):
    """What is compared.

    Attributes:
        title: what is done, with its size.
        score: what the score of new rows is.
        setup: the data; it takes the share of the rows.
        ours: our side.
        peers: the other sides, by package.
        allowed: the difference of the scores that counts as equal: a share of the peer's.
    """

    title: str
    score: str
    setup: Callable[[float], Any]
    ours: Callable[[Any], Answer]
    peers: dict[str, Callable[[Any], Answer]]
    allowed: float


PACKAGES = {
    "scikit-learn": "sklearn",
    "statsmodels": "statsmodels",
    "LightGBM": "lightgbm",
    "PyTorch": "torch",
}
"""The peers, and the modules that they are imported as."""


JOBS = {
    "ridge": Job(
        "Ridge regression, 50,000 rows, 50 columns", "R²",
        partial(tables.numbers, 50_000, 50),
        linear_jobs.ridge_ours, {"scikit-learn": linear_jobs.ridge_sklearn}, 1e-6,
    ),
    "logistic": Job(
        "Logistic regression, 50,000 rows, 50 columns", "nats per row",
        partial(tables.classes, 50_000, 50),
        linear_jobs.logistic_ours, {"scikit-learn": linear_jobs.logistic_sklearn}, 1e-4,
    ),
    "hundred": Job(
        "100 logistic regressions at once, 5,000 rows, 20 columns", "nats per row",
        partial(tables.classes, 5_000, 20),
        linear_jobs.hundred_ours, {"scikit-learn": linear_jobs.hundred_sklearn}, 1e-4,
    ),
    "poisson": Job(
        "Poisson regression, 50,000 rows, 20 columns", "deviance",
        partial(tables.counts, 50_000, 20),
        linear_jobs.poisson_ours, {"scikit-learn": linear_jobs.poisson_sklearn}, 1e-4,
    ),
    "glm": Job(
        "Poisson regression with its summary, 50,000 rows, 20 columns", "deviance",
        partial(tables.counts, 50_000, 20),
        linear_jobs.glm_ours, {"statsmodels": linear_jobs.glm_statsmodels}, 1e-6,
    ),
    "search": Job(
        "Grid search, 20 ridge penalties, 5 folds, 20,000 rows, 50 columns", "R²",
        partial(tables.numbers, 20_000, 50),
        linear_jobs.search_ours, {"scikit-learn": linear_jobs.search_sklearn}, 1e-6,
    ),
    "conformal": Job(
        "Conformal intervals (CV+, 20 folds), 2,000 rows, 20 columns", "coverage",
        partial(tables.numbers, 2_000, 20),
        linear_jobs.conformal_ours, {"scikit-learn": linear_jobs.conformal_sklearn}, 0.02,
    ),
    "boosting": Job(
        "Gradient boosting, 100 rounds, 50,000 rows, 20 columns", "mean squared error",
        partial(tables.curves, 50_000, 20),
        learner_jobs.boosting_ours,
        {
            "scikit-learn": learner_jobs.boosting_sklearn,
            "LightGBM": learner_jobs.boosting_lightgbm,
        },
        0.04,
    ),
    "network": Job(
        "Network 64-100-10 on digits, 50 epochs", "nats per row",
        tables.digits,
        learner_jobs.network_ours,
        {
            "scikit-learn": learner_jobs.network_sklearn,
            "PyTorch": learner_jobs.network_torch,
        },
        0.2,
    ),
}  # fmt: skip


def _verdict(allowed: float) -> Callable[[Answer, Answer], str | None]:
    """Whether scores are equal but for a share of the peer's."""

    def verdict(ours: Answer, peer: Answer) -> str | None:
        a, b = float(ours["score"]), float(peer["score"])
        equal = abs(a - b) <= allowed * abs(b)
        return None if equal else f"the scores are {a:.5g} and {b:.5g}"

    return verdict


CASES = {
    f"{name}, {package}": Case(
        job.setup, job.ours, peer, _verdict(job.allowed), repeats=REPEATS
    )
    for name, job in JOBS.items()
    for package, peer in job.peers.items()
}
