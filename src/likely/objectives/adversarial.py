r"""The losses of two players: a critic tells rows from draws, a generator deceives it.

With a the critic's numbers of rows $x \sim p$ and b those of draws $G(z) \sim q$, the critic
minimises the first and the generator the second of

    minimax         E log(1 + e^{−a}) + E log(1 + e^{b})      −E log(1 + e^{b})
    nonsaturating   the same                                  E log(1 + e^{−b})
    wasserstein     E b − E a                                 −E b

In the first two a number is the log-odds that a row is real, $D = σ(a)$. The best are
$\log p(x) - \log q(x)$, where the critic's loss is $2\log 2 - 2\,JS(p, q)$. So against the best
critic the generator of the minimax game minimises the divergence of Jensen and Shannon, at p = q
with D = 1/2 everywhere. Its gradient vanishes where the critic is sure, that of "nonsaturating"
does not.

Against the best critic with slopes of at most 1 the last is the distance of Wasserstein. A
penalty holds slopes near 1 between rows and draws, $λ\,E(\lVert\nabla D(u)\rVert - 1)^2$
with u on the line from a row to a draw. In the other games the penalty
$\tfrac{λ}{2}\,E\lVert\nabla D\rVert^2$ at rows and draws makes the game settle where p = q.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import check_choice
from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, State

GAMES = ("nonsaturating", "wasserstein", "minimax")
EVALUATION_SEED = 0
"""The seed of the draws where rows are only judged, so that two looks compare."""
MAX_JUDGED_ROWS = 1024
"""Rows whose distances judge a generator."""
SMALLEST = 1e-12


class AdversarialLoss(eqx.Module):
    """The losses of a critic and of a generator, and a distance that judges the draws.

    The model is `Players(critic, generator)`: `critic(x, given)` is a number for each row,
    `generator.draw(given, key)` are rows. What rows are conditioned on is `batch.y`.

    Args:
        prior: p(φ) of either player's weights, or None.
        rows: the normalisation over all the data.
        kind: one of `GAMES`.
        penalty: λ.
        blur: the widths of uniform noise that rows get, where values are whole numbers
            and draws are not; None for none.
    """

    prior: AbstractPrior | None
    rows: Normalisation
    kind: str = eqx.field(static=True, default="nonsaturating")
    penalty: Any = 0.0
    blur: Any = None

    def __check_init__(self):
        check_choice("loss", self.kind, GAMES)

    def loss(
        self, player: int, model: Any, batch: Batch, *, key: Key, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """What the critic (0) or the generator (1) minimises."""
        k_draw, k_blur, k_between = jax.random.split(key, 3)
        draws = model.second.draw(batch.y, k_draw)
        if player == 1:
            b = model.first(draws, batch.y)
            loss = self.rows.mean(generator_losses(self.kind, b), batch.w)
            return loss + self.rows.penalty(self.prior, model.second), state
        rows = batch.x
        if self.blur is not None:
            noise = jax.random.uniform(k_blur, rows.shape, rows.dtype, -0.5, 0.5)
            rows = rows + noise * jnp.asarray(self.blur, rows.dtype)[None]
        a, b = model.first(rows, batch.y), model.first(draws, batch.y)
        losses = critic_losses(self.kind, a, b)
        losses += self._penalties(model.first, rows, draws, batch.y, k_between)
        loss = self.rows.mean(losses, batch.w)
        return loss + self.rows.penalty(self.prior, model.first), state

    def _penalties(self, critic: Any, rows: Array, draws: Array, given: Any, key: Key):
        """What slopes of the critic cost, for each row."""
        strength = jnp.asarray(self.penalty, rows.dtype)
        if self.kind == "wasserstein":
            share = jax.random.uniform(key, (len(rows), *[1] * (rows.ndim - 1)))
            between = share.astype(rows.dtype) * rows + (1 - share) * draws
            slope = jnp.sqrt(square_slopes(critic, between, given) + SMALLEST)
            return strength * (slope - 1) ** 2
        both = square_slopes(critic, rows, given) + square_slopes(critic, draws, given)
        return 0.5 * strength * both

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The energy distance of rows and as many draws, which is 0 where p = q."""
        del key  # the same draws at every look
        batch = jax.tree.map(lambda a: a[:MAX_JUDGED_ROWS], batch)
        draws = model.second.draw(batch.y, jax.random.key(EVALUATION_SEED))
        flat = [jnp.reshape(x, (len(x), -1)) for x in (batch.x, draws)]
        x, z = (jnp.concatenate([each, batch.y], 1) for each in flat)
        return energy_distance(x, z, batch.w), state


def critic_losses(kind: str, a: Any, b: Any) -> Any:
    """What each pair of a row and a draw costs the critic, without a penalty.

    Args:
        kind: one of `GAMES`.
        a: (n,) the critic's numbers of rows.
        b: (n,) those of draws.
    """
    if kind == "wasserstein":
        return b - a
    return jax.nn.softplus(-a) + jax.nn.softplus(b)


def generator_losses(kind: str, b: Any) -> Any:
    """What each draw costs the generator.

    Args:
        kind: one of `GAMES`.
        b: (n,) the critic's numbers of draws.
    """
    if kind == "nonsaturating":
        return jax.nn.softplus(-b)
    return -b if kind == "wasserstein" else -jax.nn.softplus(b)


def square_slopes(critic: Any, x: Array, given: Any) -> Float[Array, " n"]:
    """The squared length of the gradient of the critic's number at each row."""
    g = jax.grad(lambda rows: critic(rows, given).sum())(x)
    return (g.reshape(len(g), -1) ** 2).sum(1)


def energy_distance(
    x: Float[Array, "n d"], z: Float[Array, "n d"], w: Float[Array, " n"]
) -> Float[Array, ""]:
    r"""$2E\lVert x - z\rVert - E\lVert x - x'\rVert - E\lVert z - z'\rVert \ge 0$.

    Args:
        x: rows.
        z: draws, each with the weight of its row.
        w: weights.
    """
    share = jnp.where(w > 0, w, 0.0) / jnp.maximum(w.sum(), SMALLEST)
    pairs = share[:, None] * share[None]
    other = jnp.where(jnp.eye(len(w), dtype=bool), 0.0, pairs)
    other = other / jnp.maximum(other.sum(), SMALLEST)
    apart = (pairs * _distances(x, z)).sum()
    return 2 * apart - sum((other * _distances(u, u)).sum() for u in (x, z))


def _distances(x: Array, z: Array) -> Float[Array, "n m"]:
    squares = (x**2).sum(1)[:, None] + (z**2).sum(1)[None] - 2 * x @ z.T
    return jnp.sqrt(jnp.maximum(squares, SMALLEST))


def optimal_critic(log_p: Any, log_q: Any) -> np.ndarray:
    """The log-odds of the best critic: log p(x) − log q(x), with D(x) = p/(p + q).

    Args:
        log_p: log probabilities or densities of real rows at some points.
        log_q: those of draws, at the same points.

    Examples:
        >>> lk.objectives.optimal_critic(np.log([0.6]), np.log([0.2])).round(2)
        array([1.1])
    """
    return np.asarray(log_p, np.float64) - np.asarray(log_q, np.float64)
