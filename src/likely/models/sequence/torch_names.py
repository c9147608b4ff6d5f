"""State dicts of GPT-2, BERT and vision transformers, in the names of PyTorch's own layers.

The names on the left are those of Hugging Face's `transformers` and, for images, of `timm`.
What comes out has `embedding`, `positions`, `types`, `embedding_norm`, `norm`, `output`,
`pooler`, and for each layer the names of `nn.TransformerEncoderLayer`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from likely.core.checks import InputError

Arrays = dict[str, np.ndarray]

GPT2_LAYER = {
    "ln_1": "norm1",
    "attn.c_attn": "self_attn.in_proj_",
    "attn.c_proj": "self_attn.out_proj",
    "ln_2": "norm2",
    "mlp.c_fc": "linear1",
    "mlp.c_proj": "linear2",
}
BERT_LAYER = {
    "attention.output.dense": "self_attn.out_proj",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "linear1",
    "output.dense": "linear2",
    "output.LayerNorm": "norm2",
}
VISION_LAYER = {
    "norm1": "norm1",
    "attn.qkv": "self_attn.in_proj_",
    "attn.proj": "self_attn.out_proj",
    "norm2": "norm2",
    "mlp.fc1": "linear1",
    "mlp.fc2": "linear2",
}


def torch_names(weights: Mapping[str, Any], n_layers: int) -> Arrays:
    """The state dict under one set of names, whichever of the three models it is of."""
    known = {"wte.weight": _gpt2, "embeddings.word_embeddings.weight": _bert}
    known["patch_embed.proj.weight"] = _vision
    for start in ("", "transformer.", "bert.", "model."):
        for sign, translate in known.items():
            if start + sign in weights:
                cut = len(start)
                arrays = {k: np.asarray(v) for k, v in weights.items()}
                inner = {k[cut:]: v for k, v in arrays.items() if k.startswith(start)}
                return translate(inner, n_layers)
    raise InputError(
        f"the state dict is of no model that is known here; it has none of the arrays "
        f"{', '.join(known)}, but {', '.join(list(weights)[:5])}, ..."
    )


def _gpt2(weights: Arrays, n_layers: int) -> Arrays:
    """Its linear maps are stored from in to out, the transpose of `nn.Linear`."""
    made = {"embedding.weight": _get(weights, "wte.weight")}
    made["positions.weight"] = _get(weights, "wpe.weight")
    made |= _pair(weights, "ln_f", "norm")
    for i in range(n_layers):
        for theirs, ours in GPT2_LAYER.items():
            swap = np.transpose if "ln" not in theirs else np.asarray
            made |= _pair(weights, f"h.{i}.{theirs}", f"layers.{i}.{ours}", swap)
    return made


def _bert(weights: Arrays, n_layers: int) -> Arrays:
    made = {}
    for theirs, ours in (("word", "embedding"), ("position", "positions")):
        name = f"embeddings.{theirs}_embeddings.weight"
        made[f"{ours}.weight"] = _get(weights, name)
    types = _get(weights, "embeddings.token_type_embeddings.weight")
    made |= {"types.weight": types}
    made |= _pair(weights, "embeddings.LayerNorm", "embedding_norm")
    if "pooler.dense.weight" in weights:
        made |= _pair(weights, "pooler.dense", "pooler")
    for i in range(n_layers):
        start = f"encoder.layer.{i}"
        for theirs, ours in BERT_LAYER.items():
            made |= _pair(weights, f"{start}.{theirs}", f"layers.{i}.{ours}")
        for leaf in ("weight", "bias"):
            names = [
                f"{start}.attention.self.{n}.{leaf}" for n in ("query", "key", "value")
            ]
            made[f"layers.{i}.self_attn.in_proj_{leaf}"] = np.concatenate(
                [_get(weights, name) for name in names]
            )
    return made


def _vision(weights: Arrays, n_layers: int) -> Arrays:
    """Patches are its first convolution, channels first; ours have channels last."""

    def flat(weight: np.ndarray) -> np.ndarray:
        return weight.transpose(0, 2, 3, 1).reshape(len(weight), -1)

    made = _pair(weights, "patch_embed.proj", "patches", flat)
    made |= {"positions.weight": _get(weights, "pos_embed")[0]}
    if "cls_token" in weights:
        made |= {"class_token": weights["cls_token"][0, 0]}
    made |= _pair(weights, "norm", "norm")
    if "head.weight" in weights:
        made |= _pair(weights, "head", "output")
    for i in range(n_layers):
        for theirs, ours in VISION_LAYER.items():
            made |= _pair(weights, f"blocks.{i}.{theirs}", f"layers.{i}.{ours}")
    return made


def _pair(
    weights: Arrays, theirs: str, ours: str, change: Callable = np.asarray
) -> Arrays:
    """The weight and the bias of a layer under its new name."""
    dot = "" if ours.endswith("_") else "."
    return {
        f"{ours}{dot}weight": change(_get(weights, f"{theirs}.weight")),
        f"{ours}{dot}bias": _get(weights, f"{theirs}.bias"),
    }


def _get(weights: Arrays, name: str) -> np.ndarray:
    if name not in weights:
        raise InputError(f"the state dict has no {name!r}; give one of the same model.")
    return weights[name]
