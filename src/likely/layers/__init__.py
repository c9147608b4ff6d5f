"""2. Bricks of models; each is itself a model: layer(X, *, w, key, state)."""

from likely.layers.activations import (
    ACTIVATIONS,
    ELU,
    GELU,
    Heaviside,
    LeakyReLU,
    PolynomialActivation,
    PReLU,
    Sigmoid,
    activation,
)
from likely.layers.augmentation import Augmentation
from likely.layers.batch_norm import BatchNorm, Running
from likely.layers.chain import Chain, Pointwise, initial_state
from likely.layers.collapse import collapse, compose
from likely.layers.concatenated import Concatenated
from likely.layers.condition import Conditional, Shifted, Sinusoids
from likely.layers.convolution import Convolution
from likely.layers.dense import Dense
from likely.layers.dropout import Dropout
from likely.layers.flatten import Flatten
from likely.layers.group_norm import GroupNorm
from likely.layers.initializers import (
    INITIALIZERS,
    GaussianInit,
    HeInit,
    UniformInit,
    XavierInit,
    ZeroInit,
    initializer,
)
from likely.layers.layer_norm import LayerNorm
from likely.layers.mixed_precision import MixedPrecision, cast
from likely.layers.pooling import Pooling
from likely.layers.record import Record, record
from likely.layers.residual import Residual
from likely.layers.transposed import TransposedConvolution
from likely.layers.unpooling import Unpooling
from likely.layers.upsampling import Upsampling
from likely.layers.warp import affine, warp
from likely.layers.window import output_size

__all__ = [
    "ACTIVATIONS",
    "ELU",
    "GELU",
    "INITIALIZERS",
    "Augmentation",
    "BatchNorm",
    "Chain",
    "Concatenated",
    "Conditional",
    "Convolution",
    "Dense",
    "Dropout",
    "Flatten",
    "GaussianInit",
    "GroupNorm",
    "HeInit",
    "Heaviside",
    "LayerNorm",
    "LeakyReLU",
    "MixedPrecision",
    "PReLU",
    "Pointwise",
    "PolynomialActivation",
    "Pooling",
    "Record",
    "Residual",
    "Running",
    "Shifted",
    "Sigmoid",
    "Sinusoids",
    "TransposedConvolution",
    "UniformInit",
    "Unpooling",
    "Upsampling",
    "XavierInit",
    "ZeroInit",
    "activation",
    "affine",
    "cast",
    "collapse",
    "compose",
    "initial_state",
    "initializer",
    "output_size",
    "record",
    "warp",
]
