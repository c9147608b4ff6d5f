r"""Hidden tokens: what a masked language model is trained on.

Of the L tokens of a window about a part p is chosen, at least one: max(1, round(pL)). Of those
chosen 80 % become the symbol *mask*, 10 % a random token, and 10 % stay as they are, so that the
network has to know every token by its neighbours. With pairs a window is cut in two by a
*separator*; half of the second parts come from another window, and the network says which.

Tokens are 0 to n − 1, mask is n, the separator n + 1, and n + 2 stands where nothing is.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from likely.text.models.random_windows import RandomWindows
from likely.typing import Batch, Key

MASKED, REPLACED = 0.8, 0.1
"""Of the chosen tokens: how many become the mask, how many a random token."""
IGNORED = -1
"""The target where nothing is judged."""


class Symbols(NamedTuple):
    """The numbers of what is no token, after n tokens."""

    n_tokens: int

    @property
    def mask(self) -> int:
        """What hides a token."""
        return self.n_tokens

    @property
    def separator(self) -> int:
        """What stands between the parts of a pair."""
        return self.n_tokens + 1

    @property
    def absent(self) -> int:
        """What stands where nothing is."""
        return self.n_tokens + 2


class Hidden(NamedTuple):
    """Windows with hidden tokens."""

    symbols: Any
    """(n, t) what the network reads."""
    at: Any
    """(n, k) the positions that are judged."""
    tokens: Any
    """(n, k) the tokens there; `IGNORED` where a row has fewer."""
    follows: Any
    """(n,) 1 where the second part follows the first, 0 where not; `IGNORED` without pairs."""

    @property
    def targets(self) -> Any:
        """(n, 2k + 1) all but the symbols, as one array."""
        return jnp.concatenate([self.at, self.tokens, self.follows[:, None]], 1)

    @classmethod
    def of(cls, symbols: Any, targets: Any) -> "Hidden":
        """From the arrays of a batch."""
        k = targets.shape[1] // 2
        return cls(symbols, targets[:, :k], targets[:, k:-1], targets[:, -1])


class Masking(eqx.Module):
    """A perturbation of the rows of a round: random windows with hidden tokens.

    Args:
        windows: which windows are drawn.
        fraction: the part of the tokens that is chosen.
        n_tokens: the number of tokens.
        pairs: whether windows are cut into pairs.
    """

    windows: RandomWindows
    fraction: Float[Array | np.ndarray, ""]
    n_tokens: int = eqx.field(static=True)
    chosen: int = eqx.field(static=True)
    pairs: bool = eqx.field(static=True, default=False)

    @classmethod
    def of(cls, windows: RandomWindows, fraction: float, *, pairs: bool) -> "Masking":
        """The masking of windows in which the beginning stands where nothing is."""
        n_tokens, length = windows.begin - 2, windows.length
        chosen = max(1, int(np.floor(fraction * length + 0.5)))
        part = np.asarray(fraction, np.float32)
        return cls(windows, part, n_tokens, chosen, pairs)

    @property
    def batch_size(self) -> int:
        """The rows of a step."""
        return self.windows.batch_size

    @property
    def length(self) -> int:
        """The tokens of a row."""
        return self.windows.length

    @property
    def judged_per_row(self) -> float:
        """Σ w · judged tokens of a row, on average over all draws."""
        drawn = self.windows
        n = int(drawn.n_pieces)
        count = np.minimum(drawn.end - drawn.first - 1, drawn.length)[:n]
        judged = np.maximum(1, np.floor(float(self.fraction) * count + 0.5))
        return float(np.mean(np.asarray(drawn.w[:n], np.float64) * judged))

    @property
    def weight_per_row(self) -> float:
        """The mean weight of a row, over all draws."""
        n = int(self.windows.n_pieces)
        return float(np.mean(np.asarray(self.windows.w[:n], np.float64)))

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The parameters as they are, and a window with hidden tokens for each row."""
        first, then = jax.random.split(key)
        _, drawn = self.windows(params, batch, first)
        hidden = self.hide(drawn.y, then)
        return params, Batch(hidden.symbols, hidden.targets, drawn.w)

    def hide(self, windows: Int[Array, "n t"], key: Key) -> Hidden:
        """Windows with hidden tokens, cut into pairs where that is asked for."""
        cut, which, how, other = jax.random.split(key, 4)
        symbols, follows = windows, jnp.full(len(windows), IGNORED, jnp.int32)
        if self.pairs:
            symbols, follows = self._pairs(windows, cut)
        here = symbols < self.n_tokens
        score = jnp.where(here, jax.random.uniform(which, symbols.shape), -1.0)
        _, at = jax.lax.top_k(score, self.chosen)
        count = jnp.floor(self.fraction * here.sum(1) + 0.5)
        count = jnp.minimum(jnp.maximum(1, count), here.sum(1))
        judged = jnp.arange(self.chosen)[None] < count[:, None]
        tokens = jnp.take_along_axis(symbols, at, 1)
        draw = jax.random.uniform(how, at.shape)
        new = jax.random.randint(other, at.shape, 0, self.n_tokens, tokens.dtype)
        found = jnp.where(draw < MASKED + REPLACED, new, tokens)
        found = jnp.where(draw < MASKED, Symbols(self.n_tokens).mask, found)
        found = jnp.where(judged, found, tokens)
        rows = jnp.arange(len(symbols))[:, None]
        symbols = symbols.at[rows, at].set(found)
        targets = jnp.where(judged, tokens, IGNORED)
        return Hidden(symbols, at.astype(jnp.int32), targets, follows)

    def _pairs(self, windows: Any, key: Key) -> tuple[Any, Any]:
        """Two parts with a separator between, and whether the second follows the first.

        The second part of every other row, at random, is that of the next row.
        """
        n, t = windows.shape
        place, which = jax.random.split(key)
        length = (windows < self.n_tokens).sum(1)
        draw = jax.random.uniform(place, (n,))
        cut = 1 + jnp.floor(draw * jnp.maximum(length - 1, 1)).astype(jnp.int32)
        cut = jnp.minimum(cut, length)
        moved = jax.random.bernoulli(which, shape=(n,))
        source = jnp.where(moved, (jnp.arange(n) + 1) % n, jnp.arange(n))
        at = jnp.arange(t + 1)[None]
        behind = at - cut[:, None] - 1
        second = cut[source][:, None] + behind
        inside = (behind >= 0) & (second < length[source][:, None])
        later = windows[source[:, None], jnp.clip(second, 0, t - 1)]
        absent = Symbols(self.n_tokens).absent
        found = jnp.where(inside, later, absent)
        found = jnp.where(at < cut[:, None], jnp.pad(windows, ((0, 0), (0, 1))), found)
        found = jnp.where(at == cut[:, None], Symbols(self.n_tokens).separator, found)
        judged = (length > 1) & (length[source] > 1)
        own = (source == jnp.arange(n)).astype(jnp.int32)
        return found, jnp.where(judged, own, IGNORED)
