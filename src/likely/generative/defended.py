r"""Maximum likelihood with a start to fall back on: $π\,p(x) + (1 - π)\,p_0(x)$.

A flexible density of few rows is sharp around them and says of some new rows that they are
all but impossible. So it keeps the simple density $p_0$ that its training begins at (of a
table of numbers, the most probable normal distribution) as a second component. Rows that
$p_0$ explains better do not pull at the network, and on new rows the mixture loses at most
$-\log(1 - π)$ nats against $p_0$. After the training π is the share that makes
the rows that were held out most probable, so that no data make the default much worse than
$p_0$.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, State

TRAINING_SHARE = 0.9
"""π in training."""
EM_STEPS = 200
MIN_SHARE, MAX_SHARE = 0.01, 0.999
"""Between which π is searched."""
MAX_NOISE, NOISE_ROWS = 0.2, 9.0
"""The noise in training is the first, or the root of the second over n if that is less."""
PRIOR_ROWS = 1.0
"""How many rows the network is thought to have explained better before any is seen."""


class DefendedLikelihood(eqx.Module):
    """−log(π p + (1 − π) p₀), per unit of weight, and the prior.

    On held-out rows (`key=None`) it is without the prior: they are there to be predicted.

    Args:
        prior: p(φ), or None.
        rows: the normalisation over all the data.
        share: π.
        noise: of the model in training, or None.
    """

    prior: AbstractPrior | None
    rows: Normalisation
    share: float = eqx.field(static=True, default=TRAINING_SHARE)
    noise: Any = None

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The mean loss of the rows, and the prior in training."""
        own, start = model.both(batch, key=key, noise=self.noise)
        loss = -self.rows.mean(mixed(own, start, self.share), batch.w)
        if key is None:
            return loss, state
        return loss + self.rows.penalty(self.prior, model), state


def mixed(own: Any, start: Any, share: float) -> Any:
    """log(π p + (1 − π) p₀) from log p and log p₀, in NumPy or JAX."""
    if share == 1:
        return own
    xp: Any = np if isinstance(own, np.ndarray) else jnp
    return xp.logaddexp(np.log(share) + own, np.log1p(-share) + start)


def best_share(own: np.ndarray, start: np.ndarray, w: np.ndarray) -> float:
    """π that makes held-out rows most probable, by EM.

    Args:
        own: (n,) log p of each row, by a network that did not learn from it.
        start: (n,) log p₀.
        w: (n,) weights.
    """
    share = TRAINING_SHARE
    for _ in range(EM_STEPS):
        odds = np.log1p(-share) - np.log(share) + start - own
        mine = 1 / (1 + np.exp(np.clip(odds, -500, 500)))
        share = float((w @ mine + PRIOR_ROWS) / (w.sum() + PRIOR_ROWS))
        share = float(np.clip(share, MIN_SHARE, MAX_SHARE))
    return share


def pooled_share(held_out: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> float:
    """π by log p, log p₀ and weights of the rows that each member held out."""
    if not held_out:
        return TRAINING_SHARE
    return best_share(*(np.concatenate(each) for each in zip(*held_out, strict=True)))


def checked_share(share: Any) -> float:
    """The setting of π."""
    if not 0 < float(share) <= 1:
        raise InputError(f"share is {share}; give a number above 0, up to 1.")
    return float(share)


def training_noise(noise: Any, n: int) -> np.ndarray | None:
    """The standard deviation of noise in training; None for none.

    Args:
        noise: the setting: a number, or "auto".
        n: how many rows there are.
    """
    if isinstance(noise, str) and noise == "auto":
        return np.asarray(min(MAX_NOISE, np.sqrt(NOISE_ROWS / n)))
    found = at_least("noise", noise)
    return np.asarray(found) if found else None
