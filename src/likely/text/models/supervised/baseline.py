"""The honest baseline of every model of text: TF-IDF and a linear model.

It has no idea of the order of words beyond pairs of neighbours, is fitted in seconds, and is often
hard to beat. Estimators of texts report themselves against it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from likely.base.labels import class_distribution
from likely.base.settings import above_zero
from likely.core.checks import InputError
from likely.families import Normal, Predictive
from likely.text.models.supervised.sparse_linear import (
    LinearFit,
    SparseRows,
    fit_linear,
    parts_of,
)
from likely.text.vectors.bag_of_words import AbstractBagOfWords
from likely.text.vectors.tfidf import TfidfVectorizer

PATTERN = r"(?u)\b\w+\b"
"""Words of one letter or more."""
MANY_TEXTS = 5000
"""Texts from which on a word has to be in two of them to count."""


class LinearText(NamedTuple):
    """A linear model of the words of a text."""

    vectorizer: Any
    """A fitted vectorizer; None where no text of the fit had a word."""
    fit: LinearFit

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        y: np.ndarray,
        w: np.ndarray,
        *,
        n_classes: int,
        vectorizer: Any = None,
        alpha: Any = "auto",
    ) -> "LinearText":
        """Fit to texts that all have weight.

        Args:
            texts: checked.
            y: codes of classes, or numbers.
            w: how often each row counts.
            n_classes: 0 for numbers.
            vectorizer: an unfitted one; TF-IDF of words and pairs of words where None.
            alpha: the strength of the prior, or "auto".
        """
        check_alpha(alpha)
        words, X = _rows(vectorizer, texts, w)
        rows = SparseRows(X, y, w, n_classes)
        parts = parts_of(rows, groups_of(texts))
        return cls(words, fit_linear(rows, alpha, parts))

    def eta(self, texts: Sequence[str]) -> np.ndarray:
        """(n, k) what the linear map says of checked texts."""
        if self.vectorizer is None:
            return self.fit.eta(csr_array((len(texts), 0)))
        return self.fit.eta(csr_array(self.vectorizer.transform(texts)))

    def classes(self, texts: Sequence[str], classes: np.ndarray) -> Predictive:
        """The distribution over classes of each text."""
        eta = self.eta(texts)
        if len(classes) == 2:
            eta = np.concatenate([np.zeros_like(eta), eta], axis=1)
        return class_distribution(eta, classes)

    def numbers(self, texts: Sequence[str]) -> Predictive:
        """The normal distribution of each text's number."""
        mean = self.eta(texts)
        wide = np.full_like(mean, np.log(self.fit.scale))
        return Predictive(Normal(), np.concatenate([mean, wide], axis=1))

    @property
    def names(self) -> np.ndarray:
        """What each coefficient belongs to."""
        if self.vectorizer is None:
            return np.array([], dtype=object)
        return self.vectorizer.get_feature_names_out()


def check_alpha(alpha: Any) -> None:
    """Refuse a strength of the prior that is neither above zero nor "auto"."""
    if not isinstance(alpha, str):
        above_zero("linear_alpha", alpha)
    elif alpha != "auto":
        raise InputError(f'linear_alpha is {alpha!r}; give a number or "auto".')


def groups_of(texts: Sequence[str]) -> np.ndarray:
    """(n,) the same number for equal texts, in alphabetical order."""
    rank = {text: i for i, text in enumerate(sorted(set(texts)))}
    return np.array([rank[text] for text in texts], int)


def _rows(
    vectorizer: Any, texts: Sequence[str], w: np.ndarray
) -> tuple[Any, csr_array]:
    """A fitted vectorizer and the rows of the texts; None and no columns without words."""
    if vectorizer is None:
        words: Any = TfidfVectorizer(
            ngram_range=(1, 2),
            sublinear_tf=True,
            token_pattern=PATTERN,
            min_df=1 if w.sum() < MANY_TEXTS else 2,
        )
        try:
            return words, words.fit_transform(texts, sample_weight=w)
        except InputError:  # no text has a word
            return None, csr_array((len(texts), 0))
    if not hasattr(vectorizer, "fit_transform"):
        raise InputError(
            f"vectorizer is {vectorizer!r}; give one such as likely.text.TfidfVectorizer()."
        )
    words = clone(vectorizer)
    weighted = {"sample_weight": w} if isinstance(words, AbstractBagOfWords) else {}
    return words, csr_array(words.fit_transform(texts, **weighted))
