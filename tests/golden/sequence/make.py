"""Make torch.npz: what PyTorch says of recurrent, attention and transformer layers.

    python tests/golden/sequence/make.py

And models.npz: what `references.py` says of a tiny GPT-2, BERT and vision transformer.

For each case of `CASES`: the weights, inputs, lengths, outputs, and the derivatives of a sum of
outputs with random factors. PyTorch is an oracle here and no dependency of the tests.
"""

from pathlib import Path

import numpy as np
import torch
from cases import CASES
from references import MODELS, SIZES
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LENGTHS = (6, 2, 4, 1)
SIZE, CONTEXT = 8, 5


def recurrent(kind, n_layers, both):
    make = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind]
    module = make(
        3,
        4,
        num_layers=n_layers,
        bidirectional=both,
        batch_first=True,
        dtype=torch.float64,
    )

    def run(X, lengths):
        packed = pack_padded_sequence(
            X, lengths, batch_first=True, enforce_sorted=False
        )
        return pad_packed_sequence(module(packed)[0], batch_first=True)[0]

    return module, run, 3


def padding(lengths):
    absent = torch.arange(max(lengths))[None] >= torch.tensor(lengths)[:, None]
    zero = torch.zeros(absent.shape, dtype=torch.float64)
    return zero.masked_fill(absent, float("-inf"))


def causal(t):
    return torch.full((t, t), float("-inf"), dtype=torch.float64).triu(1)


def attention(causally, context):
    module = nn.MultiheadAttention(SIZE, 2, batch_first=True, dtype=torch.float64)

    def run(X, lengths):
        options = {"need_weights": False}
        if causally:
            options["attn_mask"] = causal(X.shape[1])
        source = X if context is None else context
        if context is None:
            options["key_padding_mask"] = padding(lengths)
        return module(X, source, source, **options)[0]

    return module, run, SIZE


def transformer(decoder, first, context):
    make = nn.TransformerDecoderLayer if decoder else nn.TransformerEncoderLayer
    module = make(
        SIZE,
        2,
        12,
        0.0,
        "gelu",
        batch_first=True,
        norm_first=first,
        dtype=torch.float64,
    )
    with torch.no_grad():  # norms start at 1 and 0, which would hide a mistake
        for name, p in module.named_parameters():
            if "norm" in name:
                p.add_(0.3 * torch.randn_like(p))

    def run(X, lengths):
        if decoder:
            return module(
                X,
                context,
                tgt_mask=causal(X.shape[1]),
                tgt_key_padding_mask=padding(lengths),
            )
        return module(X, src_key_padding_mask=padding(lengths))

    return module, run, SIZE


def main() -> None:
    """Values and gradients in double precision."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    context = torch.tensor(rng.normal(size=(len(LENGTHS), CONTEXT, SIZE)))
    kept = {"lengths": np.array(LENGTHS), "context": context.numpy()}
    for name, case in CASES.items():
        if case.kind in ("rnn", "lstm", "gru"):
            module, run, d = recurrent(case.kind, case.n_layers, case.both)
        elif case.kind == "attention":
            module, run, d = attention(case.causal, context if case.cross else None)
        else:
            module, run, d = transformer(case.cross, case.first, context)
        X = torch.tensor(
            rng.normal(size=(len(LENGTHS), max(LENGTHS), d)), requires_grad=True
        )
        here = torch.arange(X.shape[1])[None] < torch.tensor(LENGTHS)[:, None]
        out = torch.where(here[..., None], run(X, list(LENGTHS)), 0)
        seen = torch.tensor(rng.normal(size=out.shape))
        (out * seen).sum().backward()
        kept |= {
            f"{name}/X": X,
            f"{name}/out": out,
            f"{name}/seen": seen,
            f"{name}/dX": X.grad,
        }
        for leaf, value in module.state_dict().items():
            kept[f"{name}/weights/{leaf}"] = value
        for leaf, p in module.named_parameters():
            kept[f"{name}/slopes/{leaf}"] = p.grad
    arrays = {
        k: v.detach().numpy() if torch.is_tensor(v) else v for k, v in kept.items()
    }
    np.savez_compressed(Path(__file__).parent / "torch.npz", **arrays)


def models() -> None:
    """Outputs of small models with random weights, and their state dicts."""
    torch.manual_seed(1)
    rng, kept = np.random.default_rng(1), {}
    for name, make in MODELS.items():
        module = make()
        with torch.no_grad():
            for p in module.parameters():
                p.copy_(0.3 * torch.randn_like(p) + (p.ndim == 1))
        if name == "vision":
            X = rng.normal(size=(2, 8, 12, 3)).astype(np.float32)
            given = torch.tensor(X).permute(0, 3, 1, 2)
        else:
            X = rng.integers(0, SIZES["vocabulary"], (2, 6))
            given = torch.tensor(X)
        with torch.no_grad():
            kept |= {f"{name}/X": X, f"{name}/out": module(given).numpy()}
        for leaf, value in module.state_dict().items():
            kept[f"{name}/weights/{leaf}"] = value.numpy()
    np.savez_compressed(Path(__file__).parent / "models.npz", **kept)


if __name__ == "__main__":
    main()
    models()
