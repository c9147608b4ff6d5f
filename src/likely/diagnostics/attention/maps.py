r"""Attention maps of whole models, and their product through the depth (rollout).

A map is $A_{ts}$: how much position t looks at position s, in one head of one layer. To see
what the last layer takes from the inputs, the maps are multiplied; the shortcut around each
attention counts as much as the attention (Abnar and Zuidema, 2020):

$$R_l = \tfrac12(\bar A_l + I)\,R_{l-1}, \qquad R_0 = I,$$

with $\bar A_l$ the mean over the heads of layer l.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.layers import (
    MultiHeadAttention,
    Padded,
    TransformerLayer,
    initial_state,
    pad_sequences,
)
from likely.layers.attention.scores import HALVES
from likely.layers.composition.padded import repack, unpack
from likely.models.sequence.inputs import check_sequences
from likely.models.sequence.transformer import Transformer
from likely.typing import State


class Watched(eqx.Module):
    """A layer that tells a function of every input before it computes."""

    layer: Any
    notify: Callable = eqx.field(static=True)

    def __call__(self, X: Any, **options: Any) -> Any:
        """The output of the layer."""
        self.notify(self.layer, X, options)
        return self.layer(X, **options)

    @property
    def cross(self) -> Any:
        """The cross-attention of the layer, or None."""
        return getattr(self.layer, "cross", None)


def is_attention(node: Any) -> bool:
    """Whether a part of a model is a transformer layer, or attention outside of one."""
    return isinstance(node, TransformerLayer | MultiHeadAttention)


def attention_layers(model: Any) -> list[Any]:
    """The transformer layers of a model (and attention outside of them), in its order."""
    found = list(filter(is_attention, jax.tree.leaves(model, is_leaf=is_attention)))
    if not found:
        raise InputError(
            f"the {type(model).__name__} has no attention; give a model with "
            "`TransformerLayer` or `MultiHeadAttention` layers."
        )
    return found


def watched(model: Any, notify: Callable) -> Any:
    """The model, with every transformer layer watched: `notify(layer, X, options)`."""
    return jax.tree.map(
        lambda node: Watched(node, notify) if is_attention(node) else node,
        model,
        is_leaf=is_attention,
    )


def opened(model: Any, X: Any, state: State = None) -> tuple[Any, Any, State]:
    """A model, its inputs as arrays, and its state; those inside a fitted estimator."""
    unpacked = getattr(model, "unpack", None)
    if unpacked is not None:
        model, state, X = unpacked(X)
    if isinstance(X, list):
        X = pad_sequences(X)
    if isinstance(model, Transformer):
        check_sequences(X, vocabulary=model.vocabulary, n_in=model.n_in)
    state = initial_state(model) if state is None else state
    return model, jax.tree.map(jnp.asarray, X), state


def attention_maps(
    model: Any, X: Any, *, cross: bool = False, state: State = None
) -> Float[np.ndarray, "l n h t s"]:
    """How much each position looks at each other one, in all layers and heads.

    Rows of present positions sum to 1; rows and columns of absent ones are 0. Of an encoder
    with a decoder, given (source, target), it shows the decoder; the encoder is a model too.

    Args:
        model: a model with transformer layers, or a fitted estimator that has one.
        X: rows as the model gets them, an array, `Padded` or a list of sequences; rows of
            the data for an estimator.
        cross: whether to show the attention to the context in place of that to itself.
        state: running statistics, if the model has any; None uses the initial ones.
    """
    model, X, state = opened(model, X, state)
    crossing = [_has_cross(layer) for layer in attention_layers(model)]
    if cross and not any(crossing):
        raise InputError(
            "no layer of the model has cross-attention; leave `cross` out."
        )
    found, _ = maps_and_outputs(model, X, state, cross=cross)
    maps = [A for A, decodes in found if decodes == any(crossing)]
    shapes = sorted({A.shape for A in maps})
    if len(shapes) > 1:
        raise InputError(
            f"the layers have maps of different shapes, {shapes}; give one part of the "
            "model at a time."
        )
    return np.stack(maps)


def _has_cross(layer: Any) -> bool:
    return getattr(layer, "cross", None) is not None


@eqx.filter_jit
def maps_and_outputs(
    model: Any, X: Any, state: State, *, cross: bool = False, finish: Any = None
) -> tuple[list, Any]:
    """The map of each layer with whether it has cross-attention; a function of the outputs.

    Without a function the outputs are not computed.
    """
    seen: list = []

    def notify(layer: Any, X: Any, options: dict) -> None:
        layer, X, options = _at_least_single((layer, X, options))
        if isinstance(layer, MultiHeadAttention):
            chosen = {name: options.get(name) for name in ("context", "mask")}
            A = layer.weights(X, **chosen)
        elif not (cross and layer.cross is not None):
            A = layer.attention.weights(_self_input(layer, X), mask=options.get("mask"))
        else:
            asking = _cross_input(layer, X, options.get("mask"))
            A = layer.cross.weights(asking, context=options["context"])
        if isinstance(X, Padded):
            A = jnp.where(X.present[:, None, :, None], A, 0)
        seen.append((A, _has_cross(layer)))

    outputs, _ = watched(model, notify)(X, state=state)
    return seen, None if finish is None else finish(X, outputs)


def _at_least_single(tree: Any) -> Any:
    """The tree with half-precision numbers in single precision, which maps are shown in."""
    return jax.tree.map(
        lambda a: a.astype(jnp.float32) if getattr(a, "dtype", None) in HALVES else a,
        tree,
    )


def _self_input(layer: TransformerLayer, X: Any) -> Any:
    """What the self-attention of a layer gets."""
    H, _ = unpack(X)
    return repack(layer.norms[0].of(H) if layer.norm_first else H, X)


def _cross_input(layer: TransformerLayer, X: Any, mask: Any) -> Any:
    """What the cross-attention of a layer gets."""
    H, _ = unpack(X)
    added, _ = layer.attention(_self_input(layer, X), mask=mask)
    H = H + unpack(added)[0]
    return repack(layer.norms[1 if layer.norm_first else 0].of(H), X)


def attention_rollout(
    maps: Float[np.ndarray, "l n h t s"],
) -> Float[np.ndarray, "n t t"]:
    r"""How much each position of the last layer takes from each input: $R_l$ above.

    Rows sum to 1, those of absent positions are 0.

    Args:
        maps: of the self-attention of all layers, from `attention_maps`.
    """
    maps = np.asarray(maps, np.float64)
    if maps.ndim != 5 or maps.shape[-1] != maps.shape[-2]:
        raise InputError(
            f"the maps have shape {maps.shape}; give those of self-attention, "
            "(layers, rows, heads, positions, positions)."
        )
    own = np.eye(maps.shape[-1])
    present = maps.sum(-1).any((0, 2))  # (n, t)
    rollout = own * present[:, :, None]
    for A in maps.mean(2):
        B = A + own
        rollout = B / B.sum(-1, keepdims=True) @ rollout
    return rollout
