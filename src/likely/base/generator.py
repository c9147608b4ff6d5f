r"""The face of generative models: rows in, new rows out, and how probable rows are.

What a model can say about $\log p(x)$ is its `taxonomy`:

    explicit    `log_prob(X)`: the logarithm itself, as of flows and circuits
    bound       `bound(X)`: a lower bound, with the error of its estimate, as of a VAE
    implicit    nothing: it can only draw, as a GAN

`nll` and `score` are means of `log_prob`, or else of the bound: then −score is an upper bound
of the negative log-likelihood, so that a model is never called better than it is. All are
in nats of the original columns: densities for numbers, probabilities for words, counts and
whole numbers. Missing cells (NaN, None) are left out: p is that of the cells that are there.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if

from likely.base.rows import weights_of
from likely.files import save

TAXONOMY = ("explicit", "bound", "implicit")


class Bound(NamedTuple):
    """A lower bound of log p(x) for each row, estimated by draws."""

    values: np.ndarray
    """(n,) nats."""
    errors: np.ndarray
    """(n,) their standard errors."""

    @property
    def mean(self) -> float:
        """The mean over rows, in nats."""
        return float(self.values.mean())

    @property
    def error(self) -> float:
        """The standard error of the mean that comes from the draws alone."""
        return float(np.sqrt((self.errors**2).sum())) / len(self.errors)


def is_explicit(model: Any) -> bool:
    """Whether a model knows log p(x)."""
    return model.taxonomy == "explicit"


def is_bounded(model: Any) -> bool:
    """Whether a model knows a lower bound of log p(x)."""
    return model.taxonomy == "bound"


def is_judged(model: Any) -> bool:
    """Whether a model knows log p(x) or a bound; if not, an AttributeError says why."""
    if model.taxonomy == "implicit":
        raise AttributeError(
            f"{type(model).__name__} is an implicit model: it draws rows, and cannot say "
            "how probable a row is; judge its draws."
        )
    return True


class Generator(DensityMixin, BaseEstimator, ABC):
    """What every generative model offers.

    You write `fit`, `sample`, and `_log_values`: log p(x), or its bound, of each row. A
    model of taxonomy "bound" also writes `_bound`, with the errors of the draws.
    """

    taxonomy: ClassVar[str] = "explicit"
    """One of `TAXONOMY`."""
    n_features_in_: int

    @abstractmethod
    def sample(self, n: int = 1, *, given: Any = None, random_state: Any = None) -> Any:
        """n independent new rows, in the container that the model was fitted to.

        Args:
            n: how many.
            given: what the rows are conditioned on: one row for all, or n rows.
            random_state: seed of the draws.
        """

    def _log_prob(self, X: Any, **given: Any) -> np.ndarray:
        """(n,) log p(x) of each row: of explicit models."""
        raise NotImplementedError

    def _bound(self, X: Any, **options: Any) -> Bound:
        """The bound of each row: of models that have one."""
        raise NotImplementedError

    def _elbo(self, X: Any, **options: Any) -> Bound:
        """The evidence lower bound, where it differs from the bound."""
        return self._bound(X, **options)

    @available_if(is_explicit)
    def log_prob(self, X: Any, *, given: Any = None) -> np.ndarray:
        """(n,) log p(x) of each row, in nats.

        Args:
            X: rows.
            given: what they are conditioned on, where the model was fitted so.
        """
        return self._log_prob(X, given=given)

    @available_if(is_bounded)
    def bound(
        self, X: Any, *, given: Any = None, n_draws: int = 64, random_state: Any = 0
    ) -> Bound:
        """A lower bound of log p(x) of each row, in nats, with its standard error.

        Args:
            X: rows.
            given: what they are conditioned on, where the model was fitted so.
            n_draws: draws for each row.
            random_state: seed of the draws.
        """
        return self._bound(X, given=given, n_draws=n_draws, random_state=random_state)

    @available_if(is_bounded)
    def elbo(
        self, X: Any, *, given: Any = None, n_draws: int = 64, random_state: Any = 0
    ) -> np.ndarray:
        """(n,) the evidence lower bound of each row: what the fit has maximised.

        Args:
            X: rows.
            given: what they are conditioned on, where the model was fitted so.
            n_draws: draws for each row.
            random_state: seed of the draws.
        """
        options = {"given": given, "n_draws": n_draws, "random_state": random_state}
        return self._elbo(X, **options).values

    @available_if(is_judged)
    def score_samples(self, X: Any, **given: Any) -> np.ndarray:
        """(n,) log p(x) of each row, or its lower bound."""
        if is_explicit(self):
            return self.log_prob(X, **given)
        return self.bound(X, **given).values

    @available_if(is_judged)
    def nll(self, X: Any, sample_weight: Any = None, *, given: Any = None) -> float:
        """The mean of −log p(x), or an upper bound of it, in nats per unit of weight.

        Args:
            X: rows.
            sample_weight: how often each row counts; rows of weight 0 are absent,
                whatever they hold.
            given: what the rows are conditioned on, where the model was fitted so.
        """
        known = {} if given is None else {"given": given}
        if sample_weight is None:
            return float(-np.mean(self.score_samples(X, **known)))
        w = weights_of(sample_weight, len(X))
        here = np.flatnonzero(w > 0)
        if given is not None and np.ndim(given):
            known = {"given": _safe_indexing(given, here)}
        values = self.score_samples(_safe_indexing(X, here), **known)
        return float(-np.average(values, weights=w[here]))

    @available_if(is_judged)
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of log p(x), or of its lower bound; y is not used."""
        return -self.nll(X, sample_weight)

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
