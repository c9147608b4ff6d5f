"""Boxes as arrays, checked: of JAX where they came as such, else of NumPy."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError, check_finite


def namespace(*arrays: Any) -> ModuleType:
    """`jax.numpy` if any of the arrays is of JAX (also inside `jax.jit`), else `numpy`."""
    return jnp if any(isinstance(a, jax.Array) for a in arrays) else np


def as_boxes(boxes: Any, name: str = "boxes") -> Any:
    """An array (..., 4) of numbers; without any boxes, (0, 4).

    NumPy arrays become float64 and must be finite; of JAX arrays only the shape is checked,
    because their values are not known while a program is traced.

    Args:
        boxes: an array or lists of four numbers.
        name: what the array is called in a message.
    """
    if isinstance(boxes, jax.Array):
        array = boxes
    else:
        array = np.asarray(boxes)
        array = array.reshape(0, 4) if array.shape == (0,) else array
        if array.dtype.kind not in "biuf":
            raise InputError(f"{name} contains {array.dtype} values; give numbers.")
        array = array.astype(np.float64)
    if array.ndim < 1 or array.shape[-1] != 4:
        raise InputError(
            f"{name} has shape {array.shape}; give four numbers for each box, shape (n, 4)."
        )
    if isinstance(array, np.ndarray):
        check_finite(name, array.reshape(-1, 4))
    return array


def as_corners(boxes: Any, name: str = "boxes") -> Any:
    """Boxes (..., 4) as corners (x1, y1, x2, y2), refused if a corner is on the wrong side.

    Args:
        boxes: as in `as_boxes`.
        name: what the array is called in a message.
    """
    array = as_boxes(boxes, name)
    if isinstance(array, np.ndarray):
        rows = array.reshape(-1, 4)
        bad = np.flatnonzero((rows[:, 2] < rows[:, 0]) | (rows[:, 3] < rows[:, 1]))
        if bad.size:
            raise InputError(
                f"{name} has a box of negative size in row {bad[0]}: {rows[bad[0]].tolist()}; "
                "give corners (x1, y1, x2, y2) with x1 <= x2 and y1 <= y2, or convert() "
                "from 'xywh' or 'cxcywh' first."
            )
    return array


def as_table(boxes: Any, name: str = "boxes") -> np.ndarray:
    """NumPy corners (n, 4), in rows that are contiguous in memory."""
    table = as_corners(np.asarray(boxes), name)
    if table.ndim != 2:
        raise InputError(f"{name} has shape {table.shape}; give (n, 4).")
    return np.ascontiguousarray(table)


def one_each(values: Any, n: int, name: str) -> np.ndarray:
    """A NumPy array (n,), one entry for each box."""
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(
            f"{name} has shape {array.shape} but there are {n} boxes; "
            f"give one for each box, shape ({n},)."
        )
    return array


def scores_of(scores: Any, n: int) -> np.ndarray:
    """Scores (n,) as float64, all finite."""
    array = one_each(scores, n, "scores").astype(np.float64)
    check_finite("scores", array)
    return array
