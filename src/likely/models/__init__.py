"""2. η = f(x; φ): callable pytrees from rows to unconstrained parameters."""

from likely.models.linear import Linear
from likely.models.mlp import mlp
from likely.models.null import Null
from likely.models.offset import Offset
from likely.models.shared import Shared

__all__ = ["Linear", "Null", "Offset", "Shared", "mlp"]
