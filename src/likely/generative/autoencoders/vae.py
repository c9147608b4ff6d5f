r"""Variational autoencoders: $p(x) = \int p(x \mid z)\, N(z; 0, I)\, dz$ with a network inside.

The integral has no formula, so that the model is fitted to a lower bound of log p(x): an
encoder network says which codes z are likely for a row, a decoder what rows they make, and both
are trained together. What comes out draws new rows, fills missing cells, maps rows to short
codes, and says how probable a row is at least.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, no_type_check

import jax
import numpy as np
from jax.sharding import Mesh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likely.base.generator import Bound, Generator
from likely.base.given import Given, fit_given, given_design
from likely.base.settings import at_least, one_of, store
from likely.base.training.bodies import Body
from likely.base.training.members import Network
from likely.base.training.options import IMAGES, TABLES
from likely.base.training.trainer import Observers
from likely.base.training.unsupervised import pack, train_unsupervised
from likely.core.checks import InputError
from likely.core.random import key_of
from likely.generative.autoencoders.codings import (
    ArrayCoding,
    Coding,
    TableCoding,
    learn_coding,
)
from likely.generative.autoencoders.imputation import Imputed, impute_rows
from likely.generative.autoencoders.networks import coder_of
from likely.generative.autoencoders.posterior import SHAPES
from likely.generative.autoencoders.running import (
    Runner,
    decoded_draws,
    decoded_means,
    decoded_points,
    evidence_bound,
    importance_bound,
    posteriors,
)
from likely.generative.autoencoders.transfer import encoder_body, encoder_settings
from likely.generative.autoencoders.units import ColumnUnits
from likely.generative.autoencoders.variational import Variational
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch

TABLE_LIMITS = TABLES._replace(ensemble_rows=0, epochs=300, rate=3e-3, alpha=0.01)
IMAGE_LIMITS = IMAGES._replace(
    ensemble_rows=0, epochs=45, batch_rows=128, rate=1e-3, alpha=0.01
)
IMAGE_INIT = "uniform"
"""First weights of convolutional networks: a sixth of the variance of He's, with which they
learn smoother functions, whose bound of rows that are not in the training is higher."""
CHAIN_STEPS = 10
"""Steps of a chain between two tables of drawn cells."""
CHAIN_DRAWS = 50
"""Codes of a chain over which the most plausible cells are averages."""


class Codes(NamedTuple):
    """The posterior of the code of each row: N(mean, L Lᵀ)."""

    mean: np.ndarray
    """(n, k)."""
    factor: np.ndarray
    """(n, k, k) L, lower triangular."""


class VAE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Generator):
    r"""A variational autoencoder of tables, arrays of numbers, or images.

    A table (a frame, or an array with `family="auto"`) may have numbers, counts, words,
    truth values and dates, and missing cells: each column gets a family of its own kind.
    Images come as (n, h, w) or (n, h, w, c), or flat with `image_shape`; their networks are
    convolutional.

    By default a tenth of the rows (a fifth of few) is held out, and the training stops when
    their bound no longer rises. A model that is told how long to train (`max_iter`,
    `early_stopping`) is trained as told.

    Args:
        n_components: the length of a code.
        hidden_layer_sizes: widths of the encoder's hidden dense layers; the decoder has the
            same in reverse order. "auto" is (64,), and (256,) for images; () is linear.
        channels: the channels of each convolutional stage for images, each of which halves
            the image; None makes the networks dense.
        activation: between the layers, a name of `layers.ACTIVATIONS`.
        family: of the cells given a code: "auto" chooses by column, or by pixel: Bernoulli
            for 0 and 1, rounded normals for bytes, else normal. Or one family for all cells:
            "normal", "bernoulli", "categorical", "poisson", "negative_binomial", "gamma",
            "laplace", "student_t", "bytes", or a family of `likely.families`.
        scale: "shared" learns one scale or concentration for each column, "modelled" lets
            the decoder compute it from the code.
        covariance: of the posterior of a code, "diagonal" or "full".
        n_draws: draws of a code in training; more than one maximises the importance-weighted
            bound, which is tighter.
        image_shape: (h, w) or (h, w, c) of flat images; one that follows may be -1.
        kinds: kinds of some columns of a table by name, see `preprocess.TableCodec`.
        alpha: strength of the Gaussian prior on the weights.
        solver: "adam", or a first-order solver of `likely.solvers`.
        learning_rate_init: of Adam.
        learning_rate: "constant", "cosine" or "plateau", or a schedule.
        batch_size: rows in a minibatch.
        max_iter: passes over the rows, at most.
        clip_norm: the longest gradient, or None.
        weight_average: what is kept: None the last weights, a decay between 0 and 1 their
            exponential average, "uniform" the mean over the second half of the steps.
        early_stopping: whether to stop by held-out rows.
        validation_fraction: the share of the rows that `early_stopping=True` holds out.
        n_iter_no_change: looks without a higher bound before it stops.
        n_members: models that are trained as one program; rows are from their mixture.
        random_state: seed of first weights, batches, noise and the split.
        verbose: whether to show a progress bar.

    Attributes:
        coding_: how rows become numbers; of a table its `codec`.
        phi_: the networks.
        history_: the negative bound of each step, and of each look at the held-out rows, in
            the units of the training.
        loss_, n_iter_, status_: as of `MLPRegressor`.
    """

    taxonomy = "bound"
    n_components: Any
    hidden_layer_sizes: Any
    channels: Any
    activation: Any
    family: Any
    scale: Any
    covariance: Any
    n_draws: Any
    image_shape: Any
    kinds: Any
    phi_: Network
    coding_: Coding
    given_: Given | None

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_components=8,
        hidden_layer_sizes: Any = "auto",
        *,
        channels=(32, 64),
        activation="relu",
        family="auto",
        scale="shared",
        covariance="diagonal",
        n_draws=1,
        image_shape=None,
        kinds: Mapping[str, str] | None = None,
        alpha: Any = "auto",
        solver="adam",
        learning_rate_init: Any = "auto",
        learning_rate: Any = "constant",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        clip_norm: Any = None,
        weight_average: Any = None,
        early_stopping: Any = "auto",
        validation_fraction=0.1,
        n_iter_no_change=20,
        n_members=1,
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
        given: Any = None,
        X_val: Any = None,
        given_val: Any = None,
        callbacks: Callback | Sequence[Callback] = (),
        checkpoints: Checkpoints | str | PathLike | None = None,
        resume: bool = False,
        mesh: Mesh | None = None,
    ) -> "VAE":
        """Maximise the bound.

        Args:
            X: rows: a frame, an array or images; cells may be missing.
            y: not used.
            sample_weight: how often each row counts.
            given: what rows are conditioned on: (n,) labels, (n, g) numbers, or a frame.
            X_val: other rows, to stop by.
            given_val: what these are conditioned on.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
            mesh: devices that share each batch; several members share them anyway.
        """
        self.coding_, rows = learn_coding(
            self,
            X,
            sample_weight,
            family=self.family,
            shape=self.image_shape,
            kinds=self.kinds,
        )
        self.given_, design = fit_given(given, rows.present, sample_weight)
        variational = self._variational(mask=bool(np.isnan(rows.values).any()))
        validation = None
        if X_val is not None:
            other = self.coding_.encode(self, X_val)
            condition = given_design(self.given_, given_val, len(other))
            mask = variational.mask or bool(np.isnan(other).any())
            variational = self._variational(mask=mask)
            validation = pack(other, np.ones(len(other)), condition, mask=mask)
        train_unsupervised(
            self,
            variational,
            pack(rows.values, rows.w, design, mask=variational.mask),
            limits=IMAGE_LIMITS if self._of_images else TABLE_LIMITS,
            validation=validation,
            observers=Observers(callbacks, checkpoints, resume, mesh),
        )
        return self

    # What is probable ------------------------------------------------------------------

    def _bound(
        self, X: Any, *, given: Any = None, n_draws: int = 64, random_state: Any = 0
    ) -> Bound:
        """The importance-weighted bound, which tends to log p(x) as the draws grow."""
        return self._judged(importance_bound, X, given, n_draws, random_state)

    def _elbo(
        self, X: Any, *, given: Any = None, n_draws: int = 64, random_state: Any = 0
    ) -> Bound:
        """E_q log p(x | z) − KL(q, p), which no number of draws makes tighter."""
        return self._judged(evidence_bound, X, given, n_draws, random_state)

    def _judged(
        self, function: Callable, X: Any, given: Any, n_draws: int, random_state: Any
    ) -> Bound:
        rows, values = self._packed(X, given)
        draws = at_least("n_draws", n_draws, 1, whole=True)
        found = self._runner.bound(function, rows, key_of(random_state), draws)
        return Bound(found.values + self.coding_.log_det(values), found.errors)

    # Codes -----------------------------------------------------------------------------

    def encode(self, X: Any, *, given: Any = None) -> Codes:
        """The posterior of the code of each row, of the first member.

        Args:
            X: rows.
            given: what they are conditioned on.
        """
        rows, _ = self._packed(X, given)
        q = self._runner.first(posteriors, rows, key_of(0))
        factor = np.exp(q.log_scale)[:, :, None] * np.eye(q.mean.shape[1])
        return Codes(q.mean, factor if q.lower is None else factor + q.lower)

    def transform(self, X: Any, *, given: Any = None) -> np.ndarray:
        """(n, k) the mean of the code of each row.

        Args:
            X: rows.
            given: what they are conditioned on.
        """
        return self.encode(X, given=given).mean

    def decode(self, Z: Any, *, given: Any = None, means: bool = False) -> Any:
        """Rows of codes: the most plausible value of each cell, or its mean.

        Args:
            Z: (n, k) codes.
            given: what the rows are conditioned on.
            means: whether to give means, as an array: of a pixel that is 0 or 1 the
                probability of 1.
        """
        check_is_fitted(self)
        function = decoded_means if means else decoded_points
        values = self._runner.first(function, self._code_rows(Z, given), key_of(0))
        if not means or isinstance(self.coding_, TableCoding):
            return self.coding_.decode(values)
        flat = values * self.coding_.scale + self.coding_.center
        return flat.reshape(-1, *self.coding_.row)

    # New rows --------------------------------------------------------------------------

    def sample(self, n: int = 1, *, given: Any = None, random_state: Any = None) -> Any:
        """n new rows: a code from N(0, I), then every cell from its distribution.

        Args:
            n: how many.
            given: what the rows are conditioned on: one row for all, or n rows.
            random_state: seed of the draws.
        """
        check_is_fitted(self)
        n = at_least("n", n, 1, whole=True)
        first, then = jax.random.split(key_of(random_state))
        rng = np.random.default_rng(np.asarray(jax.random.key_data(first)))
        Z = rng.normal(size=(n, self._n_features_out))
        member = rng.integers(len(self._runner.models), size=n)
        found = self._runner.each(decoded_draws, self._code_rows(Z, given), then)
        return self.coding_.decode(np.stack(found)[member, np.arange(n)])

    def impute(
        self,
        X: Any,
        *,
        given: Any = None,
        n_draws: int | None = None,
        random_state: Any = 0,
    ) -> Any:
        """Rows with their missing cells filled, by Metropolis steps within Gibbs sampling.

        Args:
            X: rows, NaN or None where a cell is missing.
            given: what they are conditioned on.
            n_draws: None fills in the mean of a number and the most probable level; m gives
                a list of m tables, in each of which the missing cells are drawn.
            random_state: seed of the chains.
        """
        rows, values = self._packed(X, given)
        if n_draws is None:
            found = self._chains(rows, random_state, steps=1, tables=CHAIN_DRAWS)
            return self.coding_.fill(X, np.reshape(found.points, values.shape))
        tables = at_least("n_draws", n_draws, 1, whole=True)
        found = self._chains(rows, random_state, steps=CHAIN_STEPS, tables=tables)
        return [
            self.coding_.fill(X, np.reshape(found.draws[:, t], values.shape))
            for t in range(tables)
        ]

    def cell_log_prob(
        self, X: Any, hidden: Any, *, given: Any = None, random_state: Any = 0
    ) -> np.ndarray:
        """(n, q) log p of each hidden cell given the cells that are there and not hidden.

        Every cell is judged on its own: the logarithm of the mean of p(x_j | z) over codes
        of the other cells, in nats of the original column. Cells that are not hidden, or
        missing anyway, are NaN.

        Args:
            X: rows.
            hidden: (n, q) booleans, one column for each modelled column or cell.
            given: what the rows are conditioned on.
            random_state: seed of the chains.
        """
        rows, values = self._packed(X, given)
        flat = values.reshape(len(values), -1)
        hidden = np.asarray(hidden, bool)
        if hidden.shape != flat.shape:
            raise InputError(
                f"hidden has shape {hidden.shape}; give booleans of shape {flat.shape}, a "
                "column for each modelled column."
            )
        judged = hidden & ~np.isnan(flat)
        flags = rows.y.copy()
        flags[:, : flat.shape[1]] = judged | np.isnan(flat)
        rows = rows._replace(y=flags)
        found = self._chains(rows, random_state, steps=1, tables=2 * CHAIN_DRAWS)
        return np.where(judged, found.log_prob + self._cell_units(flat), np.nan)

    # Transfer --------------------------------------------------------------------------

    def architecture_settings(self) -> dict[str, Any]:
        """The settings of a classifier or regressor that begins from the encoder."""
        flat = len(self._array_coding.row) == 1 and self._of_images
        shape = self._array_coding.shape if flat else None
        return encoder_settings(self._variational().coder, shape)

    def body(self, like: Any = None) -> tuple[Body, list[Any]]:
        """The encoder before its posterior: what another network can begin from."""
        check_is_fitted(self, "phi_")
        units = ColumnUnits(*self._array_coding.units)
        return encoder_body(self.phi_, self.phi_.solution.model.encoder.chain, units)

    @property
    def _array_coding(self) -> ArrayCoding:
        if isinstance(self.coding_, TableCoding):
            raise InputError(
                "a VAE of a table sees columns as its codec makes them, which no other "
                "network does; pre-train with images, a family for all cells, or "
                "Autoencoder."
            )
        return self.coding_

    # Parts -----------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return at_least("n_components", self.n_components, 1, whole=True)

    @property
    def _of_images(self) -> bool:
        return len(self.coding_.shape) == 3

    def _variational(self, *, mask: bool = True) -> Variational:
        """The model without its parameters, by the settings."""
        coding = self.coding_
        coder, shape = coder_of(
            coding.shape,
            self.channels,
            self.hidden_layer_sizes,
            self.activation,
            init=IMAGE_INIT,
        )
        shared = one_of("scale", self.scale, ("shared", "modelled")) == "shared"
        return Variational(
            coding.likelihood(shared=shared),
            coding.inputs,
            coding.units,
            coder,
            self._n_features_out,
            one_of("covariance", self.covariance, SHAPES),
            shape,
            mask,
            at_least("n_draws", self.n_draws, 1, whole=True),
        )

    @property
    def _runner(self) -> Runner:
        return Runner(self._variational(), self.phi_)

    def _packed(self, X: Any, given: Any) -> tuple[Batch, np.ndarray]:
        """Rows as a batch with flags of missing cells, and their numbers."""
        check_is_fitted(self)
        values = self.coding_.encode(self, X)
        design = given_design(self.given_, given, len(values))
        return pack(values, np.ones(len(values)), design), values

    def _code_rows(self, Z: Any, given: Any) -> Batch:
        """Codes and conditions as a batch."""
        Z, k = np.asarray(Z, np.float64), self._n_features_out
        if Z.ndim != 2 or Z.shape[1] != k:
            raise InputError(f"Z has shape {Z.shape}; give codes, {k} columns.")
        return Batch(Z, given_design(self.given_, given, len(Z)), np.ones(len(Z)))

    def _chains(self, rows: Batch, random_state: Any, **options: Any) -> Imputed:
        """Chains for the missing cells, of the first member."""
        key = key_of(random_state)
        return Imputed(*self._runner.first(impute_rows, rows, key, **options))

    def _cell_units(self, flat: np.ndarray) -> np.ndarray:
        """(n, q) what the density of each cell gains from the units of its column."""
        if not isinstance(self.coding_, TableCoding):
            return np.broadcast_to(-np.log(self.coding_.scale), flat.shape)
        codec = self.coding_.codec
        return np.where(codec.continuous, codec.log_slopes(flat), 0.0)
