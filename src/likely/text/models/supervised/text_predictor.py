"""What classifiers and regressors of texts share: a network, and a baseline to be judged by."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.predictor import Predictor
from likely.base.settings import at_least, one_of
from likely.core.checks import InputError, check_weights
from likely.estimators.sequence.network import ARCHITECTURES
from likely.solvers.training import Callback
from likely.text.models.supervised.baseline import LinearText
from likely.text.models.supervised.choice import (
    AUTO,
    LINEAR,
    MAX_ROWS_REFITTED,
    fit_better,
)
from likely.text.models.supervised.comparison import (
    TextComparison,
    compared,
    described,
    held_out,
)
from likely.text.models.supervised.networks import network_for, tokenizer_for
from likely.text.tokenizers.texts import check_texts
from likely.text.tokenizers.tokenizer import Tokenizer


class TextRows(NamedTuple):
    """Texts with weight, their targets as numbers (codes of classes), and weights."""

    texts: list[str]
    y: np.ndarray
    w: np.ndarray

    def weighted(self, factor: np.ndarray) -> "TextRows":
        """The rows whose weight times the factor is positive, with these weights."""
        w = self.w * factor
        here = np.flatnonzero(w > 0)
        return TextRows([self.texts[i] for i in here], self.y[here], w[here])


class ReadText(NamedTuple):
    """A network with the tokenizer that reads texts for it."""

    tokenizer: Tokenizer
    network: Any
    max_length: int

    def tokens(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The tokens of each text; a text that has none is one token that no other has."""
        rows = self.tokenizer.encode_batch(texts, max_length=self.max_length)
        nothing = np.array([self.tokenizer.n_tokens_], np.int32)
        return [row if len(row) else nothing for row in rows]


class TextPredictor(Predictor):
    """Texts to a distribution; you write what y is, and how it is judged."""

    _network_class: ClassVar[Any]
    """The network of sequences."""
    _measure: ClassVar[str]
    """What the scores of a comparison are."""
    architecture: str
    tokenizer: Any
    max_length: Any
    vectorizer: Any
    linear_alpha: Any
    pretrained: Any
    architecture_: str
    baseline_: LinearText
    network_: ReadText | None
    comparison_: TextComparison | None

    @property
    @abstractmethod
    def _n_classes(self) -> int:
        """How many classes y has; 0 for numbers."""

    @abstractmethod
    def _encoded(self, y: Any, *, first: bool, name: str) -> np.ndarray:
        """The targets as numbers, checked; a fit learns the classes."""

    @abstractmethod
    def _decoded(self, y: np.ndarray) -> np.ndarray:
        """The targets as they were given."""

    @abstractmethod
    def _of_baseline(self, baseline: LinearText, texts: Sequence[str]) -> Any:
        """The distribution that the baseline says."""

    @abstractmethod
    def _null(self, rows: TextRows, n: int) -> Any:
        """The distribution of n rows about which nothing is known."""

    @abstractmethod
    def _score(self, dist: Any, y: np.ndarray, w: np.ndarray) -> float:
        """The score of a distribution, for encoded targets."""

    # Fitting ---------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        callbacks: Callback | Sequence[Callback] = (),
    ):
        """Fit the baseline, and a network unless the architecture is "linear".

        Args:
            X: a list of texts.
            y: the target of each.
            sample_weight: how often each row counts.
            X_val: other texts to compare the network and the baseline by; where None, rows are
                held out.
            y_val: their targets.
            sample_weight_val: how often each of these counts.
            callbacks: functions of an `Event` of the network's training.
        """
        known = (AUTO, LINEAR, *ARCHITECTURES)
        one_of("architecture", self.architecture, known)
        at_least("max_length", self.max_length, 1, whole=True)
        rows = self._text_rows(X, y, sample_weight)
        learn, judge = rows, None
        if X_val is not None:
            if y_val is None:
                raise InputError("X_val is given without y_val; give both.")
            judge = self._text_rows(X_val, y_val, sample_weight_val, "_val")
        else:
            share = held_out(*rows, self._n_classes)
            if share is not None:
                learn, judge = rows.weighted(1 - share), rows.weighted(share)
        refitted = X_val is None and len(rows.texts) <= MAX_ROWS_REFITTED
        fit_better(self, rows, learn, judge, callbacks, refitted=refitted)
        return self

    def _compare(self, learn: TextRows, judge: TextRows) -> TextComparison:
        linear = self._of_baseline(self._baseline(learn), judge.texts)
        said = {"network": None, "linear": linear}
        said["null"] = self._null(learn, len(judge.texts))
        if self.network_ is not None:
            said["network"] = self._of_network(self.network_, judge.texts)
        y, w = self._decoded(judge.y), judge.w
        logs = {k: d if d is None else d.log_prob(y) for k, d in said.items()}
        scores = {
            k: d if d is None else self._score(d, judge.y, w) for k, d in said.items()
        }
        return compared(logs, scores, w, self._measure)

    def _baseline(self, rows: TextRows) -> LinearText:
        return LinearText.of(
            *rows,
            n_classes=self._n_classes,
            vectorizer=self.vectorizer,
            alpha=self.linear_alpha,
        )

    def _read(self, rows: TextRows, callbacks: Any) -> ReadText:
        """A tokenizer and a network that learned from these rows."""
        tokenizer = tokenizer_for(self, rows.texts, rows.w)
        network = network_for(self, self._network_class, self.architecture_)
        read = ReadText(tokenizer, network, int(self.max_length))
        y = self._decoded(rows.y)
        network.fit(read.tokens(rows.texts), y, rows.w, callbacks=callbacks)
        self.architecture_ = network.architecture
        return read

    def _text_rows(self, X: Any, y: Any, sample_weight: Any, of: str = "") -> TextRows:
        """The rows that have weight, checked."""
        if isinstance(X, str | bytes):
            check_texts(X, f"X{of}")
        rows, targets = list(X), np.asarray(y)
        if not rows:
            raise InputError(f"X{of} is empty; give at least one text.")
        if targets.ndim != 1:
            raise InputError(
                f"y{of} has shape {targets.shape}; give one for each text."
            )
        if len(targets) != len(rows):
            raise InputError(
                f"X{of} has {len(rows)} texts but y{of} has {len(targets)} targets; give as many "
                "of each."
            )
        w = check_weights(sample_weight, len(rows))
        here = np.flatnonzero(w > 0)
        texts = check_texts(
            [rows[i] if w[i] > 0 else "" for i in range(len(w))], f"X{of}"
        )
        found = self._encoded(targets[here], first=not of, name=f"y{of}")
        return TextRows([texts[i] for i in here], found, w[here])

    # Predicting ------------------------------------------------------------------------

    def predict_dist(self, X: Any) -> Any:
        """p(y | text) for each text."""
        check_is_fitted(self)
        texts = check_texts(X, "X")
        if self.network_ is None:
            return self._of_baseline(self.baseline_, texts)
        return self._of_network(self.network_, texts)

    def _of_network(self, read: ReadText, texts: Sequence[str]) -> Any:
        return read.network.predict_dist(read.tokens(texts))

    def summary(self) -> str:
        """What was fitted, and how it compares with the baseline on held-out texts."""
        check_is_fitted(self)
        return described(
            self, f"{len(self.baseline_.names):,} words and pairs of words"
        )

    def __sklearn_clone__(self):
        """A copy without what was learned, which begins from the same fitted network."""
        found: Any = super().__sklearn_clone__()
        found.pretrained = self.pretrained
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.input_tags.sparse = False
        return tags
