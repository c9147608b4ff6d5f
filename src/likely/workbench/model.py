"""The model a run leaves behind: a table in, distributions with honest intervals out."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from likely.core.checks import InputError
from likely.data.frames import code_words, to_arrow
from likely.evaluate import class_sets, heated, radius, stretched
from likely.families import Stretched
from likely.preprocess import TableEncoder
from likely.workbench.candidate import Candidate
from likely.workbench.quantiles import MIDDLE, inner_ends, quantile_table
from likely.workbench.target import Target


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A fitted, recalibrated and conformalised model of a table.

    Attributes:
        name: which rung it is.
        target: what it predicts.
        encoders: how columns become numbers, by name.
        parts: (encoding, estimator) of each part of the mixture.
        weights: of the parts.
        temperature: of class probabilities; 1 changes nothing.
        stretch: of distributions of numbers about their median; 1 changes nothing.
        scores: of held-out rows, sorted: how wide intervals have to be.
        score_weights: of those rows.
    """

    name: str
    target: Target
    encoders: dict[str, TableEncoder]
    parts: tuple[tuple[str, Any], ...]
    weights: Float[np.ndarray, " m"]
    temperature: float
    stretch: float
    scores: Float[np.ndarray, " n"]
    score_weights: Float[np.ndarray, " n"]

    def __repr__(self) -> str:
        return f"TableModel({self.name}, target={self.target.name!r})"

    def predict_dist(self, frame: Any) -> Any:
        """p(y | x) of each row, recalibrated."""
        dist = self._said(frame)
        if self.target.is_class or self.stretch == 1:
            return dist
        return Stretched(dist, self.stretch)

    def predict_proba(self, frame: Any) -> Float[np.ndarray, "n c"]:
        """(n, c) class probabilities, classes in the order of `target.classes`."""
        if not self.target.is_class:
            raise InputError(f"{self.target.name!r} is a number; ask for predict_dist.")
        return heated(self.predict_dist(frame).probs, self.temperature)

    def predict(self, frame: Any) -> np.ndarray:
        """The mean, or the most probable label, of each row."""
        if self.target.is_class:
            labels = np.asarray(self.target.classes, dtype=object)
            return labels[self.predict_proba(frame).argmax(1)]
        dist = self._said(frame)
        mean = np.asarray(dist.mean)
        if self.stretch == 1:
            return mean
        middle = quantile_table(dist)[:, MIDDLE]
        return middle + self.stretch * (mean - middle)

    def predict_interval(
        self, frame: Any, coverage: float = 0.9
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Ends of intervals that hold this share of new rows."""
        if self.target.is_class:
            raise InputError(f"{self.target.name!r} is a label; ask for predict_set.")
        inner = inner_ends(quantile_table(self._said(frame)), self.stretch)
        ends = stretched(*inner, self._radius(coverage))
        return fitting(*ends, self.target.kind)

    def predict_set(self, frame: Any, coverage: float = 0.9) -> Bool[np.ndarray, "n c"]:
        """Sets of classes that hold this share of new rows."""
        return class_sets(self.predict_proba(frame), self._radius(coverage))

    def _radius(self, coverage: float) -> float:
        return radius(self.scores, coverage, self.score_weights)

    def _said(self, frame: Any) -> Any:
        """p(y | x) before it is recalibrated."""
        classes = len(self.target.classes)
        mixture = Candidate(self.encoders, self.parts, self.weights, classes)
        return mixture.predict_dist(code_words(to_arrow(frame)))


def fitting(
    low: np.ndarray, high: np.ndarray, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Interval ends that the target can take: not below zero, whole for counts."""
    if kind == "positive":
        return np.maximum(low, 0.0), high
    if kind == "count":
        return np.maximum(np.ceil(low - 1e-9), 0.0), np.maximum(
            np.floor(high + 1e-9), 0.0
        )
    return low, high
