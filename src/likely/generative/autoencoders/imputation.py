r"""Missing cells by a variational autoencoder: draws of $p(x_{missing}, z \mid x_{known})$.

Metropolis within Gibbs: given the missing cells of now, the encoder proposes a code $z'$, which
is accepted with probability

$$\min\Bigl(1, \frac{p(x \mid z')\, p(z')\, q(z \mid x)}{p(x \mid z)\, p(z)\, q(z' \mid x)}\Bigr),$$

and given the code, the decoder draws the missing cells anew. So the chain has the right limit
whatever the encoder is; a good one only makes it shorter. What is reported of a cell is an
average over the codes of the chain after its first half.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.base.training.unsupervised import Cells, unpack
from likely.generative.autoencoders.posterior import prior_log_prob
from likely.generative.autoencoders.variational import LatentModel, Variational
from likely.typing import Batch, Key


class Imputed(NamedTuple):
    """What a chain says about cells; only those that are missing are to be looked at."""

    points: Float[Array | np.ndarray, "n q"]
    """The most plausible value of each cell."""
    log_prob: Float[Array | np.ndarray, "n q"]
    """log p of the true value of each cell, given the cells that are there."""
    draws: Float[Array | np.ndarray, "n t q"]
    """Rows whose missing cells are drawn, t of them."""


class Chain(NamedTuple):
    """The state of a chain for each row."""

    z: Float[Array, "n k"]
    x: Float[Array, "n q"]


@eqx.filter_jit
def impute_rows(
    variational: Variational,
    model: LatentModel,
    batch: Batch,
    key: Key,
    *,
    steps: int,
    tables: int,
) -> Imputed:
    """Fill the missing cells of rows.

    Args:
        variational: the model without parameters.
        model: its parameters.
        batch: packed rows; in missing cells x holds the value that is to be judged.
        key: randomness.
        steps: of the chain between two kept states; as many as all come before the first.
        tables: how many states are kept.
    """
    cells = unpack(batch, mask=True)
    like, shape = variational.likelihood, cells.values.shape
    missing = cells.missing.reshape(len(cells.values), -1)
    truth = cells.values.reshape(missing.shape)
    first, burn, rest = jax.random.split(key, 3)

    step = partial(_step, variational, model, cells)

    def keep(carry: tuple, key: Key) -> tuple:
        chain, total, log_total = carry
        chain = _advance(step, chain, key, steps)
        out = variational.decoded(model, chain.z, cells.given)
        total = [
            t + e
            for t, e in zip(total, like.expectations(out, model.tail), strict=True)
        ]
        log_p = like.log_prob(out, model.tail, truth, None)
        return (chain, total, jnp.logaddexp(log_total, log_p)), chain.x

    start = _start(
        variational, model, cells._replace(values=truth.reshape(shape)), first
    )
    start = _advance(step, start, burn, steps * tables)
    zeros = [
        jnp.zeros_like(e)
        for e in like.expectations(
            variational.decoded(model, start.z, cells.given), model.tail
        )
    ]
    carry = start, zeros, jnp.full_like(truth, -jnp.inf)
    (_, total, log_total), draws = jax.lax.scan(
        keep, carry, jax.random.split(rest, tables)
    )
    points = like.point([t / tables for t in total])
    found = jnp.where(missing, points, truth)
    return Imputed(found, log_total - jnp.log(tables), jnp.moveaxis(draws, 0, 1))


def _start(
    variational: Variational, model: LatentModel, cells: Cells, key: Key
) -> Chain:
    """A code from the cells that are there, and missing cells as the decoder draws them."""
    q = variational.posterior(model, cells)
    z = q.draw(jax.random.normal(key, q.mean.shape, q.mean.dtype))
    missing = cells.missing.reshape(len(z), -1)
    out = variational.decoded(model, z, cells.given)
    drawn = variational.likelihood.sample(out, model.tail, jax.random.fold_in(key, 1))
    values = cells.values.reshape(missing.shape)
    return Chain(z, jnp.where(missing, drawn, values))


def _advance(step: Any, chain: Chain, key: Key, count: int) -> Chain:
    def body(i: Any, chain: Chain) -> Chain:
        return step(chain, jax.random.fold_in(key, i))

    return jax.lax.fori_loop(0, count, body, chain)


def _step(
    variational: Variational,
    model: LatentModel,
    cells: Cells,
    chain: Chain,
    key: Key,
) -> Chain:
    """A new code, accepted or not, then new values of the missing cells."""
    missing = cells.missing.reshape(len(cells.values), -1)
    k_propose, k_accept, k_draw = jax.random.split(key, 3)
    values = chain.x.reshape(cells.values.shape)
    full = Cells(values, jnp.zeros(values.shape, bool), cells.given)
    q = variational.posterior(model, full)
    noise = jax.random.normal(k_propose, q.mean.shape, q.mean.dtype)
    z = q.draw(noise)

    def log_ratio(z: Array, log_q: Array) -> Array:
        joint = variational.log_likelihood(model, full, z) + prior_log_prob(z)
        return joint - log_q

    gain = log_ratio(z, q.log_prob(noise)) - log_ratio(chain.z, q.log_density(chain.z))
    uniform = jax.random.uniform(k_accept, gain.shape, gain.dtype)
    accepted = jnp.log(uniform) < gain
    z = jnp.where(accepted[:, None], z, chain.z)
    out = variational.decoded(model, z, cells.given)
    drawn = variational.likelihood.sample(out, model.tail, k_draw)
    return Chain(z, jnp.where(missing, drawn, chain.x))
