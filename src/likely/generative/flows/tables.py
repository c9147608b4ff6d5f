"""Flows of tables at work: densities, latent rows and new rows, over all members."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.special import logsumexp

from likely.base.training.unsupervised import Cells, HeldOutRows
from likely.core.random import seed_of
from likely.generative.autoregressive.drawing import draw_cells
from likely.generative.defended import mixed, pooled_share
from likely.generative.flows.mixed_table import MixedTableFlow, split
from likely.generative.row_chunks import in_chunks
from likely.typing import Batch


class TableFlows(NamedTuple):
    """The flows of all members, and the share that they have beside their starts."""

    members: list[MixedTableFlow]
    share: float

    def log_prob(self, batch: Batch) -> np.ndarray:
        """(n,) log p of codes, given their conditions.

        Args:
            batch: codes x, conditions y.
        """
        every = [in_chunks(_both, m, batch) for m in self.members]
        logs = np.stack([mixed(own, start, self.share) for own, start in every])
        return logsumexp(logs, 0) - np.log(len(logs))

    def best_share(self, held_out: HeldOutRows) -> float:
        """π by the rows that members were stopped by."""
        found = []
        for m, member in enumerate(self.members):
            rows = held_out.of(m)
            if rows is not None:
                found.append((*in_chunks(_both, member, rows), rows.w))
        return pooled_share(found)

    def transform(self, batch: Batch, member: int = 0) -> np.ndarray:
        """(n, d) the latent rows of a member."""
        return in_chunks(_latent, self.members[member], batch)

    def inverse(self, batch: Batch, member: int = 0) -> np.ndarray:
        """(n, d) the codes of latent rows x, given their conditions y."""
        return in_chunks(_inverse, self.members[member], batch)

    def sample(self, given: np.ndarray, random_state: Any) -> np.ndarray:
        """(n, q) codes of new rows, one for each row of conditions.

        Each row comes from a member drawn at random, and from its flow or its start.
        """
        rng = np.random.default_rng(seed_of(random_state))
        n, q = len(given), len(self.members[0].discrete)
        member = rng.integers(len(self.members), size=n)
        by_start = rng.random(n) >= self.share
        found = np.empty((n, q))
        for m, model in enumerate(self.members):
            rows = np.flatnonzero(member == m)
            if len(rows):
                seeds = rng.integers(2**31, size=len(rows))
                drawn = (given[rows], by_start[rows], seeds)
                found[rows] = in_chunks(_draw, model, drawn)
        return found


@eqx.filter_jit
def _both(model: MixedTableFlow, batch: Batch) -> tuple[Array, Array]:
    return model.both(batch)


@eqx.filter_jit
def _latent(model: MixedTableFlow, batch: Batch) -> Float[Array, "n d"]:
    numbers, cells = split(batch, model.discrete)
    return model.flow.transform(numbers, model.condition(cells))


@eqx.filter_jit
def _inverse(model: MixedTableFlow, batch: Batch) -> Float[Array, "n d"]:
    empty = jnp.zeros((len(batch.x), 0), batch.x.dtype)
    cells = Cells(empty, empty > 0, batch.y)
    return model.flow.inverse(batch.x, model.condition(cells))


@eqx.filter_jit
def _draw(
    model: MixedTableFlow,
    rows: tuple[Float[Array, "n g"], Bool[Array, " n"], Int[Array, " n"]],
) -> Float[Array, "n q"]:
    """A new row for each condition; the seed of the first row is that of all."""
    given, by_start, seeds = rows
    k_words, k_numbers, k_start = jax.random.split(jax.random.key(seeds[0]), 3)
    at, n = np.array(model.discrete), len(given)
    values = jnp.zeros((n, int(at.sum())), given.dtype)
    cells = Cells(values, values == 0, given)
    if model.words is not None:
        order = jnp.arange(int(at.sum()))
        values = draw_cells(model.words, cells, order, by_start, k_words)
        cells = Cells(values, jnp.zeros(values.shape, bool), given)
    condition, flow = model.condition(cells), model.flow
    Z = flow.base.sample(k_numbers, n, int((~at).sum())).astype(given.dtype)
    X = flow.inverse(Z, condition)
    if flow.units is not None:
        normal = jax.random.normal(k_start, Z.shape, Z.dtype)
        X = jnp.where(by_start[:, None], flow.units.inverse(normal, condition), X)
    found = jnp.zeros((n, len(at)), given.dtype)
    found = found.at[:, np.flatnonzero(at)].set(values)
    return found.at[:, np.flatnonzero(~at)].set(X)
