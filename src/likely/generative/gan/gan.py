r"""Generative adversarial networks: rows made from noise that a critic cannot tell apart."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, no_type_check

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.generator import Generator
from likely.base.given import Given, fit_given, given_design
from likely.base.settings import at_least, store
from likely.base.training.members import Network
from likely.base.training.trainer import Observers
from likely.base.training.unsupervised import pack, train_unsupervised
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.generative.gan.collapse import (
    MAX_ROWS,
    Regions,
    compare_regions,
    report_regions,
)
from likely.generative.gan.drawing import critic_numbers, draw_rows, rows_of_latents
from likely.generative.gan.settings import gan_problem, limits_of, players_of
from likely.generative.pixels import is_images
from likely.generative.point_rows import decoded_rows, learn_rows, row_codes
from likely.generative.trained import check_trained, member_models
from likely.solvers import Players
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch


class GAN(Generator):
    r"""A generator $x = G(z)$, $z \sim N(0, I)$, trained against a critic of its rows.

    The critic learns to tell rows from draws, the generator to deceive it:
    $\min_G \max_D E\log D(x) + E\log(1 - D(G(z)))$. It is an implicit model: it draws rows
    in one pass of a network, and cannot say how probable a row is.

    **Tables**: numbers as they are coded, words as draws of a level; rows must be complete.
    **Images** (n, h, w) or (n, h, w, c), flat ones with `image_shape`.

    After the fit some rows are compared with as many draws. If the draws leave out or repeat
    a part of the rows, a `CollapseWarning` says so, and so do `collapsed_` and `status_`.

    Args:
        n_components: how many latent numbers z has; "auto" is 64 for images, and twice the
            columns of a table, at least 8.
        hidden_layer_sizes: widths of the dense layers of the critic; the generator has the
            same in reverse order. "auto" is (128, 128, 128), and (256,) for images.
        loss: "nonsaturating", "wasserstein", or "minimax".
        penalty: λ of the critic's slopes: of "wasserstein" that of (slope − 1)², else that of
            half the squared slope; "auto" by the game and the kind of rows; 0 for none.
        critic_steps: updates of the critic for one of the generator; "auto" is 1, and 2 of
            "wasserstein". The rows of a step are cut into as many parts.
        rate_ratio: the generator's learning rate over the critic's.
        channels: of each convolutional stage for images, each of which halves them; None
            makes the networks dense.
        activation: between the layers, a name of `layers.ACTIVATIONS`.
        kinds: kinds of some columns by name, see `preprocess.TableCodec`.
        image_shape: (h, w) or (h, w, c) of flat images; one that follows may be -1.
        levels: how many values a pixel may have, 0 for any number; "auto" reads it from
            the images.
        alpha: strength of the Gaussian prior on the weights.
        learning_rate_init: of the critic, by Adam.
        learning_rate: "constant" or "cosine", or a schedule.
        batch_size: rows in a step.
        max_iter: passes over the rows, at most.
        clip_norm: the longest gradient of a player, None for no limit.
        weight_average: what is kept: a decay between 0 and 1 for an exponential average of
            the weights, "uniform", or None for the last weights.
        early_stopping: whether to hold out rows, to keep the weights whose draws have the
            smallest energy distance from them, and to stop when it no longer falls.
        validation_fraction: the share of rows that `early_stopping=True` holds out.
        n_iter_no_change: looks without a smaller distance before it stops.
        n_members: models that are trained as one program; each new row comes from one.
        random_state: seed of first weights, batches and noise.
        verbose: whether to show a progress bar.

    Attributes:
        codec_: how the columns of a table become numbers; None for images.
        cells_: how rows become the points that networks see.
        regions_: how many rows and draws lie in each of some regions of rows.
        collapsed_: whether draws leave out a part of the rows.
        phi_: the networks.
        history_: the critic's loss of each step, and the energy distance of each look.
        loss_, n_iter_, status_: how the training went.
    """

    taxonomy: ClassVar[str] = "implicit"
    n_components: Any
    hidden_layer_sizes: Any
    loss: Any
    penalty: Any
    critic_steps: Any
    rate_ratio: Any
    channels: Any
    activation: Any
    kinds: Any
    image_shape: Any
    levels: Any
    random_state: Any
    codec_: Any
    cells_: Any
    given_: Given | None
    regions_: Regions
    collapsed_: bool
    phi_: Network

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_components: Any = "auto",
        hidden_layer_sizes: Any = "auto",
        *,
        loss: str = "nonsaturating",
        penalty: Any = "auto",
        critic_steps: Any = "auto",
        rate_ratio: float = 1.0,
        channels: Any = (32, 64),
        activation: Any = "leaky_relu",
        kinds: Mapping[str, str] | None = None,
        image_shape: Any = None,
        levels: Any = "auto",
        alpha: Any = "auto",
        learning_rate_init: Any = "auto",
        learning_rate: Any = "auto",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        clip_norm: Any = None,
        weight_average: Any = 0.999,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 100,
        n_members: Any = 1,
        random_state: Any = 0,
        verbose: bool = False,
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
    ) -> "GAN":
        """Train critic and generator in turn.

        Args:
            X: images, or the rows of a table.
            y: not used.
            sample_weight: how often each row counts.
            given: what rows are conditioned on: (n,) labels, (n, g) numbers, or a frame.
            X_val: other rows, to keep the best weights by.
            given_val: what these are conditioned on.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
        """
        codes, w, present = learn_rows(self, X, sample_weight)
        self.given_, design = fit_given(given, present, sample_weight)
        batch = pack(self.cells_.points(codes), w, design, mask=False)
        train_unsupervised(
            self,
            gan_problem(self, self.cells_),
            batch,
            limits=limits_of(self, images=is_images(X, self.image_shape)),
            validation=None if X_val is None else self._batch(X_val, given_val),
            observers=Observers(callbacks, checkpoints, resume),
            players=players_of(self),
        )
        check_trained(self)
        report_regions(self, self._regions(batch))
        return self

    def sample(self, n: int = 1, *, given: Any = None, random_state: Any = None) -> Any:
        """n new rows, in the container that the model was fitted to.

        Args:
            n: how many.
            given: what the rows are conditioned on: one row for all, or n rows.
            random_state: seed of the draws.
        """
        check_is_fitted(self)
        design = self._design(given, at_least("n", n, 1, whole=True))
        return decoded_rows(
            self, draw_rows(self._models, design, seed_of(random_state))
        )

    def decode(self, Z: Any, *, given: Any = None, member: int = 0) -> Any:
        """The rows of latent numbers; of words the most probable level.

        Args:
            Z: (n, k) latent numbers.
            given: what the rows are conditioned on.
            member: of which member, where there are several.
        """
        model, Z = self._model(member), np.asarray(Z, np.float64)
        k = model.second.n_latent
        if Z.ndim != 2 or Z.shape[1] != k:
            raise InputError(f"Z has shape {Z.shape}; give rows of {k} latent numbers.")
        found = rows_of_latents(model, Z, self._design(given, len(Z)))
        return decoded_rows(self, found)

    def critic_scores(
        self, X: Any, *, given: Any = None, member: int = 0
    ) -> np.ndarray:
        """(n,) the critic's numbers of rows, in the games with log-odds those of "real".

        Args:
            X: rows.
            given: what they are conditioned on.
            member: of which member, where there are several.
        """
        return critic_numbers(self._model(member), self._batch(X, given))

    # Parts -----------------------------------------------------------------------------

    @property
    def _models(self) -> list[Players]:
        check_is_fitted(self)
        return member_models(self.phi_)

    def _model(self, member: Any) -> Players:
        models = self._models
        if not 0 <= at_least("member", member, 0, whole=True) < len(models):
            raise InputError(f"member is {member}; there are {len(models)}, from 0 on.")
        return models[int(member)]

    def _batch(self, X: Any, given: Any) -> Batch:
        """New rows as points with the design of their conditions."""
        codes = row_codes(self, X)
        n = len(codes)
        return Batch(self.cells_.points(codes), self._design(given, n), np.ones(n))

    def _design(self, given: Any, n: int) -> np.ndarray:
        return np.asarray(given_design(self.given_, given, n), np.float64)

    def _regions(self, batch: Batch) -> Regions:
        """Some rows of the fit, and draws with their conditions, by regions."""
        seed = seed_of(self.random_state)
        rng, n = np.random.default_rng(seed), len(batch.w)
        chosen = np.arange(n)
        if n > MAX_ROWS or np.ptp(batch.w) > 0:
            share = batch.w / batch.w.sum()
            chosen = rng.choice(n, min(MAX_ROWS, n), p=share)
        draws = draw_rows(self._models, batch.y[chosen], int(rng.integers(2**31)))
        draws = self.cells_.points(self.cells_.codes(draws))
        return compare_regions(np.asarray(batch.x)[chosen], draws, seed)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags
