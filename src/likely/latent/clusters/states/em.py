r"""EM for hidden Markov models: expected counts of states and pairs, then their shares.

Each round cannot lower the likelihood. The start is drawn: k-means++ centres and a few rounds of
k-means over the positions (random shares for each symbol where emissions are symbols), whose
labels are counted as if they were states.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.core.threads import row_blocks, thread_map
from likely.latent.clusters.states.emissions import SymbolStates
from likely.latent.clusters.states.kernel import posterior, viterbi
from likely.latent.clusters.states.sequences import Positions

BLOCKS = 16
"""Parts of the sequences; their counts are added in order, at any number of threads."""
MIN_SHARED_WORK = 20_000
"""Positions times states below which one thread is as fast."""
KMEANS_ROUNDS = 10
TIE = 1e-9
"""Distances that differ less are equal, so that rounding decides no label."""


class Chain(NamedTuple):
    """A hidden Markov model: first state, next state, and what states emit."""

    a: np.ndarray
    A: np.ndarray
    emissions: Any

    def log_emissions(self, data: Positions, workers: int = 1) -> np.ndarray:
        """(positions, k) log p(x_t | z_t); 0 where there is no observation."""
        seen = data.is_seen
        if seen.all():
            return np.ascontiguousarray(self.emissions.log_prob(data.values, workers))
        L = np.zeros((len(seen), len(self.a)))
        if seen.any():
            L[seen] = self.emissions.log_prob(data.values[seen], workers)
        return L

    def posterior(
        self, data: Positions, w: np.ndarray, workers: int = 1
    ) -> "ExpectedCounts":
        """What is expected of the states, given the observations."""
        k, n = len(self.a), len(data)
        workers = 1 if len(data.values) * k < MIN_SHARED_WORK else workers
        L = self.log_emissions(data, workers)
        G, log_prob = np.empty_like(L), np.empty(n)
        parts = row_blocks(n, min(n, BLOCKS))
        starts, pairs = np.zeros((len(parts), k)), np.zeros((len(parts), k, k))

        def one(b: int) -> None:
            own = G, log_prob, starts[b], pairs[b]
            posterior(L, data.ends, w, self.a, self.A, *parts[b], *own)

        thread_map(one, range(len(parts)), workers)
        return ExpectedCounts(G, log_prob, starts.sum(0), pairs.sum(0))

    def path(self, data: Positions, workers: int = 1) -> np.ndarray:
        """(positions,) the likeliest sequence of states."""
        L, path = (
            self.log_emissions(data, workers),
            np.empty(len(data.values), np.int64),
        )
        with np.errstate(divide="ignore"):
            log_a, log_A = np.log(self.a), np.log(self.A)
        thread_map(
            lambda part: viterbi(L, data.ends, log_a, log_A, *part, path),
            row_blocks(len(data), min(len(data), BLOCKS)),
            workers,
        )
        return path

    def maximum(
        self, data: Positions, found: "ExpectedCounts", workers: int = 1
    ) -> "Chain":
        """The model of largest expected likelihood."""
        seen = data.is_seen
        X, G = (
            (data.values, found.G) if seen.all() else (data.values[seen], found.G[seen])
        )
        workers = 1 if G.size < MIN_SHARED_WORK else workers
        A, total = self.A, found.pairs.sum(1, keepdims=True)
        A = np.where(total > 0, found.pairs / np.where(total > 0, total, 1.0), A)
        a = found.starts / found.starts.sum()
        emissions = self.emissions.maximum(X, np.ascontiguousarray(G), workers)
        return Chain(a, np.ascontiguousarray(A), emissions)


class ExpectedCounts(NamedTuple):
    """The posterior of states, log p(x), and the expected first states and pairs."""

    G: np.ndarray
    log_prob: np.ndarray
    starts: np.ndarray
    pairs: np.ndarray


class Climb(NamedTuple):
    """Where EM ended, and the mean log-likelihood of a sequence after each round."""

    chain: Chain
    history: list[float]
    converged: bool


def climb(
    chain: Chain,
    data: Positions,
    w: np.ndarray,
    limits: tuple[int, float],
    workers: int = 1,
) -> Climb:
    """EM until a round gains less than the tolerance for each position.

    Args:
        chain: where to begin.
        data: the sequences.
        w: (n,) how often each counts.
        limits: the number of rounds, and the tolerance in nats.
        workers: the number of threads.
    """
    history: list[float] = []
    mean_length = float(w @ data.lengths / w.sum())
    for _ in range(limits[0]):
        found = chain.posterior(data, w, workers)
        history.append(float(w @ found.log_prob / w.sum()))
        if len(history) > 1 and history[-1] - history[-2] < limits[1] * mean_length:
            return Climb(chain, history, True)
        chain = chain.maximum(data, found, workers)
    history.append(float(w @ chain.posterior(data, w, workers).log_prob / w.sum()))
    return Climb(chain, history, False)


def begin(
    emissions: Any, k: int, data: Positions, w: np.ndarray, rng: np.random.Generator
) -> Chain:
    """A model from a clustering of the positions.

    Args:
        emissions: of k states that are all alike.
        k: the number of states.
        data: the sequences.
        w: (n,) how often each counts.
        rng: draws the clustering.
    """
    seen, each = data.is_seen, np.repeat(w, data.lengths)
    G = np.full((len(seen), k), 1.0 / k)
    X = data.values[seen]
    if isinstance(emissions, SymbolStates):
        shares = rng.dirichlet(np.ones(k), emissions.probs.shape[1])
        G[seen] = shares[X[:, 0].astype(int)]
    else:
        G[seen] = np.eye(k)[_labels(X, each[seen], k, rng)]
    G *= each[:, None]
    first, last = data.ends[:-1], np.zeros(len(seen), bool)
    last[data.ends[1:] - 1] = True
    before = np.flatnonzero(~last)
    pairs = (G[before] / each[before, None]).T @ G[before + 1]
    smooth = 1e-3 * w.sum()
    starts = G[first].sum(0) + smooth
    pairs += 0.1 * pairs.sum() / k**2 + smooth
    A = pairs / pairs.sum(1, keepdims=True)
    start = Chain(starts / starts.sum(), A, emissions)
    counts = ExpectedCounts(G, np.zeros(len(w)), starts, pairs)
    return start.maximum(data, counts)


def _labels(
    X: np.ndarray, w: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray:
    """k-means labels of weighted rows in units of their columns' standard deviations."""
    centre = w @ X / w.sum()
    scale = np.sqrt(w @ (X - centre) ** 2 / w.sum())
    X = (X - centre) / np.where(scale > 0, scale, 1.0)
    order = np.lexsort(X.T[::-1])  # so that a draw does not depend on the order of rows
    centres = np.empty((k, X.shape[1]))
    far = np.ones(len(X))
    for j in range(k):
        p = np.cumsum((w * far if (w * far).sum() > 0 else w)[order])
        chosen = np.searchsorted(p, rng.random() * p[-1], side="right")
        centres[j] = X[order[min(chosen, len(X) - 1)]]
        gap = ((X - centres[j]) ** 2).sum(1)
        far = gap if j == 0 else np.minimum(far, gap)
    labels = np.zeros(len(X), int)
    for _ in range(KMEANS_ROUNDS):
        D = (centres**2).sum(1) - 2 * X @ centres.T
        labels = (D.min(1, keepdims=True) + TIE >= D).argmax(1)
        counts = np.bincount(labels, w, minlength=k)
        for r in range(X.shape[1]):
            sums = np.bincount(labels, w * X[:, r], minlength=k)
            centres[:, r] = np.where(
                counts > 0, sums / np.maximum(counts, 1e-300), centres[:, r]
            )
    return labels
