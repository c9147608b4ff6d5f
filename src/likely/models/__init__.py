"""2. η = f(x; φ): callable pytrees from rows to unconstrained parameters."""

from likely.models.anatomy import Anatomy, anatomy, dead_units, parameter_count
from likely.models.blocks import residual_block
from likely.models.cnn import CNN, alexnet, lenet
from likely.models.evidence import class_activation, saliency
from likely.models.feature_maps import feature_maps, filters, maximal_input
from likely.models.linear import Linear
from likely.models.mlp import MLP, mlp
from likely.models.null import Null
from likely.models.offset import Offset
from likely.models.regions import Pieces, Region, linear_pieces, linear_regions
from likely.models.resnet import ResNet, resnet8, resnet18
from likely.models.shared import Shared
from likely.models.signals import (
    SignalProfile,
    gradient_autocorrelation,
    signal_profile,
)
from likely.models.survey import (
    Survey,
    flops,
    output_shape,
    receptive_field,
    stacked_field,
    survey,
)
from likely.models.symmetry import equivariance_error, invariance_error
from likely.models.torch_state import from_torch, to_torch
from likely.models.unet import UNet, super_resolution, timed

__all__ = [
    "CNN",
    "MLP",
    "Anatomy",
    "Linear",
    "Null",
    "Offset",
    "Pieces",
    "Region",
    "ResNet",
    "Shared",
    "Survey",
    "UNet",
    "alexnet",
    "anatomy",
    "dead_units",
    "flops",
    "from_torch",
    "lenet",
    "linear_pieces",
    "linear_regions",
    "mlp",
    "output_shape",
    "parameter_count",
    "receptive_field",
    "residual_block",
    "resnet18",
    "resnet8",
    "stacked_field",
    "super_resolution",
    "survey",
    "timed",
    "to_torch",
    "class_activation",
    "saliency",
    "feature_maps",
    "filters",
    "maximal_input",
    "SignalProfile",
    "gradient_autocorrelation",
    "signal_profile",
    "equivariance_error",
    "invariance_error",
]
