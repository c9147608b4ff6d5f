"""Vectors of words, learned from the words around them."""

from os import PathLike
from typing import Any, no_type_check

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from likely.base.rows import weights_of
from likely.base.settings import above_zero, at_least, one_of, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError, nearest as nearest_name
from likely.core.random import seed_of
from likely.core.threads import thread_count
from likely.text.vectors.bag_of_words import count
from likely.text.vectors.cooccurrence import count_pairs, distance_weights_of
from likely.text.vectors.corpus import Corpus, rows_of, splitter_of
from likely.text.vectors.factorization import eigen_embedding
from likely.text.vectors.pmi import pmi, pmi_constant
from likely.text.vectors.skip_gram import SkipGram, joined
from likely.text.vectors.softmax import fit_softmax
from likely.text.vectors.tfidf import idf_of
from likely.text.vectors.word2vec_file import read_word2vec, write_word2vec

METHODS = ("skipgram", "pmi", "cooccurrence")
POOLING = ("mean", "idf", "sif")
MIN_COUNTS = ((10_000, 1), (100_000, 2), (np.inf, 5))
"""How often a word has to occur in texts of fewer words than this."""
TRAINED_WORDS = 2_000_000
"""How many words skip-gram reads where nothing is said, over and over if there are fewer."""
MIN_EPOCHS, MAX_EPOCHS, SOFTMAX_STEPS = 5, 500, 200
MAX_SOFTMAX_WORDS = 5_000
"""Words up to which the sum over all words is computed."""
COMMON_FREQUENCY = 1e-3
"""The a of smooth inverse frequency, a / (a + P(w))."""
MAX_BLOCK_NUMBERS = 2**24
"""Distances of vectors that are in memory at once."""


class WordVectors(Transformer):
    r"""Words as vectors: those that stand among the same words have similar ones.

    As a transformer it turns each text into the mean of the vectors of its words. Words that
    the fit has not seen are ignored; a text without any known word is a row of zeros.

    Args:
        size: how many numbers a vector has. Factorisation gives fewer where there are fewer
            words.
        method: "skipgram" (learns to tell neighbours from random words), "pmi" (eigenvectors
            of the positive pointwise mutual information) or "cooccurrence" (eigenvectors of
            the counts).
        window: the largest distance of two words that count as near.
        distance_weights: what a pair at the distance d counts: "linear" (window + 1 − d)/window,
            "flat" 1, "harmonic" 1/d.
        min_count: words that occur less often are left out; "auto" is 1 in fewer than 10,000
            words of text, 2 in fewer than 100,000, and 5 in more.
        lowercase: whether upper and lower case are the same, in texts.
        tokenizer: how a text is cut: None for runs of letters and digits, a function from a
            text to its words, or a fitted tokenizer of `likely.text`.
        negative: of skip-gram: random words for each pair, or "all" for the exact softmax over
            all words, of small vocabularies.
        sample: of skip-gram: words of a higher frequency are skipped at random; 0 for never.
        power: of skip-gram: random words are drawn by their frequency to this power.
        learning_rate_init: of skip-gram: the first step size; it falls linearly.
        epochs: of skip-gram: how often the texts are read; "auto" reads 2,000,000 words, and
            each text 5 to 500 times. With negative="all" the number of steps of L-BFGS.
        shift: of "pmi": k of the shifted PMI, max(PMI − log k, 0).
        pooling: how the vectors of a text become one: "mean", "idf" (rarer words count more),
            or "sif" (the same more smoothly, and without the direction that all texts share).
        n_jobs: threads of skip-gram; −1 for all processors. With one, the same seed gives the
            same bits; several are faster and do not.
        random_state: the seed of what is random.
        verbose: whether to show a progress bar.

    Attributes:
        words_: the words, the most frequent first.
        vectors_: (V, d) their vectors.
        context_vectors_: (V, d) their vectors z as neighbours of others.
        input_vectors_: (V, d) of skip-gram with random words: their vectors x beside others. In
            `vectors_` are both, in the d directions in which they are longest.
        counts_: (V,) how often each occurs in the texts of the fit.
        idf_: (V,) the inverse document frequency of each.
        eigenvalues_: (d,) of the factorised matrix.
        constant_: of "pmi": the c of PMI(v, w) ≈ x_v·z_w + c.
        common_: (d,) of "sif": the direction that is removed.
        n_iter_: of skip-gram: how often the texts were read.
    """

    size: Any
    method: Any
    window: Any
    distance_weights: Any
    min_count: Any
    lowercase: Any
    tokenizer: Any
    negative: Any
    sample: Any
    power: Any
    learning_rate_init: Any
    epochs: Any
    shift: Any
    pooling: Any
    n_jobs: Any
    random_state: Any
    verbose: Any
    words_: list
    vectors_: np.ndarray
    context_vectors_: np.ndarray
    input_vectors_: np.ndarray
    counts_: np.ndarray
    idf_: np.ndarray

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        size=100,
        *,
        method="skipgram",
        window=5,
        distance_weights="linear",
        min_count: Any = "auto",
        lowercase=True,
        tokenizer: Any = None,
        negative: Any = 5,
        sample=1e-3,
        power=0.75,
        learning_rate_init=0.025,
        epochs: Any = "auto",
        shift=1.0,
        pooling="mean",
        n_jobs: Any = 1,
        random_state: Any = 0,
        verbose=False,
    ):
        store(self, locals())

    # Fitting ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "WordVectors":
        """Learn the vectors of words.

        Args:
            X: a list of texts, or of lists of words or of whole numbers.
            y: not used.
            sample_weight: how often each text counts.
        """
        at_least("size", self.size, 1, whole=True)
        one_of("method", self.method, METHODS)
        one_of("pooling", self.pooling, POOLING)
        weights = distance_weights_of(self.distance_weights, self.window)
        corpus = self._corpus(X, sample_weight)
        optional = ("eigenvalues_", "constant_", "common_", "n_iter_", "input_vectors_")
        for name in optional:
            vars(self).pop(name, None)  # of another fit
        if self.method == "skipgram":
            found = self._skip_gram(corpus, weights)
        else:
            found = self._factorised(count_pairs(corpus, weights))
        self.vectors_, self.context_vectors_ = found
        self.words_, self.counts_ = corpus.words, corpus.counts
        bag, present = corpus.bag(), corpus.w > 0
        self.idf_ = idf_of(bag[present], corpus.w[present])
        if self.pooling == "sif":
            means = self._pooled(bag[present]) * np.sqrt(corpus.w[present])[:, None]
            self.common_ = np.linalg.eigh(means.T @ means)[1][:, -1]
        return self

    def _corpus(self, X: Any, sample_weight: Any) -> Corpus:
        """The texts as numbers of words, with words and texts enough to learn from."""
        split = splitter_of(self.tokenizer, bool(self.lowercase))
        w = None if sample_weight is None else weights_of(sample_weight, len(X))
        rows = rows_of(X, split, w=w)
        w = np.ones(len(rows)) if w is None else w
        n = float(w @ np.fromiter(map(len, rows), float, len(rows)))
        auto = isinstance(self.min_count, str) and self.min_count == "auto"
        least = (
            next(m for words, m in MIN_COUNTS if n < words) if auto else self.min_count
        )
        corpus = Corpus.of(rows, w, at_least("min_count", least))
        if not n:
            raise InputError(f"the {len(rows)} texts of X have no words; give some.")
        if len(corpus.words) < 2:
            few = f"one word, {corpus.words[0]!r}," if corpus.words else "no word"
            raise InputError(
                f"X has {few} of {least} occurrences or more; vectors compare words, so "
                "give texts with at least two, or a smaller min_count."
            )
        if np.diff(corpus.starts).max() < 2:
            raise InputError(
                "no text of X has two words, and vectors are learned from words next to each "
                "other; give longer texts."
            )
        return corpus

    def _factorised(self, counts: csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Vectors by factorisation of the counts or of their mutual information."""
        matrix = counts
        if self.method == "pmi":
            matrix = pmi(counts, shift=self.shift)
            if not matrix.nnz:
                raise InputError(
                    f"no two words meet more than {self.shift} times as often as by chance; "
                    'give more texts, a smaller shift, or method="cooccurrence".'
                )
        found = eigen_embedding(matrix, self.size)
        self.eigenvalues_ = found.eigenvalues
        if self.method == "pmi":
            self.constant_ = pmi_constant(counts, found.X, found.Z)
        return found.X, found.Z

    def _skip_gram(
        self, corpus: Corpus, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Vectors by skip-gram, with random words or with all."""
        exact = isinstance(self.negative, str) and self.negative == "all"
        auto = isinstance(self.epochs, str) and self.epochs == "auto"
        seed = seed_of(self.random_state)
        if exact:
            V = len(corpus.words)
            if V > MAX_SOFTMAX_WORDS:
                raise InputError(
                    f'negative is "all", and there are {V} words, {V**2} pairs of them; give a '
                    "number of random words such as 5, or a larger min_count."
                )
            steps = SOFTMAX_STEPS if auto else self.epochs
            self.n_iter_ = at_least("epochs", steps, 1, whole=True)
            counts, size = count_pairs(corpus, weights), int(self.size)
            return fit_softmax(counts, size, max_iter=self.n_iter_, seed=seed)
        n = corpus.counts.sum()
        reads = int(np.clip(np.ceil(TRAINED_WORDS / n), MIN_EPOCHS, MAX_EPOCHS))
        epochs = reads if auto else self.epochs
        self.n_iter_ = at_least("epochs", epochs, 1, whole=True)
        X, Z = SkipGram(
            size=int(self.size),
            distance_weights=weights,
            negative=at_least("negative", self.negative, 1, whole=True),
            sample=at_least("sample", self.sample),
            power=float(self.power),
            rate=above_zero("learning_rate_init", self.learning_rate_init),
            epochs=self.n_iter_,
            threads=thread_count(self.n_jobs),
            seed=seed,
            verbose=bool(self.verbose),
        ).fit(corpus)
        self.input_vectors_ = X
        return joined(X, Z), Z

    # Texts -----------------------------------------------------------------------------

    def _inputs(self, X: Any) -> Any:
        return rows_of(X, splitter_of(self.tokenizer, bool(self.lowercase)))

    def _columns(self, X: Any) -> np.ndarray:
        found = self._pooled(count(X, self._numbers)[0])
        if self.pooling == "sif":
            if not hasattr(self, "common_"):
                raise InputError('pooling was not "sif" in the fit; fit again.')
            found -= np.outer(found @ self.common_, self.common_)
        return found

    def _pooled(self, bag: csr_array) -> np.ndarray:
        """(n, d) the weighted mean of the vectors of the words of each text."""
        one_of("pooling", self.pooling, POOLING)
        if self.pooling == "mean":
            weights = np.ones(len(self.words_))
        elif not hasattr(self, "counts_"):
            raise InputError(
                f'pooling is "{self.pooling}", which needs the frequencies of words; a file of '
                'word2vec has none: use "mean".'
            )
        elif self.pooling == "idf":
            weights = self.idf_
        else:
            p = self.counts_ / self.counts_.sum()
            weights = COMMON_FREQUENCY / (COMMON_FREQUENCY + p)
        sums, total = (bag * weights) @ self.vectors_, bag @ weights
        return sums / np.where(total > 0, total, 1.0)[:, None]

    @property
    def _n_features_out(self) -> int:
        return self.vectors_.shape[1]

    # Words -----------------------------------------------------------------------------

    def embed(self, words: Any) -> np.ndarray:
        """(n, d) the vectors of words; (d,) that of one word.

        Args:
            words: a word, or a list of words.
        """
        check_is_fitted(self)
        numbers = self._numbers
        if isinstance(words, str | int | np.integer):
            return self.vectors_[self._number(words, numbers)]
        return self.vectors_[[self._number(word, numbers) for word in words]]

    def decode(self, vectors: Any) -> list:
        """The word whose vector is nearest to each of some vectors (by Euclidean distance).

        Args:
            vectors: (n, d).
        """
        V = self._vectors(vectors, 2)
        halves, step = (
            0.5 * (self.vectors_**2).sum(1),
            MAX_BLOCK_NUMBERS // len(self.words_),
        )
        found = [
            np.argmax(V[i : i + step] @ self.vectors_.T - halves, axis=1)
            for i in range(0, len(V), max(1, step))
        ]
        return [self.words_[i] for part in found for i in part]

    def similarity(self, a: Any, b: Any) -> float:
        """The cosine between two words: 1 for the same direction, 0 for nothing in common.

        Args:
            a: a word or a vector.
            b: another one.
        """
        a, b = self._unit(self._vector(a)), self._unit(self._vector(b))
        return float(a @ b)

    def nearest(self, word: Any, n: int = 10) -> list[tuple[Any, float]]:
        """The n words of largest cosine, each with its cosine; the word itself is left out.

        Args:
            word: a word, or a vector (d,).
            n: how many.
        """
        own = () if np.ndim(word) else (word,)
        return self._ranked(self._vector(word), own, n)

    def analogy(self, a: Any, b: Any, c: Any, n: int = 10) -> list[tuple[Any, float]]:
        """The n words nearest to E(a) − E(b) + E(c): what is to c as a is to b.

        By cosine; a, b and c themselves are left out.

        Args:
            a: a word, such as "king".
            b: a word, such as "man".
            c: a word, such as "woman".
            n: how many.
        """
        A, B, C = self.embed([a, b, c])
        return self._ranked(A - B + C, (a, b, c), n)

    @property
    def _numbers(self) -> dict[Any, int]:
        return {word: i for i, word in enumerate(self.words_)}

    def _number(self, word: Any, numbers: dict[Any, int]) -> int:
        if word in numbers:
            return numbers[word]
        near = nearest_name(word, self.words_) if isinstance(word, str) else None
        hint = "" if near is None else f"; did you mean {near!r}?"
        raise InputError(
            f"the word {word!r} is not among the {len(numbers)} words of the fit{hint or '.'}"
        )

    def _vector(self, word: Any) -> np.ndarray:
        return self._vectors(word, 1) if np.ndim(word) else self.embed(word)

    def _vectors(self, given: Any, ndim: int) -> np.ndarray:
        """Checked vectors, (d,) or (n, d)."""
        check_is_fitted(self)
        try:
            found = np.asarray(given, np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{given!r} is neither a word nor a vector.") from None
        d = self.vectors_.shape[1]
        if found.ndim != ndim or found.shape[-1] != d or not np.isfinite(found).all():
            shape = f"({d},)" if ndim == 1 else f"(n, {d})"
            raise InputError(
                f"the vectors have shape {found.shape}; give finite numbers of shape {shape}."
            )
        return found

    @staticmethod
    def _unit(vectors: np.ndarray) -> np.ndarray:
        """The vectors scaled to length 1; those of zeros are left alone."""
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        return vectors / np.where(lengths > 0, lengths, 1.0)

    def _ranked(self, vector: np.ndarray, without: tuple, n: int) -> list:
        """The n words whose vectors have the largest cosine with this one, and the cosines."""
        n = at_least("n", n, 1, whole=True)
        cosines = self._unit(self.vectors_) @ self._unit(vector)
        numbers = self._numbers
        cosines[[numbers[word] for word in without]] = -np.inf
        order = np.argsort(-cosines, kind="stable")[
            : min(n, len(cosines) - len(set(without)))
        ]
        return [(self.words_[i], float(cosines[i])) for i in order]

    # Files -----------------------------------------------------------------------------

    def to_word2vec(self, path: str | PathLike) -> None:
        """Write words and vectors in the text format of word2vec.

        Args:
            path: the file, written anew.
        """
        check_is_fitted(self)
        write_word2vec(path, self.words_, self.vectors_)

    @classmethod
    def from_word2vec(cls, path: str | PathLike, **settings: Any) -> "WordVectors":
        """Word vectors from a file in the text format of word2vec (or of GloVe).

        Args:
            path: the file.
            settings: others than the default ones, such as `lowercase`.
        """
        words, vectors = read_word2vec(path)
        found = cls(vectors.shape[1], **settings)
        found.words_, found.vectors_ = words, vectors
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.input_tags.sparse = False
        return tags
