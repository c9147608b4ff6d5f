"""Generated rows judged beside real ones: every score of samples in one table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.core.written_numbers import p_value, with_error
from likely.diagnostics.generators.network_features import network_features
from likely.diagnostics.generators.table_space import TableSpace, row_count
from likely.diagnostics.result import Result
from likely.diagnostics.rows.drift import Drift, drift
from likely.evaluate.generated.closest_records import ClosestRecords, closest_records
from likely.evaluate.generated.frechet import FrechetDistance, frechet_distance
from likely.evaluate.generated.inception import inception_score
from likely.evaluate.generated.memorization import MemorizationTest, memorization_test
from likely.evaluate.generated.support import SupportScores, support_scores
from likely.evaluate.generated.two_samples import TwoSampleTest, mmd_test
from likely.evaluate.scores import Score

MAX_ROWS = 2000
"""Rows of each set that are set beside each other."""
MIN_ROWS = 10


@dataclass(frozen=True, repr=False, eq=False)
class SampleReport(Result):
    """Scores of generated rows.

    Attributes:
        frechet: the Fréchet distance of features.
        discrepancy: the kernel two-sample test of features.
        told_apart: the classifier two-sample test.
        support: precision, recall, density and coverage.
        memorization: whether training rows are repeated; None where they are not given.
        closest: distances to the closest training row; None where they are not given.
        inception: the inception score; None without a classifier.
    """

    frechet: FrechetDistance
    discrepancy: TwoSampleTest
    told_apart: Drift
    support: SupportScores
    memorization: MemorizationTest | None = None
    closest: ClosestRecords | None = None
    inception: Score | None = None

    @property
    def verdict(self) -> str:
        """Whether generated rows differ from real ones, and whether they repeat some."""
        area = with_error(self.told_apart.auc, self.told_apart.auc_error)
        shown = self.told_apart.shown or self.discrepancy.p_value < 0.05
        told = f"a classifier tells them apart with an area of {area} (½ is chance)"
        first = "Generated rows differ from real ones" if shown else (
            "No difference between generated and real rows is shown"
        )  # fmt: skip
        also = f" {self.memorization.verdict}" if self.memorization else ""
        return f"{first}: {told}.{also}"

    def table(self) -> Mapping[str, Any]:
        """A row for each score, what it is where generated rows are like real ones."""
        told, test = self.told_apart, self.discrepancy
        rows: list[tuple[Any, ...]] = [
            ("Fréchet distance", self.frechet.corrected, self.frechet.error, "0", ""),
            ("MMD²", test.value, test.error, "0", p_value(test.p_value)),
            ("told apart", told.auc, told.auc_error, "0.5", p_value(told.p_value)),
        ]
        ideals = {"precision": "", "recall": "", "density": "1", "coverage": ""}
        for name, score in self.support._asdict().items():
            rows.append((name, *score, ideals[name] or "near 1", ""))
        if self.inception is not None:
            rows.append(("inception score", *self.inception, "classes", ""))
        copied, close = self.memorization, self.closest
        if copied is not None:
            chance = f"{copied.expected:.3g}"
            p = p_value(copied.p_value)
            rows.append(("near training", copied.share, copied.error, chance, p))
        if close is not None:
            p = p_value(close.p_value)
            rows.append(("close records", *close.close, f"{close.level:g}", p))
        names = ("score", "value", "±", "at best", "p")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    def plot(self) -> Any:
        """The scores that are shares or areas, with their errors."""
        from likely import plots

        return plots.sample_scores(self)


def judge_samples(
    generated: Any,
    real: Any,
    *,
    train: Any = None,
    classifier: Any = None,
    n_neighbors: int = 5,
    random_state: Any = 0,
) -> SampleReport:
    """Judge generated rows beside real rows that the generator has not seen.

    Args:
        generated: rows of a table or images.
        real: held-out rows of the same kind.
        train: the rows that the generator was fitted to, for memorisation and distances.
        classifier: a fitted network of these rows: distances are taken in the features that
            its last layer is given, and its class probabilities give the inception score.
            Without one, distances are those of scaled columns.
        n_neighbors: k of precision, recall, density and coverage.
        random_state: seed of the choice of rows and of permutations.
    """
    sets = {"generated": generated, "real": real}
    sets |= {} if train is None else {"train": train}
    for name, rows in sets.items():
        if row_count(rows) < MIN_ROWS:
            count = row_count(rows)
            raise InputError(f"{name} has {count} rows; give at least {MIN_ROWS}.")
    inception = None
    if classifier is None:
        space = TableSpace.of(*sets.values())
        found = {name: space.features(rows) for name, rows in sets.items()}
    else:
        found = {name: network_features(classifier, X) for name, X in sets.items()}
        inception = inception_score(classifier.predict_proba(generated))
    G, R = _some(found["generated"]), _some(found["real"])
    size = min(len(G), len(R))
    copied = closest = None
    if train is not None:
        T = found["train"]
        copied = memorization_test(G, T, R, random_state=random_state)
        closest = closest_records(G, T, R)
    return SampleReport(
        frechet_distance(R, G, random_state=random_state),
        mmd_test(R, G, random_state=random_state),
        drift(R, G, random_state=random_state),
        support_scores(R[:size], G[:size], n_neighbors=n_neighbors),
        copied,
        closest,
        inception,
    )


def _some(X: np.ndarray) -> np.ndarray:
    return X[:MAX_ROWS]
