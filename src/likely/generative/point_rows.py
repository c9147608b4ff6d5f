"""Rows of a fit as points to which noise can be added, or which a network can make."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.table_rows import codes_of, learn_codes
from likely.core.checks import InputError
from likely.generative.pixels import PixelCode, image_rows, is_images, whole_images
from likely.generative.point_cells import ImageCells, TableCells


class LearnedRows(NamedTuple):
    """The rows of a fit that count."""

    codes: np.ndarray
    """(n, ...) without a missing cell."""
    w: np.ndarray
    present: np.ndarray
    """(N,) booleans: which of the rows that were given these are."""


def learn_rows(estimator: Any, X: Any, sample_weight: Any) -> LearnedRows:
    """The codes of the rows of a fit; the estimator gets its `codec_` and `cells_`.

    Args:
        estimator: with the settings `image_shape`, `levels` and `kinds`.
        X: images, or the rows of a table.
        sample_weight: how often each row counts.
    """
    if is_images(X, estimator.image_shape):
        estimator.codec_ = None
        w, present = image_rows(sample_weight, len(X))
        X = np.asarray(X)[present]
        pixels = PixelCode.learn(X, estimator.image_shape, estimator.levels)
        codes = whole_images(pixels.encode(X))
        estimator.cells_ = ImageCells.learn(pixels, codes)
        estimator.n_features_in_ = pixels.size
        return LearnedRows(codes, w, present)
    kinds = {  # counts in units of their spread, as all numbers
        name: "whole" if kind == "count" else kind
        for name, kind in dict(estimator.kinds or {}).items()
    }
    rows = learn_codes(estimator, X, sample_weight, kinds=kinds, counts=False)
    estimator.cells_ = TableCells(estimator.codec_)
    return LearnedRows(_complete(estimator, rows.V), rows.w, rows.present)


def row_codes(estimator: Any, X: Any) -> np.ndarray:
    """(n, ...) the codes of other rows."""
    check_is_fitted(estimator, "cells_")
    if isinstance(estimator.cells_, ImageCells):
        return whole_images(estimator.cells_.pixels.encode(X))
    return _complete(estimator, codes_of(estimator, X))


def decoded_rows(estimator: Any, x: np.ndarray) -> Any:
    """Points as rows in the container that the model was fitted to."""
    codes = estimator.cells_.codes(x)
    if isinstance(estimator.cells_, ImageCells):
        return estimator.cells_.pixels.decode(codes)
    return estimator.codec_.decode(codes)


def _complete(estimator: Any, V: np.ndarray) -> np.ndarray:
    """Codes without a missing cell."""
    if np.isnan(V).any():
        row, j = np.argwhere(np.isnan(V))[0]
        raise InputError(
            f"column {estimator.codec_.names[j]!r} is missing (NaN) in row {row}; "
            f"{type(estimator).__name__} needs complete rows: impute it first, or use "
            "AutoregressiveDensity."
        )
    return V
