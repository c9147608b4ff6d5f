r"""The training of models without targets: what generators, flows and autoencoders share.

A problem is plain data with two methods,

    build(data, key)            -> the model with its first weights
    objective(prior, rows)      -> what is minimised, on batches of `pack`ed rows

(and where rows come unscaled `scaling_of(data)`, their units),

and `train_unsupervised` does the rest by the settings of an estimator: batches, rates,
held-out rows to stop by, members, checkpoints, callbacks, progress, `history_`.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from likely.base.training.members import Network, Start
from likely.base.training.options import TABLES, Limits, TrainingOptions, is_auto
from likely.base.training.trainer import Observers, Trainer, publish
from likely.core.checks import InputError
from likely.core.rows import fill_absent, size_class
from likely.layers.composition.chain import initial_state
from likely.objectives import GaussianPrior
from likely.objectives.rows import Normalisation
from likely.solvers.first_order.rules import AbstractFirstOrder
from likely.solvers.first_order.schedules import rate_height
from likely.typing import Batch, Key

LIMITS = TABLES._replace(ensemble_rows=0, rate=2e-3, alpha=0.01)
"""How long a generator of rows of a table is trained where its settings leave that open."""


@runtime_checkable
class Problem(Protocol):
    """What is learned without targets."""

    def build(self, data: Batch, key: Key) -> Any:
        """The model with its first weights, for packed rows."""
        ...

    def objective(self, prior: Any, rows: Normalisation) -> Any:
        """What is minimised, an `Objective`; deterministic where the key is None."""
        ...


class Cells(NamedTuple):
    """Packed rows: their values, which of them are missing, and what is given of them."""

    values: Any
    """(n, ...) with 0 in missing cells."""
    missing: Any
    """(n, ...) booleans, or None where every cell is there."""
    given: Any
    """(n, g) the design of what rows are conditioned on; g may be 0."""


def pack(
    V: np.ndarray, w: np.ndarray, given: np.ndarray | None = None, *, mask: bool = True
) -> Batch:
    """Rows as a batch of finite numbers: x the values, y the missing cells and what is given.

    Args:
        V: (n, ...) values, NaN where a cell is missing.
        w: (n,) weights.
        given: (n, g) the design of what the rows are conditioned on.
        mask: whether cells may be missing.
    """
    n = len(V)
    given = np.zeros((n, 0)) if given is None else np.asarray(given, np.float64)
    if not mask:
        return Batch(V, given, w)
    missing = np.isnan(V)
    flags = missing.reshape(n, -1).astype(np.float64)
    return Batch(
        np.where(missing, 0.0, V), np.concatenate([flags, given], 1), np.asarray(w)
    )


def unpack(batch: Batch, *, mask: bool = True) -> Cells:
    """The cells of a packed batch, in NumPy or traced.

    Args:
        batch: of `pack`.
        mask: whether it was packed with the flags of missing cells.
    """
    if not mask:
        return Cells(batch.x, None, batch.y)
    cells = int(np.prod(batch.x.shape[1:]))
    missing = batch.y[:, :cells].reshape(batch.x.shape) > 0.5
    return Cells(batch.x, missing, batch.y[:, cells:])


class UnscaledRows(eqx.Module):
    """The units of rows that come scaled: they stay as they are."""

    def __call__(self, data: Batch) -> Batch:
        """The rows as they are."""
        return data


class UnsupervisedLearner(eqx.Module):
    """A problem that a first-order solver works on.

    Args:
        solver: any first-order solver.
        problem: what is built and what is minimised.
        rated: whether the learning rate is a hyper-parameter.
    """

    solver: Any
    problem: Any
    rated: bool = eqx.field(static=True, default=True)

    def scaling_of(self, data: Batch) -> Any:
        """The units of rows: those of the problem, if it has any."""
        units = getattr(self.problem, "scaling_of", None)
        return UnscaledRows() if units is None else units(data)

    def start(
        self, key: Key, hyper: dict[str, Any], batch: Batch, begin: Any = None
    ) -> Start:
        """The objective, and the first weights, or those of `begin`."""
        data = fill_absent(jax.tree.map(jnp.asarray, batch))
        if isinstance(begin, Network):
            scaling, data = begin.scaling, begin.scaling(data)
            model, state = begin.solution.model, begin.solution.state
        else:
            scaling = self.scaling_of(data)
            data = scaling(data)
            model = self.problem.build(data, key)
            state = initial_state(model)
        prior = GaussianPrior(alpha=hyper["alpha"])
        objective = self.problem.objective(prior, Normalisation.of(data))
        return Start(objective, model, data, state, scaling)

    def learn(
        self, key: Key, hyper: dict[str, Any], batch: Batch, begin: Any = None
    ) -> Network:
        """φ from all rows at once, in one program."""
        first, then = jax.random.split(key)
        start = self.start(first, hyper, batch, begin)
        found = self.with_rate(hyper).minimize(
            start.objective, start.model, start.data, key=then, state=start.state
        )
        return Network(found, start.scaling)

    def with_rate(self, hyper: dict[str, Any]) -> Any:
        """The solver at the learning rate of these settings."""
        if not (self.rated and isinstance(self.solver, AbstractFirstOrder)):
            return self.solver
        return eqx.tree_at(
            lambda s: rate_height(s.rate), self.solver, hyper["learning_rate_init"]
        )


class HeldOutRows(NamedTuple):
    """The rows that a training was stopped by; all of its rows where none were held out."""

    rows: Batch
    apart: bool
    """Whether the training has not seen them."""
    every: Batch | None = None
    """All rows, where each member held out a fold of its own ..."""
    fold: np.ndarray | None = None
    """... and (n,) the fold of each, of which member k held out number k."""

    def of(self, member: int) -> Batch | None:
        """The rows that a member has not seen; None where it has seen all."""
        if self.every is None or self.fold is None:
            return self.rows if self.apart else None
        return Batch(*(a[self.fold == member] for a in self.every))


def train_unsupervised(
    estimator: Any,
    problem: Problem,
    batch: Batch,
    *,
    limits: Limits = LIMITS,
    validation: Batch | None = None,
    observers: Observers | None = None,
    augment: Any = None,
    players: Any = None,
    exact: bool = False,
) -> HeldOutRows:
    """Train by the settings of an estimator, and keep what was found in it.

    Where nothing says how long to train, a part of the rows is held out to stop by.

    Args:
        estimator: gets `phi_`, `history_`, `loss_`, `n_iter_` and `status_`.
        problem: what is learned.
        batch: packed rows of positive weight.
        limits: how long to train where the settings leave that open.
        validation: other packed rows to stop by.
        observers: callbacks, checkpoints, devices.
        augment: how the rows of each batch are disturbed.
        players: how the solver of these settings moves two players, where there are two.
        exact: whether the objective has no noise, so that L-BFGS can minimise it.
    """
    options = TrainingOptions.of(estimator)._replace(augment=augment, players=players)
    options = _with_solver(options, type(estimator).__name__, exact=exact)
    n, entries = len(batch.w), int(np.prod(batch.x.shape[1:]))
    crossed = options.cross_fitted and validation is None
    options = options.settled(limits, n, entries, crossed=crossed)
    fold, rows = None, batch
    if crossed:
        fold = options.folds(batch, classes=False)
    elif validation is None and options.early_stopping:
        rows, validation = options.split(batch)
    count = size_class(len(rows.w))
    if isinstance(options.solver, str) and options.solver == "lbfgs":
        solver = options.solver_for(0, count, stochastic=validation is not None)
    else:
        solver = options.first_order(count)
    learner = UnsupervisedLearner(solver, problem, rated=options.rated)
    trainer = Trainer(options, learner)
    phi = trainer.fit(
        rows, validation=validation, fold=fold, observers=observers or Observers()
    )
    publish(
        estimator, phi, trainer.iterations(phi, rows), warn=not trainer.by_minibatches
    )
    if fold is not None:
        return HeldOutRows(Batch(*(a[fold == 0] for a in batch)), True, batch, fold)
    return HeldOutRows(
        batch if validation is None else validation, validation is not None
    )


def _with_solver(
    options: TrainingOptions, name: str, *, exact: bool
) -> TrainingOptions:
    """The options with a solver that is allowed."""
    if is_auto(options.solver):
        options = options._replace(solver="adam")
    known = ("adam", "lbfgs") if exact else ("adam",)
    own = isinstance(options.solver, AbstractFirstOrder)
    if not own and options.solver not in known:
        words = " or ".join(f'"{word}"' for word in known)
        raise InputError(
            f"solver is {options.solver!r}; {name} takes {words}, or a first-order solver "
            "of `likely.solvers`."
        )
    return options
