r"""TF-IDF: how often a word occurs in a text, times how rare it is among all texts.

$$x_{it} = \text{tf}_{it} \cdot \Big(\ln\frac{1 + n}{1 + n_t} + 1\Big), \qquad
  x_i \leftarrow x_i / \lVert x_i \rVert,$$

with $\text{tf}_{it}$ the number of times that word t is in text i, n the number of texts, and $n_t$
of those that hold t. Weights count as repetition in both.
"""

from typing import Any, no_type_check

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from likely.base.settings import one_of, store
from likely.text.vectors.bag_of_words import (
    WORDS,
    AbstractBagOfWords,
    document_frequency,
    shape_of,
)


class TfidfVectorizer(AbstractBagOfWords):
    """Words of each text by how often they occur there and how rare they are elsewhere.

    The other arguments are those of `CountVectorizer`.

    Args:
        norm: "l2" (rows have length 1), "l1" (the sum of a row is 1), or None.
        use_idf: whether rare words count more.
        smooth_idf: whether to count one text more, which holds every word.
        sublinear_tf: whether a word that occurs k times counts 1 + ln k times.

    Attributes:
        vocabulary_: the column of each word.
        idf_: (words,) how much each word counts.

    Examples:
        >>> lk.TfidfVectorizer().fit_transform(["red house", "blue house"]).shape
        (2, 3)
    """

    norm: Any
    use_idf: bool
    smooth_idf: bool
    sublinear_tf: bool

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        strip_accents: Any = None,
        lowercase=True,
        preprocessor: Any = None,
        tokenizer: Any = None,
        stop_words: Any = None,
        token_pattern=WORDS,
        ngram_range: Any = (1, 1),
        analyzer: Any = "word",
        max_df: Any = 1.0,
        min_df: Any = 1,
        max_features: Any = None,
        vocabulary: Any = None,
        binary=False,
        norm: Any = "l2",
        use_idf=True,
        smooth_idf=True,
        sublinear_tf=False,
    ):
        store(self, locals())

    def _learn(self, counts: csr_array, w: np.ndarray) -> None:
        if self.norm is not None:
            one_of("norm", self.norm, ("l1", "l2"))
        self.idf_ = np.ones(shape_of(counts)[1])
        if self.use_idf:
            self.idf_ = idf_of(counts, w, smooth=self.smooth_idf)

    def _weighted(self, counts: csr_array) -> csr_array:
        check_is_fitted(self)
        return tfidf(counts, self.idf_, norm=self.norm, sublinear=self.sublinear_tf)


def idf_of(counts: csr_array, w: np.ndarray, *, smooth: bool = True) -> np.ndarray:
    """(words,) ln(n / n_t) + 1, with one text more that holds every word where smooth.

    Args:
        counts: of documents that all have weight.
        w: how often each document counts.
        smooth: whether to count that text.
    """
    held, more = document_frequency(counts, w), float(bool(smooth))
    n = w.sum() + more
    return np.log(n / np.maximum(held + more, min(n, 1.0))) + 1.0


def tfidf(
    counts: csr_array,
    idf: np.ndarray,
    *,
    norm: str | None = "l2",
    sublinear: bool = False,
) -> csr_array:
    """The counts times idf, each row divided by its norm; empty rows stay empty.

    Args:
        counts: (n, words).
        idf: (words,).
        norm: "l1", "l2" or None.
        sublinear: whether k occurrences count 1 + ln k times.
    """
    values = counts.data.astype(np.float64)
    values = np.log(values) + 1.0 if sublinear else values
    values = values * idf[counts.indices]
    if norm is not None:
        n, _ = shape_of(counts)
        rows = np.repeat(np.arange(n), np.diff(counts.indptr))
        sizes = np.abs(values) if norm == "l1" else values**2
        lengths = np.bincount(rows, sizes, n)
        lengths = lengths if norm == "l1" else np.sqrt(lengths)
        values = values / lengths[rows]
    return csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
