r"""The class of a text: $y \mid x \sim$ Categorical(softmax $f(x)$), with x a text."""

from collections.abc import Sequence
from typing import Any, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from likely.base.labels import codes_of, encode_labels, frequency_distribution
from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.estimators.sequence.sequences import SequenceClassifier
from likely.text.models.supervised.baseline import LinearText
from likely.text.models.supervised.text_predictor import TextPredictor, TextRows


class TextClassifier(ClassifierMixin, TextPredictor):
    r"""Classes of texts, by a network of tokens or by a linear model of words.

    Beside the network a baseline is fitted: logistic regression on TF-IDF of words and pairs of
    words, with a penalty chosen by held-out rows. Both are judged on the same texts, a tenth of all
    (a fifth of at most 500) that neither has seen. By default the one with fewer nats per text
    is the model; a network that is asked for by name and is worse warns. The baseline then
    learns from all texts, and so does a network of at most 2000 texts.

    Args:
        architecture: "auto" (the better one of an LSTM and the baseline), "linear" (the
            baseline), "lstm", "gru", "rnn" or "transformer".
        size: of the state of a position of the network.
        tokenizer: what cuts texts into tokens for the network: "words" (in lower case),
            "characters", "bytes", "bpe", or a tokenizer of `likely.text`.
        max_length: how many tokens of a text the network reads, from its beginning.
        vectorizer: of the baseline: None for TF-IDF of words and pairs, or such as
            `TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5))`.
        linear_alpha: strength of the Gaussian prior on the coefficients of the baseline (1/C in
            scikit-learn); "auto" chooses it by held-out rows.
        n_layers: the number of layers of the network.
        n_heads: of the attention of a transformer.
        bidirectional: whether recurrent layers also read from the end.
        dropout: the probability to drop a value in training.
        min_count: how often a token occurs at least to have a vector of its own.
        alpha: strength of the Gaussian prior on the weights of the network.
        learning_rate_init: of Adam.
        batch_size: rows in a minibatch.
        max_iter: epochs, at most.
        early_stopping: whether to hold out rows from the network to stop by.
        n_iter_no_change: epochs without a lower held-out loss before stopping.
        n_members: networks, whose predictions are averaged.
        pretrained: a fitted network to begin from, such as a `MaskedLanguageModel`, whose
            tokenizer is then used.
        trainable: which part of a pretrained network learns: "all", "head" and others.
        random_state: seed of first weights, batches and splits.
        verbose: whether to show a progress bar.

    Attributes:
        classes_: the labels, sorted.
        architecture_: what the model is: "linear", or the architecture of the network.
        comparison_: nats per text and accuracy of network, baseline and null model on held-out
            texts, and the difference with its standard error; None for fewer than 20 texts.
        baseline_: the linear model.
        network_: the tokenizer and the `SequenceClassifier`; None where the model is linear.
    """

    _network_class = SequenceClassifier
    _measure = "accuracy"

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        architecture="auto",
        size=64,
        *,
        tokenizer: Any = "words",
        max_length=256,
        vectorizer: Any = None,
        linear_alpha: Any = "auto",
        n_layers=1,
        n_heads=4,
        bidirectional=False,
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

    def top_words(self, label: Any = None, n: int = 10) -> Any:
        """The words of the baseline that speak most for a class, with their coefficients.

        Args:
            label: one of `classes_`; all of them, as a dict, where None.
            n: how many words.
        """
        check_is_fitted(self)
        n = at_least("n", n, 1, whole=True)
        if label is None:
            return {each: self.top_words(each, n) for each in self.classes_.tolist()}
        if label not in self.classes_.tolist():
            raise InputError(
                f"there is no class {label!r}; there are {self.classes_.tolist()}."
            )
        code, weight = self.classes_.tolist().index(label), self.baseline_.fit.weight
        if len(self.classes_) == 2:
            own = weight[:, 0] * (1 if code else -1)
        else:
            own = weight[:, code] - weight.mean(1)
        names, order = self.baseline_.names, np.argsort(-own, kind="stable")[:n]
        return [(str(names[j]), float(own[j])) for j in order]

    @property
    def _n_classes(self) -> int:
        return len(self.classes_)

    def _encoded(self, y: Any, *, first: bool, name: str) -> np.ndarray:
        if not first:
            return codes_of(y, self.classes_, name)
        self.classes_, codes = encode_labels(y)
        return codes

    def _decoded(self, y: np.ndarray) -> np.ndarray:
        return self.classes_[y.astype(int)]

    def _of_baseline(self, baseline: LinearText, texts: Sequence[str]) -> Any:
        return baseline.classes(texts, self.classes_)

    def _null(self, rows: TextRows, n: int) -> Any:
        counts = np.bincount(rows.y.astype(int), rows.w, self._n_classes)
        shares = np.tile(counts / counts.sum(), (n, 1))
        return frequency_distribution(shares, self.classes_)

    def _score(self, dist: Any, y: np.ndarray, w: np.ndarray) -> float:
        return float(np.average(dist.probs.argmax(1) == y, weights=w))
