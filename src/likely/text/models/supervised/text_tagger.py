r"""Labels of words, such as named entities: $y_p \mid x \sim$ Categorical(softmax $f(x)_p$)."""

from collections.abc import Sequence
from typing import Any, NamedTuple, no_type_check

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.labels import class_distribution, codes_of, encode_labels, smallest_set
from likely.base.predictor import Predictor
from likely.base.rows import weights_of
from likely.base.settings import one_of, store
from likely.core.checks import InputError
from likely.estimators.sequence.network import ARCHITECTURES
from likely.estimators.sequence.tagger import SequenceTagger
from likely.evaluate.spans import Span, is_span_label, span_f1, spans_of
from likely.solvers.training import Callback
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
from likely.text.models.supervised.linear_tags import LinearTags
from likely.text.models.supervised.networks import (
    begun_from,
    network_for,
    tokenizer_for,
)
from likely.text.models.supervised.sentences import Sentence, labels_of, sentences_of


class TaggedRows(NamedTuple):
    """Sentences with at least one word, the codes of their labels, and weights."""

    sentences: list[Sentence]
    codes: list[np.ndarray]
    w: np.ndarray

    def weighted(self, factor: np.ndarray) -> "TaggedRows":
        """The rows whose weight times the factor is positive, with these weights."""
        w = self.w * factor
        here = np.flatnonzero(w > 0)
        sentences = [self.sentences[i] for i in here]
        return TaggedRows(sentences, [self.codes[i] for i in here], w[here])

    @property
    def words(self) -> list[list[str]]:
        """The words of each sentence."""
        return [each.words for each in self.sentences]


class ReadWords(NamedTuple):
    """A network of positions with the tokenizer that reads sentences for it."""

    tokenizer: Any
    """None where the words themselves are the tokens."""
    network: Any

    def tokens(
        self, sentences: Sequence[Sentence]
    ) -> tuple[list[Any], list[np.ndarray]]:
        """The tokens of each sentence, and which of them is the first of each word."""
        if self.tokenizer is None:
            rows = [each.words for each in sentences]
            return rows, [np.arange(len(row)) for row in rows]
        found = [each.first_tokens(self.tokenizer) for each in sentences]
        return [row for row, _ in found], [first for _, first in found]

    def fit(self, rows: TaggedRows, classes: np.ndarray, callbacks: Any) -> "ReadWords":
        """Train: the first token of a word has its label, the others have none."""
        tokens, firsts = self.tokens(rows.sentences)
        labels = []
        for row, first, codes in zip(tokens, firsts, rows.codes, strict=True):
            own = np.full(len(row), None, object)
            own[first] = classes[codes]
            labels.append(own)
        self.network.fit(tokens, labels, rows.w, callbacks=callbacks)
        return self

    def log_probs(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """(words, c) log-probabilities of the words of all sentences, one after another."""
        tokens, firsts = self.tokens(sentences)
        found = self.network.predict_log_proba(tokens)
        return np.concatenate([p[at] for p, at in zip(found, firsts, strict=True)])


class TextTagger(Predictor):
    r"""A label for each word of a text: named entities, parts of speech.

    Rows are lists of words with a list of labels each, or texts with a list of spans
    (start, end, kind) of characters, such as `[(0, 5, "PER")]`. Spans become labels of words:
    `B-PER` for the first one, `I-PER` for those that follow, `O` for words outside. A tokenizer
    may cut words into several tokens: the first has the label, the others are read but not
    judged.

    Beside the network a baseline is fitted: logistic regression on each word, its form, its
    beginning and end and its neighbours. Both are judged on the same held-out sentences, as in
    `TextClassifier`, and so are the other arguments.

    Args:
        architecture: "auto" (the better one of an LSTM and the baseline), "linear" (the
            baseline), "lstm", "gru", "rnn" or "transformer".
        tokenizer: "words" takes words as they are; "characters", "bytes", "bpe" or a tokenizer
            of `likely.text` cuts them into parts.
        linear_alpha: strength of the Gaussian prior on the coefficients of the baseline.

    Attributes:
        classes_: the labels, sorted.
        architecture_: what the model is: "linear", or the architecture of the network.
        comparison_: nats per word and F₁ of spans (accuracy where labels are not those of spans)
            of network, baseline and null model on held-out sentences; None for fewer than 20.
        baseline_: the linear model.
        network_: the tokenizer and the `SequenceTagger`; None where the model is linear.
    """

    _allows_outputs = True
    architecture: str
    tokenizer: Any
    linear_alpha: Any
    pretrained: Any
    architecture_: str
    baseline_: LinearTags
    network_: ReadWords | None
    comparison_: TextComparison | None

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        architecture="auto",
        size=64,
        *,
        tokenizer: Any = "words",
        linear_alpha: Any = "auto",
        n_layers=1,
        n_heads=4,
        bidirectional=True,
        dropout=0.0,
        min_count=2,
        alpha: Any = "auto",
        learning_rate_init: Any = "auto",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        early_stopping: Any = "auto",
        n_iter_no_change=10,
        n_members: Any = "auto",
        pretrained: Any = None,
        trainable: Any = "all",
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    # Fitting ---------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        callbacks: Callback | Sequence[Callback] = (),
    ) -> "TextTagger":
        """Fit the baseline, and a network unless the architecture is "linear".

        Args:
            X: a list of lists of words, or of texts.
            y: a list of labels, one for each word, or of spans (start, end, kind), for each row.
            sample_weight: how often each row counts.
            callbacks: functions of an `Event` of the network's training.
        """
        one_of("architecture", self.architecture, (AUTO, LINEAR, *ARCHITECTURES))
        rows = self._tagged_rows(X, y, sample_weight)
        learn, judge = self._divided(rows)
        refitted = len(rows.w) <= MAX_ROWS_REFITTED
        fit_better(self, rows, learn, judge, callbacks, refitted=refitted)
        return self

    def _divided(self, rows: TaggedRows) -> tuple[TaggedRows, TaggedRows | None]:
        """Rows to learn from, which have every label, and others to compare by."""
        texts = [each.text for each in rows.sentences]
        share = held_out(texts, np.zeros(len(texts)), rows.w, 0)
        if share is None:
            return rows, None
        for code in range(len(self.classes_)):
            has = np.array([(codes == code).any() for codes in rows.codes])
            if not (has & (share < 1)).any():
                share[np.argmax(has)] = 0.0
        learn, judge = rows.weighted(1 - share), rows.weighted(share)
        return (learn, judge) if len(judge.w) else (rows, None)

    def _tagged_rows(self, X: Any, y: Any, sample_weight: Any) -> TaggedRows:
        """The rows that have weight and words, checked; sets `classes_`."""
        if not len(y):
            raise InputError("y is empty; give at least one text and its labels.")
        w = weights_of(sample_weight, len(y))
        sentences, labels = _present(X, y, w)
        every = np.array([label for row in labels for label in row])
        if not len(every):
            raise InputError(
                "no row has a word; give texts with words and their labels."
            )
        self.classes_, codes = encode_labels(every)
        ends = np.cumsum([len(row) for row in labels])[:-1]
        parts, kept = np.split(codes.astype(int), ends), w[w > 0]
        has = [i for i, row in enumerate(labels) if row]
        return TaggedRows(
            [sentences[i] for i in has], [parts[i] for i in has], kept[has]
        )

    def _baseline(self, rows: TaggedRows) -> LinearTags:
        return LinearTags.of(
            rows.words, rows.codes, rows.w, len(self.classes_), self.linear_alpha
        )

    def _read(self, rows: TaggedRows, callbacks: Any) -> ReadWords:
        """A tokenizer and a network that learned from these rows."""
        network = network_for(self, SequenceTagger, self.architecture_)
        tokenizer, setting = begun_from(self.pretrained)[0], self.tokenizer
        words = isinstance(setting, str) and setting == "words" and tokenizer is None
        if not words:
            texts = [each.text for each in rows.sentences]
            tokenizer = tokenizer_for(self, texts, rows.w)
        read = ReadWords(tokenizer, network).fit(rows, self.classes_, callbacks)
        self.architecture_ = network.architecture
        return read

    def _compare(self, learn: TaggedRows, judge: TaggedRows) -> TextComparison:
        y, lengths = np.concatenate(judge.codes), [len(each) for each in judge.codes]
        counts = np.bincount(
            np.concatenate(learn.codes),
            np.repeat(learn.w, [len(each) for each in learn.codes]),
            len(self.classes_),
        )
        shares = np.log((counts + 0.5) / (counts + 0.5).sum())
        said: dict[str, Any] = {"network": None}
        if self.network_ is not None:
            said["network"] = self.network_.log_probs(judge.sentences)
        said["linear"] = self._baseline(learn).log_probs(judge.words)
        said["null"] = np.tile(shares, (len(y), 1))
        own = np.arange(len(y)), y
        logs = {k: None if p is None else p[own] for k, p in said.items()}
        scores = {
            k: None if p is None else self._judge(p, judge) for k, p in said.items()
        }
        measure = "span F1" if self._has_spans else "accuracy"
        w, groups = (
            np.repeat(judge.w, lengths),
            np.repeat(np.arange(len(lengths)), lengths),
        )
        return compared(logs, scores, w, measure, groups)

    def _judge(self, log_probs: np.ndarray, rows: TaggedRows) -> float:
        ends = np.cumsum([len(each) for each in rows.codes])[:-1]
        true = [self.classes_[codes] for codes in rows.codes]
        said = np.split(self.classes_[log_probs.argmax(1)], ends)
        return self._scored(true, said, rows.w)

    def _scored(self, true: Any, predicted: Any, w: np.ndarray) -> float:
        """F₁ of spans, or the share of words with the right label."""
        if self._has_spans:
            return float(span_f1(true, predicted, sample_weight=w))
        right = [
            np.asarray(a) == np.asarray(b) for a, b in zip(true, predicted, strict=True)
        ]
        weights = np.repeat(w, [len(each) for each in right])
        return float(np.average(np.concatenate(right), weights=weights))

    @property
    def _has_spans(self) -> bool:
        """Whether labels say which words belong to a span."""
        return all(is_span_label(label) for label in self.classes_.tolist())

    # Predicting ------------------------------------------------------------------------

    @property
    def _predicts_classes(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        """The most probable label of each word: a list for each row, or an array for one."""
        rows = [self.classes_[p.argmax(1)] for p in self._each_log_prob(X)[1]]
        return np.stack(rows) if _is_array(X) else [row.tolist() for row in rows]

    def predict_spans(self, X: Any) -> list[list[Span]]:
        """The spans (start, end, kind) of each row: of characters in texts, else of words.

        Args:
            X: as in `fit`.
        """
        check_is_fitted(self)
        if not self._has_spans:
            raise InputError(
                f"the labels of the fit are {self.classes_.tolist()}; spans need labels such as "
                "B-PER, I-PER and O."
            )
        sentences, logs = self._each_log_prob(X)
        labels = (self.classes_[p.argmax(1)].tolist() for p in logs)
        found = zip(sentences, labels, strict=True)
        return [each.spans(spans_of(row)) for each, row in found]

    def predict_proba(self, X: Any) -> Any:
        """(words, c) probabilities for each row."""
        return _formed(X, [np.exp(p) for p in self._each_log_prob(X)[1]])

    def predict_log_proba(self, X: Any) -> Any:
        """(words, c) log-probabilities for each row."""
        return _formed(X, self._each_log_prob(X)[1])

    def predict_set(self, X: Any, coverage: float = 0.9) -> Any:
        """(words, c) booleans: the fewest labels that hold this much probability."""
        sets = [smallest_set(np.exp(p), coverage) for p in self._each_log_prob(X)[1]]
        return _formed(X, sets)

    def predict_dist(self, X: Any) -> Any:
        """p(y | x) of each word: those of all rows, one after another."""
        empty = np.zeros((0, len(self.classes_)))
        logs = np.concatenate([empty, *self._each_log_prob(X)[1]])
        return class_distribution(logs, self.classes_)

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean loss of a word, in nats."""
        logs, labels, w = self._judged(X, y, sample_weight)
        every = np.array([label for row in labels for label in row])
        codes = codes_of(every, self.classes_, "y").astype(int)
        own = np.concatenate(logs)[np.arange(len(codes)), codes]
        return float(-np.average(own, weights=np.repeat(w, [len(r) for r in labels])))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """F₁ of spans; the share of words with the right label where there are none."""
        logs, labels, w = self._judged(X, y, sample_weight)
        said = [self.classes_[p.argmax(1)].tolist() for p in logs]
        return self._scored(labels, said, w)

    def _judged(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, Any, np.ndarray]:
        """Log-probabilities and labels of the rows that count, and their weights."""
        check_is_fitted(self)
        w = weights_of(sample_weight, len(y))
        sentences, labels = _present(X, y, w)
        return self._log_probs(sentences), labels, w[w > 0]

    def _each_log_prob(self, X: Any) -> tuple[list[Sentence], list[np.ndarray]]:
        check_is_fitted(self)
        sentences = sentences_of(X)
        return sentences, self._log_probs(sentences)

    def _log_probs(self, sentences: list[Sentence]) -> list[np.ndarray]:
        """(words, c) log-probabilities of each sentence."""
        some = [each for each in sentences if len(each.offsets)]
        logs = np.zeros((0, len(self.classes_)))
        if some and self.network_ is not None:
            logs = self.network_.log_probs(some)
        elif some:
            logs = self.baseline_.log_probs([each.words for each in some])
        ends = np.cumsum([len(each.offsets) for each in sentences])[:-1]
        return np.split(logs, ends)

    def summary(self) -> str:
        """What was fitted, and how it compares with the baseline on held-out sentences."""
        check_is_fitted(self)
        return described(self, f"{len(self.baseline_.columns):,} features of words")

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


def _present(X: Any, y: Any, w: np.ndarray) -> tuple[list[Sentence], list[list]]:
    """The sentences and labels of the rows that have weight."""
    if isinstance(X, str | bytes):
        sentences_of(X)
    if len(X) != len(y):
        raise InputError(
            f"X has {len(X)} rows but y has {len(y)}; give the labels of each row."
        )
    rows, here = list(X), np.flatnonzero(w > 0)
    blank = "" if len(here) and isinstance(rows[here[0]], str | bytes) else []
    sentences = sentences_of([rows[i] if w[i] > 0 else blank for i in range(len(w))])
    labels = labels_of(sentences, [y[i] if w[i] > 0 else [] for i in range(len(w))])
    return [sentences[i] for i in here], [labels[i] for i in here]


def _is_array(X: Any) -> bool:
    """Whether rows are those of an array (n, t) of words."""
    return getattr(X, "ndim", 1) > 1


def _formed(X: Any, rows: list[np.ndarray]) -> Any:
    """One array for an array, a list of arrays for anything else."""
    return np.stack(rows) if _is_array(X) else rows
