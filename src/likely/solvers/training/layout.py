"""Where rows and parameters live when there are several devices.

Data parallel: every device holds the data and the parameters, computes on its share
of each batch, and the gradients are added up (by XLA, from the annotations here).
Parameter sharded: each large parameter, and what the solver remembers of it, is cut
over the devices as well and put together where it is used.
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

LARGE = 2**12
"""Entries from which a parameter is worth cutting."""


@dataclass(frozen=True)
class Layout:
    """Rows over the first axis of a mesh; parameters whole, or cut as well."""

    mesh: Mesh
    cut: bool = False

    @classmethod
    def of(cls, mesh: Mesh | None, cut: bool) -> "Layout | None":
        """The layout of a mesh, with axes that XLA may see through; or none."""
        if mesh is None:
            return None
        automatic = (AxisType.Auto,) * len(mesh.axis_names)
        return cls(Mesh(mesh.devices, mesh.axis_names, axis_types=automatic), cut)

    @property
    def count(self) -> int:
        """Devices along the axis of the rows."""
        return self.mesh.shape[self.mesh.axis_names[0]]

    def sharding(self, *spec: Any) -> NamedSharding:
        """A sharding on this mesh."""
        return NamedSharding(self.mesh, PartitionSpec(*spec))

    # Inside the program ---------------------------------------------------------------

    def indices(self, rows: Int[Array, " r"], n: int) -> Int[Array, " r_"]:
        """The rows of a batch, filled up with missing ones (n) to shares of one size."""
        extra = -len(rows) % self.count
        return jnp.concatenate([rows, jnp.full(extra, n, rows.dtype)])

    def rows(self, batch: Batch) -> Batch:
        """A batch, each device with its share of the rows."""
        spread = self.sharding(self.mesh.axis_names[0])
        return jax.tree.map(
            lambda a: jax.lax.with_sharding_constraint(a, spread), batch
        )

    def keep(self, run: Any) -> Any:
        """A run whose parameters stay where they are."""
        return jax.tree.map(
            lambda a: jax.lax.with_sharding_constraint(a, self._home(a)), run
        )

    # Before and after -----------------------------------------------------------------

    def filled(self, data: Batch) -> Batch:
        """All the rows as one batch, filled up to shares of one size; the same loss."""
        n = len(data.w)
        size = n + -n % self.count
        if size == n:
            return data
        full = pad(Batch(data.x, data.y, np.asarray(data.w)), size)
        return full._replace(w=(full.w * (size / n)).astype(np.asarray(data.w).dtype))

    def place(self, tree: PyTree) -> PyTree:
        """Arrays of the host where they belong."""
        return jax.tree.map(lambda a: put(a, self._home(a)), tree)

    def everywhere(self, tree: PyTree) -> PyTree:
        """Arrays, whole on every device (keys too)."""
        return jax.tree.map(lambda a: put(a, self.sharding()), tree)

    def gathered(self, tree: PyTree) -> PyTree:
        """Arrays of the host again, whole, in every process."""
        arrays, treedef = jax.tree.flatten(tree)
        if not all(map(_readable, arrays)):
            arrays = _joining(self.sharding())(arrays)
        return treedef.unflatten([np.asarray(a) for a in arrays])

    def _home(self, a: Any) -> NamedSharding:
        """Cut along the longest axis that the devices divide, or whole."""
        shape = np.shape(a)
        if self.cut and np.prod(shape, dtype=int) >= LARGE:
            for axis in np.argsort([-s for s in shape], kind="stable"):
                if shape[axis] % self.count == 0:
                    spec = [None] * len(shape)
                    spec[axis] = self.mesh.axis_names[0]
                    return self.sharding(*spec)
        return self.sharding()


def put(a: Any, sharding: NamedSharding) -> jax.Array:
    """An array that every process has, as one of all of them; each takes its part."""
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
def _joining(whole: NamedSharding) -> Callable[[list], list]:
    """A program that puts arrays together, compiled once for each set of shapes."""
    return jax.jit(lambda arrays: arrays, out_shardings=whole)
