r"""What a model says about rows it did not see: enough to judge it, and to mix it.

For classes the probabilities; for numbers the mean, quantiles at a few levels, and
F(y). Between the levels a distribution function is taken to be straight, which is how
held-out mixtures are judged without keeping every model.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from likely.files.atomic import replace

LEVELS = np.array(
    [
        0.005,
        0.025,
        0.05,
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        0.95,
        0.975,
        0.995,
    ]
)
MIDDLE = int(np.argmin(np.abs(LEVELS - 0.5)))
FLOOR = 1e-12


class Held(NamedTuple):
    """The rows that one fold holds out, under one model that was fitted to the others."""

    rows: Int[np.ndarray, " m"]
    loss: Float[np.ndarray, " m"]
    """−log p(y | x), in nats."""
    probs: Any = None
    """(m, c), of classes; None for numbers."""
    mean: Any = None
    """(m,) of numbers; None for classes, as are the next two."""
    quantiles: Any = None
    """(m, l) at `LEVELS`."""
    pit: Any = None
    """(m,) F(y), in the middle of the step where y is a count."""

    def save(self, path: Path) -> None:
        """Write whole or not at all."""
        buffer = io.BytesIO()
        np.savez(buffer, **{k: v for k, v in self._asdict().items() if v is not None})
        replace(path, lambda file: file.write(buffer.getvalue()), lambda _: True)

    @classmethod
    def load(cls, path: Path) -> "Held":
        """What `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**dict(arrays))


def describe(dist: Any, y: Any, rows: Any, kind: str) -> Held:
    """What a distribution says about rows, and about what happened there.

    Args:
        dist: what `predict_dist` returned for these rows.
        y: numbers, or codes of classes.
        rows: which rows these are.
        kind: of the target.
    """
    if kind in ("binary", "classes"):
        probs = np.asarray(dist.probs, np.float64)
        own = probs[np.arange(len(probs)), y.astype(int)]
        return Held(rows, -np.log(np.maximum(own, FLOOR)), probs=probs)
    loss = np.minimum(-np.asarray(dist.log_prob(y)), -2 * np.log(FLOOR))
    quantiles = np.stack([np.asarray(dist.quantile(q), float) for q in LEVELS], axis=1)
    pit = np.asarray(dist.cdf(y), np.float64)
    if kind == "count":
        below = np.where(y > 0, dist.cdf(np.maximum(y - 1, 0)), 0.0)
        pit = 0.5 * (pit + below)
    return Held(rows, loss, None, np.asarray(dist.mean, float), quantiles, pit)


def mixed(parts: Sequence[Held], weights: Float[np.ndarray, " m"]) -> Held:
    """The mixture of what several models say about the same rows."""
    first = parts[0]
    if first.probs is not None:
        probs = np.tensordot(weights, np.stack([p.probs for p in parts]), axes=1)
        logs = np.stack([-part.loss for part in parts])
        loss = -np.asarray(logsumexp(logs, axis=0, b=weights[:, None]))
        return Held(first.rows, loss, probs=probs)
    logs = np.stack([-part.loss for part in parts])
    loss = -np.asarray(logsumexp(logs, axis=0, b=weights[:, None]))
    mean = np.tensordot(weights, np.stack([p.mean for p in parts]), axes=1)
    pit = np.tensordot(weights, np.stack([p.pit for p in parts]), axes=1)
    return Held(first.rows, loss, None, mean, _mixed_quantiles(parts, weights), pit)


def _mixed_quantiles(parts: Sequence[Held], weights: np.ndarray) -> np.ndarray:
    """Where the weighted mean of straight-lined distribution functions is each level."""
    tables = np.stack([part.quantiles for part in parts])  # (parts, rows, levels)
    low, high = tables.min(0), tables.max(0)
    for _ in range(40):
        middle = 0.5 * (low + high)
        reached = np.zeros_like(middle)
        for table, weight in zip(tables, weights, strict=True):
            if weight > 0:
                reached += weight * _cdf(table, middle)
        enough = reached >= LEVELS[None]
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _cdf(table: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The straight-lined distribution function of each row at some points."""
    place = (table[:, None, :] <= y[:, :, None]).sum(2)  # (rows, points)
    left, right = np.maximum(place - 1, 0), np.minimum(place, len(LEVELS) - 1)
    rows = np.arange(len(table))[:, None]
    a, b = table[rows, left], table[rows, right]
    share = np.where(b > a, (y - a) / np.where(b > a, b - a, 1.0), 1.0)
    inside = LEVELS[left] + np.clip(share, 0, 1) * (LEVELS[right] - LEVELS[left])
    return np.where(place == 0, 0.0, np.where(place == len(LEVELS), 1.0, inside))


def joined(parts: Sequence[Held]) -> Held:
    """The folds together, in the order of the rows."""
    order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")

    def join(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else np.concatenate(arrays)[order]

    return Held(*(join(name) for name in Held._fields))
