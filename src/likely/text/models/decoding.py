"""Targets that a network writes for sources: greedily, or by beam search."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from likely.core.rows import pad_rows, size_class
from likely.models.sequence.beam_search import beam_search
from likely.models.sequence.generation import generate
from likely.objectives.next_token import log_prob
from likely.text.models.pairs import ABSENT, Pairs, ended
from likely.text.models.translation import Translators

MAX_SYMBOLS = 2**15
"""Symbols of sources and targets that are computed with at once."""


class Writer(NamedTuple):
    """A network that writes targets of limited length."""

    network: Translators
    edges: tuple[int, int]
    """The symbols of the edge of sources and of targets."""
    limit: int
    """The most tokens of a target."""

    def greedy(self, sources: list[np.ndarray]) -> list[np.ndarray]:
        """The tokens of each target, every one the most probable after those before it."""
        return self._written(sources, self._greedy, 1)

    def beam(
        self, sources: list[np.ndarray], n_beams: int, length_penalty: float
    ) -> list[np.ndarray]:
        """The tokens of the best target that a beam search finds, never worse than greedy.

        The best has the largest log p / length^penalty, where the end is a symbol of the
        length. Targets that end within the limit are better than those that do not.

        Args:
            sources: tokens.
            n_beams: the targets that are kept at each step.
            length_penalty: the power of the length.
        """

        def best(source: np.ndarray) -> np.ndarray:
            options = {"n_beams": n_beams, "end": self.edges[1]}
            found = beam_search(
                self.network,
                self._beginnings(source),
                self.limit + 1,
                encoded=_remember(self.network, source),
                **options,
            )
            plain = self._greedy(source)
            tokens = np.concatenate([found.tokens, plain[:, None]], 1)
            own = self._log_prob(source, plain)
            log_p = np.concatenate([found.log_prob, own[:, None]], 1)
            score = log_p / self._lengths(tokens) ** length_penalty
            ends = (tokens == self.edges[1]).any(2)
            unfinished = ends.any(1, keepdims=True) & ~ends
            chosen = np.where(unfinished, -np.inf, score).argmax(1)
            return tokens[np.arange(len(tokens)), chosen]

        return self._written(sources, best, n_beams)

    def _greedy(self, source: np.ndarray) -> np.ndarray:
        """(n, limit + 1) the most probable symbols, the edge after the end."""
        return generate(
            self.network,
            self._beginnings(source),
            self.limit + 1,
            temperature=0,
            end=self.edges[1],
            encoded=_remember(self.network, source),
        )

    def _log_prob(self, source: np.ndarray, symbols: np.ndarray) -> np.ndarray:
        """(n,) log p of symbols up to their end."""
        read = np.concatenate([self._beginnings(source), symbols[:, :-1]], 1)
        inside = np.arange(symbols.shape[1]) < self._lengths(symbols)[:, None]
        written = np.where(inside, symbols, ABSENT)
        return np.asarray(_judge(self.network, source, read, written))

    def _lengths(self, symbols: np.ndarray) -> np.ndarray:
        """The number of symbols of each target up to its end, which is one of them."""
        at = symbols == self.edges[1]
        return np.where(at.any(-1), at.argmax(-1) + 1, symbols.shape[-1])

    def _beginnings(self, source: np.ndarray) -> np.ndarray:
        return np.full((len(source), 1), self.edges[1], np.int32)

    def _written(
        self,
        sources: list[np.ndarray],
        write: Callable[[np.ndarray], np.ndarray],
        width: int,
    ) -> list[np.ndarray]:
        """The tokens of targets, some sources at a time."""
        longest = 1 + max(map(len, sources))
        length = min(size_class(longest), self.network.context)
        symbols = ended(sources, self.edges[0], length)
        each = width * (length + self.limit + 1)
        found = _in_parts(write, (symbols,), each)[:, : self.limit]
        return [row[row != self.edges[1]] for row in found]


def log_probs(network: Translators, pairs: Pairs) -> np.ndarray:
    """(n,) log p of each target, its end included, given its source."""

    def judged(*rows: np.ndarray) -> np.ndarray:
        return np.asarray(_judge(network, *rows), np.float64)

    return _in_parts(judged, pairs, pairs.source.shape[1] + pairs.read.shape[1])


def _in_parts(
    function: Callable[..., np.ndarray], arrays: tuple[np.ndarray, ...], symbols: int
) -> np.ndarray:
    """A function of rows of so many symbols, a power of two of rows at a time."""
    most, parts = 1 << max(1, MAX_SYMBOLS // symbols).bit_length() - 1, []
    with jax.enable_x64(False):
        for i in range(0, len(arrays[0]), most):
            rows = tuple(a[i : i + most] for a in arrays)
            parts.append(function(*pad_rows(rows))[: len(rows[0])])
    return np.concatenate(parts)


@eqx.filter_jit
def _remember(network: Translators, source: Any) -> Any:
    """What the decoders look at of sources."""
    return network.remember(jnp.asarray(source))


@eqx.filter_jit
def _judge(network: Translators, source: Any, read: Any, written: Any) -> Any:
    """The sum of log p of what is written after what is read."""
    log_p = network.log_probs(jnp.asarray(read), network.encode(jnp.asarray(source)))
    nats = log_prob(log_p, jnp.asarray(written))
    return jnp.where(jnp.asarray(written) != ABSENT, nats, 0.0).sum(1)
