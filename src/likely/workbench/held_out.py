r"""Predictions of held-out rows: enough to score a model, and to mix several.

For classes the probabilities; for numbers the mean, quantiles at a few levels, and
F(y). So mixtures are scored without keeping every model.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from likely.files.atomic import replace
from likely.workbench.quantiles import MIDDLE, mixed_table, quantile_table
from likely.workbench.target import CLASS_KINDS

MIN_PROBABILITY = 1e-12
"""The smallest probability in a loss, so that no row's loss is infinite."""


class HeldOutPredictions(NamedTuple):
    """The predictions of held-out rows by a model that was fitted to the other rows."""

    rows: Int[np.ndarray, " m"]
    loss: Float[np.ndarray, " m"]
    """−log p(y | x), in nats."""
    probs: Any = None
    """(m, c) class probabilities; None for numbers."""
    mean: Any = None
    """(m,) means of numbers; None for classes, as are the next two."""
    quantiles: Any = None
    """(m, l) quantiles at `LEVELS`."""
    pit: Any = None
    """(m,) F(y), in the middle of the step where y has a probability."""
    zero: Any = None
    """(m,) P(y = 0), where zero has a probability and other numbers a density."""

    def save(self, path: Path) -> None:
        """Write to a file, in one step."""
        buffer = io.BytesIO()
        np.savez(buffer, **{k: v for k, v in self._asdict().items() if v is not None})
        replace(path, lambda file: file.write(buffer.getvalue()), lambda _: True)

    @classmethod
    def load(cls, path: Path) -> "HeldOutPredictions":
        """Read the file that `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**dict(arrays))


def held_out_predictions(
    dist: Any, y: Any, rows: Any, kind: str, mean: Any = None
) -> HeldOutPredictions:
    """Predictions of held-out rows, and their losses.

    Args:
        dist: what `predict_dist` returned for these rows.
        y: their targets: numbers, or codes of classes.
        rows: the numbers of these rows in the table.
        kind: the kind of the target.
        mean: the predicted means, where they are not those of the distribution.
    """
    if kind in CLASS_KINDS:
        probs = np.asarray(dist.probs, np.float64)
        true = probs[np.arange(len(probs)), y.astype(int)]
        loss = -np.log(np.maximum(true, MIN_PROBABILITY))
        return HeldOutPredictions(rows, loss, probs=probs)
    loss = np.minimum(-np.asarray(dist.log_prob(y)), -2 * np.log(MIN_PROBABILITY))
    pit = np.asarray(dist.cdf(np.abs(y) if kind == "survival" else y), np.float64)
    if kind == "count":
        below = np.where(y > 0, dist.cdf(np.maximum(y - 1, 0)), 0.0)
        pit = 0.5 * (pit + below)
    zero = zero_of(dist, kind)
    if zero is not None:
        pit = np.where(y == 0, 0.5 * zero, pit)
    quantiles = quantile_table(dist)
    if kind == "survival":  # the mean of times depends on a tail that was not seen
        mean = quantiles[:, MIDDLE]
    mean = np.asarray(dist.mean if mean is None else mean, float)
    return HeldOutPredictions(rows, loss, None, mean, quantiles, pit, zero)


def zero_of(dist: Any, kind: str) -> np.ndarray | None:
    """P(y = 0) of each row, where zero has a probability and other numbers a density."""
    if kind != "nonnegative":
        return None
    return np.clip(np.asarray(dist.cdf(np.zeros(len(dist))), np.float64), 1e-12, 1.0)


def mixed(
    parts: Sequence[HeldOutPredictions], weights: Float[np.ndarray, " m"]
) -> HeldOutPredictions:
    """The predictions of a mixture of models, all of the same rows."""
    first = parts[0]
    logs = np.stack([-part.loss for part in parts])
    loss = -np.asarray(logsumexp(logs, axis=0, b=weights[:, None]))

    def average(name: str) -> np.ndarray:
        return np.tensordot(weights, [getattr(part, name) for part in parts], axes=1)

    if first.probs is not None:
        return HeldOutPredictions(first.rows, loss, probs=average("probs"))
    quantiles = mixed_table([part.quantiles for part in parts], weights)
    mean, pit = average("mean"), average("pit")
    zero = None if first.zero is None else average("zero")
    return HeldOutPredictions(first.rows, loss, None, mean, quantiles, pit, zero)


def concatenated(parts: Sequence[HeldOutPredictions]) -> HeldOutPredictions:
    """The predictions of all folds together, in the order of the rows."""
    order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")

    def join(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else np.concatenate(arrays)[order]

    return HeldOutPredictions(*(join(name) for name in HeldOutPredictions._fields))
