r"""Normalising flows: exact densities by a change of variables that is learned."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, no_type_check

import numpy as np
from jax.sharding import Mesh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likely.base.generator import Bound, Generator
from likely.base.given import Given, fit_given, given_design
from likely.base.settings import above_zero, at_least, store
from likely.base.table_rows import codes_of, learn_codes
from likely.base.training.members import Network
from likely.base.training.options import is_auto
from likely.base.training.trainer import Observers
from likely.base.training.unsupervised import HeldOutRows, pack, train_unsupervised
from likely.core.checks import InputError
from likely.generative.defended import checked_share
from likely.generative.flows.images import ImageFlows
from likely.generative.flows.settings import (
    IMAGE_LIMITS,
    TABLE_LIMITS,
    image_problem,
    table_problem,
)
from likely.generative.flows.tables import TableFlows
from likely.generative.pixels import PixelCode, image_rows, is_images, whole_images
from likely.generative.trained import check_trained, member_models
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch


class NormalizingFlow(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Generator):
    r"""$\log p(x) = \log q(f(x)) + \log\,\lvert\det \partial f/\partial x\rvert$, f being learned.

    f maps rows to independent normal numbers, and back. So the density is exact, a new row
    is $f^{-1}$ of a draw, and `transform` gives the latent numbers of a row.

    **Tables.** Columns of numbers are mapped. Words, counts and whole numbers have
    probabilities, not densities: they come first, by a masked network, and the flow of the
    numbers is conditioned on them. Rows must be complete. The training begins at the normal
    distribution of the rows, and that start stays as a second component whose share is
    estimated on held-out rows (`share_`); with few rows the default is several flows, each
    of which holds out a part, and p is their mean.

    **Images** (n, h, w) or (n, h, w, c), flat ones with `image_shape`. Where pixels have
    levels, such as bytes, the flow is of pixels plus uniform noise: it knows a lower bound
    of log P(x), and has `bound` in the place of `log_prob`.

    Args:
        kind: "autoregressive" (each column is mapped by all before it: most exact, and
            a new row takes as many passes as there are columns), "coupling" (a half of the
            columns maps the other: quick both ways), or "auto": the first up to 64 columns.
            Images have the first as "auto", and the second at several scales.
        function: what a column is mapped by: "spline" (rational-quadratic) or "affine".
        n_layers: the number of layers; "auto" is 2, or 6 of coupling; for images 2, or 4
            of coupling at each scale.
        hidden: units in the hidden layers of the networks; "auto" is 64, or 128 from 2,000
            rows on; for images 192, or 64 channels of coupling.
        n_hidden: the number of their hidden layers, for tables.
        n_bins: bins of the splines.
        mixing: between layers: "lu", a learned invertible matrix, or "permutation".
        base: q, "normal" or "student", with learned degrees of freedom, for heavy tails.
        dropout: the probability to drop a hidden unit in training.
        noise: standard deviation of noise on the rows in training, in units of the
            columns; "auto" is 3/√n, at most 0.2. It keeps a flow from tying itself to rows.
        share: of the flow beside the normal distribution that it begins at; "auto"
            estimates it on held-out rows, 1 is the flow alone.
        kinds: kinds of some columns by name, see `preprocess.TableCodec`.
        image_shape: (h, w) or (h, w, c) of flat images; one that follows may be -1.
        levels: how many values a pixel may have, 0 for any number; "auto" reads it from
            the images.
        alpha: strength of the Gaussian prior on the weights.
        solver: "adam", or a first-order solver of `likely.solvers`.
        learning_rate_init: of Adam.
        learning_rate: "constant", "cosine" or "plateau", or a schedule; "auto" is the
            first for tables, and the second for images.
        batch_size: rows in a minibatch.
        max_iter: passes over the rows, at most.
        clip_norm: the longest gradient, None for no limit.
        weight_average: what is kept, see `VAE`.
        early_stopping: whether to stop by held-out rows.
        validation_fraction: the share of rows that `early_stopping=True` holds out.
        n_iter_no_change: looks without a lower loss before it stops.
        n_members: flows that are trained as one program; p is their mean.
        random_state: seed of first weights, batches, noise and folds.
        verbose: whether to show a progress bar.

    Attributes:
        codec_: how the columns of a table become numbers; None for images.
        pixels_: how pixels become whole numbers; None for tables.
        share_: π of the flow beside its start.
        phi_: the networks.
        history_, loss_, n_iter_, status_: how the training went.
    """

    kind: Any
    function: Any
    n_layers: Any
    hidden: Any
    n_hidden: Any
    n_bins: Any
    mixing: Any
    base: Any
    dropout: Any
    noise: Any
    share: Any
    kinds: Any
    image_shape: Any
    levels: Any
    codec_: Any
    pixels_: Any
    given_: Given | None
    share_: float
    phi_: Network

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        kind: str = "auto",
        function: str = "spline",
        *,
        n_layers: Any = "auto",
        hidden: Any = "auto",
        n_hidden: Any = 2,
        n_bins: Any = 8,
        mixing="lu",
        base="normal",
        dropout=0.0,
        noise: Any = "auto",
        share: Any = "auto",
        kinds: Mapping[str, str] | None = None,
        image_shape=None,
        levels: Any = "auto",
        alpha: Any = "auto",
        solver="adam",
        learning_rate_init: Any = "auto",
        learning_rate: Any = "auto",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        clip_norm: Any = "auto",
        weight_average: Any = None,
        early_stopping: Any = "auto",
        validation_fraction=0.1,
        n_iter_no_change=10,
        n_members: Any = "auto",
        random_state: Any = 0,
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
    ) -> "NormalizingFlow":
        """Fit by maximum likelihood.

        Args:
            X: rows: a frame or an array.
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
        self.codec_ = self.pixels_ = None
        images = is_images(X, self.image_shape)
        if images:
            batch = self._images(X, sample_weight, given)
            problem = image_problem(self, self.pixels_.levels)
        else:
            rows = learn_codes(self, X, sample_weight, kinds=self.kinds)
            self.given_, design = fit_given(given, rows.present, sample_weight)
            batch = pack(self._complete(rows.V), rows.w, design, mask=False)
            problem = table_problem(self, self.codec_, len(rows.V))
        held_out = train_unsupervised(
            self,
            problem,
            batch,
            limits=IMAGE_LIMITS if images else TABLE_LIMITS,
            validation=None if X_val is None else self._batch(X_val, given_val),
            observers=Observers(callbacks, checkpoints, resume, mesh),
        )
        check_trained(self)
        self.share_ = 1.0 if images else self._share(held_out)
        return self

    # What is probable ------------------------------------------------------------------

    @property
    def taxonomy(self) -> str:  # type: ignore[override]
        """What is known of log p: itself, or a bound of images whose pixels have levels."""
        pixels = getattr(self, "pixels_", None)
        return "explicit" if pixels is None or not pixels.levels else "bound"

    def _log_prob(self, X: Any, *, given: Any = None) -> np.ndarray:
        batch = self._batch(X, given)
        if self.pixels_ is not None:
            return self._image_flows.log_prob(batch)
        return self._flows.log_prob(batch) + self.codec_.log_det(batch.x)

    def _bound(
        self, X: Any, *, given: Any = None, n_draws: int = 64, random_state: Any = 0
    ) -> Bound:
        """The logarithm of the mean of p(x + u) over draws of u."""
        draws = at_least("n_draws", n_draws, 1, whole=True)
        return self._image_flows.bound(self._batch(X, given), draws, random_state)

    def bits_per_dimension(
        self, X: Any, *, given: Any = None, n_draws: int = 1, random_state: Any = 0
    ) -> float:
        """The mean −log₂ p for each pixel, or column; of pixels with levels, at most that.

        Args:
            X: rows.
            given: what they are conditioned on.
            n_draws: of the noise, of pixels with levels.
            random_state: seed of the draws.
        """
        check_is_fitted(self)
        size = self.codec_.q if self.pixels_ is None else self.pixels_.size
        if self.taxonomy == "explicit":
            nats = self._log_prob(X, given=given)
        else:
            options = {"n_draws": n_draws, "random_state": random_state}
            nats = self._bound(X, given=given, **options).values
        return float(-nats.mean() / (size * np.log(2)))

    # Latent numbers --------------------------------------------------------------------

    def transform(
        self, X: Any, *, given: Any = None, member: int = 0, random_state: Any = 0
    ) -> np.ndarray:
        """(n, d) the latent numbers of each row: standard normal, if the flow is right.

        Args:
            X: rows.
            given: what they are conditioned on.
            member: of which member, where there are several.
            random_state: seed of the noise on pixels with levels.
        """
        batch, number = self._batch(X, given), self._number(member)
        if self.pixels_ is not None:
            return self._image_flows.transform(batch, number, random_state)
        return self._flows.transform(batch, number)

    def inverse_transform(self, Z: Any, *, given: Any = None, member: int = 0) -> Any:
        """The rows of latent numbers, of images or a table of numbers.

        Args:
            Z: (n, d) latent numbers.
            given: what the rows are conditioned on.
            member: of which member, where there are several.
        """
        Z, number = np.asarray(Z, np.float64), self._number(member)
        images = self.pixels_ is not None
        if not images and self.codec_.discrete.any():
            names = [c.name for c in self.codec_.columns if c.discrete]
            raise InputError(
                f"latent numbers say nothing about the columns {', '.join(names)}, which "
                "are not mapped by the flow; leave these columns out, or draw rows with "
                "`sample`."
            )
        d = self.pixels_.size if images else self.codec_.q
        if Z.ndim != 2 or Z.shape[1] != d:
            raise InputError(f"Z has shape {Z.shape}; give latent rows of {d} numbers.")
        design = self._design(given, len(Z))
        if images:
            return self.pixels_.decode(self._image_flows.inverse(Z, design, number))
        rows = Batch(Z, design, np.ones(len(Z)))
        return self.codec_.decode(self._flows.inverse(rows, number))

    def sample(
        self,
        n: int = 1,
        *,
        given: Any = None,
        random_state: Any = None,
        temperature: float = 1.0,
    ) -> Any:
        """n new rows, in the container that the flow was fitted to.

        Args:
            n: how many.
            given: what the rows are conditioned on: one row for all, or n rows.
            random_state: seed of the draws.
            temperature: of images, what latent numbers are multiplied by; below 1 they are
                less varied than the model says.
        """
        check_is_fitted(self)
        n = at_least("n", n, 1, whole=True)
        design, warm = self._design(given, n), above_zero("temperature", temperature)
        if self.pixels_ is not None:
            size = self.pixels_.size
            codes = self._image_flows.sample(design, size, warm, random_state)
            return self.pixels_.decode(codes)
        if warm != 1:
            raise InputError(
                f"temperature is {warm:g}; only flows of images have one, rows of a table "
                "are drawn from the distribution that was learned."
            )
        V = self._flows.sample(design, random_state)
        return self.codec_.decode(self.codec_.project(V))

    # Parts -----------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        if self.pixels_ is not None:
            return self.pixels_.size
        return int((~self.codec_.discrete).sum())

    @property
    def _models(self) -> list[Any]:
        check_is_fitted(self)
        return member_models(self.phi_)

    @property
    def _flows(self) -> TableFlows:
        return TableFlows(self._models, getattr(self, "share_", 1.0))

    @property
    def _image_flows(self) -> ImageFlows:
        return ImageFlows(self._models)

    def _number(self, member: Any) -> int:
        count = len(self._models)
        if not 0 <= at_least("member", member, 0, whole=True) < count:
            raise InputError(f"member is {member}; there are {count}, from 0 on.")
        return int(member)

    def _design(self, given: Any, n: int) -> np.ndarray:
        return np.asarray(given_design(self.given_, given, n), np.float64)

    def _batch(self, X: Any, given: Any) -> Batch:
        """New rows and their conditions."""
        check_is_fitted(self, "given_")
        if self.pixels_ is None:
            V = self._complete(codes_of(self, X))
        else:
            V = whole_images(self.pixels_.encode(X))
        return Batch(V, self._design(given, len(V)), np.ones(len(V)))

    def _images(self, X: Any, sample_weight: Any, given: Any) -> Batch:
        """The images of a fit."""
        w, present = image_rows(sample_weight, len(X))
        X = np.asarray(X)[present]
        self.pixels_ = PixelCode.learn(X, self.image_shape, self.levels)
        self.n_features_in_ = self.pixels_.size
        self.given_, design = fit_given(given, present, sample_weight)
        codes = whole_images(self.pixels_.encode(X))
        return pack(codes, w, design, mask=False)

    def _complete(self, V: np.ndarray) -> np.ndarray:
        """Codes without a missing cell."""
        if np.isnan(V).any():
            row, j = np.argwhere(np.isnan(V))[0]
            raise InputError(
                f"column {self.codec_.names[j]!r} is missing (NaN) in row {row}; a flow "
                "needs complete rows: impute it first, or use AutoregressiveDensity."
            )
        return V

    def _share(self, held_out: HeldOutRows) -> float:
        """π, as given or by the rows that were held out."""
        if is_auto(self.share):
            return self._flows.best_share(held_out)
        return checked_share(self.share)
