"""Flows of images at work: bounds of log P, latent images and new images."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import logsumexp

from likely.base.generator import Bound
from likely.core.random import seed_of
from likely.generative.flows.image_model import PixelFlow, with_noise
from likely.generative.row_chunks import in_chunks
from likely.typing import Batch

MAX_IMAGES = 128
"""Images that are computed together."""


class ImageFlows(NamedTuple):
    """The flows of all members; p is their mean."""

    members: list[PixelFlow]

    def bound(self, batch: Batch, n_draws: int, random_state: Any) -> Bound:
        """The logarithm of the mean density over draws of the noise, and its error."""
        rng = np.random.default_rng(seed_of(random_state))
        logs = []
        for _ in range(n_draws):
            rows = (batch.x, batch.y, rng.integers(2**31, size=len(batch.w)))
            every = [self._run(_log_probs, m, rows) for m in self.members]
            logs.append(logsumexp(every, axis=0) - np.log(len(every)))
        mean = logsumexp(logs, axis=0) - np.log(n_draws)
        spread = np.maximum((np.exp(2 * (np.stack(logs) - mean))).mean(0) - 1, 0.0)
        return Bound(mean, np.sqrt(spread / max(n_draws - 1, 1)))

    def log_prob(self, batch: Batch) -> np.ndarray:
        """(n,) log p of images whose pixels are any numbers."""
        return self.bound(batch, 1, 0).values

    def transform(self, batch: Batch, member: int, random_state: Any) -> np.ndarray:
        """(n, d) latent numbers; pixels with levels get noise."""
        seeds = np.full(len(batch.w), seed_of(random_state) % 2**31)
        return self._run(_latent, self.members[member], (batch.x, batch.y, seeds))

    def inverse(self, Z: np.ndarray, given: np.ndarray, member: int) -> np.ndarray:
        """(n, ...) the images of latent numbers; the levels of those with noise."""
        return self._run(_inverse, self.members[member], (Z, given))

    def sample(
        self, given: np.ndarray, size: int, temperature: float, random_state: Any
    ) -> np.ndarray:
        """New images, one for each row of conditions, of a member drawn at random."""
        rng = np.random.default_rng(seed_of(random_state))
        Z = temperature * rng.normal(size=(len(given), size))
        member = rng.integers(len(self.members), size=len(given))
        parts = {m: np.flatnonzero(member == m) for m in map(int, np.unique(member))}
        every = {m: self.inverse(Z[r], given[r], m) for m, r in parts.items()}
        found = np.empty((len(given), *next(iter(every.values())).shape[1:]))
        for m, rows in parts.items():
            found[rows] = every[m]
        return found

    @staticmethod
    def _run(function: Any, model: PixelFlow, rows: Any) -> Any:
        return in_chunks(function, model, rows, double=False, max_rows=MAX_IMAGES)


Rows = tuple[Float[Array, "n ..."], Float[Array, "n g"], Int[Array, " n"]]


@eqx.filter_jit
def _log_probs(model: PixelFlow, rows: Rows) -> Float[Array, " n"]:
    X, given, seeds = rows
    batch = Batch(X, given, jnp.ones(len(X), X.dtype))
    return model.log_probs(batch, key=jax.random.key(seeds[0]))


@eqx.filter_jit
def _latent(model: PixelFlow, rows: Rows) -> Float[Array, "n d"]:
    X, given, seeds = rows
    return model.flow.transform(
        with_noise(X, model.levels, jax.random.key(seeds[0])), given
    )


@eqx.filter_jit
def _inverse(
    model: PixelFlow, rows: tuple[Float[Array, "n d"], Float[Array, "n g"]]
) -> Float[Array, "n ..."]:
    X = model.flow.inverse(*rows)
    if not model.levels:
        return X
    return jnp.clip(jnp.floor(X), 0, model.levels - 1)
