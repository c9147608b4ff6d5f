"""2. Bricks of models; each is itself a model: layer(X, *, w, key, state)."""

from likely.layers.augmentation.augmentation import Augmentation
from likely.layers.augmentation.warp import affine, warp
from likely.layers.composition.chain import Chain, Pointwise, initial_state
from likely.layers.composition.collapse import collapse, compose
from likely.layers.composition.concatenated import Concatenated
from likely.layers.composition.condition import Conditional, Shifted, Sinusoids
from likely.layers.composition.flatten import Flatten
from likely.layers.composition.mixed_precision import MixedPrecision, cast
from likely.layers.composition.record import Record, record
from likely.layers.composition.residual import Residual
from likely.layers.composition.shape import output_shape
from likely.layers.convolution.convolution import Convolution
from likely.layers.convolution.pooling import Pooling
from likely.layers.convolution.transposed import TransposedConvolution
from likely.layers.convolution.unpooling import Unpooling
from likely.layers.convolution.upsampling import Upsampling
from likely.layers.convolution.window import output_size
from likely.layers.norms.batch_norm import BatchNorm, Running
from likely.layers.norms.group_norm import GroupNorm
from likely.layers.norms.layer_norm import LayerNorm
from likely.layers.units.activations import (
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
from likely.layers.units.dense import Dense
from likely.layers.units.dropout import Dropout
from likely.layers.units.initializers import (
    INITIALIZERS,
    GaussianInit,
    HeInit,
    UniformInit,
    XavierInit,
    ZeroInit,
    initializer,
)

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
    "output_shape",
    "output_size",
    "record",
    "warp",
]
