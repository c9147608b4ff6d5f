r"""The strength of a penalty by cross-validation: all strengths and folds in one program.

The grid is geometric, in units of what the penalty competes with: for a ridge the mean
square of the columns, for a lasso the smallest α that makes every coefficient zero. The
strength with the fewest held-out nats wins.
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from likely.core.checks import InputError
from likely.estimators.linear import held_out, places
from likely.typing import Batch, Key

STRENGTHS = 40


def choose_alpha(
    estimator: Any, key: Key, hyper: dict, batch: Batch
) -> tuple[float, np.ndarray, np.ndarray]:
    """The best α, the grid, and its (m, folds) held-out nats."""
    grid = _grid(estimator, batch)
    cv = 5 if estimator.cv is None else estimator.cv
    train = held_out.training_weights(cv, batch, is_classifier(estimator))
    hypers = {name: np.full(len(grid), value) for name, value in hyper.items()}
    hypers["alpha"] = grid
    learner = estimator.learner_
    _, nll = places.fits(estimator, learner, key, hypers, batch, train=train)
    return float(grid[np.argmin(nll.mean(1))]), grid, nll


def _grid(estimator: Any, batch: Batch) -> np.ndarray:
    """Strengths to try, from strong to weak."""
    if estimator.alphas is not None:
        grid = np.asarray(estimator.alphas, float).ravel()
        if not (len(grid) and np.isfinite(grid).all() and (grid >= 0).all()):
            raise InputError("alphas has to hold finite numbers of at least 0.")
        return np.sort(grid)[::-1]
    here = batch.w > 0
    X = (batch.x[0] if isinstance(batch.x, tuple) else batch.x)[here]
    return estimator._strengths(X, batch.y[here], batch.w[here])


def ridge_strengths(X: np.ndarray, w: np.ndarray, per_weight: bool) -> np.ndarray:
    """From 1e4 down to 1e-6 of the mean square of a column (summed over rows, or not)."""
    centred = X - w @ X / w.sum()
    unit = float((w @ centred**2).mean())
    unit = unit / w.sum() if per_weight else unit
    return (unit or 1.0) * np.geomspace(1e4, 1e-6, STRENGTHS)


def lasso_strengths(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, l1_ratio: float
) -> np.ndarray:
    """From the smallest α that makes all coefficients zero down to a thousandth of it."""
    n = w.sum()
    y = y.reshape(len(y), -1)
    correlation = ((X - w @ X / n) * w[:, None]).T @ (y - w @ y / n) / n
    top = float(np.abs(correlation).max()) / max(l1_ratio, 1e-3)
    return (top or 1.0) * np.geomspace(1.0, 1e-3, STRENGTHS)
