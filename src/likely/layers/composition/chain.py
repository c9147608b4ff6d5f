"""Sequential composition of layers, with their random keys and states."""

import importlib
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from likely.layers.composition.layer import AbstractLayer
from likely.typing import Key, Model, State


class Pointwise(AbstractLayer):
    """A function of the values alone, such as an activation, as a layer without state."""

    function: Callable = eqx.field(static=True)

    def of(self, X: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        """f(X)."""
        return self.function(X)

    def __reduce__(self):
        """Pickle by the name of the function: compiled functions cannot be pickled."""
        return _pointwise, (self.function.__module__, self.function.__name__)


def _pointwise(module: str, name: str) -> "Pointwise":
    """The `Pointwise` layer of the function with this name."""
    for source in ("jax.nn", "jax.numpy", module):
        found = getattr(importlib.import_module(source), name, None)
        if found is not None:
            return Pointwise(found)
    raise AttributeError(f"there is no function {name!r} in {module}")


class Chain(eqx.Module):
    """x → layer₁ → ... → layer_l; plain functions become `Pointwise` layers.

    `state` is a tuple with an entry for each layer, or None if no layer has state.
    """

    layers: tuple[Model, ...]

    def __init__(self, *layers: Model | Callable):
        self.layers = tuple(map(as_layer, layers))

    def initial_state(self) -> State:
        """The initial states of the layers."""
        states = tuple(initial_state(layer) for layer in self.layers)
        return None if all(s is None for s in states) else states

    def __call__(
        self,
        X: Float[Array, "n ..."],
        *,
        w: Float[Array, " n"] | None = None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "n ..."], State]:
        """Apply the layers in order; `layers.record` returns the output of each of them."""
        size = len(self.layers)
        keys = [None] * size if key is None else jax.random.split(key, size)
        states, updated = state or (None,) * size, []
        for layer, k, s in zip(self.layers, keys, states, strict=True):
            X, s = layer(X, w=w, key=k, state=s)
            updated.append(s)
        return X, None if state is None else tuple(updated)


def as_layer(layer: Any) -> Any:
    """A layer unchanged; a plain function as a `Pointwise` layer."""
    return layer if isinstance(layer, eqx.Module) else Pointwise(layer)


def initial_state(model: Any) -> State:
    """The initial state of a model: None unless a layer keeps running statistics."""
    start = getattr(model, "initial_state", None)
    return None if start is None else start()
