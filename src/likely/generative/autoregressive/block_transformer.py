r"""The density of images, block after block and pixel after pixel.

$P(x) = \prod_t \prod_j P(x_{tj} \mid x_{t,<j}, x_{<t})$ with a block network for all factors.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from likely.generative.autoregressive.pixel_cells import PixelCells
from likely.models.sequence.block_network import BlockNetwork
from likely.typing import Batch, Key


class BlockTransformer(eqx.Module):
    """A block network that describes pixels with levels.

    Args:
        network: from pixels to what is said of each.
        cells: of the pixels.
    """

    network: BlockNetwork
    cells: PixelCells

    def log_probs(self, batch: Batch, *, key: Key | None = None) -> Float[Array, " n"]:
        """log P of each image x, given its condition y."""
        each = self.log_prob(self.blocks(batch.x), batch.y, key=key)
        return each.reshape(len(each), -1).sum(1)

    def blocks(self, X: Shaped[Array, "n ..."]) -> Shaped[Array, "n t b"]:
        """Images as blocks of pixels, row after row."""
        return X.reshape(len(X), -1, self.network.block)

    def log_prob(
        self,
        codes: Float[Array, "n t b"],
        given: Float[Array, "n g"],
        *,
        key: Key | None = None,
    ) -> Float[Array, "n t b"]:
        """log P of each pixel given those before it.

        Args:
            codes: whole numbers, in blocks.
            given: the condition of each image.
            key: of dropout in training.
        """
        eta = self.network(self.cells.inputs(codes), given, key=key)
        return self.cells.log_prob(eta, codes)

    def draw(
        self,
        codes: Float[Array, "n t b"],
        missing: Bool[Array, "n t b"],
        given: Float[Array, "n g"],
        key: Key,
    ) -> Float[Array, "n t b"]:
        """The images with their missing pixels drawn one after another."""
        places = jnp.arange(self.network.block)

        def cell(eta: Array, now: Array, t: Array, j: Array) -> Array:
            own = jax.random.fold_in(jax.random.fold_in(key, t), j)
            due = missing[:, t] & (places == j)[None]
            return jnp.where(due, self.cells.sample(eta, own), now)

        return self.network.unroll(codes, given, self.cells.inputs, cell)
