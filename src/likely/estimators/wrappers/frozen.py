r"""A fitted network as a source of features for another predictor.

The states of a layer of a network that was trained elsewhere are vectors that already know
something about x. The network is not touched: a new, small model learns from them.
"""

from typing import Any, no_type_check

import equinox as eqx
import jax
import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.core.checks import InputError, check_finite
from likely.core.precision import precision_of
from likely.core.rows import pad_rows
from likely.layers import Chain
from likely.recipe import Fit


class FrozenFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The states of a frozen network, as columns.

    Put it in front of any predictor: `make_pipeline(FrozenFeatures(net), LogisticRegression())`.

    Args:
        model: a fitted `Chain`, or the `Fit` that holds one.
        leave_out: how many layers at the end to leave out; 1 gives the last hidden states.

    Attributes:
        n_features_in_: how many columns the network takes.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, model: Any, *, leave_out: int = 1):
        self.model = model
        self.leave_out = leave_out

    def fit(self, X: Any, y: Any = None) -> "FrozenFeatures":
        """Look at the number of columns; nothing is learned.

        Args:
            X: (n, d) inputs.
            y: not used.
        """
        self.n_layers_ = len(self._parts()[0].layers)
        X = validate_data(self, X, dtype=np.float32, ensure_all_finite=False)
        self.n_features_out_ = self._states(X[:1]).shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """(n, h) states of each row."""
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, dtype=np.float32, ensure_all_finite=False
        )
        check_finite("X", X, names=getattr(self, "feature_names_in_", None))
        return self._states(X)

    def _parts(self) -> tuple[Chain, Any]:
        """The layers that are kept, and their states."""
        held = isinstance(self.model, Fit)
        model: Any = self.model.model if held else self.model
        if not isinstance(model, Chain):
            raise InputError(
                f"model is a {type(model).__name__}; give a Chain of layers, or the Fit "
                "that holds one."
            )
        keep = len(model.layers) - int(self.leave_out)
        if not 0 < keep <= len(model.layers):
            raise InputError(
                f"leave_out is {self.leave_out}, but the network has {len(model.layers)} "
                "layers; leave out fewer."
            )
        state: Any = self.model.solution.state if held else None
        return Chain(*model.layers[:keep]), None if state is None else state[:keep]

    def _states(self, X: np.ndarray) -> np.ndarray:
        chain, state = self._parts()
        with precision_of(chain):
            found = np.asarray(_run(chain, pad_rows(X), state))[: len(X)]
        return found.reshape(len(X), -1).astype(np.float64)

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_


@eqx.filter_jit
def _run(chain: Chain, X: jax.Array, state: Any) -> jax.Array:
    """In use: no key, so nothing is random and no statistic moves."""
    return chain(X, state=state)[0]
