r"""Flows of tables that also have words, counts or whole numbers.

A flow has densities, and such columns have probabilities. So they come first, by a masked
network, and the flow of the numbers is conditioned on them,
$\log p(x) = \log P(u) + \log p(v \mid u)$ with u the words and v the numbers. Both parts
are exact, and nothing is dequantised.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.base.training.unsupervised import Cells
from likely.generative.autoregressive.columns import CodedColumns
from likely.generative.autoregressive.masked_density import MaskedDensity
from likely.generative.defended import TRAINING_SHARE, DefendedLikelihood
from likely.layers.bijections.whitening import Whitening
from likely.models.flows.flow import Flow
from likely.models.flows.table_flow import TableFlow
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key


class MixedTableFlow(eqx.Module):
    """A flow of the numbers of a row, given its other columns.

    Args:
        words: a masked network of the other columns; None where there are none.
        flow: of the numbers.
        discrete: which columns are the others.
    """

    words: MaskedDensity | None
    flow: Flow
    discrete: tuple[bool, ...] = eqx.field(static=True)

    def both(
        self, batch: Batch, *, key: Key | None = None, noise: Any = None
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """log p of each row, by the flow and by what its training begins at.

        Args:
            batch: codes x, conditions y.
            key: in training, of dropout and noise.
            noise: its standard deviation.
        """
        numbers, cells = split(batch, self.discrete)
        given = self.condition(cells)
        k_flow, k_words = (None, None) if key is None else jax.random.split(key)
        own = self.flow.log_prob(numbers, given, key=k_flow, noise=noise)
        start = self.flow.start_log_prob(numbers, given)
        if self.words is None:
            return own, start
        order = jnp.arange(cells.values.shape[1])
        more, first = self.words.log_probs(cells, order, key=k_words)
        return own + more, start + first

    def condition(self, cells: Cells) -> Float[Array, "n c"] | None:
        """What the flow is conditioned on: the other columns, and what is given."""
        return condition_of(None if self.words is None else self.words.columns, cells)


class TableFlowProblem(eqx.Module):
    """What is learned: a flow that begins at a normal distribution.

    Args:
        settings: of the flow.
        columns: the columns that are not numbers; None where there are none.
        discrete: which they are.
        noise: standard deviation of the noise in training, or None.
        share: of the network in training.
    """

    settings: TableFlow
    columns: CodedColumns | None
    discrete: tuple[bool, ...] = eqx.field(static=True)
    noise: Any = None
    share: float = eqx.field(static=True, default=TRAINING_SHARE)

    def build(self, data: Batch, key: Key) -> MixedTableFlow:
        """The flow at the most probable normal distribution of the rows."""
        k_flow, k_words = jax.random.split(key)
        numbers, cells = split(data, self.discrete)
        given, words = condition_of(self.columns, cells), None
        if self.columns is not None:
            size = {"hidden": self.settings.hidden, "n_hidden": self.settings.n_hidden}
            words = MaskedDensity.build(
                self.columns, cells, data.w, key=k_words, **size
            )
        g = 0 if given is None else given.shape[1]
        flow = self.settings.build(numbers.shape[1], g, key=k_flow)
        units = Whitening.of(numbers, data.w, given)
        flow = Flow(units, flow.bijection, flow.base)
        return MixedTableFlow(words, flow, self.discrete)

    def objective(self, prior: Any, rows: Normalisation) -> DefendedLikelihood:
        """What is minimised."""
        return DefendedLikelihood(prior, rows, self.share, self.noise)


def split(
    batch: Batch, discrete: tuple[bool, ...]
) -> tuple[Float[Array, "n d"], Cells]:
    """The numbers of rows of codes, and their other columns."""
    at = np.array(discrete)
    values = batch.x[:, np.flatnonzero(at)]
    missing = jnp.zeros(values.shape, bool)
    return batch.x[:, np.flatnonzero(~at)], Cells(values, missing, batch.y)


def condition_of(
    columns: CodedColumns | None, cells: Cells
) -> Float[Array, "n c"] | None:
    """What a flow is conditioned on: columns that are not numbers, and what is given."""
    parts = [cells.given.astype(cells.values.dtype)]
    if columns is not None:
        read = columns.inputs(cells.values, cells.missing)
        parts.append(read[:, : -len(columns.kinds)])
    found = jnp.concatenate(parts, 1)
    return found if found.shape[1] else None
