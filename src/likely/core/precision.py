"""Precision by scope: float64 where statistics are reported, float32 for networks.

`with float64():` makes every JAX operation inside it double precision and leaves
the rest of the process alone. Where an accelerator is the default device, a scope that
knows its work uses the CPU for small problems (`core.devices`). A JAX array that leaves the
scope can silently become float32 later, so results cross the boundary as NumPy arrays.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from likely.core.devices import placed
from likely.core.forks import check_not_forked
from likely.core.programs import forget_programs


@contextmanager
def float64(work: float | None = None) -> Iterator[None]:
    """The double-precision scope, for this thread only.

    Args:
        work: products of two numbers in a step; where it is small the scope is on the CPU
            (see `core.devices`). None leaves the device as it is.
    """
    check_not_forked()
    forget_programs()
    with nullcontext() if work is None else placed(work), jax.enable_x64(True):
        yield


def precision_of(tree: PyTree) -> AbstractContextManager:
    """The scope in which a tree keeps its precision: double if any leaf is double."""
    check_not_forked()
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    return jax.enable_x64(any(leaf.dtype == np.float64 for leaf in leaves))


def to_numpy(tree: PyTree) -> PyTree:
    """The same tree with NumPy arrays as leaves: safe to keep, pickle and share."""
    return jax.tree.map(lambda a: np.asarray(a) if eqx.is_array(a) else a, tree)


def number(value) -> np.ndarray:
    """A setting as a zero-dimensional array, so that a new value does not recompile."""
    return np.asarray(value, dtype=np.float64)
