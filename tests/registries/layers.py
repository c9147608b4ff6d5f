"""Every layer: its constructor, the shapes of a row in and out, its number of parameters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from likely import layers as l
from likely.models import mlp
from likely.typing import Key

D = 6


class Example(NamedTuple):
    make: Callable[[Key], Any]
    parameters: int
    row: tuple[int, ...] = (D,)
    out: tuple[int, ...] = (D,)
    random: bool = False
    """Whether training is random, so that a row of weight 2 is not the row twice."""
    smooth: bool = True
    """Whether its derivative agrees with finite differences, in any precision."""
    modes: tuple[str, ...] = ("fwd", "rev")
    """Those in which it can be differentiated."""
    slow: bool = False
    """Whether its laws run in the slow tests only: another example is much like it."""


def wide(**settings: Any) -> Callable[[Key], Any]:
    """A network with several hidden layers and these settings."""
    return lambda key: mlp((D, 5, 5, 4, 3), key=key, **settings)


def block(key: Key) -> l.Residual:
    return l.Residual(
        l.Chain(l.BatchNorm(D), jax.nn.silu, l.Dense(D, D, key=key)),
        l.Dense(D, D, bias=False, key=jax.random.fold_in(key, 1)),
    )


LEARNED = {"prelu": D}
ROUGH = ("heaviside", "straight_through")
DEEP = (6 * 5 + 5) + (5 * 5 + 5) + (5 * 4 + 4) + (4 * 3 + 3)

IMAGE = (5, 4, 2)


def on_images(make: Callable[[Key], Any], parameters: int, *out: int) -> Example:
    return Example(make, parameters, IMAGE, out)


IMAGES: dict[str, Example] = {
    "convolution": on_images(lambda k: l.Convolution(2, 3, key=k), 57, 5, 4, 3),
    "convolution, sequences": Example(
        lambda k: l.Convolution(2, 3, axes=1, stride=2, flipped=True, key=k),
        21,
        (7, 2),
        (4, 3),
    ),
    "convolution, strided, reflected": on_images(
        lambda k: l.Convolution(
            2, 4, (3, 2), stride=2, edges="reflected", groups=2, bias=False, key=k
        ),
        24,
        *(3, 2, 4),
    ),
    "convolution, dilated, cyclic": on_images(
        lambda k: l.Convolution(2, 3, 2, dilation=2, edges="cyclic", key=k), 27, 5, 4, 3
    ),
    "transposed convolution": on_images(
        lambda k: l.TransposedConvolution(2, 3, key=k), 27, 10, 8, 3
    ),
    "transposed convolution, overlapping": on_images(
        lambda k: l.TransposedConvolution(2, 3, 3, padding=1, extra=1, key=k),
        57,
        *(10, 8, 3),
    ),
    "max pooling": on_images(lambda k: l.Pooling(), 0, 2, 2, 2),
    "min pooling, overlapping": on_images(
        lambda k: l.Pooling(3, 2, kind="min", padding=1), 0, 3, 2, 2
    ),
    "mean pooling, overlapping": on_images(
        lambda k: l.Pooling(3, 2, kind="mean", padding=1), 0, 3, 2, 2
    ),
    "mean of all positions": on_images(lambda k: l.Pooling(None, kind="mean"), 0, 2),
    "max unpooling": on_images(
        lambda k: l.Unpooling(l.Convolution(2, 2, 1, key=k), l.Pooling()), 6, 5, 4, 2
    ),
    "upsampling, nearest": on_images(lambda k: l.Upsampling((2, 3)), 0, 10, 12, 2),
    "upsampling, bilinear": on_images(
        lambda k: l.Upsampling(2, kind="bilinear"), 0, 10, 8, 2
    ),
    "group norm": Example(lambda k: l.GroupNorm(4, 2), 8, (3, 4), (3, 4)),
    "flatten": on_images(lambda k: l.Flatten(), 0, 40),
    "concatenated": on_images(
        lambda k: l.Concatenated(l.Convolution(2, 1, key=k)), 19, 5, 4, 3
    ),
}

STEPS, REVERSE = (4, D), ("rev",)
SEQUENCES: dict[str, Example] = {
    "recurrent, tanh": Example(
        lambda k: l.Recurrent("rnn", D, 3, key=k), 30, STEPS, (4, 3), modes=REVERSE
    ),
    "recurrent, relu, truncated": Example(
        lambda k: l.Recurrent("relu", D, 3, truncate=2, key=k),
        30,
        STEPS,
        (4, 3),
        smooth=False,
        slow=True,
    ),
    "lstm, two layers": Example(
        lambda k: l.Recurrent("lstm", D, 2, n_layers=2, key=k),
        72 + 40,
        STEPS,
        (4, 2),
        modes=REVERSE,
    ),
    "gru, both directions": Example(
        lambda k: l.Recurrent("gru", D, 2, bidirectional=True, key=k),
        112,
        STEPS,
        (4, 4),
        modes=REVERSE,
        slow=True,
    ),
    "attention": Example(
        lambda k: l.MultiHeadAttention(D, 2, key=k), 168, STEPS, STEPS, slow=True
    ),
    "attention, causal, grouped, rotary, relative": Example(
        lambda k: l.MultiHeadAttention(
            D, 3, n_key_heads=1, causal=True, window=2, rotary=True, reach=2, key=k
        ),
        42 + 28 + 42 + 15,
        STEPS,
        STEPS,
    ),
    "transformer layer": Example(
        lambda k: l.TransformerLayer(D, 2, hidden=5, key=k),
        168 + 71 + 24,
        STEPS,
        STEPS,
        slow=True,
    ),
    "transformer layer, norm last, gated, rms": Example(
        lambda k: l.TransformerLayer(
            D, 2, hidden=5, norm_first=False, norm="rms", gated=True, bias=False, key=k
        ),
        144 + 90 + 12,
        STEPS,
        STEPS,
    ),
    "rms norm": Example(lambda k: l.RMSNorm(D), D),
    "gated mlp": Example(lambda k: l.GatedMLP(D, 4, key=k), 72),
}

LAYERS: dict[str, Example] = {
    **IMAGES,
    **SEQUENCES,
    "dense": Example(lambda k: l.Dense(D, 4, key=k), 28, out=(4,)),
    "dense, no bias": Example(lambda k: l.Dense(D, 4, bias=False, key=k), 24, out=(4,)),
    "dense, sequences": Example(lambda k: l.Dense(D, 4, key=k), 28, (3, D), (3, 4)),
    "batch norm": Example(lambda k: l.BatchNorm(D), 2 * D),
    "batch norm, images": Example(lambda k: l.BatchNorm(2), 4, (3, 3, 2), (3, 3, 2)),
    "layer norm": Example(lambda k: l.LayerNorm(D), 2 * D),
    "layer norm, images": Example(
        lambda k: l.LayerNorm((3, 3, 2)), 36, (3, 3, 2), (3, 3, 2)
    ),
    "dropout": Example(lambda k: l.Dropout(0.3), 0, random=True),
    "residual": Example(block, 12 + 42 + 36),
    "chain": Example(
        lambda k: l.Chain(l.Dense(D, 4, key=k), l.BatchNorm(4), jax.nn.silu),
        36,
        out=(4,),
    ),
    "adapter": Example(lambda k: l.Adapter(D, 2, key=k), D * 2 + 2 + 2 * D + D),
    "adapted": Example(
        lambda k: l.Adapted(l.BatchNorm(D), l.Adapter(D, 2, key=k)), 2 * D + 32
    ),
    "mixed precision, float32": Example(
        lambda k: l.MixedPrecision(l.Dense(D, 4, key=k), "float32"),
        28,
        out=(4,),
        smooth=False,
    ),
    "mlp, tanh": Example(wide(activation="tanh"), DEEP, out=(3,)),
    "mlp, batch norm, gelu": Example(
        wide(norm="batch", activation="gelu"), DEEP - 14 + 2 * 14, out=(3,)
    ),
    "mlp, residual, layer norm, dropout": Example(
        wide(norm="layer", activation="silu", dropout=0.2, residual=True),
        DEEP + 5 * 4 + 2 * 14,
        out=(3,),
        random=True,
    ),
    **{
        f"activation: {name}": Example(
            lambda k, name=name: l.activation(name, D),
            LEARNED.get(name, 0),
            smooth=name not in ROUGH,
        )
        for name in l.ACTIVATIONS
    },
}
