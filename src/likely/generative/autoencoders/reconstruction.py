r"""The pure core of autoencoders: an encoder and a decoder that are trained together.

    h = e(x),   x̂ = d(h),   and both minimise the error of x̂, with a penalty on h if asked.

In training the encoder may see disturbed rows, with noise added or values put to zero: then the
pair learns to remove the disturbance.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from likely.generative.autoencoders.units import ColumnUnits
from likely.layers import Chain, activation
from likely.objectives.reconstruction import (
    ReconstructionError,
    SparseReconstructionError,
)
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key


class Corruption(eqx.Module):
    """Disturbed rows for a denoising autoencoder: a `Perturbation` of first-order solvers.

    Args:
        noise: the standard deviation of what is added to each value.
        mask: the probability that a value is put to 0, the mean.
    """

    noise: Any
    mask: Any

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The parameters and the disturbed rows."""
        return params, batch._replace(x=self.rows(batch.x, key))

    def rows(self, X: Float[Array, "n ..."], key: Key) -> Float[Array, "n ..."]:
        """The disturbed rows."""
        k_noise, k_mask = jax.random.split(key)
        noise = jnp.asarray(self.noise, X.dtype)
        X = X + noise * jax.random.normal(k_noise, X.shape, X.dtype)
        share = jnp.asarray(self.mask, X.dtype)
        return jnp.where(jax.random.uniform(k_mask, X.shape, X.dtype) < share, 0.0, X)


class Reconstruction(eqx.Module):
    """What is learned by an autoencoder: a `Problem` of `train_unsupervised`.

    Args:
        coder: the settings of the networks.
        n_components: the length of the code.
        scaling: how columns are scaled, see `ColumnUnits`.
        code: the activation of the code, or None.
        sparsity: "l1", "kl" or None.
        strength: λ of the sparsity.
        target: the mean activation that "kl" asks for.
    """

    strength: Any
    target: Any
    coder: Any
    n_components: int = eqx.field(static=True)
    scaling: str = eqx.field(static=True, default="columns")
    code: Any = eqx.field(static=True, default=None)
    sparsity: str | None = eqx.field(static=True, default=None)

    def scaling_of(self, data: Batch) -> ColumnUnits:
        """The units of rows that are present."""
        return ColumnUnits.of(data, self.scaling)

    def build(self, data: Batch, key: Key) -> Chain:
        """The encoder and the decoder with their first weights."""
        shape = data.x.shape[1:]
        k_in, k_out = jax.random.split(key)
        size = data.x.size // len(data.x)
        encoder = self.coder.encoder(shape, 0, self.n_components, k_in)
        decoder = self.coder.decoder(self.n_components, size, shape, k_out)
        first = encoder.chain
        if self.code is not None:
            first = Chain(*first.layers, activation(self.code, self.n_components))
        return Chain(first, decoder.chain)

    def objective(self, prior: Any, rows: Normalisation) -> Any:
        """The error of the reconstruction."""
        if self.sparsity is None:
            return ReconstructionError(prior, rows)
        return SparseReconstructionError(
            prior, rows, self.strength, self.target, self.sparsity
        )
