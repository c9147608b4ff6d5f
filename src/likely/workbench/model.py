"""The model that a run saves: tables in, distributions and conformal intervals out."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float

from likely.core.checks import InputError
from likely.data.frames import encode_text
from likely.data.new_rows import read_new
from likely.evaluate import class_sets, radius, stretched, temperature_scaled
from likely.families import Stretched
from likely.preprocess import TableEncoder
from likely.workbench.fitted import FittedMixture
from likely.workbench.held_out import zero_of
from likely.workbench.levels import NestedIntervals
from likely.workbench.quantiles import MIDDLE, inner_ends, quantile_table
from likely.workbench.target import Target
from likely.workbench.unseen import KnownLevels


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A fitted, recalibrated and conformalised model of a table.

    Attributes:
        name: the name of the candidate model.
        target: the column it predicts.
        encoders: the encoders of tables, by the name of the encoding.
        parts: (encoding, estimator) of each part of the mixture.
        weights: the weights of the parts.
        temperature: of class probabilities; 1 changes nothing.
        stretch: the factor of deviations from the median; 1 changes nothing.
        scores: the conformal scores of held-out rows, sorted.
        score_weights: the weights of those rows.
        known: the levels of the categories, to average over where one is unseen.
        scale: what the scores of numbers measure (see `intervals`).
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
    known: KnownLevels | None = None
    scale: str = "width"

    def __repr__(self) -> str:
        return f"TableModel({self.name}, target={self.target.name!r})"

    def predict_dist(self, frame: Any) -> Any:
        """p(y | x) of each row, recalibrated."""
        dist = self._uncalibrated(frame)
        if self.target.is_class or self.stretch == 1:
            return dist
        return Stretched(dist, self.stretch)

    def predict_proba(self, frame: Any) -> Float[np.ndarray, "n c"]:
        """(n, c) class probabilities, classes in the order of `target.classes`."""
        if not self.target.is_class:
            raise InputError(f"{self.target.name!r} is a number; use predict_dist.")
        return temperature_scaled(self.predict_dist(frame).probs, self.temperature)

    def predict(self, frame: Any) -> np.ndarray:
        """The mean, or the most probable label, of each row; the median of times."""
        if self.target.is_class:
            labels = np.asarray(self.target.classes, dtype=object)
            return labels[self.predict_proba(frame).argmax(1)]
        if self.target.kind == "survival":
            return quantile_table(self._uncalibrated(frame))[:, MIDDLE]
        dist, mean = self.mixture().predict_both(encode_text(self.read(frame)))
        if self.stretch == 1:
            return mean
        middle = quantile_table(dist)[:, MIDDLE]
        return middle + self.stretch * (mean - middle)

    def predict_interval(
        self, frame: Any, coverage: float = 0.9
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The ends of intervals that contain this share of new targets."""
        if self.target.is_class:
            raise InputError(f"{self.target.name!r} is a class; use predict_set.")
        dist, kind = self._uncalibrated(frame), self.target.kind
        table, zero, q = (
            quantile_table(dist),
            zero_of(dist, kind),
            self._radius(coverage),
        )
        return intervals(table, zero, q, kind, self.stretch, self.scale)

    def predict_survival(
        self, frame: Any, times: Any = None
    ) -> Float[np.ndarray, "n m"]:
        """(n, m) probabilities that the event has not happened until each of m times.

        Args:
            frame: new rows.
            times: the times; those of `target.times` where there are none.
        """
        if self.target.kind != "survival":
            raise InputError(f"{self.target.name!r} is no time until an event.")
        times = self.target.times if times is None else times
        dist = self._uncalibrated(frame)
        times = np.atleast_1d(np.asarray(times, np.float64))
        return np.stack([1 - np.asarray(dist.cdf(time)) for time in times], axis=1)

    def predict_set(self, frame: Any, coverage: float = 0.9) -> Bool[np.ndarray, "n c"]:
        """Sets of classes that contain the class of this share of new rows."""
        return class_sets(self.predict_proba(frame), self._radius(coverage))

    def _radius(self, coverage: float) -> float:
        return radius(self.scores, coverage, self.score_weights)

    def _uncalibrated(self, frame: Any) -> Any:
        """p(y | x) of each row, before recalibration."""
        return self.mixture().predict_dist(encode_text(self.read(frame)))

    def mixture(self) -> FittedMixture:
        """The fitted estimators, which take tables that `read` returned."""
        classes = len(self.target.classes)
        return FittedMixture(
            self.encoders, self.parts, self.weights, classes, self.known
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of text that some part of the mixture reads."""
        names = [
            name
            for encoding, _ in self.parts
            for name in self.encoders[encoding].texts_
        ]
        return tuple(dict.fromkeys(names))

    def unseen(self, frame: Any) -> dict[str, Bool[np.ndarray, " n"]]:
        """Which rows have a level that training did not have, by column of categories."""
        encoder = next(iter(self.encoders.values()))
        if self.known is None:
            return {}
        codes = encoder.level_codes(self.read(frame))
        found = self.known.unseen(codes)
        return dict(zip(encoder.words_, found.T, strict=True))

    def read(self, source: Any) -> pa.Table:
        """The columns of the model in new rows, each cell read as when it was fitted.

        Args:
            source: a frame, or a file.
        """
        encoder = next(iter(self.encoders.values()))
        levels = dict(zip(encoder.words_, encoder.seen_, strict=True))
        return read_new(source, encoder.schema_, levels, self.texts)


def intervals(  # noqa: PLR0917
    table: Float[np.ndarray, "n l"],
    zero: Any,
    q: Any,
    kind: str,
    stretch: float,
    scale: str,
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the intervals whose conformal scores are at most q.

    Args:
        table: quantiles of each row.
        zero: the probability of zero of each row, where it has one.
        q: the radius: of all rows, or of each.
        kind: the kind of the target.
        stretch: the factor of deviations from the median.
        scale: "width", where scores are distances from the median in units of the model's own
            interval, or "level", where they are its levels (`NestedIntervals`).
    """
    if scale == "width":
        return possible_ends(*stretched(*inner_ends(table, stretch), q), kind)
    return possible_ends(*NestedIntervals.of_kind(table, zero, kind).ends(q), kind)


def possible_ends(
    low: np.ndarray, high: np.ndarray, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Interval ends among the possible targets: not below zero, whole for counts."""
    if kind == "count":
        low, high = np.ceil(low - 1e-9), np.maximum(np.floor(high + 1e-9), 0.0)
    return (low if kind == "real" else np.maximum(low, 0.0)), high
