r"""Skip-gram: vectors by which a word tells which words are near it.

$$P(v \mid w) = \frac{e^{z_v \cdot x_w}}{\sum_u e^{z_u \cdot x_w}}$$

with two vectors for each word. The sum over all words is costly, so negative sampling learns to
tell the neighbours of a word from words drawn at random:

$$\sum_{\text{pairs}} \Bigl[\log σ(f_0) + \sum_{i=1}^{k} \log σ(-f_i)\Bigr], \qquad
  f_i = x \cdot z_i - \log k.$$

There are k random words for each neighbour, so that −log k is the logit of a neighbour before the
words are looked at. It is not to be learned: vectors then say how much more often than by chance
two words meet, and the two vectors of a word are about alike.

Frequent words are skipped at random, words are drawn by $P(v)^{3/4}$, and the step size falls
linearly.
"""

from typing import NamedTuple

import numpy as np

from likely.core.progress import Bar
from likely.core.threads import thread_map
from likely.text.vectors.corpus import Corpus

MAX_PIECE_WORDS = 10_000
"""Longer texts are cut: the step size changes from piece to piece, and threads share them."""
END_RATE = 0.004
"""The step size at the end, as a part of the first."""


class SkipGram(NamedTuple):
    """Settings of skip-gram with negative sampling."""

    size: int
    distance_weights: np.ndarray
    """(R,) how probable a pair at each distance is to be used, from 1 downwards."""
    negative: int
    sample: float
    power: float
    rate: float
    epochs: int
    threads: int
    seed: int
    verbose: bool = False

    def fit(self, corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
        """(V, d) the vectors of words, and their vectors as neighbours of others."""
        from likely.text.vectors.skip_gram_kernel import train  # it loads numba

        rng = np.random.default_rng(self.seed)
        V = len(corpus.words)
        X = (2 * rng.random((V, self.size), np.float32) - 1) / np.float32(self.size)
        Z = np.zeros_like(X)
        keep = kept_share(corpus.counts, self.sample)
        reach = 1 - self.distance_weights[1:]
        cumulative, guide = drawing_table(corpus.counts**self.power)
        rates = np.linspace(self.rate, END_RATE * self.rate, self.epochs + 1)
        pieces, w = _pieces(corpus)
        with Bar(self.epochs, enabled=self.verbose) as bar:
            for epoch in range(self.epochs):
                times = np.floor(w + rng.random(len(w))).astype(
                    int
                )  # 2.5: 2 or 3 times
                order = rng.permutation(np.repeat(np.arange(len(w)), times))
                seeds = rng.integers(2**63, size=self.threads)

                def job(t: int, order=order, seeds=seeds, epoch=epoch) -> None:
                    own = pieces[order[t :: self.threads]]
                    train(
                        corpus.tokens, own, X, Z, keep, reach, cumulative, guide,
                        self.negative, rates[epoch : epoch + 2], seeds[t],
                    )  # fmt: skip

                thread_map(job, range(self.threads), self.threads)
                bar.update(epoch + 1, "fitting")
        return X, Z


def joined(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """(V, d) both vectors of each word, in the d directions in which they are longest.

    The products of these are about x·x' + z·z': words are alike that have the same neighbours,
    and both vectors say so, each with noise of its own.

    Args:
        X: (V, d) the vectors of words.
        Z: (V, d) their vectors as neighbours.
    """
    both = np.concatenate([X, Z], axis=1).astype(np.float64)
    Q = np.linalg.eigh(both.T @ both)[1][:, : -1 - X.shape[1] : -1]
    Q = Q * np.sign(Q[np.abs(Q).argmax(0), np.arange(Q.shape[1])])
    return (both @ Q).astype(X.dtype)


def kept_share(counts: np.ndarray, sample: float | int) -> np.ndarray:
    r"""(V,) with what probability a word is not skipped: √(t/f) + t/f for the frequency f.

    Args:
        counts: (V,) how often each word occurs.
        sample: t, about the frequency from which words are skipped; 0 for never.
    """
    if not sample:
        return np.ones(len(counts))
    ratio = sample * counts.sum() / counts
    return np.minimum(np.sqrt(ratio) + ratio, 1.0)


def drawing_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative probabilities, and where in them to begin to look for a random number."""
    cumulative = np.cumsum(weights / weights.sum())
    cumulative[-1] = 2.0  # above every random number, whatever rounding did
    steps = 2 * len(weights)
    guide = np.searchsorted(cumulative, np.arange(steps) / steps, side="right")
    return cumulative, guide.astype(np.int32)


def _pieces(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """(m, 2) the first token and the end of each piece of text, and (m,) its weight."""
    starts, w = corpus.starts, corpus.w
    counts = -(-np.diff(starts) // MAX_PIECE_WORDS)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = np.repeat(starts[:-1], counts) + within * MAX_PIECE_WORDS
    ends = np.minimum(begins + MAX_PIECE_WORDS, np.repeat(starts[1:], counts))
    return np.stack([begins, ends], axis=1).astype(np.int64), np.repeat(w, counts)
