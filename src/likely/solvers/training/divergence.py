"""Which layer made a loss NaN or infinite: the first value that is not finite.

The step that failed is computed once more, eagerly, with the same weights and rows,
one layer after another through models that are chains (or hold one).
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from likely.typing import Batch, Key, State


class DivergenceWarning(UserWarning):
    """A run whose loss became NaN or infinite was stopped."""


def diagnose(
    model: Any, batch: Batch, key: Key | None, state: State, rate: float
) -> str:
    """A sentence with the first bad value, the learning rate, and what to try."""
    location = (
        _in_leaves("the inputs of the batch", batch.x)
        or _in_leaves("the targets of the batch", batch.y)
        or _in_weights(model)
        or _in_layers(model, batch.x, batch.w, key, state)
        or "the loss, although the output of the model is finite"
    )
    return (
        f"The first bad value is in {location}. The learning rate was {rate:.3g}; try "
        f"{rate / 10:.1g}, clip=ClipByNorm(1.0), or inputs scaled to unit variance. "
        "The last good state was kept."
    )


def _has_bad_values(tree: PyTree) -> bool:
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    return any(not bool(jnp.isfinite(a).all()) for a in leaves)


def _in_leaves(name: str, tree: PyTree) -> str | None:
    return name if _has_bad_values(tree) else None


def _in_weights(model: Any) -> str | None:
    """The first parameter that is not finite."""
    params = eqx.filter(model, eqx.is_inexact_array)
    for path, leaf in jax.tree_util.tree_flatten_with_path(params)[0]:
        if _has_bad_values(leaf):
            return f"the parameter {jax.tree_util.keystr(path).lstrip('.')}"
    return None


def _in_layers(model: Any, X: Any, w: Any, key: Key | None, state: State) -> str | None:
    """The first layer with an output that is not finite; of models that are no chain, none."""
    whole, rows, one_network = model, X, callable(model)
    layers, name = getattr(model, "layers", None), ""
    while layers is None and hasattr(model, "model"):
        if hasattr(model, "dtype"):  # a model that computes in another precision
            model, X = _cast((model, X), model.dtype)
        model, name = model.model, f"{name}model."
        layers = getattr(model, "layers", None)
    if not one_network:  # several networks that an objective puts together
        return "the loss, although the rows and the parameters are finite"
    if layers is None or not _is_chain(model):
        eta, _ = whole(rows, w=w, key=key, state=state)
        return _in_leaves("the output of the model", eta)
    keys = [None] * len(layers) if key is None else jax.random.split(key, len(layers))
    states = state or (None,) * len(layers)
    for i, (layer, k, s) in enumerate(zip(layers, keys, states, strict=True)):
        X, _ = layer(X, w=w, key=k, state=s)
        if _has_bad_values(X):
            return f"the output of {name}layers[{i}] ({type(layer).__name__})"
    return None


def _is_chain(model: Any) -> bool:
    """Whether the layers of a model are all there is to it."""
    params = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    of_layers = jax.tree.leaves(eqx.filter(model.layers, eqx.is_inexact_array))
    return len(params) == len(of_layers)


def _cast(tree: PyTree, dtype: Any) -> PyTree:
    return jax.tree.map(
        lambda a: a.astype(dtype) if eqx.is_inexact_array(a) else a, tree
    )
