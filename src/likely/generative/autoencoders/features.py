r"""An autoencoder as a source of features: columns that were learned without labels.

A small model on a short code needs few labels.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.base.rows import dense, weights_of
from likely.base.settings import at_least, one_of, store
from likely.base.training.members import Network
from likely.base.training.options import TABLES
from likely.base.training.trainer import Observers
from likely.base.training.unsupervised import train_unsupervised
from likely.base.transformer import Transformer
from likely.core.checks import InputError, check_finite
from likely.generative.autoencoders.coding_run import run_half
from likely.generative.autoencoders.networks import DenseCoder
from likely.generative.autoencoders.reconstruction import Reconstruction
from likely.layers import ColumnNoise
from likely.solvers.training import Callback
from likely.typing import Batch

LIMITS = TABLES._replace(epochs=100, ensemble_rows=0, rate=2e-3, alpha=0.01)
"""How long an autoencoder is trained where its settings leave that open."""
SCALINGS = ("columns", "together")


class AutoencoderFeatures(Transformer):
    """The code of an autoencoder, as columns with mean 0 and standard deviation 1.

    It learns from all rows, whether they have a label or not; a model with few parameters
    then learns the labels from few columns:

        features = AutoencoderFeatures(16).fit(X)
        LogisticRegression(alpha=1.0).fit(features.transform(X[known]), y[known])

    As for networks, a tenth of the rows is held out unless the settings say how long to
    train: the training stops when these are no longer reconstructed better.

    Args:
        n_components: the length of the code.
        hidden_layer_sizes: widths of the hidden layers of the encoder; the decoder has the
            same in reverse order. () is linear: the code spans what principal components do.
        activation: between the layers, as of `MLPRegressor`.
        noise: the standard deviation of what is added to the scaled inputs in training, which
            the network learns to remove.
        scaling: "columns" measures each column in units of its own deviation, "together"
            all in the same unit, as the pixels of an image should be.
        alpha: the strength of the Gaussian prior on the weights.
        learning_rate_init: Adam's rate.
        batch_size: rows in a minibatch.
        max_iter: passes over the rows, at most.
        early_stopping: whether to stop by held-out rows.
        validation_fraction: the share of the rows that `early_stopping=True` holds out.
        n_iter_no_change: passes without a better reconstruction before it stops.
        random_state: seed of first weights, batches and the split.
        verbose: whether to show a progress bar.

    Attributes:
        phi_: the encoder and the decoder, and the units of the columns.
        code_mean_: (k,) the means of the codes of the rows of the fit.
        code_scale_: (k,) their standard deviations.
        error_: the share of the variation of the held-out rows (of all, where none are held
            out) that a reconstruction loses: 0 is exact, 1 no better than the mean.
        history_: the loss of each step, and of each look at the held-out rows.
        loss_, n_iter_, status_: as of `MLPRegressor`.
    """

    n_components: Any
    hidden_layer_sizes: Any
    activation: Any
    noise: Any
    scaling: Any
    early_stopping: Any
    random_state: Any
    phi_: Network

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_components=16,
        hidden_layer_sizes=(128,),
        activation="relu",
        *,
        noise=0.0,
        scaling="columns",
        alpha: Any = "auto",
        learning_rate_init: Any = "auto",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        early_stopping: Any = "auto",
        validation_fraction=0.1,
        n_iter_no_change=10,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        callbacks: Callback | tuple = (),
    ) -> "AutoencoderFeatures":
        """Learn the code.

        Args:
            X: (n, d) inputs.
            y: not used.
            sample_weight: how often each row counts.
            callbacks: functions of an `Event`; one that returns True ends the fit.
        """
        batch = self._batch(X, sample_weight)
        noise = at_least("noise", self.noise)
        held = train_unsupervised(
            self,
            self._problem(),
            batch,
            limits=LIMITS,
            observers=Observers(callbacks),
            augment=ColumnNoise(float(noise)) if noise > 0 else None,
        )
        codes = self._codes(batch.x)
        self.code_mean_ = np.average(codes, axis=0, weights=batch.w)
        spread = np.average((codes - self.code_mean_) ** 2, axis=0, weights=batch.w)
        self.code_scale_ = np.where(spread > 0, np.sqrt(spread), 1.0)
        self.error_ = self._error(held.rows.x, held.rows.w)
        return self

    def inverse_transform(self, X: Any) -> np.ndarray:
        """(n, d) the reconstruction from codes."""
        check_is_fitted(self)
        Z = np.asarray(X, np.float64)
        if Z.ndim != 2 or Z.shape[1] != self._n_features_out:
            raise InputError(
                f"X has shape {Z.shape}; give codes, {self._n_features_out} columns."
            )
        units = self.phi_.scaling
        found = self._run(1, Z * self.code_scale_ + self.code_mean_)
        return found * units.scale + units.center

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return (self._codes(X) - self.code_mean_) / self.code_scale_

    def _codes(self, X: np.ndarray) -> np.ndarray:
        """(n, k) the codes as the encoder gives them."""
        units = self.phi_.scaling
        return self._run(0, (X - units.center) / units.scale)

    def _run(self, half: int, X: np.ndarray) -> np.ndarray:
        """What the encoder (0) or the decoder (1) makes of rows."""
        return run_half(self.phi_.solution.model.layers[half], X)

    def _error(self, X: np.ndarray, w: np.ndarray) -> float:
        """The share of the rows' variation, in the units of the fit, that is lost."""
        scale, center = self.phi_.scaling.scale, self.phi_.scaling.center
        found = self.inverse_transform(self._columns(X))
        lost, all_of_it = (
            float(w @ ((part / scale) ** 2).sum(1)) for part in (X - found, X - center)
        )
        return lost / all_of_it if all_of_it > 0 else 0.0

    def _problem(self) -> Reconstruction:
        hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes, int))
        return Reconstruction(
            np.zeros(()),
            np.ones(()),
            DenseCoder(tuple(int(h) for h in hidden), self.activation),
            at_least("n_components", self.n_components, 1, whole=True),
            one_of("scaling", self.scaling, SCALINGS),
        )

    def _batch(self, X: Any, sample_weight: Any) -> Batch:
        """The rows that count, checked."""
        check: Any = validate_data
        X = check(self, dense(X), dtype=np.float64, ensure_all_finite=False)
        w = weights_of(sample_weight, len(X))
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        present = w > 0
        X, w = X[present], w[present]
        return Batch(X, X, w)

    @property
    def _n_features_out(self) -> int:
        return len(self.code_mean_)
