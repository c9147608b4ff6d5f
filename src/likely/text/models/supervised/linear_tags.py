"""The baseline of labels of words: a linear model of the word, its form and its neighbours."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import log_expit, log_softmax

from likely.base.held_out import fit_parts
from likely.text.models.supervised.baseline import check_alpha, groups_of
from likely.text.models.supervised.sparse_linear import (
    MAX_ROWS_FOR_PARTS,
    LinearFit,
    SparseRows,
    fit_linear,
    with_every_class,
)
from likely.text.vectors.bag_of_words import count

REACH = 2
"""How many words before and after are looked at."""


class LinearTags(NamedTuple):
    """A linear model of each word of a sentence."""

    columns: dict[str, int]
    """The column of each feature."""
    fit: LinearFit

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sequence[str]],
        codes: Sequence[np.ndarray],
        w: np.ndarray,
        n_classes: int,
        alpha: Any,
    ) -> "LinearTags":
        """Fit to sentences that all have weight.

        Args:
            sentences: lists of words, at least one in each.
            codes: the class of each word.
            w: how often each sentence counts.
            n_classes: the number of classes.
            alpha: the strength of the prior, or "auto".
        """
        check_alpha(alpha)
        X, names = count(each for words in sentences for each in features(words))
        lengths = [len(words) for words in sentences]
        y = np.concatenate(codes).astype(float)
        rows = SparseRows(_scaled(X), y, np.repeat(w, lengths), n_classes)
        groups = groups_of([" ".join(words) for words in sentences])
        parts = fit_parts(
            groups[:, None].astype(float), np.zeros(len(w)), w, MAX_ROWS_FOR_PARTS
        )
        shares = [
            with_every_class(np.repeat(part, lengths), y, n_classes) for part in parts
        ]
        found = fit_linear(rows, alpha, [each for each in shares if each.any()])
        return cls({name: i for i, name in enumerate(names)}, found)

    def log_probs(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """(words, c) log-probabilities of the words of all sentences, one after another."""
        words = (each for words in sentences for each in features(words))
        eta = self.fit.eta(_scaled(count(words, self.columns)[0]))
        if eta.shape[1] == 1:
            return np.concatenate([log_expit(-eta), log_expit(eta)], axis=1)
        return log_softmax(eta, axis=1)


def features(words: Sequence[str]) -> list[list[str]]:
    """What the linear model sees of each word: itself, its form and its neighbours."""
    lower = [word.lower() for word in words]
    n, found = len(words), []
    for i, word in enumerate(words):
        own = [f"word={word}", f"form={form_of(word)}"]
        own += [f"start={lower[i][:3]}", f"end={lower[i][-3:]}", f"end={lower[i][-2:]}"]
        for step in range(-REACH, REACH + 1):
            inside = 0 <= i + step < n
            own.append(f"{step}={lower[i + step] if inside else ''}")
        own += [f"{step} form={form_of(words[i + step])}" for step in (-1, 1)
                if 0 <= i + step < n]  # fmt: skip
        found.append(own)
    return found


def form_of(word: str) -> str:
    """The kinds of characters of a word, runs of one kind as one: "Xx", "d", "X.X"."""
    kinds = [
        "X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c
        for c in word
    ]
    return "".join(k for k, last in zip(kinds, ["", *kinds], strict=False) if k != last)


def _scaled(X: csr_array) -> csr_array:
    """Rows of about length 1, as those of TF-IDF are, so that one prior suits both."""
    return X / 3.0
