r"""Multilayer perceptrons as estimators: y | x ~ p(y | f(x; φ)) with f a network.

Inputs are centred and scaled by their weighted mean and deviation, and so is a numeric
target; predictions are in the units of the data. Small tables are fitted by L-BFGS on
all rows in float64, so that row weights are exact; larger ones by Adam on minibatches
in float32 (`solvers.training`), with early stopping if asked for.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, no_type_check

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError
from likely.core.precision import float64, to_numpy
from likely.core.random import key_of
from likely.core.rows import pad
from likely.estimators.network_learner import Network, NetworkLearner, start
from likely.estimators.shell import (
    AbstractClassifier,
    AbstractPredictor,
    AbstractRegressor,
    learn,
    nonnegative,
)
from likely.families import AbstractFamily, Bernoulli, Categorical, Normal
from likely.models import MLP
from likely.solvers import LBFGS, Adam, Constant, Minibatches, Validation
from likely.solvers.training import Callback, Checkpoints, Training
from likely.typing import Batch, Key

SMALL = 4_000_000
"""Rows times parameters up to which all rows are used at once, in float64."""


class AbstractNetwork(AbstractPredictor):
    """What the two estimators share: the settings of the network and of its fit."""

    n_features_in_: int

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        hidden_layer_sizes=(64,),
        activation="relu",
        *,
        alpha=1e-4,
        solver="auto",
        learning_rate_init=1e-3,
        batch_size="auto",
        max_iter=200,
        tol=1e-5,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        norm=None,
        dropout=0.0,
        random_state=0,
        verbose=False,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.alpha = alpha
        self.solver = solver
        self.learning_rate_init = learning_rate_init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.norm = norm
        self.dropout = dropout
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _family(self) -> AbstractFamily:
        """The family of p(y | x)."""

    @abstractmethod
    def _encode_other(self, y: np.ndarray) -> np.ndarray:
        """The targets of validation rows, encoded as those of the fit."""

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
        checkpoints: Checkpoints | None = None,
        resume: bool = False,
    ) -> "AbstractNetwork":
        """Fit by maximum a posteriori.

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts.
            X_val: inputs of other rows, to stop early by.
            y_val: their targets.
            sample_weight_val: how often each of these counts.
            callbacks: told what happens, where the fit is by minibatches.
            checkpoints: where to save the run.
            resume: whether to go on from there.
        """
        hyper, batch = self._hyper(), self._batch(X, y, sample_weight)
        other = self._other(X_val, y_val, sample_weight_val)
        if other is None and self.early_stopping:
            batch, other = self._split(batch)
        self.learner_ = self._learner(batch.y)
        self.family_.check(batch.y, batch.w)
        options = {"callbacks": callbacks, "checkpoints": checkpoints, "resume": resume}
        key = key_of(self.random_state)
        if other is None and isinstance(self.learner_.solver, LBFGS):
            with float64():
                phi = learn(self.learner_, key, hyper, pad(batch))
        else:
            phi = self._train(key, hyper, batch, other, **options)
        self.phi_ = to_numpy(phi)
        status = self.phi_.solution.status
        self.n_iter_, self.status_ = int(status.steps), str(status)
        if isinstance(self.learner_.solver, LBFGS):
            self._report(self.phi_.solution)
        self._publish(self.phi_)
        return self

    def _train(self, key: Key, hyper: dict, batch: Batch, other, **options) -> Network:
        """By minibatches in float32, from the host."""
        learner = self.learner_
        if not isinstance(learner.solver, Adam):
            solver = self._adam(len(batch.y))
            learner = NetworkLearner(learner.family, learner.network, solver)
        self.learner_ = learner
        with jax.enable_x64(False):
            first, then = jax.random.split(key)
            begin = start(learner, first, hyper, _single(pad(batch)))
            solver = learner.with_rate(hyper)
            if other is not None:
                watch = Validation(
                    begin.scaling(_single(pad(other))),
                    np.asarray(self.n_iter_no_change),
                )
                solver = eqx.tree_at(
                    lambda s: s.validation, solver, watch, is_leaf=lambda v: v is None
                )
            training = Training(solver, verbose=bool(self.verbose), **options)
            found = training.minimize(
                begin.objective, begin.model, begin.data, key=then, state=begin.state
            )
            return Network(found, begin.scaling)

    def _learner(self, y: np.ndarray) -> NetworkLearner:
        sizes = self.hidden_layer_sizes
        network = MLP(
            sizes, self.activation, norm=self.norm, dropout=float(self.dropout)
        )
        family = self._family()
        if self.solver not in ("auto", "lbfgs", "adam"):
            raise InputError(
                f'solver is {self.solver!r}; give "auto", "lbfgs" or "adam".'
            )
        noisy = bool(self.dropout) or self.norm == "batch"
        widths = [self.n_features_in_, *network.hidden, family.n_eta]
        size = sum((a + 1) * b for a, b in zip(widths[:-1], widths[1:], strict=True))
        small = len(y) * size <= SMALL and not noisy and not self.early_stopping
        if self.solver == "lbfgs" or (self.solver == "auto" and small):
            return NetworkLearner(family, network, LBFGS(self.max_iter, self.tol))
        return NetworkLearner(family, network, self._adam(len(y)))

    def _adam(self, n: int) -> Adam:
        batches = Minibatches.of(
            len(pad(Batch(None, None, np.ones(n))).w), self._batch_rows(n)
        )
        steps = np.int32(int(self.max_iter) * batches.count)
        return Adam(
            Constant(np.asarray(1e-3)),
            steps=np.asarray(steps),
            batch_size=self._batch_rows(n),
        )

    def _batch_rows(self, n: int) -> int:
        return 200 if self.batch_size == "auto" else int(self.batch_size)

    def _hyper(self) -> dict[str, np.ndarray]:
        rate = nonnegative("learning_rate_init", self.learning_rate_init)
        alpha = nonnegative("alpha", self.alpha)
        return {"alpha": np.asarray(alpha), "learning_rate_init": np.asarray(rate)}

    def _other(self, X: Any, y: Any, w: Any) -> Batch | None:
        """The validation rows that were given."""
        if X is None:
            return None
        if y is None:
            raise InputError("X_val is given without y_val; give both.")
        X, y = np.asarray(X, np.float64), np.asarray(y)
        w = np.ones(len(y)) if w is None else np.asarray(w, np.float64)
        return Batch(X, self._encode_other(y), w)

    def _split(self, batch: Batch) -> tuple[Batch, Batch]:
        """Some rows to learn from and the others to stop by; a function of the seed."""
        share = float(self.validation_fraction)
        if not 0 < share < 1:
            raise InputError(
                f"validation_fraction is {share}; give a number between 0 and 1."
            )
        numbers = np.asarray(jax.random.key_data(key_of(self.random_state)))
        present = np.flatnonzero(batch.w > 0)
        order = np.random.default_rng(numbers).permutation(present)
        held = max(1, round(share * len(order)))
        if held >= len(order):
            raise InputError(
                "there is no row left to learn from; give more rows, or X_val and y_val."
            )
        learn, judge = np.sort(order[held:]), np.sort(order[:held])
        return Batch(*(a[learn] for a in batch)), Batch(*(a[judge] for a in batch))

    def _publish(self, phi: Network) -> None:
        """`history_`: what there was at each step, and at each look."""
        trace = phi.solution.trace
        known = ~np.isnan(trace.loss)
        self.history_ = {"loss": trace.loss[known], "rate": trace.step[known]}
        if trace.validation is not None:
            self.history_["validation"] = trace.validation[~np.isnan(trace.validation)]
        self.loss_ = float(phi.solution.loss)


def _single(batch: Batch) -> Batch:
    """The rows in float32."""
    return jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), batch)


class MLPRegressor(AbstractNetwork, AbstractRegressor):
    r"""y | x ~ N(f(x), σ²) with f a multilayer perceptron and one learned σ.

    Args:
        hidden_layer_sizes: the width of each hidden layer.
        activation: of hidden units, a name of `layers.ACTIVATIONS`.
        alpha: strength of the Gaussian prior on the weights (not on the biases).
        solver: "lbfgs" on all rows, "adam" on minibatches, or "auto" by the size.
        learning_rate_init: of Adam.
        batch_size: rows in a minibatch; "auto" is 200.
        max_iter: steps of L-BFGS, epochs of Adam.
        tol: L-BFGS stops when no entry of the gradient is larger.
        early_stopping: whether to hold out rows and stop by them.
        validation_fraction: how many.
        n_iter_no_change: epochs without a lower validation loss before stopping.
        norm: "batch", "layer" or None.
        dropout: probability to drop a hidden unit in training.
        random_state: seed of first weights, batches and the split.
        verbose: whether to show a progress bar.

    Attributes:
        history_: the loss of each step, and of each look at the validation rows.
        loss_: the last training loss, in nats on the scaled target.
        n_iter_: steps made.
        status_: how it ended.
    """

    def _family(self) -> AbstractFamily:
        return Normal()

    def _encode_other(self, y: np.ndarray) -> np.ndarray:
        return y.astype(np.float64)


class MLPClassifier(AbstractNetwork, AbstractClassifier):
    """y | x ~ Categorical(softmax f(x)), for two classes Bernoulli, with f a perceptron.

    The arguments and attributes are those of `MLPRegressor`.
    """

    def _family(self) -> AbstractFamily:
        c = len(self.classes_)
        return Bernoulli() if c == 2 else Categorical(c)

    def _encode_other(self, y: np.ndarray) -> np.ndarray:
        unknown = sorted(set(np.unique(y).tolist()) - set(self.classes_.tolist()))
        if unknown:
            raise InputError(
                f"y_val has the class {unknown[0]!r}, which y does not have; leave such "
                "rows out."
            )
        return np.searchsorted(self.classes_, y).astype(np.float64)
