r"""Consistency training: a network that learns from rows without labels by disturbing them.

The network is trained as always on the labelled rows, and in each step also on rows drawn
from all: a weakly disturbed copy of a row teaches a strongly disturbed one
(`objectives.Consistency`). Whether that helps is decided by labelled rows that are held out.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, no_type_check

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from likely.base.labels import missing_labels
from likely.base.predictor import Predictor
from likely.base.rows import weights_of
from likely.base.settings import at_least, store
from likely.base.training.members import Network, Start
from likely.base.training.trainer import Observers, Trainer, publish
from likely.core.checks import InputError
from likely.core.rows import fill_absent, pad
from likely.estimators.networks.learner import NetworkLearner
from likely.estimators.networks.mlp import MLPClassifier
from likely.estimators.networks.predictor import NetworkPredictor
from likely.estimators.networks.transfer import first_body
from likely.estimators.wrappers.columns import copy_column_names
from likely.families import Predictive, mix
from likely.layers import Augmentation, ColumnNoise
from likely.objectives.consistency import Consistency
from likely.solvers.training import Callback
from likely.typing import Batch, Key

IMAGE_CHANGES = (
    Augmentation(shift=0.05),
    Augmentation(shift=0.1, rotate=15.0, scale=0.15, erase=0.3),
)
"""The weak and the strong disturbance of images."""


class ConsistencyLearner(eqx.Module):
    """A network learner whose objective has rows without labels.

    Args:
        learner: the learner of the labelled rows.
        rows: all rows, labelled or not; their y is not looked at.
        weak: the disturbance of the copies that teach.
        strong: the disturbance of the copies that learn.
        strength: the weight of the divergence.
        threshold: how sure the network has to be of a row.
        batch_size: how many rows a step draws.
    """

    learner: NetworkLearner
    rows: Batch
    weak: Any
    strong: Any
    strength: Any
    threshold: Any
    batch_size: int = eqx.field(static=True)

    @property
    def solver(self) -> Any:
        """The solver of the learner."""
        return self.learner.solver

    def scaling_of(self, data: Batch) -> Any:
        """The units of all rows."""
        return self.learner.scaling_of(self._filled())

    def start(
        self,
        key: Key,
        hyper: dict[str, Any],
        batch: Batch,
        begin: Any = None,
    ) -> Start:
        """The objective on scaled rows, and the first weights, or those of `begin`."""
        data, rows = fill_absent(jax.tree.map(jnp.asarray, batch)), self._filled()
        if begin is None:
            scaling = self.scaling_of(data)
            scaled = replace(self.learner, inputs="none")
            start = scaled.start(key, hyper, scaling(data))
        else:
            start = self.learner.start(key, hyper, batch, begin)
            scaling = start.scaling
        objective = Consistency(
            start.objective,
            scaling.inputs(rows.x),
            rows.w,
            self.weak,
            self.strong,
            self.strength,
            self.threshold,
            batch_size=self.batch_size,
        )
        return Start(objective, start.model, start.data, start.state, scaling)

    def with_rate(self, hyper: dict[str, Any]) -> Any:
        """The solver at the learning rate of these settings."""
        return self.learner.with_rate(hyper)

    def _filled(self) -> Batch:
        return fill_absent(jax.tree.map(jnp.asarray, self.rows))


class TrainingRows(NamedTuple):
    """The rows of a training, and which of them are held out."""

    labelled: Batch
    every: Batch
    """All rows that count, labelled or not."""
    options: Any
    fold: np.ndarray | None
    """(n,) of the labelled rows: the member that holds out each; None: none does."""
    validation: Batch | None
    """Other labelled rows to stop by."""

    @property
    def judged(self) -> bool:
        """Whether there are labelled rows that are not learned from."""
        return self.fold is not None or self.validation is not None


class ConsistencyTraining(MetaEstimatorMixin, ClassifierMixin, Predictor):
    """A network of classes that also learns from rows without a label.

    A row without a label has y = −1, or None or NaN where labels are text. In each step the
    network sees labelled rows, and rows drawn from all: what it says of a weakly disturbed
    copy, where it is sure, is what it should say of a strongly disturbed one.

    Without rows that lack a label it is the network, trained as always.

    Args:
        network: a network of classes, such as `MLPClassifier`, `CNNClassifier` or
            `ResNetClassifier`; unless given, `MLPClassifier()`.
        strength: the weight of the difference between the two copies; "auto" is 1, or 0 (the
            labelled rows alone) where the network so trained says more about labelled
            rows that are held out.
        threshold: how probable the class of a row has to be for the row to count.
        weak: the disturbance of the copy that teaches and of labelled rows: an
            `Augmentation` of images, `ColumnNoise` of tables, any `Perturbation`, or None;
            "auto" shifts images a little and leaves tables as they are.
        strong: the disturbance of the copy that learns; "auto" shifts, rotates, scales and
            erases images, and adds noise to the columns of tables.
        batch_size: rows that are drawn in each step.
        random_state: replaces that of the network; None leaves it.

    Attributes:
        network_: the fitted network, with its `history_` and `status_`.
        classes_: the labels, sorted.
        strength_: the strength that was used.
        held_out_nll_: with "auto", the mean of −log p over the labelled rows held out, with
            strength 0 and with strength 1.
    """

    network: Any
    strength: Any
    threshold: Any
    weak: Any
    strong: Any
    batch_size: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        network: Any = None,
        *,
        strength: Any = "auto",
        threshold: float = 0.6,
        weak: Any = "auto",
        strong: Any = "auto",
        batch_size: int = 256,
        random_state: Any = None,
    ):
        store(self, locals())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        callbacks: Callback | Sequence[Callback] = (),
    ) -> "ConsistencyTraining":
        """Train on the labelled rows, and on all rows disturbed.

        Args:
            X: (n, d) inputs, as the network takes them.
            y: (n,) classes; −1, None or NaN where there is none.
            sample_weight: how often each row counts.
            X_val: inputs of other rows, to stop early by.
            y_val: their classes.
            sample_weight_val: how often each of these counts.
            callbacks: functions of an `Event`; one that returns True ends the fit.
        """
        self._check_settings()
        network = self._fresh()
        y, labelled = known_labels(y, sample_weight)
        vars(self).pop("held_out_nll_", None)
        validation = (X_val, y_val, sample_weight_val)
        if labelled is None:
            names = ("X_val", "y_val", "sample_weight_val")
            others = dict(zip(names, validation, strict=True), callbacks=callbacks)
            self.network_ = network.fit(X, y, sample_weight, **others)
            self.strength_ = 0.0
        else:
            batch = network._batch(X, y, sample_weight)
            rows = training_rows(network, batch, labelled, validation)
            self._train(network, rows, Observers(callbacks))
        self.classes_ = self.network_.classes_
        copy_column_names(self, self.network_)
        return self

    def predict_dist(self, X: Any) -> Any:
        """p(y | x) for each row."""
        check_is_fitted(self)
        return self.network_.predict_dist(X)

    def _probs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.network_._probs(X)

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.network_._decide(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._given).input_tags
        return tags

    @property
    def _given(self) -> Any:
        """The network that was given."""
        return MLPClassifier() if self.network is None else self.network

    def _fresh(self) -> Any:
        """A new copy of the network."""
        given = self._given
        if not isinstance(given, NetworkPredictor) or not given._has_one_class_per_row:
            raise InputError(
                f"network is {type(given).__name__}; give a network of classes, such as "
                "MLPClassifier or CNNClassifier. Other classifiers have PseudoLabels."
            )
        fresh: Any = clone(given)
        if self.random_state is not None:
            fresh.set_params(random_state=self.random_state)
        return fresh

    def _check_settings(self) -> None:
        if self.strength != "auto":
            at_least("strength", self.strength)
        at_least("batch_size", self.batch_size, 1, whole=True)
        if not 0 <= float(self.threshold) < 1:
            raise InputError(
                f"threshold is {self.threshold}; give a number of at least 0 and below 1."
            )

    # Training --------------------------------------------------------------------------

    def _train(self, network: Any, rows: TrainingRows, observers: Observers) -> None:
        """Train the network with one strength, or with two and keep the better one."""
        changes = disturbances(network, self.weak, self.strong)
        strengths = [self.strength]
        if self.strength == "auto":
            strengths = [0.0, 1.0] if rows.judged else [1.0]
        found = [
            self._trained(network, rows, float(s), changes, observers)
            for s in strengths
        ]
        best = found[0]
        if len(found) > 1:
            losses = [held_out_nll(network, each, rows) for each in found]
            self.held_out_nll_ = np.array(losses)
            best = found[int(np.argmin(losses))]
        self.strength_, network.learner_ = best.strength, best.learner
        crossed = rows.fold is not None
        publish(network, best.phi, best.n_iter, warn=False, warn_falling=crossed)
        network.weight_seen_, network.passes_ = float(rows.labelled.w.sum()), 0
        network._approximate_posterior(rows.labelled)
        self.network_ = network

    def _trained(
        self,
        network: Any,
        rows: TrainingRows,
        strength: float,
        changes: tuple[Any, Any],
        observers: Observers,
    ) -> "Trained":
        """What is found with this strength; with 0, by the labelled rows alone."""
        batch, options = rows.labelled, rows.options
        watched = rows.validation is not None or strength > 0
        own = network.learner_ = network._learner(batch.y, options, watched=watched)
        learner: Any = own
        if strength > 0:
            learner = ConsistencyLearner(
                own,
                pad(rows.every),
                *changes,
                np.asarray(strength),
                np.asarray(float(self.threshold)),
                int(self.batch_size),
            )
        trainer = Trainer(options, learner)
        phi = trainer.fit(
            batch,
            validation=rows.validation,
            fold=rows.fold,
            begin=first_body(network, trainer._replace(learner=own)),
            observers=observers,
        )
        if rows.fold is not None:
            phi = network._calibrated(phi, batch, rows.fold)
        return Trained(strength, own, phi, trainer.iterations(phi, batch))


class Trained(NamedTuple):
    """A training that has ended."""

    strength: float
    learner: NetworkLearner
    phi: Network
    n_iter: int


def known_labels(y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """y with some label in the place of missing ones, and which rows have one.

    The second is None where every row that counts has a label.

    Args:
        y: classes; −1, None or NaN where there is none.
        sample_weight: how often each row counts.
    """
    if y is None:
        raise InputError(
            "ConsistencyTraining requires y to be passed, but the target y is None; give "
            "the labels that are known, and -1 for the others."
        )
    y = column_or_1d(y, warn=True)
    w = weights_of(sample_weight, len(y))
    missing = missing_labels(y)
    known = ~missing & (w > 0)
    if not known.any():
        raise InputError(
            f"none of the {len(y)} rows has a label: y is -1, None or NaN in all that "
            "count; give labels to rows of at least two classes."
        )
    filled = np.where(missing, y[np.argmax(known)], y)
    return filled, None if known.sum() == (w > 0).sum() else known


def training_rows(
    network: Any, batch: Batch, labelled: np.ndarray, validation: tuple
) -> TrainingRows:
    """The labelled rows, all rows, and what is held out, by the settings of the network.

    Args:
        network: which has checked the rows.
        batch: all rows.
        labelled: which have a label and count.
        validation: other rows to stop by: inputs, classes, weights.
    """
    own = Batch(*(a[labelled] for a in batch))
    every = Batch(*(a[batch.w > 0] for a in batch))
    other, fold = network._validation_rows(*validation), None
    options = network._options(own.w, other)
    if options.crossed:
        fold = options.folds(own, classes=True)
    elif other is None and options.early_stopping:
        own, other = options.split(own)
    return TrainingRows(own, every, options, fold, other)


def disturbances(network: Any, weak: Any, strong: Any) -> tuple[Any, Any]:
    """The weak and the strong disturbance of the rows of a network.

    Args:
        network: which has checked the rows.
        weak: "auto", None or a `Perturbation`.
        strong: "auto", None or a `Perturbation`.
    """
    kind = network._kind.scaling
    known = {
        "channels": IMAGE_CHANGES,
        "columns": (None, ColumnNoise(0.4, 0.1, network._kind.plain(network))),
    }
    found = []
    for place, (name, given) in enumerate({"weak": weak, "strong": strong}.items()):
        if not (isinstance(given, str) and given == "auto"):
            if given is not None and not callable(given):
                raise InputError(
                    f'{name} is {given!r}; give "auto", None, layers.Augmentation, '
                    "layers.ColumnNoise, or another Perturbation."
                )
            found.append(given)
        elif kind in known:
            found.append(known[kind][place])
        else:
            raise InputError(
                f"{type(network).__name__} reads rows that are neither images nor the "
                "rows of a table, and nothing is known that changes them and keeps their "
                f"class; give {name}=, a Perturbation or None."
            )
    return found[0], found[1]


def held_out_nll(network: Any, trained: Trained, rows: TrainingRows) -> float:
    """The mean of −log p over labelled rows that were not learned from."""
    batch = rows.labelled if rows.validation is None else rows.validation
    network.learner_ = trained.learner
    etas = network._etas(batch.x, trained.phi)
    if rows.validation is not None:
        log_prob = mix(network.family_, etas).log_prob(batch.y)
        return -float(np.average(log_prob, weights=batch.w))
    assert rows.fold is not None
    used = np.flatnonzero(rows.fold < len(etas))
    own = Predictive(network.family_, etas[rows.fold[used], used])
    return -float(np.average(own.log_prob(batch.y[used]), weights=batch.w[used]))
