"""2. η = f(x; φ): callable pytrees from rows to unconstrained parameters."""

from likely.models.linear import Linear
from likely.models.mlp import MLP, mlp
from likely.models.null import Null
from likely.models.shared import Shared

__all__ = ["MLP", "Linear", "Null", "Shared", "mlp"]
