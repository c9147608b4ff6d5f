"""Pre-training without labels: a network learns to say what is hidden of a row."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, no_type_check

import equinox as eqx
import jax
import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from likely.base.rows import dense, weights_of
from likely.base.settings import at_least, store
from likely.base.training.bodies import Body
from likely.base.training.members import Network
from likely.base.training.options import TrainingOptions
from likely.base.training.trainer import Observers, Trainer, member_of, publish, stacked
from likely.base.transformer import Transformer
from likely.core.checks import InputError, check_finite
from likely.core.precision import precision_of
from likely.core.random import key_of
from likely.core.rows import pad_rows
from likely.estimators.images.vision_transformer import patch_of
from likely.estimators.networks.mlp import MLPRegressor
from likely.estimators.networks.predictor import NetworkPredictor
from likely.estimators.networks.reconstruction import (
    EntryMasking,
    ReconstructionLearner,
    drawn,
)
from likely.estimators.networks.transfer import architecture_settings, fitted_body
from likely.layers import Chain
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch

KINDS = ("columns", "channels")
"""How inputs of tables and of images are scaled."""
GRID = 4
"""Patches along the shorter side of an image, where the settings leave that open."""
STOP_SEED = 1
"""Of what is hidden of the rows to stop by, after the seed of the fit."""


class MaskedPretraining(Transformer):
    """A network that learns from rows without labels, by saying what is hidden of them.

    Entries of a table, or patches of images, are hidden at random in each step, and the network
    says what they were. `MLPClassifier.from_pretrained(model)` then begins from its body (all
    but the last layer); `transform` gives the states before the last layer.

    A part of the rows is held out; the training stops when their loss no longer falls.

    Args:
        estimator: a network estimator of tables or images, whose architecture is trained; None
            for `MLPRegressor()`.
        fraction: the part that is hidden.
        patch: the side of the patches of images; "auto" is that of a vision transformer, else
            a quarter of the shorter side.
        alpha: strength of the Gaussian prior on the weights.
        learning_rate_init: of Adam.
        batch_size: rows in a minibatch.
        max_iter: epochs, at most.
        early_stopping: whether to hold out rows and stop by them.
        validation_fraction: how many.
        n_iter_no_change: epochs without a lower held-out loss before stopping.
        random_state: seed of first weights, batches and of what is hidden.
        verbose: whether to show a progress bar.

    Attributes:
        estimator_: the estimator with what it knows of the inputs.
        history_: the loss of each step, and of each look at the held-out rows.
        loss_: the last loss: half a mean squared error in units of the spread.
        n_iter_: epochs that were made.
        status_: how it ended.
        n_features_out_: how many states there are before the last layer.
    """

    estimator: Any
    fraction: Any
    patch: Any
    early_stopping: Any
    random_state: Any
    estimator_: Any
    phi_: Network

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        estimator: Any = None,
        *,
        fraction: Any = 0.3,
        patch: Any = "auto",
        alpha: Any = 1e-4,
        learning_rate_init: Any = 2e-3,
        batch_size: Any = 64,
        max_iter=200,
        early_stopping=True,
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
        callbacks: Callback | Sequence[Callback] = (),
        checkpoints: Checkpoints | str | PathLike | None = None,
        resume: bool = False,
    ) -> "MaskedPretraining":
        """Learn from rows.

        Args:
            X: (n, d) rows of a table, or images.
            y: not used.
            sample_weight: how often each row counts.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
        """
        fraction = float(at_least("fraction", self.fraction))
        if not 0 < fraction < 1:
            raise InputError(
                f"fraction is {self.fraction}; give a part, above 0 and below 1."
            )
        self.estimator_ = _estimator_of(self.estimator)
        batch = self._batch(X, sample_weight)
        masking = EntryMasking(
            np.asarray(fraction, np.float32), self._patch(batch.x.shape)
        )
        options = TrainingOptions.of(self)._replace(solver="adam", augment=masking)
        validation = None
        if self.early_stopping:
            batch, validation = options.split(batch)
            key = jax.random.fold_in(key_of(self.random_state), STOP_SEED)
            with jax.enable_x64(False):
                hidden = np.asarray(
                    drawn(masking, validation.x.astype(np.float32), key)
                )
            validation = validation._replace(y=hidden)
        trainer = Trainer(options, self._learner(batch, fraction, options))
        observers = Observers(callbacks, checkpoints, resume)
        phi = trainer.fit(batch, validation=validation, observers=observers)
        publish(self, phi, trainer.iterations(phi, batch), warn=False)
        self.n_features_out_ = self._columns(batch.x[:1]).shape[1]
        return self

    def _batch(self, X: Any, sample_weight: Any) -> Batch:
        """Checked rows of positive weight, of which nothing is hidden yet."""
        known, kind = self.estimator_, self.estimator_._kind
        kind.learn(known, X, sample_weight)
        table = dense(kind.table(known, X))
        check: Any = validate_data
        check(known, table, dtype=np.float64, ensure_all_finite=False)
        values = check(self, table, dtype=np.float64, ensure_all_finite=False)
        w = weights_of(sample_weight, len(values))
        check_finite("X", values, w, names=getattr(self, "feature_names_in_", None))
        x = kind.shaped(known, values[w > 0], X, None)
        nothing = np.zeros((len(x), *(1,) * (x.ndim - 1)), np.float32)
        return Batch(x, nothing, w[w > 0])

    def _patch(self, shape: tuple[int, ...]) -> int:
        if len(shape) == 2:
            return 0
        if isinstance(self.patch, str) and self.patch == "auto":
            own = getattr(self.estimator_, "patch", None)
            if own is not None:
                return patch_of(own, *shape[1:3])
            return max(1, min(shape[1:3]) // GRID)
        return at_least("patch", self.patch, 1, whole=True)

    def _learner(
        self, batch: Batch, fraction: float, options: TrainingOptions
    ) -> ReconstructionLearner:
        known = self.estimator_
        plain = known._kind.plain(known)
        shape = batch.x.shape[1:]
        entries = int(np.prod(shape)) - len(plain)
        if not entries:
            raise InputError(
                "X has categories only, and numbers are what is predicted; give at least "
                "one column of numbers."
            )
        return ReconstructionLearner(
            known._architecture(),
            options.first_order(len(batch.w)),
            np.asarray(fraction * entries),
            n_out=shape[-1] if known._positions else int(np.prod(shape)),
            inputs=known._kind.scaling,
            plain=plain,
        )

    # Using -----------------------------------------------------------------------------

    def architecture_settings(self) -> dict[str, Any]:
        """The settings of the network."""
        return architecture_settings(_estimator_of(self.estimator))

    def body(self, like: Any = None) -> tuple[Body, list[Any]]:
        """All before the last layer: what another network can begin from."""
        return fitted_body(self)

    @property
    def encoder_(self) -> Any:
        """Of the categories of a table, or None."""
        return getattr(self.estimator_, "encoder_", None)

    @property
    def category_columns_(self) -> list[int]:
        """The columns of categories of a table."""
        return getattr(self.estimator_, "category_columns_", [])

    def _inputs(self, X: Any) -> np.ndarray:
        return self.estimator_._inputs(X)

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The states before the last layer."""
        phi = member_of(stacked(self.phi_), 0)
        model, state = phi.solution.model, phi.solution.state
        while not isinstance(model, Chain) and hasattr(model, "model"):
            model = model.model
        if not isinstance(model, Chain):
            raise InputError(
                f"the network is a {type(model).__name__}, whose states are not known; "
                "transform needs a Chain."
            )
        chain = Chain(*model.layers[:-1])
        state = None if state is None else state[:-1]
        scaled = ((X - phi.scaling.center) / phi.scaling.scale).astype(np.float32)
        with precision_of(chain):
            found = np.asarray(_run(chain, pad_rows(scaled), state), np.float64)
        return found[: len(X)].reshape(len(X), -1)

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_


@eqx.filter_jit
def _run(chain: Chain, X: Any, state: Any) -> Any:
    return chain(X, state=state)[0]


def _estimator_of(given: Any) -> Any:
    """A new network estimator of tables or images."""
    given = MLPRegressor() if given is None else given
    fits = isinstance(given, NetworkPredictor) and given._kind.scaling in KINDS
    if not fits:
        raise InputError(
            f"estimator is a {type(given).__name__}; give a network of tables or images, "
            "such as MLPClassifier or CNNClassifier. For texts there is "
            "text.MaskedLanguageModel."
        )
    return clone(given)
