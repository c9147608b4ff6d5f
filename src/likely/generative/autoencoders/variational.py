r"""The pure core of a variational autoencoder: p(x, z) and q(z | x), apart from parameters.

    z ~ N(0, I),   x_j | z ~ family_j(η_j(z)),   q(z | x) = N(μ(x), L(x) L(x)ᵀ)

with η the decoder and (μ, L) the encoder, both networks. Everything may be conditioned on c:
then both networks see c, too.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.base.training.unsupervised import Cells, unpack
from likely.generative.autoencoders.cells import CellLikelihood
from likely.generative.autoencoders.networks import Decoder, Encoder
from likely.generative.autoencoders.posterior import (
    NormalPosterior,
    as_posterior,
    posterior_size,
    prior_log_prob,
)
from likely.generative.autoencoders.starts import LinearStart, linear_start
from likely.layers import Dense
from likely.objectives.evidence_bound import NegativeEvidenceBound
from likely.objectives.rows import Normalisation
from likely.preprocess.codec.inputs import CellInputs
from likely.typing import Batch, Key

MAX_TOGETHER = 8
"""Draws of a code that are decoded in one batch."""


class LatentModel(eqx.Module):
    """The parameters φ: the networks, and what all rows share."""

    encoder: Encoder
    decoder: Decoder
    start: Float[Array, " o"]
    """What is added to the output of the decoder: at first the best η without a code."""
    tail: Float[Array, " t"]
    """Scales and concentrations that all rows share."""


class Variational(eqx.Module):
    """A variational autoencoder without its parameters.

    Args:
        likelihood: p(x | z), cell by cell.
        inputs: how the codes of a table become inputs; None for images and plain numbers.
        coder: the settings of the networks.
        n_components: the length k of a code.
        covariance: "diagonal" or "full", of q.
        shape: of a row, as the encoder sees it.
        mask: whether batches have flags of missing cells.
        draws: K, the draws of the objective.
        units: center and scale of the inputs of the encoder where there is no codec.
    """

    likelihood: CellLikelihood
    inputs: CellInputs | None
    units: tuple[Any, Any]
    coder: Any
    n_components: int = eqx.field(static=True)
    covariance: str = eqx.field(static=True)
    shape: tuple[int, ...] = eqx.field(static=True)
    mask: bool = eqx.field(static=True)
    draws: int = eqx.field(static=True, default=1)

    # The problem of a training --------------------------------------------------------

    def build(self, data: Batch, key: Key) -> LatentModel:
        """First weights; without a code every column has its own best distribution."""
        cells = unpack(data, mask=self.mask)
        k_encoder, k_decoder = jax.random.split(key)
        k, g = self.n_components, cells.given.shape[1]
        size = posterior_size(k, self.covariance)
        like = self.likelihood
        flat, missing = self._flat(cells)
        encoder = self.coder.encoder(self.shape, g, size, k_encoder)
        decoder = self.coder.decoder(k + g, like.n_out, self.shape, k_decoder)
        w = jnp.broadcast_to(data.w[:, None], flat.shape)
        w = w if missing is None else jnp.where(missing, 0.0, w)
        X = self.network_inputs(cells).reshape(len(flat), -1)
        found = linear_start(X, flat, w, like, k)
        encoder, decoder = _with_shortcuts(encoder, decoder, found, size, g)
        return LatentModel(encoder, decoder, found.start, found.tail)

    def objective(self, prior: Any, rows: Normalisation) -> NegativeEvidenceBound:
        """The negative bound."""
        return NegativeEvidenceBound(self, prior, rows, self.draws)

    def bound(
        self, model: LatentModel, batch: Batch, key: Key, draws: int
    ) -> Float[Array, " n"]:
        """The bound of each row, from so many draws of its code."""
        cells = unpack(batch, mask=self.mask)
        if draws > 1:
            weights = self.log_weights(model, cells, key, draws)
            return jax.nn.logsumexp(weights, 0) - jnp.log(draws)
        q = self.posterior(model, cells)
        noise = jax.random.normal(key, q.mean.shape, q.mean.dtype)
        return self.log_likelihood(model, cells, q.draw(noise)) - q.divergence()

    # The distributions ----------------------------------------------------------------

    def posterior(self, model: LatentModel, cells: Cells) -> NormalPosterior:
        """q(z | x) of each row."""
        out = model.encoder(self.network_inputs(cells), cells.given)
        return as_posterior(out, self.n_components, self.covariance)

    def network_inputs(self, cells: Cells) -> Float[Array, "n ..."]:
        """The inputs of the encoder."""
        if self.inputs is not None:
            missing = cells.missing
            if missing is None:
                missing = jnp.zeros(cells.values.shape, bool)
            return self.inputs(cells.values, missing)
        front = (1,) * (cells.values.ndim - 1)
        center, scale = (
            jnp.asarray(u, cells.values.dtype).reshape(*front, -1) for u in self.units
        )
        X = (cells.values - center) / scale
        X = X if cells.missing is None else jnp.where(cells.missing, 0.0, X)
        return X.reshape(len(X), *self.shape)

    def log_likelihood(
        self, model: LatentModel, cells: Cells, z: Float[Array, "n k"]
    ) -> Float[Array, " n"]:
        """log p(x | z) of each row, of the cells that are there."""
        return self.cell_log_prob(model, cells, z).sum(1)

    def cell_log_prob(
        self, model: LatentModel, cells: Cells, z: Float[Array, "n k"]
    ) -> Float[Array, "n q"]:
        """log p(x_j | z) of each cell, 0 where it is missing."""
        flat, missing = self._flat(cells)
        out = self.decoded(model, z, cells.given)
        return self.likelihood.log_prob(out, model.tail, flat, missing)

    def log_weights(
        self, model: LatentModel, cells: Cells, key: Any, draws: int
    ) -> Float[Array, "s n"]:
        """log p(x, z) − log q(z | x) of draws z of q.

        Args:
            model: the parameters.
            cells: the rows.
            key: one for all rows, or (n,) one for each.
            draws: how many.
        """
        q = self.posterior(model, cells)
        together = draws if draws <= MAX_TOGETHER else 1
        once = _repeated(cells, together)

        def some(key: Any) -> Float[Array, "t n"]:
            keys = split_keys(key, together)
            noise = jax.vmap(lambda own: normal_noise(own, q.mean))(keys)
            z = jax.vmap(q.draw)(noise)
            flat = z.reshape(-1, z.shape[-1])
            joint = self.log_likelihood(model, once, flat) + prior_log_prob(flat)
            return joint.reshape(together, -1) - jax.vmap(q.log_prob)(noise)

        if together == draws:
            return some(key)
        return jax.lax.map(some, split_keys(key, draws))[:, 0]

    def decoded(
        self, model: LatentModel, z: Float[Array, "n k"], given: Float[Array, "n g"]
    ) -> Float[Array, "n o"]:
        """The outputs of the decoder, from which η of each cell follows."""
        return model.decoder(z, given) + model.start[None]

    def _flat(self, cells: Cells) -> tuple[Array, Any]:
        """Cells in one axis."""
        n = len(cells.values)
        missing = cells.missing
        flags = None if missing is None else missing.reshape(n, -1)
        return cells.values.reshape(n, -1), flags


def split_keys(key: Any, count: int) -> Any:
    """(count,) or (count, n) keys, from one for all rows or from (n,) keys."""
    if not key.ndim:
        return jax.random.split(key, count)
    draws = jnp.arange(count)
    return jax.vmap(lambda i: jax.vmap(jax.random.fold_in, (0, None))(key, i))(draws)


def normal_noise(key: Any, like: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """Normal noise, from one key for all rows or from (n,) keys."""
    if not key.ndim:
        return jax.random.normal(key, like.shape, like.dtype)
    return jax.vmap(lambda own: jax.random.normal(own, like.shape[1:], like.dtype))(key)


def _with_shortcuts(
    encoder: Encoder, decoder: Decoder, found: LinearStart, size: int, g: int
) -> tuple[Encoder, Decoder]:
    """The networks with linear shortcuts, which do what principal components do."""
    p, k = found.mean.shape
    kind = found.mean.dtype
    weight = jnp.zeros((p + g, size), kind).at[:p, :k].set(found.mean)
    bias = jnp.zeros(size, kind).at[:k].set(-found.center @ found.mean)
    bias = bias.at[k : 2 * k].set(found.log_scale)
    slopes = jnp.pad(found.slopes, ((0, g), (0, 0)))
    return (
        Encoder(encoder.front, encoder.dense, _dense(weight, bias)),
        Decoder(decoder.dense, decoder.back, _dense(slopes, None)),
    )


def _dense(weight: Array, bias: Array | None) -> Dense:
    """A dense layer with these weights."""
    plain = Dense(1, 1, bias=bias is not None, init="zero", key=jax.random.key(0))
    return eqx.tree_at(
        lambda d: (d.weight, d.bias), plain, (weight, bias), is_leaf=lambda a: a is None
    )


def _repeated(cells: Cells, times: int) -> Cells:
    """Every row so many times, one copy of all rows after the other."""
    if times == 1:
        return cells
    parts = [
        None if a is None else jnp.tile(a, (times,) + (1,) * (a.ndim - 1))
        for a in cells
    ]
    return Cells(*parts)
