r"""A log density of any tree of arrays, as a function of one vector.

Samplers and approximations work on vectors $z \in \mathbb{R}^d$; the user's log density
takes whatever the start looks like: an array, a dictionary, a model.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.core.checks import InputError
from likely.core.compiling import lean_jit


class Layout(NamedTuple):
    """The structure of a tree of arrays, and the names of its entries."""

    treedef: Any
    shapes: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, tree: PyTree) -> "tuple[Layout, np.ndarray]":
        """The layout, and the entries of the tree as one vector."""
        leaves, treedef = jax.tree_util.tree_flatten_with_path(tree)
        if not leaves:
            raise InputError("the start holds no numbers; give an array or a tree.")
        arrays = [(_name(path), np.asarray(leaf, np.float64)) for path, leaf in leaves]
        names = [name for path, array in arrays for name in _entries(path, array.shape)]
        shapes = tuple(array.shape for _, array in arrays)
        z = np.concatenate([array.ravel() for _, array in arrays])
        return cls(treedef, shapes, tuple(names)), z

    @property
    def size(self) -> int:
        """d, the number of entries."""
        return len(self.names)

    def tree(self, z: Any) -> PyTree:
        """The tree whose entries are z ~ (..., d); leading axes lead in every leaf."""
        leaves, at = [], 0
        for shape in self.shapes:
            size = int(np.prod(shape))
            leaves.append(z[..., at : at + size].reshape((*z.shape[:-1], *shape)))
            at += size
        return jax.tree_util.tree_unflatten(self.treedef, leaves)

    def renamed(self, names: Sequence[str] | None) -> "Layout":
        """The same layout with other names of the entries."""
        if names is None:
            return self
        if len(names) != self.size:
            raise InputError(f"names has {len(names)} entries; give {self.size}.")
        return self._replace(names=tuple(map(str, names)))


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _entries(name: str, shape: tuple[int, ...]) -> list[str]:
    """The names of the entries of one leaf; those of a bare array are z."""
    name = name or "z"
    if not shape:
        return [name]
    return [f"{name}[{', '.join(map(str, index))}]" for index in np.ndindex(shape)]


class FlatDensity(eqx.Module):
    """log p as a function of the vector z.

    Args:
        log_density: of the tree; a module with arrays in it, or a function.
        layout: from vector to tree.
    """

    log_density: Callable[[Any], Any]
    layout: Any = eqx.field(static=True)

    def __call__(
        self, z: Float[Array | np.ndarray, " d"]
    ) -> Float[Array | np.ndarray, ""]:
        """log p(z), a number; −∞ in the place of NaN."""
        found = jnp.asarray(self.log_density(self.layout.tree(z)), z.dtype)
        if found.shape != ():
            raise InputError(
                f"log_density returns an array of shape {found.shape}; it has to return "
                "one number, the logarithm of the density at one point."
            )
        return jnp.where(jnp.isnan(found), -jnp.inf, found)


def flat_target(
    log_density: Callable[[Any], Any], start: PyTree, names: Any = None
) -> tuple[FlatDensity, np.ndarray]:
    """The log density of a vector, and the start as a vector.

    Args:
        log_density: from a tree like `start` to log p, up to a constant.
        start: an array, or a tree of arrays.
        names: of the entries; from the tree unless given.
    """
    layout, z = Layout.of(start)
    if not np.isfinite(z).all():
        raise InputError("the start contains NaN or infinity; give finite numbers.")
    return FlatDensity(log_density, layout.renamed(names)), z


@lean_jit
def log_densities(
    density: Callable[[Any], Any], Z: Float[Array | np.ndarray, "n d"]
) -> Float[Array | np.ndarray, " n"]:
    """log p of each row of Z."""
    return jax.vmap(density)(Z)


def check_starts(log_p: np.ndarray, gradient: np.ndarray | None = None) -> None:
    """Refuse starts that have no density, or no slope there."""
    bad = ~np.isfinite(log_p)
    if bad.any():
        raise InputError(
            f"the log density is not a number, or infinite, at {bad.sum()} of {len(bad)} "
            "starting points; give a start inside the support, or jitter=0."
        )
    if gradient is not None and not np.isfinite(gradient).all():
        raise InputError(
            "the gradient of the log density is not finite at a starting point; give "
            "another start, or a sampler without gradients (metropolis)."
        )
