"""The interpolation threshold: the smallest capacity that fits the training rows exactly."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from likely.base.rows import weights_of
from likely.core.checks import check_choice
from likely.core.random import seed_of
from likely.core.threads import one_thread
from likely.core.written_numbers import counted, number
from likely.diagnostics.generalization.capacity.families import (
    CAPACITIES,
    Capacity,
    capacity_of,
)
from likely.diagnostics.generalization.capacity.features import FEATURES
from likely.diagnostics.generalization.capacity.least_norm import least_norm
from likely.diagnostics.generalization.capacity.least_norm_curve import (
    ZERO,
    given_sizes,
)
from likely.diagnostics.generalization.refits.loop import seeded
from likely.diagnostics.generalization.risk.losses import row_losses
from likely.diagnostics.result import Result
from likely.selection.members import fitted


@dataclass(frozen=True, repr=False, eq=False)
class InterpolationThreshold(Result):
    """The smallest capacity with zero training error.

    Attributes:
        model: what was fitted.
        axis: what its capacity is called.
        rows: training rows.
        threshold: the smallest capacity, or None where none of those tried suffices.
        setting: the value of the parameter there, or None.
        tried: training errors by capacity, of those that were fitted.
        tolerance: the error that counts as zero.
        loss: the name of the loss.
    """

    model: str
    axis: str
    rows: int
    threshold: float | None
    setting: str | None
    tried: Mapping[float, float]
    tolerance: float
    loss: str

    @property
    def verdict(self) -> str:
        """Where the training error becomes zero."""
        rows = counted(self.rows, "training row")
        if self.threshold is None:
            lowest = min(self.tried.values())
            return (
                f"No capacity up to {self.axis} = {number(max(self.tried), 4)} fits {rows} "
                f"exactly: the training error stays at {number(lowest)}."
            )
        at = self.setting or number(self.threshold, 4)
        return f"From {self.axis} = {at} on {self.model} fits {rows} exactly."

    def table(self) -> Mapping[str, Any]:
        """A row for each capacity that was fitted."""
        order = sorted(self.tried)
        return {self.axis: order, "training error": [self.tried[k] for k in order]}

    def plot(self) -> Any:
        """The training error by capacity."""
        from likely import plots

        return plots.interpolation(self)


def interpolation_threshold(
    model: Any,
    X: Any,
    y: Any,
    *,
    sizes: Any = None,
    parameter: str | None = None,
    sample_weight: Any = None,
    tolerance: float | None = None,
    random_state: Any = 0,
) -> InterpolationThreshold:
    """Find the smallest capacity with zero training error on these rows, by bisection.

    It is assumed that the training error does not rise with the capacity.

    Args:
        model: "random features", "polynomial" or "columns", fitted by least norm; "network",
            "forest", or an estimator, with the parameter that is its capacity.
        X: (n, d) inputs.
        y: (n,) targets.
        sizes: the capacities, rising; of features by default 1 ... 4n.
        parameter: the parameter of an estimator.
        sample_weight: rows of weight 0 are left out.
        tolerance: the share of the variance of y (for classes, of rows) below which a training
            error counts as zero; by default 1e-8, for networks 0.01.
        random_state: the seed.
    """
    w = weights_of(sample_weight, len(np.asarray(y)))
    here = np.flatnonzero(w > 0)
    X, y = np.asarray(X)[here], np.asarray(y)[here]
    seed = seed_of(random_state) % 2**31
    if isinstance(model, str) and model in FEATURES:
        return _of_features(model, X, y, sizes, tolerance=tolerance, seed=seed)
    if isinstance(model, str):
        check_choice("model", model, (*FEATURES, *CAPACITIES))
        capacity = CAPACITIES[model](sizes)
    else:
        capacity = capacity_of(model, parameter, sizes)
    return _of_models(capacity, X, y, tolerance, seed)


def _of_features(
    model: str, X: np.ndarray, y: np.ndarray, sizes: Any, *, tolerance: Any, seed: int
) -> InterpolationThreshold:
    most = X.shape[1] if model == "columns" else 4 * len(y)
    p = np.arange(1, most + 1) if sizes is None else given_sizes(sizes)
    rng = np.random.default_rng(seed)
    A = FEATURES[model](np.asarray(X, np.float64), int(p[-1]), rng)
    y = np.asarray(y, np.float64)

    def error(k: int) -> float:
        with one_thread():
            left = A[:, : p[k]] @ least_norm(A[:, : p[k]], y) - y
        return float(np.mean(left**2))

    zero = (ZERO if tolerance is None else tolerance) * _size(y)
    at, tried = _bisect(error, len(p), zero)
    found = None if at is None else float(p[at])
    by_size = {float(p[k]): e for k, e in tried.items()}
    name = f"least norm on {model}"
    return InterpolationThreshold(
        name, "p", len(y), found, None, by_size, zero, "squared"
    )


def _of_models(
    capacity: Capacity, X: np.ndarray, y: np.ndarray, tolerance: Any, seed: int
) -> InterpolationThreshold:
    classes = np.unique(y) if is_classifier(capacity.models[0]) else None
    loss = "squared" if classes is None else "zero-one"

    def error(k: int) -> float:
        model = fitted(seeded(capacity.models[k], seed), X, y, None)
        return float(np.mean(row_losses(model, X, y, loss, classes)))

    scale = 1.0 if classes is not None else _size(y)
    zero = (capacity.tolerance if tolerance is None else tolerance) * scale
    at, tried = _bisect(error, len(capacity.models), zero)
    sizes, labels = capacity.sizes, capacity.labels
    return InterpolationThreshold(
        capacity.name, capacity.axis, len(y),
        None if at is None else float(sizes[at]),
        labels[at] if labels and at is not None else None,
        {float(sizes[k]): e for k, e in tried.items()}, zero, loss,
    )  # fmt: skip


def _size(y: np.ndarray) -> float:
    """The variance of y, or its mean square where it is constant."""
    return float(np.var(y) or np.mean(y**2))


def _bisect(
    error: Callable[[int], float], count: int, zero: float
) -> tuple[int | None, dict[int, float]]:
    """The first position whose error is zero, and all errors that were computed."""
    tried = {count - 1: error(count - 1)}
    if tried[count - 1] > zero:
        return None, tried
    low, high = -1, count - 1  # the error at `high` is zero, at `low` it is not
    while high - low > 1:
        middle = (low + high) // 2
        tried[middle] = error(middle)
        low, high = (low, middle) if tried[middle] <= zero else (middle, high)
    return high, tried
