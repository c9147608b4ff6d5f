"""What is learned of images: the transformer over blocks of pixels, by its settings."""

from typing import Any

import equinox as eqx

from likely.generative.autoregressive.block_transformer import BlockTransformer
from likely.generative.autoregressive.pixel_cells import PixelCells
from likely.models.sequence.block_network import BlockNetwork
from likely.objectives.density import DensityLikelihood
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key


class ImageProblem(eqx.Module):
    """A transformer over blocks of pixels.

    Args:
        cells: of the pixels.
        blocks: T, how many blocks an image has.
        block: b, how many pixels a block has.
        size: the size of a summary.
        n_layers: the number of layers of the transformer.
        n_heads: the number of heads of attention.
        hidden: units in the hidden layers of the network of a block.
        dropout: the probability to drop a value.
    """

    cells: PixelCells
    blocks: int = eqx.field(static=True)
    block: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    n_layers: int = eqx.field(static=True)
    n_heads: int = eqx.field(static=True)
    hidden: int = eqx.field(static=True)
    dropout: float = eqx.field(static=True)

    def build(self, data: Batch, key: Key) -> BlockTransformer:
        """The network with its first weights."""
        network = BlockNetwork(
            blocks=self.blocks,
            block=self.block,
            width=self.cells.width,
            n_outputs=self.cells.n_eta,
            n_given=data.y.shape[1],
            size=self.size,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            hidden=self.hidden,
            dropout=self.dropout,
            key=key,
        )
        return BlockTransformer(network, self.cells)

    def objective(self, prior: Any, rows: Normalisation) -> DensityLikelihood:
        """What is minimised."""
        return DensityLikelihood(prior, rows)
