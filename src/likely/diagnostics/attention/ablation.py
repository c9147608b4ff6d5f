r"""What each block of a transformer is worth: the loss of the model without it.

Attention blocks, MLPs and single heads add to the sequence through a linear map, their output
weights. A block is taken out by zeros in these weights; or it is replaced by its mean over some
data, so that only what it says about the single position is lost.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from likely.core.checks import InputError
from likely.diagnostics.attention.maps import attention_layers, opened, watched
from likely.layers import Dense, MultiHeadAttention
from likely.layers.composition.padded import unpack
from likely.typing import State

BLOCKS = ("attention", "cross", "mlp", "head")


class Ablated(NamedTuple):
    """The model without one block."""

    layer: int
    block: str
    """"attention", "cross", "mlp", or "head"."""
    head: int | None
    """The number of the head, where it is one."""
    value: float
    """The metric of the model without it."""
    rise: float
    """How much larger it is than that of the whole model."""

    @property
    def name(self) -> str:
        """Such as "layer 0 mlp"."""
        number = "" if self.head is None else f" {self.head}"
        return f"layer {self.layer} {self.block}{number}"


class Ablation(NamedTuple):
    """The metric of a model, and of the model without each of its blocks."""

    whole: float
    """The metric of the whole model."""
    rows: tuple[Ablated, ...]

    def __str__(self) -> str:
        wide = max(len(row.name) for row in self.rows)
        lines = [
            f"{row.name:<{wide}}  {row.value:8.4f}  {row.rise:+8.4f}"
            for row in self.rows
        ]
        return "\n".join([f"{'whole model':<{wide}}  {self.whole:8.4f}", *lines])


def ablation(
    model: Any,
    metric: Callable[[Any], Any],
    *,
    blocks: Sequence[str] = ("attention", "cross", "mlp"),
    mean_over: Any = None,
    state: State = None,
) -> Ablation:
    """The metric of a model with each block in turn replaced by zero, or by its mean.

    Args:
        model: a model with transformer layers, or attention outside of them.
        metric: a function of a model, such as its loss on held-out rows. The models it gets
            have the same shapes, so with `eqx.filter_jit` it is compiled once.
        blocks: which kinds: "attention", "cross" (attention to a context), "mlp", "head".
        mean_over: rows as the model gets them, to replace a block by its mean over their
            positions; None for zero.
        state: running statistics for these rows; None uses the initial ones.
    """
    unknown = [block for block in blocks if block not in BLOCKS]
    if unknown or not blocks:
        raise InputError(
            f"blocks are {list(blocks)}; give some of {', '.join(BLOCKS)}."
        )
    model = _with_biases(model)
    means = None
    if mean_over is not None:
        _, X, state = opened(model, mean_over, state)
        means = [np.asarray(mean) for mean in _means(model, X, state)]
    whole = float(metric(model))
    rows = []
    for number, (layer, kind, n_heads) in enumerate(block_kinds(model)):
        for block, head in _parts(kind, n_heads, blocks):
            mean = None if means is None else means[number]
            part = None if head is None else (head, n_heads)
            value = float(metric(_without(model, number, part, mean)))
            rows.append(Ablated(layer, block, head, value, value - whole))
    if not rows:
        raise InputError(f"the model has no block of the kinds {', '.join(blocks)}.")
    return Ablation(whole, tuple(rows))


def _parts(kind: str, n_heads: int, blocks: Sequence[str]) -> list:
    """Which blocks end in one output map: the block itself, and its heads."""
    heads = [("head", h) for h in range(n_heads)] if kind == "attention" else []
    found = [(kind, None), *heads]
    return [(block, head) for block, head in found if block in blocks]


def _blocks(layer: Any) -> list[tuple[str, Any, int]]:
    """The blocks of a layer: kind, output map, number of heads."""
    if isinstance(layer, MultiHeadAttention):
        return [("attention", layer.out, layer.n_heads)]
    found = [("attention", layer.attention.out, layer.attention.n_heads)]
    if layer.cross is not None:
        found.append(("cross", layer.cross.out, layer.cross.n_heads))
    chain = hasattr(layer.mlp, "layers")
    return [*found, ("mlp", layer.mlp.layers[-1] if chain else layer.mlp.out, 0)]


def block_kinds(model: Any) -> list[tuple[int, str, int]]:
    """Layer, kind and number of heads of each block, in order."""
    layers = enumerate(attention_layers(model))
    return [(i, kind, h) for i, layer in layers for kind, _, h in _blocks(layer)]


def output_maps(model: Any) -> list[Any]:
    """The dense layer by which each block adds to the sequence, in order."""
    return [out for layer in attention_layers(model) for _, out, _ in _blocks(layer)]


def _dense(out: Dense, weight: Any, bias: Any) -> Dense:
    """A dense layer with other numbers."""
    return eqx.tree_at(
        lambda d: (d.weight, d.bias),
        out,
        (jnp.asarray(weight), jnp.asarray(bias)),
        is_leaf=lambda leaf: leaf is None,
    )


def _with_biases(model: Any) -> Any:
    """The same model, in which every output map has a bias."""
    maps = [
        _dense(out, out.weight, np.zeros(out.weight.shape[1], out.weight.dtype))
        if out.bias is None
        else out
        for out in output_maps(model)
    ]
    return eqx.tree_at(output_maps, model, maps)


def _without(
    model: Any, number: int, part: tuple[int, int] | None, mean: np.ndarray | None
) -> Any:
    """The model with a block (or one of its heads, of so many) replaced by a constant."""
    out = output_maps(model)[number]
    W, b = np.array(out.weight), np.array(out.bias)
    head, n_heads = (0, 1) if part is None else part
    size = len(W) // n_heads
    gone = slice(head * size, (head + 1) * size)
    if mean is not None:
        b = b + (mean[gone] @ W[gone]).astype(b.dtype)
    elif part is None:
        b = np.zeros_like(b)
    W[gone] = 0
    return eqx.tree_at(lambda m: output_maps(m)[number], model, _dense(out, W, b))


class _WatchedMap(eqx.Module):
    """A dense layer that tells a function of every input."""

    dense: Dense
    notify: Callable = eqx.field(static=True)
    number: int = eqx.field(static=True)

    def of(self, X: Array) -> Array:
        """The output of the layer."""
        self.notify(self.number, X)
        return self.dense.of(X)

    def __call__(self, X: Array, **options: Any) -> tuple[Array, State]:
        return self.of(X), options.get("state")


@eqx.filter_jit
def _means(model: Any, X: Any, state: State) -> list:
    """The mean input of each output map over present positions."""
    present: list = []
    means: dict[int, Any] = {}

    def enter(layer: Any, X: Any, options: dict) -> None:
        values, there = unpack(X)
        everywhere = jnp.ones(values.shape[:2], bool)
        present.append(everywhere if there is None else there)

    def notify(number: int, H: Array) -> None:
        there = present[-1][..., None]
        means[number] = jnp.where(there, H, 0).sum((0, 1)) / there.sum()

    maps = output_maps(model)
    probes = [_WatchedMap(out, notify, number) for number, out in enumerate(maps)]
    watched(eqx.tree_at(output_maps, model, probes), enter)(X, state=state)
    return [means[number] for number in range(len(maps))]
