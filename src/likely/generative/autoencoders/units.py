"""The units of the inputs of an autoencoder: where they are, and how wide they spread."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.rows import weighted_mean
from likely.typing import Batch

SCALINGS = ("columns", "together", "channels", "none")


class ColumnUnits(eqx.Module):
    """Where the columns of a table are, and how wide they spread."""

    center: Float[Array | np.ndarray, "*batch"]
    scale: Float[Array | np.ndarray, "*batch"]

    @classmethod
    def of(cls, data: Batch, scaling: str) -> "ColumnUnits":
        """The units of present rows; a constant column is only centred.

        Args:
            data: the rows.
            scaling: "columns" gives each its own unit, "together" all the same, "channels"
                each channel of images its own, "none" leaves rows as they are.
        """
        if scaling == "none":
            kind = data.x.dtype
            return cls(
                jnp.zeros(data.x.shape[-1], kind), jnp.ones(data.x.shape[-1], kind)
            )
        x, w = data.x, data.w
        if scaling == "channels":
            places = x.size // (len(x) * x.shape[-1])
            x, w = x.reshape(-1, x.shape[-1]), jnp.repeat(w, places)
        center = weighted_mean(x, w)
        variance = weighted_mean((x - center[None]) ** 2, w)
        if scaling == "together":
            variance = jnp.broadcast_to(variance.mean(), variance.shape)
        tiny = 1e-12 * (1 + jnp.abs(center))
        spread = jnp.sqrt(variance)
        return cls(center, jnp.where(spread > tiny, spread, 1.0))

    def __call__(self, data: Batch) -> Batch:
        """The rows in these units, as inputs and as what is to be found again."""
        x = self.inputs(data.x)
        return Batch(x, x, data.w)

    def inputs(self, X: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        """The inputs in these units."""
        front = (1,) * (X.ndim - 1)
        center, scale = (a.reshape(*front, -1) for a in (self.center, self.scale))
        return (X - center) / scale

    def outputs(self, X: np.ndarray) -> np.ndarray:
        """Rows in the units of the data again."""
        return X * self.scale + self.center
