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
from likely.layers.batch_norm import BatchNorm, Running
from likely.layers.chain import Chain, Pointwise, initial_state
from likely.layers.collapse import collapse, compose
from likely.layers.dense import Dense
from likely.layers.dropout import Dropout
from likely.layers.initializers import (
    INITIALIZERS,
    GaussianInit,
    HeInit,
    XavierInit,
    ZeroInit,
    initializer,
)
from likely.layers.layer_norm import LayerNorm
from likely.layers.mixed_precision import MixedPrecision, cast
from likely.layers.record import Record, record
from likely.layers.residual import Residual

__all__ = [
    "ACTIVATIONS",
    "ELU",
    "GELU",
    "INITIALIZERS",
    "BatchNorm",
    "Chain",
    "Dense",
    "Dropout",
    "GaussianInit",
    "HeInit",
    "Heaviside",
    "LayerNorm",
    "LeakyReLU",
    "MixedPrecision",
    "PReLU",
    "Pointwise",
    "PolynomialActivation",
    "Record",
    "Residual",
    "Running",
    "Sigmoid",
    "XavierInit",
    "ZeroInit",
    "activation",
    "cast",
    "collapse",
    "compose",
    "initial_state",
    "initializer",
    "record",
]
