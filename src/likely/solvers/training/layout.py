"""How rows and parameters are sharded over several devices.

Data parallel: every device holds the data and the parameters, computes on its share
of each batch, and the gradients are added up (by XLA, from the annotations here).
Parameter sharded: each large parameter, and the solver's moving averages of it, is
sharded over the devices as well and gathered where it is used.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, PyTree

from likely.core.rows import pad
from likely.typing import Batch

MIN_SHARDED_SIZE = 2**12
"""Entries from which a parameter is worth sharding."""


@dataclass(frozen=True)
class Layout:
    """Rows sharded over the first axis of a mesh; parameters copied, or sharded too.

    Args:
        mesh: the devices.
        cut: whether large parameters are sharded as well.
    """

    mesh: Mesh
    cut: bool = False

    @classmethod
    def of(cls, mesh: Mesh | None, cut: bool) -> "Layout | None":
        """The layout of a mesh whose axes XLA handles automatically; None without one."""
        if mesh is None:
            return None
        automatic = (AxisType.Auto,) * len(mesh.axis_names)
        return cls(Mesh(mesh.devices, mesh.axis_names, axis_types=automatic), cut)

    @property
    def count(self) -> int:
        """The number of devices along the axis of the rows."""
        return self.mesh.shape[self.mesh.axis_names[0]]

    def sharding(self, *spec: Any) -> NamedSharding:
        """A sharding on this mesh."""
        return NamedSharding(self.mesh, PartitionSpec(*spec))

    # Inside the program ---------------------------------------------------------------

    def pad_indices(self, rows: Int[Array, " r"], n: int) -> Int[Array, " r_"]:
        """The rows of a batch, padded with missing ones (n) to shares of one size."""
        extra = -len(rows) % self.count
        return jnp.concatenate([rows, jnp.full(extra, n, rows.dtype)])

    def shard_rows(self, batch: Batch) -> Batch:
        """A batch, each device with its share of the rows."""
        by_rows = self.sharding(self.mesh.axis_names[0])
        return jax.tree.map(
            lambda a: jax.lax.with_sharding_constraint(a, by_rows), batch
        )

    def shard_run(self, run: Any) -> Any:
        """A run whose parameters stay sharded as they are."""
        return jax.tree.map(
            lambda a: jax.lax.with_sharding_constraint(a, self._sharding_of(a)), run
        )

    # Before and after -----------------------------------------------------------------

    def pad_rows(self, data: Batch) -> Batch:
        """All the rows as one batch, padded to shares of one size, with the same loss."""
        n = len(data.w)
        size = n + -n % self.count
        if size == n:
            return data
        full = pad(Batch(data.x, data.y, np.asarray(data.w)), size)
        return full._replace(w=(full.w * (size / n)).astype(np.asarray(data.w).dtype))

    def to_devices(self, tree: PyTree) -> PyTree:
        """NumPy arrays, sharded over the devices."""
        return jax.tree.map(lambda a: put(a, self._sharding_of(a)), tree)

    def replicate(self, tree: PyTree) -> PyTree:
        """Arrays, copied to every device (keys too)."""
        return jax.tree.map(lambda a: put(a, self.sharding()), tree)

    def gather(self, tree: PyTree) -> PyTree:
        """Complete NumPy arrays, in every process."""
        arrays, treedef = jax.tree.flatten(tree)
        if not all(map(_readable, arrays)):
            arrays = _gathering(self.sharding())(arrays)
        return treedef.unflatten([np.asarray(a) for a in arrays])

    def _sharding_of(self, a: Any) -> NamedSharding:
        """Along the longest axis that the number of devices divides, or a copy."""
        shape = np.shape(a)
        if self.cut and np.prod(shape, dtype=int) >= MIN_SHARDED_SIZE:
            for axis in np.argsort([-s for s in shape], kind="stable"):
                if shape[axis] % self.count == 0:
                    spec = [None] * len(shape)
                    spec[axis] = self.mesh.axis_names[0]
                    return self.sharding(*spec)
        return self.sharding()


def put(a: Any, sharding: NamedSharding) -> jax.Array:
    """A sharded array from one that every process holds; each takes its part."""
    if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
        numbers = put(jax.random.key_data(a), sharding)
        return jax.random.wrap_key_data(numbers, impl=jax.random.key_impl(a))
    a = np.asarray(a)
    a = a.astype(jax.dtypes.canonicalize_dtype(a.dtype))
    return jax.make_array_from_callback(a.shape, sharding, lambda part: a[part])


def _readable(a: jax.Array) -> bool:
    """Whether this process holds all of an array."""
    return a.is_fully_addressable or a.is_fully_replicated


@functools.cache
def _gathering(copied: NamedSharding) -> Callable[[list], list]:
    """A program that gathers arrays, compiled once for each set of shapes."""
    return jax.jit(lambda arrays: arrays, out_shardings=copied)
