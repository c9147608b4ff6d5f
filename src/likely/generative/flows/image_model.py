r"""Flows of images whose pixels have levels: uniform noise, and a lower bound.

A flow is a density of real numbers, and pixels are whole ones. With $u$ uniform between 0
and 1 for each pixel the density of $x + u$ gives probabilities,
$P(x) = \int p(x + u)\,du$, of which a mean of $\log p(x + u)$ over u is a lower bound.
"""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from likely.models.flows.flow import Flow
from likely.models.flows.image_flow import ImageFlow
from likely.objectives.density import DensityLikelihood
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key


class PixelFlow(eqx.Module):
    """A flow of images, with noise on their pixels where these have levels.

    Args:
        flow: of pixels with noise.
        levels: how many there are; 0 where pixels are any numbers.
    """

    flow: Flow
    levels: int = eqx.field(static=True)

    def log_probs(self, batch: Batch, *, key: Key | None = None) -> Float[Array, " n"]:
        """log p(x + u) of each image x, given its condition y; the noise is fixed for None."""
        key = jax.random.key(0) if key is None else key
        X = with_noise(batch.x, self.levels, key)
        return self.flow.log_prob(X, batch.y)


class ImageFlowProblem(eqx.Module):
    """What is learned: a flow of images.

    Args:
        settings: of the flow.
        levels: of the pixels.
    """

    settings: ImageFlow
    levels: int = eqx.field(static=True)

    def build(self, data: Batch, key: Key) -> PixelFlow:
        """The flow with its first weights."""
        first, then = jax.random.split(key)
        X = with_noise(data.x, self.levels, first)
        flow = self.settings.build(X, data.w, data.y, self.levels, key=then)
        return PixelFlow(flow, self.levels)

    def objective(self, prior: Any, rows: Normalisation) -> DensityLikelihood:
        """What is minimised."""
        return DensityLikelihood(prior, rows)


def with_noise(
    X: Float[Array, "n ..."], levels: int, key: Key
) -> Float[Array, "n ..."]:
    """Pixels with levels plus uniform noise between 0 and 1; others as they are."""
    return X + jax.random.uniform(key, X.shape, X.dtype) if levels else X
