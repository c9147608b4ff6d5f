r"""The face of every network: y | x ~ p(y | f(x; φ)) with f any architecture.

Inputs are centred and scaled by their weighted mean and deviation, and so is a target
that has units; predictions are in the units of the data. Where the settings do not say
how long to train, each member holds out rows of its own, by which it stops and is
calibrated (`base.training.options`, `calibration`). Otherwise small problems are fitted by
L-BFGS on all rows in float64, so that row weights are exact; larger ones by Adam on
minibatches in float32 (`solvers.training`). Several members are one program.

Another network estimator needs three things:

    class Spectrum(eqx.Module):                     # the architecture, as plain data
        widths: tuple[int, ...] = eqx.field(static=True)
        def build(self, shape, n_out, *, key): ...  # rows of this shape -> a model

    class SpectrumClassifier(ClassifierMixin, NetworkPredictor):
        _kind = TableInputs()                       # what a row is
        def __init__(self, widths=(16, 32), *, max_iter=20, random_state=0):
            store(self, locals())                   # any of `TrainingOptions`
        def _architecture(self): return Spectrum(tuple(self.widths))

A model that ends with a `Dense` layer (a `Chain`) starts at the null model and can have
`laplace`.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh
from sklearn.utils.validation import check_is_fitted

from likely.base.labels import class_family, codes_of
from likely.base.learning import Problem
from likely.base.predictor import Predictor
from likely.base.rows import (
    check_numbers,
    check_rows,
    fill_absent_targets,
    weights_of,
)
from likely.base.training.blocks import parameter_count as count_of
from likely.base.training.bodies import Body
from likely.base.training.members import Network
from likely.base.training.options import TABLES, TrainingOptions, is_auto
from likely.base.training.regimes import Regime
from likely.base.training.settings import SettingTrainer
from likely.base.training.trainer import (
    Earlier,
    Observers,
    Trainer,
    cast,
    member_of,
    publish,
    stacked,
    weights_of as weights_to_begin,
)
from likely.core.checks import InputError, check_finite
from likely.core.precision import float64
from likely.core.rows import pad, pad_rows, size_class
from likely.estimators.networks.calibration import calibration_of
from likely.estimators.networks.etas import member_etas
from likely.estimators.networks.families import family_of
from likely.estimators.networks.inputs import Inputs, TableInputs
from likely.estimators.networks.laplace import (
    eta_covariance,
    last_layer_posterior,
    with_uncertain_weights,
)
from likely.estimators.networks.learner import NetworkLearner, parameter_count
from likely.estimators.networks.transfer import (
    architecture_settings,
    check_passes,
    first_body,
    fitted_body,
    settings_from,
    trained_count,
)
from likely.families import AbstractFamily, Predictive, StudentT, mix
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch


class NetworkPredictor(Predictor):
    """What all networks share. You write `_architecture`."""

    _kind: ClassVar[Inputs] = TableInputs()
    """What a row is."""
    _positions: ClassVar[bool] = False
    """Whether each position of a row has an η of its own."""
    _limits: Any = TABLES
    """How long such a network is trained where its settings leave that open."""
    phi_: Network
    learner_: NetworkLearner

    @abstractmethod
    def _architecture(self) -> Any:
        """The `Architecture`: plain data that can build a model."""

    # Defaults that may be replaced -----------------------------------------------------

    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        """The family, and how many entries of each output's η all rows share."""
        if self._predicts_classes:
            return class_family(len(self.classes_)), 0
        family = getattr(self, "family", "normal")
        return family_of(family, y.shape[1] if y.ndim == 2 else None)

    def _stochastic(self) -> bool:
        """Whether the network draws in training, or keeps running statistics."""
        network = self._architecture()
        perceptron = getattr(network, "perceptron", network)
        dropped = bool(getattr(perceptron, "dropout", 0.0))
        return dropped or getattr(perceptron, "norm", None) == "batch"

    # Fitting ---------------------------------------------------------------------------

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
        checkpoints: Checkpoints | str | PathLike | None = None,
        resume: bool = False,
        mesh: Mesh | None = None,
    ):
        """Fit by maximum a posteriori.

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts.
            X_val: inputs of other rows, to stop early by.
            y_val: their targets.
            sample_weight_val: how often each of these counts.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`; a fit by L-BFGS is
                one short program, of which nothing is saved.
            resume: whether to go on from there.
            mesh: devices that share each batch; several members share them anyway.
        """
        earlier = self._earlier() if TrainingOptions.of(self).warm_start else None
        batch = self._batch(X, y, sample_weight)
        validation = self._validation_rows(X_val, y_val, sample_weight_val)
        options = self._options(batch.w, validation)
        fold = None
        if options.crossed:
            batch = Batch(*(a[batch.w > 0] for a in batch))
            fold = options.folds(batch, classes=self._has_one_class_per_row)
        elif validation is None and options.early_stopping:
            batch, validation = options.split(batch)
        observers = Observers(callbacks, checkpoints, resume, mesh)
        watched = validation is not None
        self.learner_ = self._learner(batch.y, options, watched=watched)
        self._check_targets(batch)
        if validation is not None:
            self._check_targets(validation, "y_val")
        trainer = Trainer(options, self.learner_)
        if earlier is None:
            begin = first_body(self, trainer)
        else:
            begin = earlier.begin(self._now(), trainer)
        phi = trainer.fit(
            batch, validation=validation, fold=fold, begin=begin, observers=observers
        )
        if fold is not None:
            phi = self._calibrated(phi, batch, fold)
        n_iter = trainer.iterations(phi, batch)
        warn = not trainer.by_minibatches
        publish(self, phi, n_iter, warn=warn, warn_falling=options.crossed)
        self.weight_seen_, self.passes_ = float(batch.w.sum()), 0
        vars(self).pop("memory_", None)
        self._approximate_posterior(batch)
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, *, encoded: bool):
        """One pass over these rows, from where the weights are.

        Args:
            X: inputs.
            y: targets.
            sample_weight: how often each row counts.
            encoded: whether the classes are known before the first pass.
        """
        first = not hasattr(self, "phi_")
        batch = self._batch(
            X, y, sample_weight, first=first, known=encoded or not first
        )
        options = self._options(batch.w, batch)
        if not first and is_auto(TrainingOptions.of(self).n_members):
            options = options._replace(n_members=len(stacked(self.phi_).solution.loss))
        learner = self._learner(batch.y, options, watched=True)
        if first or not Trainer(TrainingOptions(), self.learner_).by_minibatches:
            self.learner_ = learner
        self._check_targets(batch)
        epochs, passes = getattr(self, "n_iter_", 0), getattr(self, "passes_", 0)
        seen = float(batch.w.sum()) + getattr(self, "weight_seen_", 0.0)
        trainer = Trainer(options, self.learner_)
        check_passes(self.learner_.regime)
        if first:
            begin = first_body(self, trainer)
        else:
            begin = weights_to_begin(self.phi_, np.float32)
        memory = getattr(self, "memory_", None)
        phi, memory = trainer.one_pass(batch, begin, memory, passes=passes, seen=seen)
        if not first:
            phi = replace(phi, calibration=stacked(self.phi_).calibration)
        publish(self, phi, trainer.iterations(phi, batch), warn=False)
        self.n_iter_, self.passes_ = self.n_iter_ + epochs, passes + 1
        self.weight_seen_, self.memory_ = seen, memory
        self._approximate_posterior(batch)
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem | None:
        """The learner with checked rows; None where a fit is more than its learner."""
        taken = getattr(self, "pretrained", None) is not None
        if taken or TrainingOptions.of(self).cross_fitted:
            return None
        batch = self._batch(X, y, sample_weight)
        options = self._options(batch.w)
        several = options.member_count > 1 or bool(options.bootstrap)
        if several or options.early_stopping or options.laplace:
            return None
        learner, train = self._learner(batch.y, options), None
        if Trainer(options, learner).by_minibatches:
            train = SettingTrainer(options)
        return Problem(learner, options.hyper, batch, train=train)

    def _hyper(self) -> dict[str, np.ndarray]:
        return TrainingOptions.of(self).settled(self._limits, 1, 1).hyper

    def _options(self, w: np.ndarray, validation: Any = None) -> TrainingOptions:
        """The settings, with numbers in the place of "auto".

        Args:
            w: weights of the rows.
            validation: other rows to stop by; None where there are none.
        """
        options, n = TrainingOptions.of(self), int((w > 0).sum())
        entries = int(np.prod(self._kind.shape(self)))
        crossed = options.cross_fitted and validation is None
        return options.settled(self._limits, n, entries, crossed=crossed)

    @property
    def _has_one_class_per_row(self) -> bool:
        return self._predicts_classes and not self._positions

    def _calibrated(self, phi: Network, batch: Batch, fold: np.ndarray) -> Network:
        """φ with scales or probabilities as held-out rows have them."""
        etas, learner = self._etas(batch.x, phi), self.learner_
        found = calibration_of(learner.family, learner.shared, etas, batch, fold)
        return replace(phi, calibration=found)

    def _learner(
        self, y: np.ndarray, options: TrainingOptions, *, watched: bool = False
    ) -> NetworkLearner:
        """The pure core, for these targets.

        Args:
            y: encoded targets.
            options: the settings of the training.
            watched: whether there are validation rows.
        """
        network = self._architecture()
        family, shared = self._target(y)
        size = len(y) * parameter_count(network, self._kind.shape(self), family.n_eta)
        stochastic = watched or self._stochastic()
        return NetworkLearner(
            family,
            network,
            options.solver_for(size, size_class(len(y)), stochastic=stochastic),
            shared=shared,
            inputs=self._kind.scaling,
            plain=self._kind.plain(self),
            positions=self._positions,
            rated=options.rated,
            regime=Regime.of(getattr(self, "trainable", "all")),
            pretrained=getattr(self, "pretrained", None) is not None,
        )

    def _check_targets(self, batch: Batch, name: str = "y") -> None:
        """Refuse targets that the family cannot have."""
        if self._positions:
            return
        try:
            self.family_.check(batch.y, batch.w)
        except InputError as error:  # a family speaks of y
            raise InputError(str(error).replace("y has", f"{name} has", 1)) from None

    @property
    def family_(self) -> AbstractFamily:
        """The family of p(y | x)."""
        return self.learner_.family

    def _earlier(self) -> Earlier | None:
        """The last fit, where there was one."""
        return self._now() if hasattr(self, "phi_") else None

    def _now(self) -> Earlier:
        classes, shape = getattr(self, "classes_", ()), self._kind.shape(self)
        return Earlier(getattr(self, "phi_", None), self.learner_, classes, shape)

    def _approximate_posterior(self, batch: Batch) -> None:
        """`last_layer_`: the posterior of the last weights, if asked for."""
        vars(self).pop("last_layer_", None)
        given = TrainingOptions.of(self).laplace
        if given is False or given is None:
            return
        with float64():
            phi = cast(stacked(self.phi_), np.float64)
            self.last_layer_ = last_layer_posterior(
                self.learner_, phi, pad(batch), given
            )

    # Rows ------------------------------------------------------------------------------

    def _batch(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        first: bool = True,
        known: bool = False,
    ) -> Batch:
        """Checked rows in the shape that the network takes.

        Args:
            X: inputs.
            y: targets.
            sample_weight: how often each row counts.
            first: whether these rows decide what inputs are.
            known: whether the classes are known already.
        """
        if first:
            self._kind.learn(self, X, sample_weight)
        table = self._kind.table(self, X)
        if known:
            rows = check_rows(self, table, y, sample_weight, reset=first)
            rows = rows._replace(y=self._encode_known(rows.y, "y"))
        else:
            rows = self._rows(table, y, sample_weight)
        return Batch(self._kind.shaped(self, rows.X, X, rows.w), rows.y, rows.w)

    def _encode_known(self, y: Any, name: str) -> np.ndarray:
        """The targets of other rows, encoded as those of the fit."""
        if self._predicts_classes:
            return codes_of(y, self.classes_, name)
        return check_numbers(self, y)

    def _validation_rows(self, X: Any, y: Any, w: Any) -> Batch | None:
        """The validation rows that were given."""
        if X is None:
            return None
        if y is None:
            raise InputError("X_val is given without y_val; give both.")
        given, X = X, np.asarray(self._kind.table(self, X), np.float64)
        w = weights_of(w, len(X))
        check_finite("X_val", X, w)
        if X.ndim == 2 and X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X_val has {X.shape[1]} columns but X has {self.n_features_in_}; give "
                "the same columns."
            )
        if len(np.asarray(y)) != len(X):
            raise InputError(
                f"X_val has {len(X)} rows but y_val has {len(np.asarray(y))}; give as "
                "many of each."
            )
        y = self._encode_known(np.asarray(fill_absent_targets(y, w)), "y_val")
        return Batch(self._kind.shaped(self, X, given, w), y, w)

    def _inputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        table = super()._inputs(self._kind.table(self, X))
        return self._kind.shaped(self, table, X, None)

    # Transfer --------------------------------------------------------------------------

    @classmethod
    def from_pretrained(cls, source: Any, **settings: Any):
        """An estimator with the architecture of a fitted network, which it begins from.

        Args:
            source: a fitted network, as `pretrained` takes it.
            settings: other settings.
        """
        return cls(**(settings_from(source, cls._get_param_names()) | settings))

    def architecture_settings(self) -> dict[str, Any]:
        """The settings that the architecture and the inputs follow from."""
        return architecture_settings(self)

    def body(self, like: Any = None) -> tuple[Body, list[Any]]:
        """All before the head: what another network can begin from, and its layers."""
        return fitted_body(self)

    @property
    def n_parameters_(self) -> int:
        """The number of parameters of a network."""
        return count_of(member_of(self.phi_, 0).solution.model)

    @property
    def n_trainable_(self) -> int:
        """The number of parameters that were trained."""
        return trained_count(self)

    def __sklearn_clone__(self):
        """A copy without what was learned, which begins from the same fitted network."""
        found, source = super().__sklearn_clone__(), getattr(self, "pretrained", None)
        if source is not None:
            setattr(found, "pretrained", source)  # noqa: B010
        return found

    # Predicting ------------------------------------------------------------------------

    def predict_dist(self, X: Any) -> Any:
        """p(y | x) for each row: the mixture of the members."""
        parts = self._parts(self._inputs(X))
        return mix(self.family_, parts, classes=getattr(self, "classes_", None))

    def members(self, X: Any) -> list[Predictive]:
        """p(y | x) of each member."""
        etas, classes = self._etas(self._inputs(X)), getattr(self, "classes_", None)
        return [Predictive(self.family_, eta, classes) for eta in etas]

    def unpack(self, X: Any, member: int = 0) -> tuple[Any, Any, np.ndarray]:
        """The network, its running statistics, and the inputs as it gets them.

        That is what `diagnostics.feature_maps`, `diagnostics.class_activation` and the
        like take.

        Args:
            X: inputs.
            member: which of the networks, where there are several.
        """
        rows, phi = self._inputs(X), member_of(self.phi_, member)
        scaled = (rows - phi.scaling.center) / phi.scaling.scale
        model, state = jax.tree.map(
            lambda a: jax.numpy.asarray(a) if eqx.is_array(a) else a,
            (phi.solution.model, phi.solution.state),
        )
        return model, state, scaled.astype(np.float32)

    def _mean(self, X: Any) -> np.ndarray:
        """E[y | x]; where Student's t has no mean (ν ≤ 1) its middle."""
        parts, family = self._parts(self._inputs(X)), self.family_
        if isinstance(family, StudentT):
            return parts[..., 0].mean(0)
        m, n, k = parts.shape
        means = Predictive(family, parts.reshape(m * n, k)).mean
        return means.reshape(m, n, *means.shape[1:]).mean(0)

    def _parts(self, X: np.ndarray) -> np.ndarray:
        """(parts, n, k): η of the equal parts of the mixture."""
        etas, last = self._etas(X), getattr(self, "last_layer_", None)
        if last is None:
            return etas
        with float64():
            phi = cast(stacked(self.phi_), np.float64)
            covariance = eta_covariance(self.learner_, phi, last, pad_rows(X))
        return with_uncertain_weights(
            self.learner_, etas, np.asarray(covariance)[:, : len(X)]
        )

    def _etas(self, X: np.ndarray, phi: Network | None = None) -> np.ndarray:
        """(m, n, k) η of the members, those of the fit or of another φ."""
        phi = stacked(self.phi_ if phi is None else phi)
        return member_etas(self.learner_, phi, X, self._kind.max_rows)
