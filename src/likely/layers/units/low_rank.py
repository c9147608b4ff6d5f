r"""Changes of low rank: $W + \frac{α}{r}\,A B$ with A (d, r), B (r, k) and W as it is.

They have r(d + k) parameters in place of dk. B starts at zero, so that the first W is the
given one.
"""

import math
from typing import Any

import equinox as eqx
import jax

from likely.core.checks import InputError
from likely.layers.units.dense import Dense
from likely.layers.units.initializers import GaussianInit
from likely.typing import Key


class LowRank(eqx.Module):
    """The settings of fine-tuning by changes of low rank.

    Args:
        rank: the number r of columns of A.
        alpha: the change is multiplied by alpha/rank; None for 1.
    """

    rank: int = eqx.field(static=True, default=8)
    alpha: float | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        whole = isinstance(self.rank, int) and self.rank >= 1
        if not whole or (self.alpha is not None and not self.alpha > 0):
            raise InputError(
                f"LowRank has rank {self.rank} and alpha {self.alpha}; give a whole rank of "
                "at least 1, and an alpha above 0 or None."
            )

    @property
    def factor(self) -> float:
        """What the product of A and B is multiplied by."""
        return 1.0 if self.alpha is None else float(self.alpha) / self.rank


class LowRankChange(eqx.Module):
    """A change of a matrix (d, k), or of filters whose last axis has k channels."""

    down: Dense
    up: Dense
    factor: float = eqx.field(static=True)

    def __init__(self, shape: tuple[int, ...], settings: LowRank, *, key: Key):
        d, k = math.prod(shape[:-1]), shape[-1]
        r = min(settings.rank, d, k)
        first, last = jax.random.split(key)
        self.down = Dense(d, r, bias=False, init=GaussianInit(1 / d), key=first)
        self.up = Dense(r, k, bias=False, init="zero", key=last)
        self.factor = settings.factor

    def of(self, W: Any) -> Any:
        """W + (α/r) AB; of several members at once where all have a leading axis."""
        change = self.factor * (self.down.weight @ self.up.weight)
        return W + change.reshape(W.shape)
