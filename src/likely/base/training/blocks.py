"""The blocks of a network, counted from its output: what fine-tuning trains or leaves alone.

A block begins with a layer that has weights (dense, a convolution, a residual block, a layer of
a transformer or of cells, an embedding) and goes on through what follows without any: norms,
activations, a shared scale. Block 0 is the head, the last of them; all others are the body. Where
nothing with weights follows the last norm, as in a model of tokens whose output is the matrix of
its embedding, that norm is the head.
"""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from likely.core.checks import InputError
from likely.layers import Dropout, LayerNorm, Pointwise, RMSNorm
from likely.layers.recurrent.recurrent import Direction
from likely.solvers.settings import WEIGHT_NAMES

CONTAINERS = ("layers", "model", "transformer", "network", "encoder", "decoder")
"""Fields of modules that only hold layers, one after another or one in another."""


def is_array(leaf: Any) -> bool:
    """Whether a leaf is a parameter: real numbers, or their shape."""
    kind = getattr(leaf, "dtype", None)
    return kind is not None and jax.numpy.issubdtype(kind, np.inexact)


def is_unit(node: Any) -> bool:
    """Whether a node of a model is one layer, as blocks count them."""
    if isinstance(node, tuple):
        return bool(node) and all(isinstance(part, Direction) for part in node)
    held = any(hasattr(node, name) for name in CONTAINERS)
    return isinstance(node, eqx.Module) and not held


def block_numbers(model: PyTree) -> PyTree:
    """The model with the number of its block in the place of each leaf."""
    units, treedef = jax.tree.flatten(model, is_leaf=is_unit)
    begun = _begun(units)
    if not len(units) or not begun[-1]:
        raise InputError(
            f"{type(model).__name__} has no layer with weights, so that it has no head to "
            "train on its own."
        )
    numbers = (begun[-1] - begun).tolist()
    parts = [
        jax.tree.map(lambda _, number=number: number, unit)
        for unit, number in zip(units, numbers, strict=True)
    ]
    return jax.tree.unflatten(treedef, parts)


def body_units(model: PyTree, *, head: bool = True) -> list[Any]:
    """The layers that make the states: those with parameters, and activations.

    Args:
        model: a network.
        head: whether its last block is a head, which does not count.
    """
    units = jax.tree.leaves(model, is_leaf=is_unit)
    begun = _begun(units)
    kept = units[: int((begun < begun[-1]).sum())] if head else units
    return [unit for unit in kept if parameters(unit) or isinstance(unit, Pointwise)]


def parameters(tree: PyTree) -> list[Any]:
    """The parameters of a model, in order."""
    return [leaf for leaf in jax.tree.leaves(tree) if is_array(leaf)]


def parameter_count(tree: PyTree) -> int:
    """The number of parameters."""
    return sum(int(np.prod(leaf.shape)) for leaf in parameters(tree))


def difference(one: PyTree, other: PyTree) -> tuple[str, str] | None:
    """The first layers of two bodies that differ, in words; None where none does.

    Dropout may differ: it has no parameters.

    Args:
        one: layers.
        other: layers.
    """
    for i in range(max(len(one), len(other))):
        pair = [each[i] if i < len(each) else None for each in (one, other)]
        forms = [_form(unit) for unit in pair]
        if forms[0] != forms[1]:
            first, second = (_words(unit, i) for unit in pair)
            return first, second
    return None


def _begun(units: list[Any]) -> np.ndarray:
    """How many blocks have begun at each of the layers."""
    begins = [_has_weights(unit) for unit in units]
    for i in range(len(units) - 1, -1, -1):
        if begins[i]:
            break
        if isinstance(units[i], LayerNorm | RMSNorm):
            begins[i] = True
            break
    return np.cumsum(begins)


def _has_weights(unit: Any) -> bool:
    leaves = jax.tree_util.tree_leaves_with_path(unit)
    return any(
        is_array(leaf) and getattr(path[-1], "name", None) in WEIGHT_NAMES
        for path, leaf in leaves
        if path
    )


def _form(unit: Any) -> Any:
    """What two layers need to have in common: their settings and the shapes of parameters."""
    plain = jax.tree.map(
        lambda node: None if isinstance(node, Dropout) else node,
        unit,
        is_leaf=lambda node: isinstance(node, Dropout),
    )
    return jax.tree.structure(plain), [leaf.shape for leaf in parameters(plain)]


def _words(unit: Any, number: int) -> str:
    if unit is None:
        return f"no layer {number + 1}"
    if isinstance(unit, Pointwise):
        return f"{unit.function.__name__} as layer {number + 1}"
    name = type(unit[0] if isinstance(unit, tuple) else unit).__name__
    sizes = [leaf.shape for leaf in parameters(unit) if len(leaf.shape) > 1]
    shape = f" of {' x '.join(map(str, sizes[0]))}" if sizes else ""
    return f"{name}{shape} as layer {number + 1}"
