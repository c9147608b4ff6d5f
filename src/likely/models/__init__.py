"""2. η = f(x; φ): callable pytrees from rows to unconstrained parameters."""

from likely.models.images.blocks import residual_block
from likely.models.images.cnn import CNN, alexnet, lenet
from likely.models.images.resnet import ResNet, resnet8, resnet18
from likely.models.images.unet import UNet, super_resolution, timed
from likely.models.linear.linear import Linear
from likely.models.linear.null import Null
from likely.models.linear.offset import Offset
from likely.models.linear.shared import Shared
from likely.models.mlp import MLP, mlp
from likely.models.torch_state import from_torch, to_torch

__all__ = [
    "CNN",
    "MLP",
    "Linear",
    "Null",
    "Offset",
    "ResNet",
    "Shared",
    "UNet",
    "alexnet",
    "from_torch",
    "lenet",
    "mlp",
    "residual_block",
    "resnet18",
    "resnet8",
    "super_resolution",
    "timed",
    "to_torch",
]
