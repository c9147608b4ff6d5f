"""Class labels: to codes and back, their weights, and distributions over them."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from likely.core.checks import InputError
from likely.families import AbstractFamily, Bernoulli, Categorical, Predictive

MIN_PROBABILITY = 1e-300
"""A class that was never seen somewhere is almost, not quite, impossible there."""


def encode_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels, sorted, and the code of each row's (as float64)."""
    y = _uniform(y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.dtype.kind == "f":
        classes = classes + 0.0  # −0.0 is 0.0
    if len(classes) < 2:
        raise InputError(
            f"y has one class only ({classes[:1].tolist()[0]!r}); "
            "a classifier needs rows of at least two classes."
        )
    return classes, codes.reshape(np.shape(y)).astype(np.float64)


def _uniform(y: Any) -> Any:
    """Labels of one type: objects that are all numbers as numbers; a mixture is refused."""
    found = np.asarray(y)
    if found.dtype != object:
        return y
    kinds = {type(label) for label in found.flat}
    if all(issubclass(kind, str | np.str_) for kind in kinds):
        return y
    for row, label in enumerate(found.flat):
        if label is None or (isinstance(label, Real) and label != label):
            raise InputError(
                f"y has no label in row {row}; remove the row, or give it weight 0."
            )
    if all(issubclass(kind, Real | np.bool) for kind in kinds):
        return np.array(found.tolist())
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise InputError(
        f"y holds labels of several types ({names}); make all of them text, or numbers."
    )


def missing_labels(y: Any) -> np.ndarray:
    """(n,) booleans: the rows without a label, which hold −1, None or NaN.

    In an array of texts −1 is the text "-1", as NumPy makes it of `["a", -1]`.
    """
    found = np.asarray(y)
    if found.dtype == object:
        return np.array([_is_missing(label) for label in found.ravel()], bool)
    if found.dtype.kind in "US":
        return found == np.array("-1", found.dtype)
    if found.dtype.kind not in "iuf":
        return np.zeros(found.shape, bool)
    if np.isinf(found).any():
        row = int(np.argmax(np.isinf(found)))
        raise InputError(
            f"Input y contains infinity, in row {row}; give a class, or -1 for a row without a "
            "label."
        )
    return (found == -1) | np.isnan(found)


def _is_missing(label: Any) -> bool:
    if label is None or type(label).__name__ == "NAType":  # pandas
        return True
    if isinstance(label, Real) and not isinstance(label, bool | np.bool):
        return bool(label == -1 or label != label)
    return isinstance(label, str) and label == "-1"


def codes_of(y: Any, classes: np.ndarray, name: str = "y_val") -> np.ndarray:
    """The codes of other rows' labels; labels that the fit did not have are refused.

    Args:
        y: labels, of any shape.
        classes: those of the fit, sorted.
        name: what the error calls y.
    """
    y = np.asarray(y)
    unknown = sorted(set(np.unique(y).tolist()) - set(classes.tolist()))
    if unknown:
        raise InputError(
            f"{name} has the class {unknown[0]!r}, which is not among the classes of "
            f"the fit ({classes.tolist()}); leave such rows out."
        )
    return np.searchsorted(classes, y).astype(np.float64)


def class_family(n_classes: int) -> AbstractFamily:
    """Bernoulli for two classes, categorical for more."""
    return Bernoulli() if n_classes == 2 else Categorical(n_classes)


def class_distribution(log_odds: np.ndarray, classes: np.ndarray) -> Predictive:
    """The distribution over classes from (n, c) log-probabilities, up to a constant."""
    if len(classes) == 2:
        log_odds = log_odds[:, 1:] - log_odds[:, :1]
    return Predictive(class_family(len(classes)), log_odds, classes)


def frequency_distribution(probs: np.ndarray, classes: np.ndarray) -> Predictive:
    """The distribution over classes from (n, c) frequencies; none is quite impossible."""
    return class_distribution(np.log(np.maximum(probs, MIN_PROBABILITY)), classes)


def smallest_set(probs: np.ndarray, coverage: float) -> np.ndarray:
    """(..., c) booleans: the fewest classes that hold this much probability."""
    order = np.argsort(-probs, axis=-1, kind="stable")
    ranked = np.take_along_axis(probs, order, axis=-1)
    before = np.cumsum(ranked, axis=-1) - ranked
    chosen = np.zeros_like(probs, dtype=bool)
    np.put_along_axis(chosen, order, before < coverage, axis=-1)
    return chosen


def class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, w: np.ndarray
) -> np.ndarray:
    """Row weights times the weight of their class.

    Args:
        class_weight: None, "balanced" (every class has the same total) or a dict.
        classes: the labels.
        codes: class of each row.
        w: row weights.
    """
    if class_weight is None:
        return w
    codes, labels = codes.astype(int), classes.tolist()
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, w, minlength=len(labels))
        factors = w.sum() / (len(labels) * np.where(totals > 0, totals, 1.0))
    elif isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in labels]
        if unknown:
            raise InputError(
                f"class_weight has the class {unknown[0]!r}, but y has {labels}."
            )
        factors = np.array([float(class_weight.get(c, 1.0)) for c in labels])
    else:
        raise InputError(
            f'class_weight is {class_weight!r}; give None, "balanced" or a dict of '
            "classes and weights."
        )
    return w * factors[codes]
