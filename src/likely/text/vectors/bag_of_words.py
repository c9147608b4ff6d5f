r"""Bags of words: how often each word, or run of words or characters, occurs in a text.

The order of what is counted is lost; what is left is a row of counts, nearly all of them zero, for
each text. With TF-IDF (`tfidf.py`) and a linear model it is the baseline of every model of text.
Parameters mean what they mean in scikit-learn, and the numbers are the same.
"""

import re
import unicodedata
from abc import ABC, abstractmethod
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Integral
from os import PathLike
from typing import Any, NamedTuple, no_type_check

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likely.base.rows import weights_of
from likely.base.settings import at_least, one_of, store
from likely.core.checks import InputError
from likely.files import save
from likely.text.tokenizers.texts import check_texts

ANALYZERS = ("word", "char", "char_wb")
WORDS = r"(?u)\b\w\w+\b"
"""Words of two or more letters, as in scikit-learn."""
_WHITE = re.compile(r"\s\s+")

Analyzer = Callable[[str], Any]
"""What is counted in a text."""


class AbstractBagOfWords(TransformerMixin, BaseEstimator, ABC):
    """Texts to rows of counts; you write `_learn` and `_weighted`."""

    vocabulary: Any
    min_df: Any
    max_df: Any
    max_features: Any
    binary: bool
    vocabulary_: dict[str, int]

    @abstractmethod
    def _learn(self, counts: csr_array, w: np.ndarray) -> None:
        """Learn what `_weighted` needs from the counts of the rows that have weight."""

    @abstractmethod
    def _weighted(self, counts: csr_array) -> csr_array:
        """The rows that counts become."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None):
        """Learn which words there are.

        Args:
            X: a list of texts.
            y: not used.
            sample_weight: how often each text counts.
        """
        self._fitted_counts(X, sample_weight)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> csr_array:
        """Learn which words there are, and the rows of the same texts.

        Args:
            X: a list of texts.
            y: not used.
            sample_weight: how often each text counts.
        """
        counts = self._fitted_counts(X, sample_weight)
        return self._weighted(counts)

    def transform(self, X: Any) -> csr_array:
        """(n, words) a sparse row for each text; words that the fit had not are left out.

        Args:
            X: a list of texts.
        """
        if self.vocabulary is None or hasattr(self, "vocabulary_"):
            check_is_fitted(self)
            known = self.vocabulary_
        else:
            known = _given(self.vocabulary)
        counts = count(map(self.build_analyzer(), check_texts(X, "X")), known)[0]
        return self._weighted(_ones(counts) if self.binary else counts)

    def inverse_transform(self, X: Any) -> list[np.ndarray]:
        """The words of each row that are not zero.

        Args:
            X: rows as `transform` gives them.
        """
        names, rows = self.get_feature_names_out(), csr_array(X)
        ends: Any = rows.indptr
        return [names[rows.indices[a:b]] for a, b in zip(ends, ends[1:], strict=False)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """What each column counts, in alphabetical order."""
        check_is_fitted(self)
        order = sorted(self.vocabulary_, key=self.vocabulary_.__getitem__)
        return np.array(order, dtype=object)

    def build_analyzer(self) -> Analyzer:
        """The function from a text to the words that are counted."""
        return analyzer_of(self)

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def _fitted_counts(self, X: Any, sample_weight: Any) -> csr_array:
        """The counts of all rows, those of weight 0 included, over what the others hold."""
        analyze = self.build_analyzer()
        texts, w = _texts(X, sample_weight)
        if not texts:
            raise InputError("X is empty; give at least one text to learn from.")
        known = None if self.vocabulary is None else _given(self.vocabulary)
        counts, words = count(map(analyze, texts), known)
        counts = _ones(counts) if self.binary else counts
        if known is None:
            kept = _kept(self, counts, words, w)
            if not len(kept):
                raise InputError(
                    f"no words are left of {len(texts)} texts; give texts that have some, fewer "
                    "stop_words, a lower min_df or a higher max_df."
                )
            counts, words = counts[:, kept], [words[i] for i in kept]
        self.vocabulary_ = {word: i for i, word in enumerate(words)}
        present = w > 0
        self._learn(counts[present], w[present])
        return counts

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


class CountVectorizer(AbstractBagOfWords):
    """How often each word occurs in each text, as a sparse matrix.

    Args:
        strip_accents: "unicode" or "ascii" to write é as e; None to leave texts as they are.
        lowercase: whether upper and lower case are the same.
        preprocessor: a function of a text that takes the place of these two.
        tokenizer: a function from a text to its words in the place of `token_pattern`, or a
            fitted tokenizer of `likely.text`.
        stop_words: words that are not counted: a list, or "english".
        token_pattern: a regular expression for words.
        ngram_range: (least, most) words, or characters, that are counted together.
        analyzer: "word", "char" (runs of characters), "char_wb" (runs of characters inside
            words, with a space at both ends), or a function from a text to what is counted.
        max_df: leave out words that are in more texts: a number, or a share if a float.
        min_df: leave out words that are in fewer.
        max_features: keep so many of the most frequent words.
        vocabulary: the words to count, in the order of the columns; None to learn them.
        binary: whether to say only that a word is there (1), not how often.

    Attributes:
        vocabulary_: the column of each word.

    Examples:
        >>> words = lk.CountVectorizer().fit(["a red house", "a blue house"])
        >>> words.get_feature_names_out().tolist()
        ['blue', 'house', 'red']
    """

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
    ):
        store(self, locals())

    def _learn(self, counts: csr_array, w: np.ndarray) -> None:
        pass

    def _weighted(self, counts: csr_array) -> csr_array:
        return counts


# The core -------------------------------------------------------------------------------


def count(
    documents: Iterable[Iterable[str]], known: Mapping[str, int] | None = None
) -> tuple[csr_array, list[str]]:
    """(n, words) how often each word is in each document, and the words.

    Args:
        documents: the words of each document.
        known: the column of each word that is counted; None: all words, sorted.
    """
    columns: Any = defaultdict() if known is None else known
    if known is None:
        columns.default_factory = columns.__len__
    ends, places, values = array("q", [0]), array("q"), array("q")
    for words in documents:
        found: dict[int, int] = {}
        for word in words:
            try:
                place = columns[word]
            except KeyError:  # not among the known ones
                continue
            found[place] = found.get(place, 0) + 1
        places.extend(found)
        values.extend(found.values())
        ends.append(len(places))
    indices, names = np.frombuffer(places, np.int64), list(columns)
    if known is None:
        order = sorted(range(len(names)), key=names.__getitem__)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        indices, names = rank[indices], [names[i] for i in order]
    else:
        names = sorted(names, key=known.__getitem__)
    kind = np.int32 if len(indices) < 2**31 else np.int64
    parts = np.array(values, np.int64), indices.astype(kind), np.array(ends, kind)
    counts = csr_array(parts, shape=(len(ends) - 1, len(names)))
    counts.sort_indices()
    return counts, names


def document_frequency(counts: csr_array, w: np.ndarray) -> np.ndarray:
    """(words,) the weight of the documents that hold each word."""
    _, words = shape_of(counts)
    return np.bincount(counts.indices, _spread(counts, w), words)


def shape_of(counts: csr_array) -> tuple[int, int]:
    """(documents, words)."""
    found: Any = counts.shape
    return found


def analyzer_of(settings: Any) -> Analyzer:
    """The function from a text to what is counted, as the settings describe it."""
    low, high = _checked_range(settings.ngram_range)
    if callable(settings.analyzer):
        return settings.analyzer
    kind = one_of("analyzer", settings.analyzer, ANALYZERS)
    prepare = _preparation(settings)
    if kind != "word":
        grams = _char_grams if kind == "char" else _word_part_grams
        return lambda text: grams(_WHITE.sub(" ", prepare(text)), low, high)
    split, stop = _splitter(settings), _stop_words(settings.stop_words)

    def words(text: str) -> list[str]:
        found = split(prepare(text))
        found = [word for word in found if word not in stop] if stop else found
        return word_grams(found, low, high)

    return words


def word_grams(words: list[str], low: int, high: int) -> list[str]:
    """All runs of low to high words, joined by spaces."""
    if high == 1:
        return words
    found = list(words) if low == 1 else []
    for n in range(max(low, 2), min(high, len(words)) + 1):
        found += [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]
    return found


def _char_grams(text: str, low: int, high: int) -> list[str]:
    spans = range(low, min(high, len(text)) + 1)
    return [text[i : i + n] for n in spans for i in range(len(text) - n + 1)]


def _word_part_grams(text: str, low: int, high: int) -> list[str]:
    """Runs of characters inside words; a word that is shorter than a run counts once."""
    found = []
    for word in text.split():
        word = f" {word} "
        for n in range(low, high + 1):
            found += [word[i : i + n] for i in range(max(len(word) - n, 0) + 1)]
            if len(word) <= n:
                break
    return found


class _Words(NamedTuple):
    """The words of a text as a tokenizer cuts it."""

    tokenizer: Any

    def __call__(self, text: str) -> list[str]:
        return [text[a:b] for a, b in self.tokenizer.offsets(text)]


def _splitter(settings: Any) -> Analyzer:
    given = settings.tokenizer
    if given is None:
        try:
            pattern = re.compile(settings.token_pattern)
        except (re.error, TypeError) as error:
            raise InputError(
                f"token_pattern is {settings.token_pattern!r}, which is no regular expression "
                f"({error}); see the module re."
            ) from None
        if pattern.groups > 1:
            raise InputError(
                f"token_pattern has {pattern.groups} groups; a word is one: use (?:...) for the "
                "others."
            )
        return pattern.findall
    if hasattr(given, "offsets"):
        return _Words(given)
    if not callable(given):
        raise InputError(
            f"tokenizer is {given!r}; give a function of a text, or a tokenizer."
        )
    return given


def _preparation(settings: Any) -> Callable[[str], str]:
    if settings.preprocessor is not None:
        return settings.preprocessor
    accents = settings.strip_accents
    if accents is not None:
        one_of("strip_accents", accents, ("unicode", "ascii"))
    lower = settings.lowercase

    def prepare(text: str) -> str:
        text = text.lower() if lower else text
        return text if accents is None or text.isascii() else _plain(text, accents)

    return prepare


def _plain(text: str, accents: str) -> str:
    """The text without accents."""
    parts = unicodedata.normalize("NFKD", text)
    if accents == "ascii":
        return parts.encode("ascii", "ignore").decode("ascii")
    return "".join(c for c in parts if not unicodedata.combining(c))


def _stop_words(given: Any) -> Collection[str]:
    if given is None:
        return ()
    if isinstance(given, str):
        one_of("stop_words", given, ("english",))
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return ENGLISH_STOP_WORDS
    return frozenset(given)


def _texts(X: Any, sample_weight: Any) -> tuple[list[str], np.ndarray]:
    """Checked texts and weights; a row of weight 0 has no words."""
    if sample_weight is None:
        texts = check_texts(X, "X")
        return texts, np.ones(len(texts))
    w = weights_of(sample_weight, len(X))
    pairs = zip(X, w, strict=True)
    return check_texts([row if each > 0 else "" for row, each in pairs], "X"), w


def _checked_range(given: Any) -> tuple[int, int]:
    try:
        low, high = given
    except (TypeError, ValueError):
        raise InputError(
            f"ngram_range is {given!r}; give the least and the most, such as (1, 2)."
        ) from None
    at_least("ngram_range[0]", low, 1, whole=True)
    at_least("ngram_range[1]", high, low, whole=True)
    return int(low), int(high)


def _given(vocabulary: Any) -> dict[str, int]:
    """The columns of the words of a vocabulary that was given."""
    if isinstance(vocabulary, Mapping):
        found = {str(word): int(place) for word, place in vocabulary.items()}
        if sorted(found.values()) != list(range(len(found))) or not found:
            raise InputError(
                "vocabulary is a mapping whose numbers are not 0, 1, 2, ..., each once; number "
                "its words so, or give a list of them."
            )
        return found
    words = sorted(vocabulary) if isinstance(vocabulary, set) else list(vocabulary)
    found = {str(word): i for i, word in enumerate(words)}
    if len(found) < len(words) or not words:
        twice = [word for i, word in enumerate(words) if found[str(word)] != i]
        problem = f"has {twice[0]!r} twice" if twice else "is empty"
        raise InputError(f"vocabulary {problem}; give each word once.")
    return found


def _kept(
    settings: Any, counts: csr_array, words: list[str], w: np.ndarray
) -> np.ndarray:
    """The columns that are neither too rare nor too common."""
    present, total = document_frequency(counts, w), w.sum()
    low, high = (_bound(settings, name, total) for name in ("min_df", "max_df"))
    if high < low:
        raise InputError(
            f"max_df is {settings.max_df} and min_df {settings.min_df}: no word is in at least "
            f"{low:g} and at most {high:g} texts; give a lower min_df or a higher max_df."
        )
    kept = np.flatnonzero((present > 0) & (present >= low) & (present <= high))
    if settings.max_features is None:
        return kept
    most = at_least("max_features", settings.max_features, 1, whole=True)
    if len(kept) <= most:
        return kept
    totals = np.bincount(counts.indices, _spread(counts, w) * counts.data, len(words))
    whole = totals.astype(np.int64)
    totals = whole if (whole == totals).all() else totals
    return np.sort(kept[(-totals[kept]).argsort()[:most]])


def _bound(settings: Any, name: str, total: float) -> float:
    value = getattr(settings, name)
    if isinstance(value, Integral):
        return at_least(name, value, 0)
    share = at_least(name, value)
    if share > 1:
        raise InputError(
            f"{name} is {value}; give a whole number, or a share up to 1.0."
        )
    return share * total


def _spread(counts: csr_array, w: np.ndarray) -> np.ndarray:
    """The weight of the row of each entry."""
    return np.repeat(w, np.diff(counts.indptr))


def _ones(counts: csr_array) -> csr_array:
    found = counts.copy()
    found.data = np.ones_like(found.data)
    return found
