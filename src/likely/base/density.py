"""The face of densities: a model of p(x), fitted to rows without targets."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from likely.base.rows import Rows, check_inputs, dense, weights_of
from likely.core.checks import check_finite
from likely.files import save


class Density(DensityMixin, BaseEstimator, ABC):
    """What every density offers; you write `fit`, `log_prob` and `sample`."""

    n_features_in_: int

    @abstractmethod
    def log_prob(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of each row, in nats."""

    @abstractmethod
    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, d) independent draws."""

    def score_samples(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of each row: scikit-learn's name for `log_prob`."""
        return self.log_prob(X)

    def nll(self, X: Any, sample_weight: Any = None) -> float:
        """The mean negative log-likelihood of X, in nats per unit of weight.

        Args:
            X: (n, d) rows.
            sample_weight: how often each row counts; rows of weight 0 are absent,
                whatever they hold.
        """
        if sample_weight is None:
            return float(-np.mean(self.log_prob(X)))
        w = weights_of(sample_weight, len(X))
        here = np.flatnonzero(w > 0)
        return float(
            -np.average(self.log_prob(_safe_indexing(X, here)), weights=w[here])
        )

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-likelihood of X, in nats per unit of weight; y is not used."""
        return -self.nll(X, sample_weight)

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def _rows(self, X: Any, sample_weight: Any = None) -> Rows:
        """Checked rows of positive weight; there are no targets."""
        X = validate_data(self, dense(X), dtype=np.float64, ensure_all_finite=False)
        w = weights_of(sample_weight, len(X))
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        return Rows(X[w > 0], None, w[w > 0])

    def _inputs(self, X: Any) -> np.ndarray:
        """Checked rows to be judged."""
        return check_inputs(self, X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
