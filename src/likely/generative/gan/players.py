r"""The two networks of a GAN: a generator from noise to rows, and a critic of rows.

Of a table the generator begins at the best normal distribution, $x = m + z^⊤W$ with
$W^⊤W$ the covariance of the rows (up to the length of z), and its network, which begins at
zero, learns what is not normal. So it covers all rows from the first step on. A category is a
draw by the logits of its levels; the critic sees the level alone, and gradients pass as if it
were the softmax of logits with Gumbel noise.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.rows import weighted_mean
from likely.generative.autoencoders.networks import Decoder, Encoder
from likely.layers import Dense
from likely.objectives.adversarial import AdversarialLoss
from likely.objectives.rows import Normalisation
from likely.solvers import Players
from likely.typing import Batch, Key

TEMPERATURE = 0.7
"""Of the softmax whose gradient stands for that of a drawn level."""
LEAST_SHARE = 1e-3
"""Of a level that hardly occurs, where a generator begins."""


class PointHead(eqx.Module):
    """From the numbers of a network to a point: pixels, numbers and drawn levels.

    Args:
        bounded: whether all numbers lie between −1 and 1, as those of pixels with levels.
        levels: (first, last + 1) of the numbers of each category.
    """

    bounded: bool = eqx.field(static=True)
    levels: tuple[tuple[int, int], ...] = eqx.field(static=True, default=())

    def __call__(
        self, out: Float[Array, "n o"], key: Key | None = None
    ) -> Float[Array, "n o"]:
        """The points; without a key the most probable level of each category."""
        if self.bounded:
            return jnp.tanh(out)
        for number, (start, stop) in enumerate(self.levels):
            own = None if key is None else jax.random.fold_in(key, number)
            drawn = _level(out[:, start:stop], own)
            out = out.at[:, start:stop].set(drawn)
        return out

    def start(
        self, mean: Float[Array, " o"], weight: Float[Array, "k o"]
    ) -> tuple[Float[Array, " o"], Float[Array, "k o"]]:
        """Offsets and weights of a linear start, with logits in the place of levels."""
        for start, stop in self.levels:
            share = jnp.clip(0.5 * (mean[start:stop] + 1), LEAST_SHARE, 1 - LEAST_SHARE)
            both = stop - start == 1
            logits = jnp.log(share) - (jnp.log1p(-share) if both else 0.0)
            mean = mean.at[start:stop].set(logits)
            weight = weight.at[:, start:stop].set(0.0)
        return mean, weight


def _level(logits: Float[Array, "n l"], key: Key | None) -> Float[Array, "n l"]:
    """1 for the drawn level and −1 for the others, with the gradient of a softmax."""
    two = logits.shape[1] == 1
    if two:  # one number for two levels
        logits = jnp.concatenate([jnp.zeros_like(logits), logits], 1)
    if key is not None:
        logits = logits + jax.random.gumbel(key, logits.shape, logits.dtype)
    soft = jax.nn.softmax(logits / TEMPERATURE, axis=1)
    hard = jax.nn.one_hot(logits.argmax(1), logits.shape[1], dtype=logits.dtype)
    share = hard + (soft - jax.lax.stop_gradient(soft))
    return 2 * (share[:, 1:] if two else share) - 1


class RowGenerator(eqx.Module):
    """A network from latent numbers and a condition to rows.

    Args:
        network: the network, to flat rows.
        head: what becomes of its numbers.
        shape: of a row.
        n_latent: how many latent numbers there are.
    """

    network: Decoder
    head: PointHead
    shape: tuple[int, ...] = eqx.field(static=True)
    n_latent: int = eqx.field(static=True)

    def __call__(
        self, z: Float[Array, "n k"], given: Float[Array, "n g"], key: Key | None = None
    ) -> Float[Array, "n ..."]:
        """The rows of latent numbers."""
        out = self.head(self.network(z, given), key)
        return out.reshape(len(out), *self.shape)

    def draw(self, given: Float[Array, "n g"], key: Key) -> Float[Array, "n ..."]:
        """A new row for each condition."""
        first, then = jax.random.split(key)
        z = jax.random.normal(first, (len(given), self.n_latent), given.dtype)
        return self(z, given, then)


class Critic(eqx.Module):
    """A network from rows and their conditions to one number: large for real rows."""

    network: Encoder
    shape: tuple[int, ...] = eqx.field(static=True)
    """In which the network takes rows."""

    def __call__(
        self, x: Float[Array, "n ..."], given: Float[Array, "n g"]
    ) -> Float[Array, " n"]:
        """The number of each row."""
        return self.network(x.reshape(len(x), *self.shape), given)[:, 0]


class GANProblem(eqx.Module):
    """What is learned: a critic and a generator of rows.

    Args:
        generator: settings of the generator's network.
        critic: settings of the critic's network.
        shape: in which the networks take rows.
        head: what becomes of the generator's numbers.
        n_latent: how many latent numbers there are.
        kind: the game, one of `GAMES`.
        penalty: of the critic's slopes.
        blur: the widths of noise on rows, or None.
    """

    generator: Any
    critic: Any
    shape: tuple[int, ...] = eqx.field(static=True)
    head: PointHead
    n_latent: int = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    penalty: Any
    blur: Any = None

    def build(self, data: Batch, key: Key) -> Players:
        """Both networks with their first weights."""
        k_critic, k_rows, k_start = jax.random.split(key, 3)
        row, g = tuple(data.x.shape[1:]), data.y.shape[1]
        size = int(np.prod(row))
        encoder = self.critic.encoder(self.shape, g, 1, k_critic)
        decoder = self.generator.decoder(self.n_latent + g, size, self.shape, k_rows)
        if len(row) == 1:
            start = self._start(data, k_start)
            decoder = eqx.tree_at(
                lambda d: d.linear, decoder, start, is_leaf=lambda a: a is None
            )
        return Players(
            Critic(encoder, self.shape),
            RowGenerator(decoder, self.head, row, self.n_latent),
        )

    def _start(self, data: Batch, key: Key) -> Dense:
        """The best normal distribution of rows, as a linear map of latent numbers."""
        x, w = data.x, data.w
        mean = weighted_mean(x, w)
        apart = jnp.where(w[:, None] > 0, x - mean[None], 0.0)
        covariance = (w[:, None] * apart).T @ apart / w.sum()
        values, vectors = jnp.linalg.eigh(covariance)
        axes = (jnp.sqrt(jnp.maximum(values, 0.0))[None] * vectors).T[::-1]
        size = x.shape[1]
        weight = jnp.zeros((self.n_latent + data.y.shape[1], size), x.dtype)
        kept = min(self.n_latent, size)
        mean, weight = self.head.start(mean, weight.at[:kept].set(axes[:kept]))
        linear = Dense(weight.shape[0], size, key=key)
        return eqx.tree_at(lambda d: (d.weight, d.bias), linear, (weight, mean))

    def objective(self, prior: Any, rows: Normalisation) -> AdversarialLoss:
        """What both minimise."""
        return AdversarialLoss(prior, rows, self.kind, self.penalty, self.blur)
