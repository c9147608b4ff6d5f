r"""The number of a text: $y \mid x \sim N(f(x), σ^2)$, with x a text."""

from collections.abc import Sequence
from typing import Any, no_type_check

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from likely.base.held_out import least_variance, variance_of
from likely.base.rows import check_numbers
from likely.base.settings import at_least, store
from likely.estimators.sequence.sequences import SequenceRegressor
from likely.families import Normal, Predictive
from likely.text.models.supervised.baseline import LinearText
from likely.text.models.supervised.text_predictor import TextPredictor, TextRows


class TextRegressor(RegressorMixin, TextPredictor):
    r"""Numbers of texts, by a network of tokens or by a linear model of words.

    The baseline is ridge regression on TF-IDF, with σ by held-out rows; the score in a comparison
    is the root of the mean squared error. All other things are as in `TextClassifier`, and so are
    the arguments.

    Attributes:
        architecture_: what the model is: "linear", or the architecture of the network.
        comparison_: nats per text and RMSE of network, baseline and null model on held-out texts,
            and the difference with its standard error; None for fewer than 20 texts.
        baseline_: the linear model.
        network_: the tokenizer and the `SequenceRegressor`; None where the model is linear.
    """

    _network_class = SequenceRegressor
    _measure = "RMSE"

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

    def top_words(
        self, n: int = 10, *, lowest: bool = False
    ) -> list[tuple[str, float]]:
        """The words of the baseline that raise y most, with their coefficients.

        Args:
            n: how many words.
            lowest: whether to give those that lower it instead.
        """
        check_is_fitted(self)
        own, n = self.baseline_.fit.weight[:, 0], at_least("n", n, 1, whole=True)
        order = np.argsort(own if lowest else -own, kind="stable")[:n]
        names = self.baseline_.names
        return [(str(names[j]), float(own[j])) for j in order]

    @property
    def _n_classes(self) -> int:
        return 0

    def _encoded(self, y: Any, *, first: bool, name: str) -> np.ndarray:
        return check_numbers(self, y)

    def _decoded(self, y: np.ndarray) -> np.ndarray:
        return y

    def _of_baseline(self, baseline: LinearText, texts: Sequence[str]) -> Any:
        return baseline.numbers(texts)

    def _null(self, rows: TextRows, n: int) -> Any:
        variance = max(variance_of(rows.y, rows.w), least_variance(rows.y, rows.w))
        eta = np.average(rows.y, weights=rows.w), 0.5 * np.log(variance)
        return Predictive(Normal(), np.tile(eta, (n, 1)))

    def _score(self, dist: Any, y: np.ndarray, w: np.ndarray) -> float:
        return float(np.sqrt(np.average((dist.mean - y) ** 2, weights=w)))
