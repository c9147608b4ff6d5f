r"""Autoencoders: a row to a short code and back, $\min \sum \lVert x - d(e(x)) \rVert^2$.

What survives the narrow code is what rows have in common and differ in. A linear one keeps what
principal components keep; with hidden layers the code lies on a curved surface. An autoencoder
is no distribution: it says nothing about which codes are likely, so that a code drawn at random
may decode to nothing in particular. A `VAE` is what draws rows.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any, no_type_check

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.base.pictures import flat_images, image_shape, shape_of
from likely.base.rows import dense, weights_of
from likely.base.settings import above_zero, at_least, one_of, store
from likely.base.training.bodies import Body
from likely.base.training.members import Network
from likely.base.training.options import IMAGES, TABLES
from likely.base.training.trainer import Observers
from likely.base.training.unsupervised import train_unsupervised
from likely.base.transformer import Transformer
from likely.core.checks import InputError, check_finite
from likely.generative.autoencoders.coding_run import run_half
from likely.generative.autoencoders.networks import ConvolutionalCoder, coder_of
from likely.generative.autoencoders.reconstruction import Corruption, Reconstruction
from likely.generative.autoencoders.transfer import encoder_body, encoder_settings
from likely.layers import Chain, Dense
from likely.objectives.reconstruction import SPARSITIES
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch

TABLE_LIMITS = TABLES._replace(epochs=100, ensemble_rows=0, rate=2e-3, alpha=0.01)
IMAGE_LIMITS = IMAGES._replace(ensemble_rows=0, batch_rows=128, rate=1e-3, alpha=0.01)
SCALINGS = ("columns", "together", "none")
CODE_ACTIVATIONS = {None: None, "l1": "relu", "kl": "sigmoid"}
"""The activation of a code that each kind of sparsity needs."""


class Autoencoder(Transformer):
    """An encoder and a decoder, dense or convolutional, that are trained together.

    Rows are numbers (n, d), or images (n, h, w) or (n, h, w, c), which get convolutional
    networks. Numbers are scaled by column; pixels by channel.

    By default a tenth of the rows (a fifth of few) is held out unless the settings say how
    long to train: the training stops when these are no longer reconstructed better.

    Args:
        n_components: the length of the code.
        hidden_layer_sizes: widths of the encoder's hidden dense layers; the decoder has the
            same in reverse order. () is linear: the code spans what principal components do.
        channels: the channels of each convolutional stage for images, each of which halves
            the image; None makes the networks dense.
        activation: between the layers, a name of `layers.ACTIVATIONS`.
        code_activation: of the code; "auto" is none, "relu" for sparse codes by "l1" and
            "sigmoid" by "kl".
        sparsity: None; "l1" penalises the mean of Σ|h|; "kl" the divergence of the mean
            activation of each entry from `sparsity_target`.
        sparsity_strength: the factor of the penalty.
        sparsity_target: the mean activation that "kl" asks for.
        noise: the standard deviation of what is added to the scaled inputs in training,
            which the network learns to remove: a denoising autoencoder.
        mask: the share of the inputs that are put to their mean in training.
        scaling: of rows of numbers: "columns" measures each column in units of its own
            deviation, "together" all in the same unit, "none" leaves them as they are.
        image_shape: (h, w) or (h, w, c) of flat images; one that follows may be -1.
        alpha: the strength of the Gaussian prior on the weights.
        solver: "adam" on minibatches; "lbfgs" on all rows, for small problems to the last
            digit; or a first-order solver of `likely.solvers`.
        learning_rate_init: Adam's rate.
        learning_rate: "constant", "cosine" or "plateau", or a schedule.
        batch_size: rows in a minibatch.
        max_iter: passes over the rows, at most; steps of L-BFGS.
        tol: L-BFGS stops when no entry of the gradient is larger.
        clip_norm: the longest gradient, or None.
        weight_average: as of `VAE`.
        early_stopping: whether to stop by held-out rows.
        validation_fraction: the share of the rows that `early_stopping=True` holds out.
        n_iter_no_change: looks without a better reconstruction before it stops.
        random_state: seed of first weights, batches and the split.
        verbose: whether to show a progress bar.

    Attributes:
        phi_: the encoder and the decoder, and the units of the inputs.
        image_shape_: (h, w, c) of images, or None.
        error_: the share of the variation of the held-out rows (of all, where none are held
            out) that a reconstruction loses: 0 is exact, 1 no better than the mean.
        history_: the loss of each step, and of each look at the held-out rows.
        loss_, n_iter_, status_: as of `MLPRegressor`.
    """

    n_components: Any
    hidden_layer_sizes: Any
    channels: Any
    activation: Any
    code_activation: Any
    sparsity: Any
    sparsity_strength: Any
    sparsity_target: Any
    noise: Any
    mask: Any
    scaling: Any
    image_shape: Any
    phi_: Network

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_components=16,
        hidden_layer_sizes: Any = "auto",
        *,
        channels=(32, 64),
        activation="relu",
        code_activation="auto",
        sparsity=None,
        sparsity_strength=0.01,
        sparsity_target=0.05,
        noise=0.0,
        mask=0.0,
        scaling="columns",
        image_shape=None,
        alpha: Any = "auto",
        solver="adam",
        learning_rate_init: Any = "auto",
        learning_rate: Any = "constant",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        tol=1e-6,
        clip_norm: Any = None,
        weight_average: Any = None,
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
        X_val: Any = None,
        callbacks: Callback | Sequence[Callback] = (),
        checkpoints: Checkpoints | str | PathLike | None = None,
        resume: bool = False,
    ) -> "Autoencoder":
        """Learn to reconstruct rows.

        Args:
            X: (n, d) numbers, or images.
            y: not used.
            sample_weight: how often each row counts.
            X_val: other rows, to stop by.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
        """
        X = dense(X)
        images = self.image_shape is not None or len(shape_of(X)) > 2
        self.image_shape_ = image_shape(X, self.image_shape) if images else None
        self.row_shape_ = tuple(shape_of(X)[1:])
        rows = self._checked(X, reset=True)
        w = weights_of(sample_weight, len(rows))
        check_finite("X", rows, w, names=getattr(self, "feature_names_in_", None))
        batch = self._batch(rows[w > 0], w[w > 0])
        validation = None
        if X_val is not None:
            other = self._inputs(X_val)
            validation = self._batch(other, np.ones(len(other)))
        noise, mask = at_least("noise", self.noise), at_least("mask", self.mask)
        if mask >= 1:
            raise InputError(f"mask is {self.mask}; give a share below 1.")
        noisy = noise > 0 or mask > 0
        held = train_unsupervised(
            self,
            self._problem(),
            batch,
            limits=IMAGE_LIMITS if images else TABLE_LIMITS,
            validation=validation,
            observers=Observers(callbacks, checkpoints, resume),
            augment=Corruption(np.asarray(noise), np.asarray(mask)) if noisy else None,
            exact=True,
        )
        self.error_ = self._lost_share(held.rows)
        return self

    # Codes and rows ----------------------------------------------------------------------

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows of codes, in the shape that the rows of the fit had.

        Args:
            X: (n, k) codes.
        """
        check_is_fitted(self)
        Z, k = np.asarray(X, np.float64), self._n_features_out
        if Z.ndim != 2 or Z.shape[1] != k:
            raise InputError(f"X has shape {Z.shape}; give codes, {k} columns.")
        units = self.phi_.scaling
        found = run_half(self.phi_.solution.model.layers[1], Z)
        return units.outputs(found).reshape(-1, *self.row_shape_)

    def reconstruct(self, X: Any) -> np.ndarray:
        """The rows that are decoded from the codes of rows: denoised ones, of noisy rows."""
        return self.inverse_transform(self.transform(X))

    def reconstruction_errors(self, X: Any) -> np.ndarray:
        """(n,) the mean squared error of each row, in the units of the data."""
        rows = self._inputs(X)
        found = self.reconstruct(X).reshape(rows.shape)
        return ((rows - found) ** 2).mean(1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of the variation of rows that is kept: 1 is exact, 0 the mean row.

        Args:
            X: rows.
            y: not used.
            sample_weight: how often each row counts.
        """
        rows = self._inputs(X)
        return 1.0 - self._lost_share(
            self._batch(rows, weights_of(sample_weight, len(rows)))
        )

    def _columns(self, X: np.ndarray) -> np.ndarray:
        units = self.phi_.scaling
        shaped = self._batch(X, np.ones(len(X))).x
        scaled = (shaped - units.center) / units.scale
        return run_half(self.phi_.solution.model.layers[0], scaled)

    @property
    def _n_features_out(self) -> int:
        return at_least("n_components", self.n_components, 1, whole=True)

    # Transfer ----------------------------------------------------------------------------

    def architecture_settings(self) -> dict[str, Any]:
        """The settings of a classifier or regressor that begins from the encoder."""
        flat = len(self.row_shape_) == 1
        return encoder_settings(
            self._problem().coder, self.image_shape_ if flat else None
        )

    def body(self, like: Any = None) -> tuple[Body, list[Any]]:
        """The encoder up to its code: what another network can begin from, and its layers."""
        check_is_fitted(self, "phi_")
        phi = self.phi_
        encoder = phi.solution.model.layers[0]
        code = [i for i, layer in enumerate(encoder.layers) if isinstance(layer, Dense)]
        return encoder_body(phi, Chain(*encoder.layers[: code[-1] + 1]), phi.scaling)

    # Parts -------------------------------------------------------------------------------

    def _problem(self) -> Reconstruction:
        """What is learned, by the settings."""
        if self.sparsity is not None:
            one_of("sparsity", self.sparsity, SPARSITIES)
        shape = self.row_shape_ if self.image_shape_ is None else self.image_shape_
        coder, _ = coder_of(
            shape, self.channels, self.hidden_layer_sizes, self.activation, last="he"
        )
        convolutional = isinstance(coder, ConvolutionalCoder)
        code = self.code_activation
        if isinstance(code, str) and code == "auto":
            code = CODE_ACTIVATIONS[self.sparsity]
        if self.sparsity == "kl" and code != "sigmoid":
            raise InputError(
                f'sparsity="kl" needs activations between 0 and 1, and code_activation is '
                f'{code!r}; give "auto" or "sigmoid".'
            )
        target = above_zero("sparsity_target", self.sparsity_target)
        if target >= 1:
            raise InputError(f"sparsity_target is {target:g}; give a number below 1.")
        return Reconstruction(
            np.asarray(at_least("sparsity_strength", self.sparsity_strength)),
            np.asarray(target),
            coder,
            self._n_features_out,
            "channels" if convolutional else one_of("scaling", self.scaling, SCALINGS),
            code,
            self.sparsity,
        )

    def _checked(self, X: Any, *, reset: bool) -> np.ndarray:
        """(n, d) flat rows of numbers, checked."""
        check: Any = validate_data
        if self.image_shape_ is not None:
            X = flat_images(X, self.image_shape_)
        return check(
            self, dense(X), reset=reset, dtype=np.float64, ensure_all_finite=False
        )

    def _inputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        check_finite("X", rows, names=getattr(self, "feature_names_in_", None))
        return rows

    def _batch(self, rows: np.ndarray, w: np.ndarray) -> Batch:
        """Rows in the shape that the networks take."""
        shape = None if self.channels is None else self.image_shape_
        X = rows if shape is None else rows.reshape(-1, *shape)
        return Batch(X, X, w)

    def _lost_share(self, rows: Batch) -> float:
        """The share of the variation of rows, in the units of the fit, that is lost."""
        units, flat = self.phi_.scaling, rows.x.reshape(len(rows.w), -1)
        found = self.inverse_transform(self._columns(flat)).reshape(rows.x.shape)
        axes = tuple(range(1, rows.x.ndim))
        lost, total = (
            float(rows.w @ ((part / units.scale) ** 2).sum(axes))
            for part in (rows.x - found, rows.x - units.center)
        )
        return lost / total if total > 0 else 0.0
