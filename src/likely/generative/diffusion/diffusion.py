r"""Diffusion models: rows drawn by removing noise, one step after the other."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, no_type_check

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from likely.base.generator import Bound, Generator
from likely.base.given import Given, fit_given, given_design
from likely.base.settings import at_least, store
from likely.base.training.members import Network
from likely.base.training.trainer import Observers
from likely.base.training.unsupervised import pack, train_unsupervised
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.generative.diffusion.bound import DenoisingErrors, evidence_bound
from likely.generative.diffusion.denoising import Diffuser
from likely.generative.diffusion.drawing import Way, draw_points
from likely.generative.diffusion.reverse import (
    step_to_row,
    steps_back,
    steps_forth,
    walk,
)
from likely.generative.diffusion.schedule import NoiseSchedule
from likely.generative.diffusion.settings import (
    IMAGE_LIMITS,
    TABLE_LIMITS,
    diffusion_problem,
)
from likely.generative.diffusion.targets import noise_of
from likely.generative.pixels import is_images
from likely.generative.point_rows import decoded_rows, learn_rows, row_codes
from likely.generative.trained import check_trained, member_models
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch


class Diffusion(Generator):
    r"""A network that removes noise: $x_T \sim N(0, 1)$, then $x_{t-1} \sim p(x_{t-1} \mid x_t)$.

    Rows of the fit are mixed with more and more noise,
    $x_t = \sqrt{\bar α_t}\,x_0 + \sqrt{1 - \bar α_t}\,ε$, and a network learns to tell them
    apart. New rows are made from noise by going back step by step. It knows a lower bound of
    log p(x), called `bound`.

    **Images** (n, h, w) or (n, h, w, c), flat ones with `image_shape`. **Tables**: numbers as
    they are coded, words as indicators; rows must be complete.

    Args:
        denoiser: the network: "unet", "mlp" or "transformer"; "auto" is the first for
            images and the second for tables.
        schedule: of the noise: "cosine" or "linear".
        n_steps: T, the number of steps.
        target: what the network says: "residual" (what the best linear estimate of the row
            leaves open), "v", "eps" (the noise) or "x0" (the row).
        hidden: widths of a perceptron, channels of the levels of a U-Net, or (size, layers,
            heads) of a transformer.
        patch: the side of the patches that U-Nets and transformers see images in; "auto" is 2
            of U-Nets from 16 pixels on, and 4 of transformers where it divides the sides.
        dropout: the probability to drop a hidden unit, not of U-Nets.
        kinds: kinds of some columns by name, see `preprocess.TableCodec`.
        image_shape: (h, w) or (h, w, c) of flat images; one that follows may be -1.
        levels: how many values a pixel may have, 0 for any number; "auto" reads it from
            the images.
        alpha: strength of the Gaussian prior on the weights.
        solver: "adam", or a first-order solver of `likely.solvers`.
        learning_rate_init: of Adam.
        learning_rate: "constant", "cosine" or "plateau", or a schedule.
        batch_size: rows in a minibatch.
        max_iter: passes over the rows, at most.
        clip_norm: the longest gradient, None for no limit.
        weight_average: what is kept, see `VAE`.
        early_stopping: whether to stop by held-out rows.
        validation_fraction: the share of rows that `early_stopping=True` holds out.
        n_iter_no_change: looks without a lower loss before it stops.
        n_members: models that are trained as one program; each new row comes from one.
        random_state: seed of first weights, batches and noise.
        verbose: whether to show a progress bar.

    Attributes:
        codec_: how the columns of a table become numbers; None for images.
        cells_: how rows become points to which noise is added.
        errors_: of each member, how far its estimates of rows are off at each time.
        phi_: the networks.
        history_, loss_, n_iter_, status_: how the training went.
    """

    taxonomy: ClassVar[str] = "bound"
    denoiser: Any
    schedule: Any
    n_steps: Any
    target: Any
    hidden: Any
    patch: Any
    dropout: Any
    kinds: Any
    image_shape: Any
    levels: Any
    random_state: Any
    codec_: Any
    cells_: Any
    errors_: list[DenoisingErrors]
    given_: Given | None
    phi_: Network

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        denoiser: str = "auto",
        *,
        schedule: str = "cosine",
        n_steps: int = 1000,
        target: str = "residual",
        hidden: Any = "auto",
        patch: Any = "auto",
        dropout: float = 0.0,
        kinds: Mapping[str, str] | None = None,
        image_shape: Any = None,
        levels: Any = "auto",
        alpha: Any = "auto",
        solver: Any = "adam",
        learning_rate_init: Any = "auto",
        learning_rate: Any = "auto",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        clip_norm: Any = "auto",
        weight_average: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        n_members: Any = "auto",
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
    ) -> "Diffusion":
        """Train the denoiser.

        Args:
            X: images, or the rows of a table.
            y: not used.
            sample_weight: how often each row counts.
            given: what rows are conditioned on: (n,) labels, (n, g) numbers, or a frame.
            X_val: other rows, to stop by.
            given_val: what these are conditioned on.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
        """
        images = is_images(X, self.image_shape)
        codes, w, present = learn_rows(self, X, sample_weight)
        self.given_, design = fit_given(given, present, sample_weight)
        batch = pack(self.cells_.points(codes), w, design, mask=False)
        problem = diffusion_problem(self, codes, w)
        held_out = train_unsupervised(
            self,
            problem,
            batch,
            limits=IMAGE_LIMITS if images else TABLE_LIMITS,
            validation=None if X_val is None else self._batch(X_val, given_val)[0],
            observers=Observers(callbacks, checkpoints, resume),
        )
        check_trained(self)
        seed = seed_of(self.random_state)
        self.errors_ = [
            DenoisingErrors.measure(model, held_out.of(k) or batch, seed)
            for k, model in enumerate(self._models)
        ]
        return self

    # What is probable ------------------------------------------------------------------

    def _bound(
        self, X: Any, *, given: Any = None, n_draws: int = 32, random_state: Any = 0
    ) -> Bound:
        """The evidence bound, its sum over steps estimated at n_draws of them."""
        rows, codes = self._batch(X, given)
        options = {
            "n_draws": at_least("n_draws", n_draws, 2, whole=True),
            "seed": seed_of(random_state),
        }
        found = [
            evidence_bound(model, self.cells_, codes, rows.y, errors, **options)
            for model, errors in zip(self._models, self.errors_, strict=True)
        ]
        values = np.stack([each.values for each in found])
        errors = np.stack([each.errors for each in found])
        shares = np.exp(values - logsumexp(values, 0))
        total = logsumexp(values, 0) - np.log(len(values))
        return Bound(total, np.sqrt((shares**2 * errors**2).sum(0)))

    def score_function(
        self, X: Any, t: int, *, given: Any = None, member: int = 0
    ) -> np.ndarray:
        r"""$\nabla \log q_t(x) = -E[ε \mid x_t = x]/\sqrt{1 - \bar α_t}$ at noised points.

        Args:
            X: (n, ...) points of the space of `noised`.
            t: the time, from 1 to T.
            given: what the points are conditioned on.
            member: of which member, where there are several.
        """
        X, t = np.asarray(X, np.float64), self._time(t)
        steps, design = self.noise_schedule, self._design(given, len(X))
        row = walk(self._model(member), X, design, step_to_row(t))
        eps = noise_of(row, X, steps.signal[t], steps.noise[t])
        return -eps / steps.noise[t]

    def noised(self, X: Any, t: int, *, random_state: Any = 0) -> np.ndarray:
        """Rows as points with the noise of time t: a draw of q(x_t | x_0).

        Args:
            X: rows.
            t: the time, from 0 (no noise) to T.
            random_state: seed of the noise.
        """
        _, codes = self._batch(X, None, conditioned=False)
        x, t = self.cells_.points(codes), self._time(t, least=0)
        eps = np.random.default_rng(seed_of(random_state)).normal(size=x.shape)
        steps = self.noise_schedule
        return steps.signal[t] * x + steps.noise[t] * eps

    # New rows --------------------------------------------------------------------------

    def sample(
        self,
        n: int = 1,
        *,
        given: Any = None,
        random_state: Any = None,
        method: str = "ddpm",
        n_steps: int | None = None,
        guidance: float = 0.0,
    ) -> Any:
        """n new rows, in the container that the model was fitted to.

        Args:
            n: how many.
            given: what the rows are conditioned on: one row for all, or n rows.
            random_state: seed of the draws.
            method: "ddpm" (each step is a draw) or "ddim" (only the start is).
            n_steps: of the way back; None is up to 250, or 50 of "ddim".
            guidance: how much more the condition counts than the model says: 0 for as it
                is, 1 to 3 for rows that are more typical of it and less varied.
        """
        way = Way(method, n_steps, guidance)
        return decoded_rows(self, self._drawn(n, given, random_state, way))

    def sample_path(
        self,
        n: int = 1,
        *,
        n_frames: int = 8,
        given: Any = None,
        random_state: Any = None,
        method: str = "ddpm",
        n_steps: int | None = None,
        guidance: float = 0.0,
    ) -> np.ndarray:
        """(n, n_frames, ...) points on the way from noise to rows, the last without noise.

        Args:
            n: how many rows.
            n_frames: how many points of each, evenly spaced over the steps.
            given: see `sample`, as the others.
            random_state: seed of the draws.
            method: "ddpm" or "ddim".
            n_steps: of the way back.
            guidance: how much more the condition counts.
        """
        way = Way(method, n_steps, guidance)
        return self._drawn(n, given, random_state, way, n_frames)

    def encode(
        self, X: Any, *, given: Any = None, n_steps: int = 200, member: int = 0
    ) -> np.ndarray:
        """(n, D) the noise of which `decode` makes these rows, up to the size of the steps.

        Args:
            X: rows.
            given: what they are conditioned on.
            n_steps: of the way from row to noise.
            member: of which member, where there are several.
        """
        rows, _ = self._batch(X, given)
        way = steps_forth(self.noise_schedule, int(n_steps))
        found = walk(self._model(member), rows.x, rows.y, way)
        return found.reshape(len(found), -1)

    def decode(
        self, Z: Any, *, given: Any = None, n_steps: int = 200, member: int = 0
    ) -> Any:
        """The rows of noise, by the way back on which nothing is random.

        Args:
            Z: (n, D) noise.
            given: what the rows are conditioned on.
            n_steps: of the way back.
            member: of which member, where there are several.
        """
        check_is_fitted(self)
        Z, size = np.asarray(Z, np.float64), int(np.prod(self.cells_.shape))
        if Z.ndim != 2 or Z.shape[1] != size:
            raise InputError(
                f"Z has shape {Z.shape}; give rows of {size} numbers of noise."
            )
        way = steps_back(self.noise_schedule, int(n_steps), 0.0)
        found = walk(
            self._model(member),
            Z.reshape(-1, *self.cells_.shape),
            self._design(given, len(Z)),
            way,
            clip=self.cells_.clip,
        )
        return decoded_rows(self, found)

    # Parts -----------------------------------------------------------------------------

    @property
    def noise_schedule(self) -> NoiseSchedule:
        """The noise of each step."""
        return NoiseSchedule(self.schedule, int(self.n_steps))

    @property
    def _models(self) -> list[Diffuser]:
        check_is_fitted(self)
        return member_models(self.phi_)

    def _model(self, member: Any) -> Diffuser:
        models = self._models
        if not 0 <= at_least("member", member, 0, whole=True) < len(models):
            raise InputError(f"member is {member}; there are {len(models)}, from 0 on.")
        return models[int(member)]

    def _time(self, t: Any, least: int = 1) -> int:
        check_is_fitted(self)
        number = at_least("t", t, least, whole=True)
        if number > self.noise_schedule.n_steps:
            raise InputError(f"t is {t}; the last step is {self.n_steps}.")
        return number

    def _batch(
        self, X: Any, given: Any, *, conditioned: bool = True
    ) -> tuple[Batch, np.ndarray]:
        """New rows as points with the design of their conditions, and their codes."""
        check_is_fitted(self, "given_")
        codes = row_codes(self, X)
        n = len(codes)
        design = self._design(given, n) if conditioned else np.zeros((n, 0))
        return Batch(self.cells_.points(codes), design, np.ones(n)), codes

    def _design(self, given: Any, n: int) -> np.ndarray:
        return np.asarray(given_design(self.given_, given, n), np.float64)

    def _drawn(
        self, n: int, given: Any, random_state: Any, way: Way, n_frames: int = 0
    ) -> np.ndarray:
        """Points at the end of the way back, or on it."""
        return draw_points(
            self._models,
            way,
            self.cells_.shape,
            self._design(given, at_least("n", n, 1, whole=True)),
            seed=seed_of(random_state),
            clip=self.cells_.clip,
            n_frames=n_frames,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags
