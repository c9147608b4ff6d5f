r"""Autoregressive densities: $p(x) = \prod_j p(x_j \mid x_{<j})$, each factor by a network."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, no_type_check

import numpy as np
from jax.sharding import Mesh
from sklearn.utils.validation import check_is_fitted

from likely.base.generator import Generator
from likely.base.given import Given, fit_given, given_design
from likely.base.settings import at_least, one_of, store
from likely.base.table_rows import codes_of, fill_missing, learn_codes
from likely.base.training.members import Network
from likely.base.training.options import is_auto
from likely.base.training.trainer import Observers
from likely.base.training.unsupervised import (
    Cells,
    HeldOutRows,
    pack,
    train_unsupervised,
)
from likely.core.checks import InputError
from likely.generative.autoregressive.images import ImageDensities
from likely.generative.autoregressive.plausible import plausible
from likely.generative.autoregressive.settings import (
    IMAGE_LIMITS,
    TABLE_LIMITS,
    image_problem,
    table_problem,
)
from likely.generative.autoregressive.tables import MaskedTables
from likely.generative.defended import checked_share
from likely.generative.evidence import evidence_codes
from likely.generative.pixels import PixelCode, image_rows, is_images, whole_images
from likely.generative.trained import check_trained, member_models
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch

NETWORKS = ("auto", "masked", "transformer")


class AutoregressiveDensity(Generator):
    r"""$p(x) = \prod_j p(x_j \mid x_{<j})$: each column, or pixel, given those before it.

    **Tables**, with numbers, words, counts, dates and missing cells: a masked network gives
    the parameters of all columns in one pass: mixtures of normal (rounded normal, negative
    binomial) distributions, or probabilities of words. By default it is trained under random
    orders of the columns. So p is exact whatever is missing, `sample(n, given={...})` draws
    rows with some columns fixed, and `impute` draws missing cells exactly, given all others.
    The training begins at the linear predictions of columns from each other, which for
    numbers is their normal distribution; this start stays as a second component whose share
    is estimated on held-out rows (`share_`).

    **Images** (n, h, w) or (n, h, w, c), flat ones with `image_shape`, and sequences of
    tokens (`network="transformer"`): a decoder (GPT) over blocks of pixels, as a rule their
    rows, and a masked network inside of each block. `log_prob` is the exact probability of
    pixels with levels, such as bytes.

    Args:
        hidden: units in the hidden layers of masked networks; "auto" is 64 (128 from 2,000
            rows on), and 256 for images.
        n_hidden: the number of their hidden layers, for tables.
        n_components: K, the components of mixtures; "auto" is 4, and 8 for images.
        order: "any" trains under random orders of the columns, "given" under the one in
            which they come, which is somewhat quicker to train.
        n_orders: over how many orders `log_prob` is a mean, where any is known.
        network: "masked" for tables, "transformer" for images and tokens, or "auto".
        image_shape: (h, w) or (h, w, c) of flat images; one that follows may be -1.
        levels: how many values a pixel may have; "auto" reads it from the images.
        block: pixels of a block; "auto" is a row of the image. 1 is a GPT over pixels.
        size: the size of the summary of the blocks so far.
        n_layers: layers of the transformer.
        n_heads: heads of attention.
        dropout: the probability to drop a value in training.
        noise: standard deviation of noise on numbers of tables in training, in units of
            the columns; "auto" is 3/√n, at most 0.2.
        share: of the network beside the start that it begins at, for tables; "auto"
            estimates it on held-out rows, 1 is the network alone.
        kinds: kinds of some columns by name, see `preprocess.TableCodec`.
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
        n_members: networks that are trained as one program; p is their mean. "auto" is 5
            for tables of up to 5,000 rows, each of which holds out a fifth; else 1.
        random_state: seed of first weights, batches, orders, noise and folds.
        verbose: whether to show a progress bar.

    Attributes:
        codec_: how the columns of a table become numbers; None for images.
        pixels_: how pixels become whole numbers; None for tables.
        share_: π of the network beside its start.
        phi_: the networks.
        history_, loss_, n_iter_, status_: how the training went.
    """

    hidden: Any
    n_hidden: Any
    n_components: Any
    order: Any
    n_orders: Any
    network: Any
    image_shape: Any
    levels: Any
    block: Any
    size: Any
    n_layers: Any
    n_heads: Any
    dropout: Any
    noise: Any
    share: Any
    kinds: Any
    codec_: Any
    pixels_: Any
    given_: Given | None
    share_: float
    phi_: Network

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        hidden: Any = "auto",
        *,
        n_hidden=2,
        n_components: Any = "auto",
        order="any",
        n_orders=4,
        network="auto",
        image_shape=None,
        levels: Any = "auto",
        block: Any = "auto",
        size=128,
        n_layers=3,
        n_heads=4,
        dropout=0.0,
        noise: Any = "auto",
        share: Any = "auto",
        kinds: Mapping[str, str] | None = None,
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
    ) -> "AutoregressiveDensity":
        """Fit by maximum likelihood.

        Args:
            X: rows: a frame, an array, or images; cells of tables may be missing.
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
        one_of("network", self.network, NETWORKS)
        observers = Observers(callbacks, checkpoints, resume, mesh)
        images = self.network == "transformer" or is_images(X, self.image_shape)
        self.codec_ = self.pixels_ = None
        if images and self.network == "masked":
            raise InputError(
                'X holds images, and network is "masked"; give "transformer", or rows of '
                "numbers: X.reshape(len(X), -1)."
            )
        if images:
            batch = self._images(X, sample_weight, given)
            problem: Any = image_problem(self, self.pixels_)
        else:
            rows = learn_codes(self, X, sample_weight, kinds=self.kinds)
            self.given_, design = fit_given(given, rows.present, sample_weight)
            batch = pack(rows.V, rows.w, design)
            problem = table_problem(self, self.codec_, len(rows.V))
        held_out = train_unsupervised(
            self,
            problem,
            batch,
            limits=IMAGE_LIMITS if images else TABLE_LIMITS,
            validation=None if X_val is None else self._validation(X_val, given_val),
            observers=observers,
        )
        check_trained(self)
        self.share_ = 1.0 if images else self._best_share(held_out)
        return self

    # What is probable ------------------------------------------------------------------

    def _log_prob(self, X: Any, *, given: Any = None) -> np.ndarray:
        check_is_fitted(self)
        if self.pixels_ is not None:
            return self._image_models.log_prob(self._image_batch(X, given))
        V, cells = self._cells(X, given)
        return self._tables.log_prob(cells) + self.codec_.log_det(V)

    def bits_per_dimension(self, X: Any, *, given: Any = None) -> float:
        """The mean −log₂ p for each pixel, or column, of a row.

        Args:
            X: rows.
            given: what they are conditioned on.
        """
        check_is_fitted(self)
        size = self.codec_.q if self.pixels_ is None else self.pixels_.size
        return float(self.nll(X, given=given) / (size * np.log(2)))

    def cell_log_prob(self, X: Any, hidden: Any, *, given: Any = None) -> np.ndarray:
        """(n, q) log p of each hidden cell given the cells that are there and not hidden.

        Every cell is judged on its own, in nats of the original column. Cells that are not
        hidden, or missing anyway, are NaN. It needs a table, and `order="any"`.

        Args:
            X: rows.
            hidden: (n, q) booleans, one column for each modelled column.
            given: what the rows are conditioned on.
        """
        self._needs_any_order()
        V, cells = self._cells(X, given)
        hidden = np.asarray(hidden, bool)
        if hidden.shape != V.shape:
            raise InputError(
                f"hidden has shape {hidden.shape}; give booleans of shape {V.shape}, a "
                "column for each modelled column."
            )
        judged = hidden & ~cells.missing
        covered = cells._replace(missing=cells.missing | hidden)
        found = self._tables.cell_log_prob(covered, judged)
        units = np.where(self.codec_.continuous, self.codec_.log_slopes(V), 0.0)
        return found + units

    # New rows --------------------------------------------------------------------------

    def sample(self, n: int = 1, *, given: Any = None, random_state: Any = None) -> Any:
        """n new rows, in the container that the model was fitted to.

        Args:
            n: how many.
            given: what the rows are conditioned on: one row for all, or n rows. For a
                table that was fitted without conditions, values of some of its columns,
                such as `{"age": 40}`: all others are drawn given these.
            random_state: seed of the draws.
        """
        check_is_fitted(self)
        n = at_least("n", n, 1, whole=True)
        if self.pixels_ is not None:
            design = np.asarray(given_design(self.given_, given, n), np.float64)
            empty = np.full((n, *self.pixels_.shape), np.nan)
            return self.pixels_.decode(
                self._image_models.draw(empty, design, random_state)
            )
        if self.given_ is None:
            if given is not None:
                self._needs_any_order()
            V, design = evidence_codes(self.codec_, given, n), np.zeros((n, 0))
        else:
            V = np.full((n, self.codec_.q), np.nan)
            design = given_design(self.given_, given, n)
        drawn = self._tables.draw(cells_of(V, design), random_state)[0]
        return self.codec_.decode(self.codec_.project(drawn))

    def impute(
        self,
        X: Any,
        *,
        given: Any = None,
        n_draws: int | None = None,
        random_state: Any = 0,
    ) -> Any:
        """Rows with their missing cells filled, drawn exactly given all others.

        What is known of a row comes first in its order, which needs `order="any"`; images
        can be completed from some pixel on.

        Args:
            X: rows, NaN or None where a cell is missing.
            given: what they are conditioned on.
            n_draws: None fills in the mean of a number and the most probable level, over 64
                draws; m gives a list of m tables, in each of which missing cells are drawn.
            random_state: seed of the draws.
        """
        check_is_fitted(self)
        count = 1 if n_draws is None else at_least("n_draws", n_draws, 1, whole=True)
        if self.pixels_ is not None:
            codes = self.pixels_.encode(X)
            design = np.asarray(
                given_design(self.given_, given, len(codes)), np.float64
            )
            every = np.tile(codes, (count, 1, 1, 1)), np.tile(design, (count, 1))
            drawn = self._image_models.draw(*every, random_state)
            found = [self.pixels_.decode(d) for d in np.split(drawn, count)]
            return found[0] if n_draws is None else found
        V, cells = self._cells(X, given)
        if not cells.missing.any():
            return X if n_draws is None else [X] * count
        self._needs_any_order()
        if n_draws is None:
            return fill_missing(
                self.codec_,
                X,
                plausible(self._tables, self.codec_, cells, random_state),
            )
        drawn = self._tables.draw(cells, random_state, draws=count)
        project = self.codec_.project
        return [fill_missing(self.codec_, X, project(V)) for V in drawn]

    # Parts -----------------------------------------------------------------------------

    @property
    def _models(self) -> list[Any]:
        check_is_fitted(self)
        return member_models(self.phi_)

    @property
    def _tables(self) -> MaskedTables:
        n_orders = at_least("n_orders", self.n_orders, 1, whole=True)
        return MaskedTables(self._models, getattr(self, "share_", 1.0), n_orders)

    @property
    def _image_models(self) -> ImageDensities:
        return ImageDensities(self._models)

    def _needs_any_order(self) -> None:
        check_is_fitted(self)
        if self.pixels_ is None and self._models[0].any_order:
            return
        what = "images" if self.pixels_ is not None else 'order="given"'
        raise InputError(
            f"this model, of {what}, knows each cell given those before it only, and other "
            'cells are known here; fit a table with order="any".'
        )

    def _cells(self, X: Any, given: Any) -> tuple[np.ndarray, Cells]:
        V = codes_of(self, X)
        return V, cells_of(V, given_design(self.given_, given, len(V)))

    def _validation(self, X: Any, given: Any) -> Batch:
        if self.pixels_ is not None:
            return self._image_batch(X, given)
        V = codes_of(self, X)
        return pack(V, np.ones(len(V)), given_design(self.given_, given, len(V)))

    def _best_share(self, held_out: HeldOutRows) -> float:
        """π, as given or by the rows that were held out."""
        if is_auto(self.share):
            return self._tables.best_share(held_out)
        return checked_share(self.share)

    def _images(self, X: Any, sample_weight: Any, given: Any) -> Batch:
        """The images of a fit, or sequences of tokens."""
        shape = self.image_shape
        if shape is None and np.ndim(X) == 2:
            shape = (1, np.shape(X)[1])
        w, present = image_rows(sample_weight, len(X))
        X = np.asarray(X)[present]
        self.pixels_ = PixelCode.learn(X, shape, self.levels)
        self.n_features_in_ = self.pixels_.size
        self.given_, design = fit_given(given, present, sample_weight)
        codes = whole_images(self.pixels_.encode(X))
        return pack(codes, w, design, mask=False)

    def _image_batch(self, X: Any, given: Any) -> Batch:
        codes = whole_images(self.pixels_.encode(X))
        design = np.asarray(given_design(self.given_, given, len(codes)), np.float64)
        return Batch(codes, design, np.ones(len(codes)))


def cells_of(V: np.ndarray, given: np.ndarray) -> Cells:
    """Coded rows as cells."""
    missing = np.isnan(V)
    return Cells(np.where(missing, 0.0, V), missing, np.asarray(given, np.float64))
