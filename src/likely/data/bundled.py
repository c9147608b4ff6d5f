"""The small data sets that scikit-learn includes: nothing is downloaded."""

import dataclasses

import numpy as np

from likely.data.dataset import Dataset


def _bundled(name: str) -> Dataset:
    """One of scikit-learn's `load_*`, as a `Dataset`."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Dataset(
        X=np.asarray(bunch["data"], dtype=np.float64),
        y=np.asarray(bunch["target"]),
        names=tuple(map(str, bunch.get("feature_names", ()))),
        target_names=tuple(map(str, bunch.get("target_names", ()))),
        description=_prose(bunch["DESCR"]),
    )


def _prose(text: str) -> str:
    """scikit-learn's description without its cross-reference and underlining."""
    lines = [line for line in text.splitlines() if not line.startswith(".. _")]
    kept = [line for line in lines if not line or line.strip("-=")]
    return "\n".join(kept).strip()


def iris() -> Dataset:
    """150 flowers of three kinds, four lengths each (Fisher 1936).

    Examples:
        >>> lk.data.iris().X.shape
        (150, 4)
    """
    return _bundled("iris")


def wine() -> Dataset:
    """178 wines of three growers, 13 chemical measurements each.

    Examples:
        >>> lk.data.wine().X.shape
        (178, 13)
    """
    return _bundled("wine")


def breast_cancer() -> Dataset:
    """569 tumours, malignant or benign, 30 measurements each.

    Examples:
        >>> lk.data.breast_cancer().X.shape
        (569, 30)
    """
    return _bundled("breast_cancer")


def digits() -> Dataset:
    """1797 handwritten digits of 8 × 8 pixels, 0 to 16, as rows of 64.

    Examples:
        >>> lk.data.digits().X.shape
        (1797, 64)
    """
    names = tuple(f"pixel_{i}_{j}" for i in range(8) for j in range(8))
    return dataclasses.replace(_bundled("digits"), names=names)


def diabetes() -> Dataset:
    """442 patients, ten measurements, the progression of diabetes a year later.

    Examples:
        >>> lk.data.diabetes().X.shape
        (442, 10)
    """
    return dataclasses.replace(_bundled("diabetes"), target_names=("progression",))


def linnerud() -> Dataset:
    """20 men, three exercises, three measures of the body: y has three columns.

    Examples:
        >>> lk.data.linnerud().y.shape
        (20, 3)
    """
    return _bundled("linnerud")
