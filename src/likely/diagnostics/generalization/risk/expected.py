r"""The expected risk of a fitted predictor, beside its empirical and its held-out risk.

The expected risk is $R(f) = E\,l(y, f(x))$ over new rows of the generator; the empirical risk is
the mean loss on the rows that f was fitted to; the generalisation gap is their difference. Where
the generator says what y is given x, the mean over y is taken exactly and only x is drawn:
$(f(x) - μ(x))^2 + σ^2(x)$ for the squared loss, $-\sum_c p_c(x) \log f_c(x)$ and
$1 - p_{f(x)}(x)$ for classes. The noise, the risk of the best possible f, then is known too.
"""

from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import is_classifier

from likely.base.rows import weights_of
from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.data.dataset import Dataset
from likely.diagnostics.generalization.refits.truth import Generator, draw, truth_at
from likely.diagnostics.generalization.risk.losses import Loss, loss_name, row_losses
from likely.diagnostics.generalization.risk.result import Risks
from likely.diagnostics.generalization.wording import mean_of
from likely.evaluate.scores import Score
from likely.selection.members import distribution_of

CHUNK_ROWS = 20_000
"""Rows that are drawn at a time."""


def expected_risk(
    predictor: Any,
    generator: Generator,
    *,
    train: Any = None,
    held_out: Any = None,
    loss: Loss = "auto",
    n: int = 100_000,
    random_state: Any = 0,
) -> Risks:
    """The mean loss of a fitted predictor on new rows, by Monte Carlo.

    Args:
        predictor: any fitted predictor of `likely` or scikit-learn.
        generator: called as `generator(n, random_state=rng)`; returns a `data.Dataset` or (X, y).
        train: the rows it was fitted to: (X, y), (X, y, sample_weight) or a `Dataset`.
        held_out: other rows, in the same forms.
        loss: "squared", "log", "zero-one", or a function of y and the predictions that returns
            the loss of each row; "auto" is the log loss for classes (0/1 where there are no
            probabilities) and the squared loss for numbers.
        n: rows to draw; the error falls as one over the square root.
        random_state: the seed.
    """
    name, classes = _loss_and_classes(predictor, loss)
    n = at_least("n", n, 2, whole=True)
    rng = np.random.default_rng(seed_of(random_state))
    losses, noise = [], []
    for start in range(0, n, CHUNK_ROWS):
        drawn = draw(generator, min(CHUNK_ROWS, n - start), rng)
        found, lowest = _expected_losses(predictor, drawn, loss, name, classes)
        losses.append(found)
        noise.append(lowest)
    each = np.concatenate(losses)
    best = excess = None
    if noise[0] is not None:
        lowest = np.concatenate(noise)
        best, excess = mean_of(lowest), mean_of(each - lowest)
    seen, other = (
        _measured(predictor, rows, loss, name, classes) for rows in (train, held_out)
    )
    return Risks(name, mean_of(each), seen, other, best, excess, n)


def generalization_gap(
    predictor: Any, train: Any, new: Any, *, loss: Loss = "auto", random_state: Any = 0
) -> Risks:
    """How much larger the loss on new rows is than on the training rows.

    Args:
        predictor: any fitted predictor of `likely` or scikit-learn.
        train: the rows it was fitted to: (X, y), (X, y, sample_weight) or a `Dataset`.
        new: rows that it was not fitted to, in the same forms, or a generator.
        loss: as in `expected_risk`.
        random_state: the seed, for a generator.
    """
    if callable(new):
        options: dict[str, Any] = {"loss": loss, "random_state": random_state}
        return expected_risk(predictor, new, train=train, **options)
    name, classes = _loss_and_classes(predictor, loss)
    seen, other = (
        _measured(predictor, rows, loss, name, classes) for rows in (train, new)
    )
    return Risks(name, None, seen, other, None, None, 0)


def _loss_and_classes(predictor: Any, loss: Loss) -> tuple[str, np.ndarray | None]:
    classes = getattr(predictor, "classes_", None) if is_classifier(predictor) else None
    if callable(loss):
        return getattr(loss, "__name__", "loss").strip("<>"), classes
    return loss_name(loss, predictor), classes


def _measured(
    predictor: Any, rows: Any, loss: Loss, name: str, classes: np.ndarray | None
) -> Score | None:
    """The mean loss on given rows."""
    if rows is None:
        return None
    X, y, w = _table(rows)
    here = w > 0
    used = loss if callable(loss) else name
    return mean_of(row_losses(predictor, X, y, used, classes)[here], w[here])


def _table(rows: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    if isinstance(rows, Dataset):
        rows = (rows.X, rows.y)
    if not isinstance(rows, tuple | list) or len(rows) not in (2, 3):
        raise InputError(
            f"rows are given as {type(rows).__name__}; give (X, y), (X, y, sample_weight) or "
            "a Dataset."
        )
    X, y = rows[0], np.asarray(rows[1])
    return X, y, weights_of(rows[2] if len(rows) == 3 else None, len(y))


def _expected_losses(
    predictor: Any, drawn: Dataset, loss: Loss, name: str, classes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """The loss at each drawn x, in the mean over y where that is known, and the noise."""
    truth = truth_at(drawn.truth, drawn.X)
    if not callable(loss):
        if truth.probs is not None and classes is not None:
            return _class_losses(predictor, drawn, truth.probs, name, classes)
        if name == "squared" and truth.mean is not None and truth.variance is not None:
            predicted = np.asarray(predictor.predict(drawn.X), np.float64)
            squared = (predicted - truth.mean) ** 2 + truth.variance
            return squared, truth.variance
    used = loss if callable(loss) else name
    return row_losses(predictor, drawn.X, drawn.y, used, classes), None


def _class_losses(
    predictor: Any, drawn: Dataset, probs: np.ndarray, name: str, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    if probs.shape[1] != len(classes):
        raise InputError(
            f"the generator has {probs.shape[1]} classes and the predictor {len(classes)}; "
            "fit it to rows of all classes."
        )
    if name == "log":
        logs = np.log(distribution_of(predictor, drawn.X, classes).probs)
        return -_expected_log(probs, logs), -xlogy(probs, probs).sum(1)
    codes = np.searchsorted(classes, predictor.predict(drawn.X))
    return 1 - probs[np.arange(len(codes)), codes], 1 - probs.max(1)


def _expected_log(probs: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Σ p log q over classes, where p = 0 counts nothing."""
    return np.where(probs > 0, probs * np.where(probs > 0, logs, 0.0), 0.0).sum(1)
