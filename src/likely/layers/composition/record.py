"""The output of every layer of a network: pre-activations, activations."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax

from likely.layers.composition.chain import Chain
from likely.layers.composition.concatenated import Concatenated
from likely.layers.composition.mixed_precision import MixedPrecision, cast
from likely.layers.composition.residual import Residual
from likely.typing import Key, State


class Record(NamedTuple):
    """One layer of a call and its output."""

    path: str
    """The path of the layer in the model, such as `layers[2].block.layers[0]`."""
    layer: Any
    value: Any
    """The output of the layer."""


def record(
    model: Any, X: Any, *, w: Any = None, key: Key | None = None, state: State = None
) -> list[Record]:
    """The output of every layer in the order of computation, including those in blocks.

    The values are those of the call with the same arguments. The first one that is not
    finite shows which layer is at fault.
    """
    return list(_walk("", model, X, w, key, state))


def _walk(path: str, model: Any, X: Any, *rest: Any) -> Iterator[Record]:
    w, key, state = rest
    again = None if key is None else jax.random.clone(key)
    if isinstance(model, Chain):
        size = len(model.layers)
        keys = [None] * size if key is None else jax.random.split(key, size)
        for i, (layer, k, s) in enumerate(
            zip(model.layers, keys, state or [None] * size, strict=True)
        ):
            inner_records = list(_walk(f"{path}.layers[{i}]", layer, X, w, k, s))
            yield from inner_records
            X = inner_records[-1].value
        return
    if isinstance(model, Residual):
        inner, _ = state or (None, None)
        k_block = None if again is None else jax.random.split(again)[0]
        yield from _walk(f"{path}.block", model.block, X, w, k_block, inner)
    elif isinstance(model, Concatenated):
        yield from _walk(f"{path}.block", model.block, X, w, again, state)
    elif isinstance(model, MixedPrecision):
        narrow, rows = cast((model.model, X), model.dtype)
        yield from _walk(f"{path}.model", narrow, rows, w, again, state)
    elif hasattr(model, "model"):
        yield from _walk(f"{path}.model", model.model, X, w, again, state)
    value, _ = model(X, w=w, key=key, state=state)
    yield Record(path.removeprefix("."), model, value)
