"""Weights of PyTorch's sequence layers, for layers of the same sizes.

A state dict is any mapping from names to arrays, so PyTorch itself is not needed. Its LSTM, GRU
and RNN have two biases, of which only their sum counts, but for the last gate of a GRU.
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError
from likely.layers import (
    Dense,
    LayerNorm,
    MultiHeadAttention,
    Recurrent,
    TransformerLayer,
)
from likely.layers.recurrent.recurrent import Direction
from likely.models.sequence.configurations import BERT
from likely.models.sequence.torch_names import torch_names
from likely.models.sequence.transformer import Transformer
from likely.models.sequence.vision_transformer import VisionTransformer

Weights = Mapping[str, Any]


def sequence_from_torch(layer: Any, weights: Weights) -> Any:
    """The layer or model with the weights of a state dict.

    Args:
        layer: a `Recurrent` (for `nn.RNN`, `nn.LSTM`, `nn.GRU`), a `MultiHeadAttention`
            (`nn.MultiheadAttention`) or a `TransformerLayer` (`nn.TransformerEncoderLayer`,
            `nn.TransformerDecoderLayer`) of the same sizes; or a `Transformer` as made by
            `gpt2`, a `BERT` or a `VisionTransformer`.
        weights: `module.state_dict()`; of the models with the names of Hugging Face's
            `transformers`, of the vision transformer with those of `timm`.
    """
    if isinstance(layer, Recurrent):
        return _recurrent(layer, weights)
    if isinstance(layer, MultiHeadAttention):
        return _attention(layer, weights, "")
    if isinstance(layer, TransformerLayer):
        return _transformer(layer, weights)
    if isinstance(layer, BERT):
        inner = layer.transformer
        named = torch_names(weights, len(inner.layers))
        pooler = _dense(layer.pooler, named, "pooler.")
        return BERT(_model(inner, named), pooler)
    if isinstance(layer, Transformer | VisionTransformer):
        return _model(layer, torch_names(weights, len(layer.layers)))
    raise InputError(
        f"a {type(layer).__name__} has no counterpart here; give a Recurrent, a "
        "MultiHeadAttention, a TransformerLayer, a Transformer, a BERT or a "
        "VisionTransformer."
    )


def _take(weights: Weights, name: str, like: Any) -> Any:
    """An array of the state dict, transposed where it is a matrix, of the right shape."""
    if name not in weights:
        raise InputError(
            f"the state dict has no {name!r}; it has {', '.join(weights)}."
        )
    found = jnp.asarray(np.asarray(weights[name]).T)
    if found.shape != like.shape:
        raise InputError(
            f"{name!r} has shape {found.shape[::-1]}, the layer {like.shape[::-1]}; give a "
            "layer of the same sizes."
        )
    return found


def _recurrent(layer: Recurrent, weights: Weights) -> Recurrent:
    made = tuple(
        tuple(
            _direction(one, weights, f"_l{i}" + "_reverse" * backwards)
            for backwards, one in enumerate(both)
        )
        for i, both in enumerate(layer.layers)
    )
    return eqx.tree_at(lambda m: m.layers, layer, made)


def _direction(one: Direction, weights: Weights, end: str) -> Direction:
    bias = _take(weights, f"bias_ih{end}", one.bias)
    other = _take(weights, f"bias_hh{end}", one.bias)
    if one.own_bias is None:
        bias, own = bias + other, None
    else:
        own = other[2 * one.size :]
        bias = bias + jnp.pad(other[: 2 * one.size], (0, one.size))
    new = (
        _take(weights, f"weight_ih{end}", one.weight),
        _take(weights, f"weight_hh{end}", one.recurrent),
        bias,
        own,
    )
    return eqx.tree_at(
        lambda d: (d.weight, d.recurrent, d.bias, d.own_bias),
        one,
        new,
        is_leaf=lambda a: a is None,
    )


def _dense(layer: Dense, weights: Weights, name: str) -> Dense:
    layer = eqx.tree_at(
        lambda d: d.weight, layer, _take(weights, f"{name}weight", layer.weight)
    )
    if layer.bias is None:
        return layer
    return eqx.tree_at(
        lambda d: d.bias, layer, _take(weights, f"{name}bias", layer.bias)
    )


def _attention(
    layer: MultiHeadAttention, weights: Weights, prefix: str
) -> MultiHeadAttention:
    size = layer.query.weight.shape[0]
    parts = {}
    for leaf in ("weight", "bias"):
        name = f"{prefix}in_proj_{leaf}"
        if name in weights:
            whole = np.asarray(weights[name])
            parts[f"query.{leaf}"], parts[f"rest.{leaf}"] = whole[:size], whole[size:]
    if "query.weight" not in parts:
        raise InputError(
            f"the state dict has no {prefix + 'in_proj_weight'!r}; its queries, keys and "
            "values need the same size."
        )
    new = (
        _dense(layer.query, parts, "query."),
        _dense(layer.key_value, parts, "rest."),
        _dense(layer.out, weights, f"{prefix}out_proj."),
    )
    return eqx.tree_at(lambda m: (m.query, m.key_value, m.out), layer, new)


def _transformer(layer: TransformerLayer, weights: Weights) -> TransformerLayer:
    first, activate, second = layer.mlp.layers
    mlp = (
        _dense(first, weights, "linear1."),
        activate,
        _dense(second, weights, "linear2."),
    )
    norms = tuple(
        _norm(norm, weights, f"norm{i + 1}.") for i, norm in enumerate(layer.norms)
    )
    new = [_attention(layer.attention, weights, "self_attn."), mlp, norms]
    layer = eqx.tree_at(lambda m: [m.attention, m.mlp.layers, m.norms], layer, new)
    if layer.cross is None:
        return layer
    cross = _attention(layer.cross, weights, "multihead_attn.")
    return eqx.tree_at(lambda m: m.cross, layer, cross)


def _norm(norm: LayerNorm, weights: Weights, name: str) -> LayerNorm:
    new = (
        _take(weights, f"{name}weight", norm.scale),
        _take(weights, f"{name}bias", norm.shift),
    )
    return eqx.tree_at(lambda n: (n.scale, n.shift), norm, new)


def _model(model: Any, weights: Weights) -> Any:
    """The parts that a model has, each with its own weights."""
    layers = tuple(
        _transformer(layer, _inside(weights, f"layers.{i}."))
        for i, layer in enumerate(model.layers)
    )
    model = eqx.tree_at(lambda m: m.layers, model, layers)
    loaders = {
        "embedding": _vectors, "positions": _vectors, "types": _vectors,
        "embedding_norm": _norm, "norm": _norm, "patches": _dense, "output": _dense,
    }  # fmt: skip
    for part, load in loaders.items():
        old = getattr(model, part, None)
        if old is not None:
            new = load(old, weights, f"{part}.")
            model = eqx.tree_at(lambda m, part=part: getattr(m, part), model, new)
    if getattr(model, "class_token", None) is not None:
        token = _take(weights, "class_token", model.class_token)
        model = eqx.tree_at(lambda m: m.class_token, model, token)
    return model


def _inside(weights: Weights, start: str) -> Weights:
    return {k[len(start) :]: v for k, v in weights.items() if k.startswith(start)}


def _vectors(table: Any, weights: Weights, name: str) -> Any:
    """A table of vectors, which PyTorch stores as we do."""
    new = _take(weights, f"{name}weight", table.weight.T).T
    return eqx.tree_at(lambda t: t.weight, table, new)
