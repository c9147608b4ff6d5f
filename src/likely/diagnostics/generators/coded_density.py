"""Densities of arrays of numbers as models of tables: mixtures, and whatever one brings."""

import warnings
from typing import Any, no_type_check

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from likely.base.generator import Generator
from likely.base.settings import store
from likely.base.table_rows import codes_of, learn_codes
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.latent import GaussianMixture
from likely.preprocess import TableCodec

MIN_VARIANCE = 1e-4
"""The smallest variance of a component, as a share of that of a column: numbers that repeat
in a table must not become spikes of density."""
MAX_COMPONENTS = 6


class CodedDensity(Generator):
    """A density of numbers, fitted to the codes of a table.

    Args:
        density: an estimator with `fit(X)`, `score_samples(X)` and `sample`, for columns of
            numbers; or "mixture": normal components, as many as BIC says.
        kinds: of some columns by name, where they are not to be guessed.
        random_state: of the starts of a mixture.

    Attributes:
        codec_: how cells became numbers.
        density_: the fitted density of codes.
    """

    density: Any
    kinds: Any
    random_state: Any
    codec_: TableCodec

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self, density: Any = "mixture", *, kinds: Any = None, random_state: Any = 0
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "CodedDensity":
        """Fit the density to the codes of rows.

        Args:
            X: rows without missing cells.
            y: not used.
            sample_weight: how often each row counts.
        """
        rows = learn_codes(self, X, sample_weight, kinds=self.kinds)
        V, w = _complete(self.codec_, rows.V), rows.w
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            options = {} if (w == 1).all() else {"sample_weight": w}
            self.density_ = self._unfitted().fit(V, **options)
        return self

    def _unfitted(self) -> Any:
        """A density of numbers, if all columns are numbers."""
        if self.codec_.discrete.any():
            j = int(np.argmax(self.codec_.discrete))
            raise InputError(
                f"a density of numbers has no place for column {self.codec_.names[j]!r}, "
                "which has probabilities; leave it out, or take a model of mixed tables."
            )
        if not isinstance(self.density, str):
            return clone(self.density)
        if self.density != "mixture":
            raise InputError(
                f'density is {self.density!r}; give "mixture" or a density.'
            )
        return GaussianMixture(
            "bic",
            n_init=3,
            reg_covar=MIN_VARIANCE,
            max_components=MAX_COMPONENTS,
            random_state=seed_of(self.random_state),
        )

    def _log_prob(self, X: Any, *, given: Any = None) -> np.ndarray:
        V = _complete(self.codec_, codes_of(self, X))
        return np.asarray(self.density_.score_samples(V)) + self.codec_.log_det(V)

    def sample(self, n: int = 1, *, given: Any = None, random_state: Any = None) -> Any:
        """n new rows, in the container that the model was fitted to.

        Args:
            n: how many.
            given: not used; there are no conditions.
            random_state: seed of the draws.
        """
        check_is_fitted(self)
        try:
            drawn = self.density_.sample(n, random_state=random_state)
        except TypeError:  # scikit-learn's mixtures keep their own random state
            drawn = self.density_.sample(n)
        V = np.asarray(drawn[0] if isinstance(drawn, tuple) else drawn)
        rng = np.random.default_rng(seed_of(random_state))
        V = rng.permutation(V.reshape(n, -1))
        return self.codec_.decode(self.codec_.project(V))


def _complete(codec: TableCodec, V: np.ndarray) -> np.ndarray:
    """The codes, if no cell is missing."""
    missing = np.isnan(V)
    if missing.any():
        row, j = np.argwhere(missing)[0]
        raise InputError(
            f"column {codec.names[j]!r} is missing in row {row}, and this density needs "
            "complete rows."
        )
    return V
