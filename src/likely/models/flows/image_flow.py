"""Flows of images: pixel after pixel, or coupling layers of several scales."""

import equinox as eqx
import jax
from jaxtyping import Array, Float

from likely.core.checks import InputError, check_choice
from likely.layers import Chain, Convolution, activation
from likely.layers.bijections.affine import AbstractIncreasing, AffineFunction
from likely.layers.bijections.bijection import AbstractBijection, joined_width
from likely.layers.bijections.composed import (
    Composed,
    Factored,
    FlatRows,
    Squeeze,
    standardized,
)
from likely.layers.bijections.coupling import Coupling
from likely.layers.bijections.linear import ActNorm, LULinear, Permutation
from likely.layers.bijections.pixels import PixelLogit
from likely.layers.bijections.sequential import SequentialAutoregressive
from likely.layers.bijections.spline import RationalQuadratic
from likely.models.flows.base import StandardNormal
from likely.models.flows.flow import Flow
from likely.models.flows.table_flow import FUNCTIONS, KINDS, column_order
from likely.models.sequence.block_network import BlockNetwork
from likely.models.settings import setting
from likely.typing import Key

SPLINE_BOUND = 6.0


class ImageFlow(eqx.Module):
    """The settings of a flow of images, as plain data; `build` makes the flow.

    Args:
        kind: "autoregressive" (each pixel is mapped by all before it; new images are
            found pixel after pixel) or "coupling" (half of the channels map the other, at
            several scales; quick both ways).
        function: what pixels are mapped by: "spline" or "affine".
        n_layers: the number of layers; of coupling, those of each scale.
        hidden: units of the networks: of the masked network of a block, or channels.
        size: the size of the summary of the rows so far, of the first kind.
        n_heads: heads of its attention.
        depth: layers of its transformer.
        n_bins: of the splines.
    """

    kind: str = setting("autoregressive")
    function: str = setting("spline")
    n_layers: int = setting(2)
    hidden: int = setting(192)
    size: int = setting(96)
    n_heads: int = setting(4)
    depth: int = setting(2)
    n_bins: int = setting(6)

    def __check_init__(self):
        check_choice("kind", self.kind, KINDS)
        check_choice("function", self.function, FUNCTIONS)

    @property
    def increasing(self) -> AbstractIncreasing:
        """The function that pixels are mapped by."""
        if self.function == "affine":
            return AffineFunction()
        return RationalQuadratic(self.n_bins, SPLINE_BOUND)

    def build(
        self,
        X: Float[Array, "n h w c"],
        w: Float[Array, " n"],
        given: Float[Array, "n g"],
        levels: int,
        *,
        key: Key,
    ) -> Flow:
        """The flow with initial weights, and norms that begin at these images.

        Args:
            X: images to begin from, with noise where pixels have levels.
            w: their weights.
            given: their conditions.
            levels: how many levels pixels have; 0 where they are any numbers.
            key: the random key of the initial weights.
        """
        _, height, width, channels = X.shape
        shape = (height, width, channels)
        make = self._pixels if self.kind == "autoregressive" else self._scales
        parts = make(shape, given.shape[1], key)
        first = [PixelLogit(levels)] if levels else []
        bijection, _ = standardized(Composed(*first, *parts), X, w, given)
        return Flow(None, bijection, StandardNormal())

    def _pixels(
        self, shape: tuple[int, int, int], n_given: int, key: Key
    ) -> list[AbstractBijection]:
        """Autoregressive layers, every other one from the last pixel to the first."""
        height, width, channels = shape
        size, block = height * width * channels, width * channels
        parts: list[AbstractBijection] = [FlatRows(shape), ActNorm.identity(size)]
        for number, k in enumerate(jax.random.split(key, self.n_layers)):
            if number:
                parts.append(Permutation(tuple(range(size))[::-1]))
            network = BlockNetwork(
                blocks=height,
                block=block,
                width=1,
                n_outputs=self.increasing.n_parameters,
                n_given=n_given,
                size=self.size,
                n_layers=self.depth,
                n_heads=self.n_heads,
                hidden=self.hidden,
                key=k,
            )
            parts.append(SequentialAutoregressive(network, self.increasing, block))
        return parts

    def _scales(
        self, shape: tuple[int, int, int], n_given: int, key: Key
    ) -> list[AbstractBijection]:
        """Coupling layers at half the size, then at a quarter, as far as sides are even."""
        (h, w, c), (own, rest) = shape, jax.random.split(key)
        block = (1 + (h % 2 == 0), 1 + (w % 2 == 0))
        if block == (1, 1):
            if c > 1:
                return [*self._steps(shape, n_given, own), FlatRows(shape)]
            raise InputError(
                f"images of {h} × {w} pixels have no blocks of two, so that no half of them "
                'can map the other; use kind="autoregressive".'
            )
        inner = (h // block[0], w // block[1], c * block[0] * block[1])
        steps: list[AbstractBijection] = [Squeeze(block)]
        steps += self._steps(inner, n_given, own)
        if min(inner[:2]) < 4 or (inner[0] % 2 and inner[1] % 2):
            return [*steps, FlatRows(inner)]
        half = (*inner[:2], inner[2] // 2)
        deeper = Composed(*self._scales(half, n_given, rest))
        return [*steps, Factored(deeper, inner)]

    def _steps(
        self, shape: tuple[int, int, int], n_given: int, key: Key
    ) -> list[AbstractBijection]:
        parts, c = [], shape[-1]
        for number, k in enumerate(jax.random.split(key, self.n_layers)):
            parts += [ActNorm.identity(c), LULinear(column_order(c, number))]
            parts.append(self._coupling(c, n_given, k))
        return parts

    def _coupling(self, c: int, n_given: int, key: Key) -> Coupling:
        kept, first, second, last = c // 2, *jax.random.split(key, 3)
        n_in, width = joined_width(kept, n_given), self.hidden
        n_out = (c - kept) * self.increasing.n_parameters
        network = Chain(
            Convolution(n_in, width, 3, key=first),
            activation("relu", width),
            Convolution(width, width, 1, key=second),
            activation("relu", width),
            Convolution(width, n_out, 3, init="zero", key=last),
        )
        return Coupling(network, self.increasing, kept)
