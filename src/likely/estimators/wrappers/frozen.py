r"""A fitted network as a source of features for another predictor.

The states of a layer of a network that was trained elsewhere are vectors that already know
something about x. The network is not touched: a new, small model learns from them.
"""

from typing import Any, no_type_check

import equinox as eqx
import jax
import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.base.rows import dense
from likely.base.settings import store
from likely.base.training.trainer import stacked
from likely.base.transformer import Transformer
from likely.core.checks import InputError, check_finite
from likely.core.precision import precision_of
from likely.core.rows import pad_rows
from likely.estimators.networks.predictor import NetworkPredictor
from likely.layers import Chain
from likely.recipe import Fit


class FrozenFeatures(Transformer):
    """The states of a frozen network, as columns.

    Put it in front of any predictor: `make_pipeline(FrozenFeatures(net), LogisticRegression())`.
    Of an ensemble the states of all members stand side by side.

    Args:
        model: any fitted network: an estimator (`MLPRegressor`, `CNNClassifier`, ...), a
            `Chain` of layers, or the `Fit` that holds one.
        leave_out: how many layers at the end to leave out; 1 gives the last hidden states.

    Attributes:
        n_features_in_: how many columns the network takes.
        n_features_out_: how many states there are.
    """

    model: Any
    leave_out: int

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, model: Any, *, leave_out: int = 1):
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> "FrozenFeatures":
        """Look at the shape of a row; nothing is learned.

        Args:
            X: inputs that the network takes.
            y: not used.
        """
        if isinstance(self.model, NetworkPredictor):
            check_is_fitted(self.model)
            self.n_features_in_ = self.model.n_features_in_
            names = getattr(self.model, "feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = names
        else:
            validate_data(self, dense(X), dtype=np.float32, ensure_all_finite=False)
        first = self._inputs(X)[:1]
        self.n_layers_ = len(self._networks()[0][0].layers)
        self.n_features_out_ = self._columns(first).shape[1]
        return self

    def _inputs(self, X: Any) -> np.ndarray:
        """Checked rows, in the units that the network was trained in."""
        if isinstance(self.model, NetworkPredictor):
            return self.model._inputs(X)
        names = getattr(self, "feature_names_in_", None)
        check: Any = validate_data
        X = check(
            self, dense(X), reset=False, dtype=np.float32, ensure_all_finite=False
        )
        check_finite("X", X, names=names)
        return X

    def _columns(self, X: np.ndarray) -> np.ndarray:
        found = [self._states(X, *network) for network in self._networks()]
        return np.concatenate(found, axis=1).astype(np.float64)

    def _states(self, X: np.ndarray, chain: Chain, state: Any, scaling: Any):
        """(n, h) the states of one network."""
        if scaling is not None:
            X = (X - scaling.center) / scaling.scale
        with precision_of(chain):
            kept = np.asarray(_run(chain, pad_rows(X.astype(np.float32)), state))
        return kept[: len(X)].reshape(len(X), -1)

    def _networks(self) -> list[tuple[Chain, Any, Any]]:
        """The kept layers of each member, their running statistics, the units of inputs."""
        model: Any = self.model
        if isinstance(model, NetworkPredictor):
            phi = stacked(model.phi_)
            members = [
                jax.tree.map(lambda a, i=i: a[i] if eqx.is_array(a) else a, phi)
                for i in range(len(phi.solution.loss))
            ]
            return [
                (*self._kept(m.solution.model, m.solution.state), m.scaling)
                for m in members
            ]
        if isinstance(model, Fit):
            return [(*self._kept(model.model, model.solution.state), None)]
        return [(*self._kept(model, None), None)]

    def _kept(self, model: Any, state: Any) -> tuple[Chain, Any]:
        """The layers that are not left out, and their states."""
        given = type(model).__name__
        while not isinstance(model, Chain) and hasattr(model, "model"):
            model = model.model
        if not isinstance(model, Chain):
            raise InputError(
                f"model is a {given}; give a fitted network estimator, a Chain of "
                "layers, or the Fit that holds one."
            )
        keep = len(model.layers) - int(self.leave_out)
        if not 0 < keep <= len(model.layers):
            raise InputError(
                f"leave_out is {self.leave_out}, but the network has {len(model.layers)} "
                "layers; leave out fewer."
            )
        return Chain(*model.layers[:keep]), None if state is None else state[:keep]

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_


@eqx.filter_jit
def _run(chain: Chain, X: jax.Array, state: Any) -> jax.Array:
    """The states in use: no key, so nothing is random and no statistic moves."""
    return chain(X, state=state)[0]
