"""2. η = f(x; φ): callable pytrees from rows to unconstrained parameters."""

from likely.models.anatomy import Anatomy, anatomy, dead_units, parameter_count
from likely.models.linear import Linear
from likely.models.mlp import MLP, mlp
from likely.models.null import Null
from likely.models.offset import Offset
from likely.models.regions import Pieces, Region, linear_pieces, linear_regions
from likely.models.shared import Shared

__all__ = [
    "MLP",
    "Anatomy",
    "Linear",
    "Null",
    "Offset",
    "Pieces",
    "Region",
    "Shared",
    "anatomy",
    "dead_units",
    "linear_pieces",
    "linear_regions",
    "mlp",
    "parameter_count",
]
