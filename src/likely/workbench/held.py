r"""What a model says about rows it did not see: enough to judge it, and to mix it.

For classes the probabilities; for numbers the mean, quantiles at a few levels, and
F(y): so mixtures are judged without keeping every model.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from likely.files.atomic import replace
from likely.workbench.quantiles import mixed_table, quantile_table

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
    pit = np.asarray(dist.cdf(y), np.float64)
    if kind == "count":
        below = np.where(y > 0, dist.cdf(np.maximum(y - 1, 0)), 0.0)
        pit = 0.5 * (pit + below)
    mean = np.asarray(dist.mean, float)
    return Held(rows, loss, None, mean, quantile_table(dist), pit)


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
    quantiles = mixed_table([p.quantiles for p in parts], weights)
    return Held(first.rows, loss, None, mean, quantiles, pit)


def joined(parts: Sequence[Held]) -> Held:
    """The folds together, in the order of the rows."""
    order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")

    def join(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else np.concatenate(arrays)[order]

    return Held(*(join(name) for name in Held._fields))
