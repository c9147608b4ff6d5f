"""Fitted models of a table: encoders, estimators, and the weights of their mixture."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from likely.data.schema import Schema
from likely.families import Mixed
from likely.preprocess import TableEncoder

ENCODINGS = {
    "scaled": {"categories": "one-hot", "max_categories": 30},
    "ordinal": {"categories": "ordinal", "scale": False},
}


def encoder_of(encoding: str, schema: Schema) -> TableEncoder:
    """A new encoder for one of the `ENCODINGS`."""
    return TableEncoder(schema=schema, **ENCODINGS[encoding])


def category_columns(encoder: TableEncoder) -> tuple[int, ...]:
    """The columns of an ordinal encoding that are categories."""
    first = len(encoder.fill_) + int(encoder.indicated_.sum())
    return tuple(range(first, first + len(encoder.words_)))


class AllClasses:
    """Class probabilities over all classes of a table, also those a fold has not seen."""

    classes = None

    def __init__(self, dist: Any, seen: np.ndarray, c: int):
        self.dist, self.seen, self.c = dist, seen, c

    def __len__(self) -> int:
        return len(self.dist)

    @property
    def probs(self) -> Float[np.ndarray, "n c"]:
        """(n, c) probabilities."""
        found = np.asarray(self.dist.probs, np.float64)
        if len(self.seen) == self.c:
            return found
        full = np.full((len(found), self.c), 1e-9)
        full[:, self.seen] = found
        return full / full.sum(1, keepdims=True)

    def log_prob(self, y: Any) -> np.ndarray:
        """The log-probability of each row's class, given as a code."""
        return np.log(self.probs[np.arange(len(self)), np.asarray(y).astype(int)])

    @property
    def mean(self) -> np.ndarray:
        """The mean of the one-hot class: its probabilities."""
        return self.probs


def distribution(estimator: Any, X: np.ndarray, classes: int) -> Any:
    """p(y | x) of encoded rows; `classes` of the table, 0 if the target is a number."""
    dist = estimator.predict_dist(X)
    if not classes:
        return dist
    return AllClasses(dist, np.asarray(estimator.classes_).astype(int), classes)


class FittedMixture(NamedTuple):
    """Fitted estimators on encoded rows, mixed with weights that sum to 1."""

    encoders: dict[str, TableEncoder]
    parts: Sequence[tuple[str, Any]]
    """(encoding, estimator) of each part."""
    weights: Float[np.ndarray, " m"]
    classes: int = 0
    """The number of classes of the target; 0 for numbers."""

    def predict_dist(self, frame: pa.Table) -> Any:
        """p(y | x) of each row of a table."""
        used = {name for name, _ in self.parts}
        arrays = {name: self.encoders[name].transform(frame) for name in used}
        dists = [distribution(e, arrays[name], self.classes) for name, e in self.parts]
        return dists[0] if len(dists) == 1 else Mixed(dists, self.weights)
