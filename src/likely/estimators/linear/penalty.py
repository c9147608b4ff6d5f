r"""The strength of a penalty by cross-validation: all strengths and folds in one program.

The grid is geometric, in units of what the penalty competes with: for a ridge the mean
square of the columns, for a lasso the smallest α that makes every coefficient zero. The
strength with the fewest held-out nats wins.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from likely.base.learning import Problem, held_out_fits
from likely.core.checks import InputError
from likely.evaluate.cross_validation import training_weights
from likely.evaluate.splits import k_fold, stratified_k_fold
from likely.typing import Batch, Key

N_STRENGTHS, N_WEAK_STRENGTHS = 40, 13
MIN_LOGIT_PRECISION = 0.04
"""1/variance of the change of the log-odds with one standard deviation of a column."""
MAX_FOLDS = 5


def choose_alpha(
    model: Any, key: Key, problem: Problem
) -> tuple[float, np.ndarray, np.ndarray]:
    """The best α, the grid, and its (m, folds) held-out nats."""
    batch, grid = problem.batch, _grid(model, problem)
    cv = _n_folds(model, batch) if model.cv is None else model.cv
    if cv == 1:
        return float(grid[-1]), grid, np.full((len(grid), 1), np.nan)
    classes = is_classifier(model)
    if isinstance(cv, Integral):
        cv = _shuffled(int(cv), batch, classes)
    train = training_weights(cv, batch.y, batch.w, classes=classes)
    hypers = {name: np.full(len(grid), value) for name, value in problem.hyper.items()}
    hypers["alpha"] = grid
    _, nll = held_out_fits(problem.present(), key, hypers, train[:, batch.w > 0])
    return float(grid[np.argmin(nll.mean(1))]), grid, nll


def _shuffled(k: int, batch: Batch, classes: bool) -> list[tuple]:
    """k folds of the present rows in an order that does not depend on theirs.

    Tables are often sorted: a fold of neighbours would hold all rows of a category, and
    no penalty would look strong enough.
    """
    if k < 2:
        raise InputError(f"cv is {k}; give at least 2 folds.")
    w = (batch.w > 0).astype(float)
    if classes:
        folds = stratified_k_fold(batch.y, k, sample_weight=w, random_state=0)
    else:
        folds = k_fold(len(w), k, sample_weight=w, random_state=0)
    pairs = zip(folds.train, folds.held_out, strict=True)
    return [(np.flatnonzero(train), np.flatnonzero(out)) for train, out in pairs]


def _n_folds(model: Any, batch: Batch) -> int:
    """As many as there are rows of the rarest class, if a penalty has to be found."""
    if model.alpha != "auto":
        return MAX_FOLDS
    return min(MAX_FOLDS, int(np.bincount(batch.y[batch.w > 0].astype(int)).min()))


def _grid(model: Any, problem: Problem) -> np.ndarray:
    """Strengths to try, from strong to weak."""
    if model.alphas is not None:
        grid = np.asarray(model.alphas, float).ravel()
        if not (len(grid) and np.isfinite(grid).all() and (grid >= 0).all()):
            raise InputError("alphas has to hold finite numbers of at least 0.")
        return np.sort(grid)[::-1]
    x, y, w = problem.batch
    present = w > 0
    X = (x[0] if isinstance(x, tuple) else x)[present]
    return model._strengths(X, y[present], w[present])


def weak_strengths(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Strengths of priors on log-odds, none weaker than what separated classes need.

    Under the weakest a standard deviation of a column changes the log-odds by about five,
    which no data but separated ones disagree with.
    """
    centred = X - w @ X / w.sum()
    unit = float((w @ centred**2).mean() / w.sum()) or 1.0
    return unit * np.geomspace(100 * w.sum(), MIN_LOGIT_PRECISION, N_WEAK_STRENGTHS)


def ridge_strengths(X: np.ndarray, w: np.ndarray, per_weight: bool) -> np.ndarray:
    """From 1e4 down to 1e-6 of the mean square of a column (summed over rows, or not)."""
    centred = X - w @ X / w.sum()
    unit = float((w @ centred**2).mean())
    unit = unit / w.sum() if per_weight else unit
    return (unit or 1.0) * np.geomspace(1e4, 1e-6, N_STRENGTHS)


def lasso_strengths(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, l1_ratio: float
) -> np.ndarray:
    """From the smallest α that makes all coefficients zero down to a thousandth of it."""
    n = w.sum()
    y = y.reshape(len(y), -1)
    correlation = ((X - w @ X / n) * w[:, None]).T @ (y - w @ y / n) / n
    top = float(np.abs(correlation).max()) / max(l1_ratio, 1e-3)
    return (top or 1.0) * np.geomspace(1.0, 1e-3, N_STRENGTHS)
