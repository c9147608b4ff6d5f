"""The options of a training, and the solver that follows from them."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from likely.base.settings import at_least
from likely.base.training.members import Patience
from likely.core.checks import InputError
from likely.core.random import key_of
from likely.core.rows import size_class
from likely.evaluate.assignment import by_class, early_stopping_split, folds_along
from likely.solvers import (
    LBFGS,
    Adam,
    ClipByNorm,
    Constant,
    Cosine,
    ExponentialAverage,
    Minibatches,
    ReduceOnPlateau,
    UniformAverage,
)
from likely.solvers.first_order.averaging import AbstractAverage
from likely.solvers.first_order.rules import AbstractFirstOrder
from likely.solvers.first_order.schedules import AbstractSchedule
from likely.solvers.settings import as_real, as_whole
from likely.typing import Batch

MAX_FULL_BATCH = 4_000_000
"""Rows times parameters up to which all rows are used at once, in float64."""
BATCH_ROWS = 200
PLATEAU_EPOCHS = 10
"""Epochs without a lower loss after which the rate is halved."""
LOOK_STEPS = 20
"""Steps that are made at least between two looks at held-out rows, where members have some
of their own."""
FOLDS, LARGE_FOLDS = 5, 10
"""Parts of the rows, of which each member holds out one: for few rows, for many."""


class Limits(NamedTuple):
    """How a kind of network is trained where its settings leave that open."""

    epochs: int
    """Passes over the rows, at most."""
    steps: int
    """Steps that are allowed at least, where rows are held out to stop by."""
    plain_steps: int
    """Steps that are allowed at least, where none are."""
    ensemble_rows: int
    """Rows up to which there are as many members as folds; one beyond ..."""
    ensemble_entries: int
    """... or where a row has more numbers than this."""
    full_rows: int
    """Rows up to which each step uses all of them."""
    batch_rows: int
    """Rows in a minibatch beyond."""
    rate: float
    alpha: float
    clip_norm: float | None = None
    learning_rate: str = "constant"


TABLES = Limits(
    epochs=200,
    steps=2000,
    plain_steps=200,
    ensemble_rows=20_000,
    ensemble_entries=2000,
    full_rows=512,
    batch_rows=BATCH_ROWS,
    rate=3e-3,
    alpha=1.0,
)
IMAGES = Limits(
    epochs=40,
    steps=1500,
    plain_steps=500,
    ensemble_rows=500,
    ensemble_entries=256,
    full_rows=0,
    batch_rows=64,
    rate=2e-3,
    alpha=1.0,
)
SEQUENCES = Limits(
    epochs=20,
    steps=1500,
    plain_steps=500,
    ensemble_rows=500,
    ensemble_entries=256,
    full_rows=0,
    batch_rows=64,
    rate=5e-3,
    alpha=1.0,
    clip_norm=1.0,
    learning_rate="cosine",
)
ATTENTION = SEQUENCES._replace(rate=2e-3)


class TrainingOptions(NamedTuple):
    """The settings of a training, with what they are where an estimator has none."""

    alpha: Any = 1e-4
    solver: Any = "auto"
    learning_rate_init: Any = 1e-3
    learning_rate: Any = "constant"
    batch_size: Any = "auto"
    max_iter: Any = 200
    tol: Any = 1e-5
    clip_norm: Any = None
    augment: Any = None
    weight_average: Any = None
    early_stopping: Any = False
    validation_fraction: Any = 0.1
    n_iter_no_change: Any = 10
    n_members: Any = 1
    bootstrap: Any = False
    laplace: Any = False
    warm_start: Any = False
    random_state: Any = 0
    verbose: Any = False
    crossed: bool = False
    """Whether each member holds out rows of its own; set by `settled`."""
    folds_count: int = 0
    """Of how many parts of the rows each member then holds out one."""
    players: Any = None
    """How the solver that follows from these settings moves two players, or None."""

    @classmethod
    def of(cls, estimator: Any) -> "TrainingOptions":
        """The settings of an estimator."""
        given = {n: getattr(estimator, n) for n in cls._fields if hasattr(estimator, n)}
        return cls(**given)

    @property
    def cross_fitted(self) -> bool:
        """Whether each member holds out rows of its own: nothing says how long to train."""
        told = (self.bootstrap, self.laplace, self.warm_start)
        own = not _is_text(self.solver) or self.solver == "lbfgs"
        automatic = is_auto(self.early_stopping) and is_auto(self.max_iter)
        return automatic and not own and not any(told)

    def settled(
        self, limits: Limits, n: int, entries: int, *, crossed: bool = False
    ) -> "TrainingOptions":
        """The options with numbers in the place of "auto".

        Args:
            limits: of the kind of network.
            n: present rows.
            entries: numbers in a row.
            crossed: whether each member holds out rows of its own.
        """
        chosen: dict[str, Any]
        chosen = {"alpha": 1e-4, "learning_rate_init": 1e-3, "n_members": 1}
        few = n <= limits.ensemble_rows
        if crossed:
            chosen = {"alpha": limits.alpha, "learning_rate_init": limits.rate}
            several = few and entries <= limits.ensemble_entries
            chosen |= {"n_members": min(n, FOLDS) if several else 1, "solver": "adam"}
            rows = limits.full_rows if n <= limits.full_rows else limits.batch_rows
            chosen["batch_size"] = rows
        chosen["clip_norm"] = limits.clip_norm if crossed else None
        chosen["learning_rate"] = limits.learning_rate if crossed else "constant"
        chosen["early_stopping"] = crossed
        given = {k: v for k, v in chosen.items() if is_auto(getattr(self, k))}
        found = self._replace(**given, crossed=crossed)
        if is_auto(self.max_iter):
            steps = limits.steps if crossed else limits.plain_steps
            epochs = -(-steps // found._epoch_steps(n))
            found = found._replace(max_iter=max(limits.epochs, epochs))
        if not crossed:
            return found
        if n < 2:
            raise InputError(
                f"there is {n} sample, and one is needed to learn from and another to stop "
                "by; give more rows, or early_stopping=False."
            )
        if found.member_count > n:
            raise InputError(
                f"n_members is {found.member_count} and there are {n} rows, of which each "
                "member holds out some; give fewer members, or early_stopping=False."
            )
        parts = max(found.member_count, FOLDS if few else LARGE_FOLDS)
        return found._replace(folds_count=min(n, parts))

    def _epoch_steps(self, n: int) -> int:
        """Steps of one pass over n rows."""
        return Minibatches.of(self.padded_rows(n), self.batch_rows).count

    def folds(self, batch: Batch, *, classes: bool) -> np.ndarray:
        """(n,) the fold of each row; a function of the seed.

        Args:
            batch: rows, all of them present.
            classes: whether y are classes, of which every fold gets the same share.
        """
        rng = np.random.default_rng(np.asarray(jax.random.key_data(self._key)))
        every = np.arange(len(batch.w))
        order = by_class(every, batch.y, rng) if classes else rng.permutation(every)
        return folds_along(order, len(every), self.folds_count)

    def patience(self, n: int) -> Patience:
        """How long to go on, for n rows; looks of short epochs are some epochs apart."""
        looks = np.asarray(self.n_iter_no_change, np.int32)
        every = -(-LOOK_STEPS // self._epoch_steps(n)) if self.crossed else 1
        return Patience(looks, every)

    @property
    def hyper(self) -> dict[str, np.ndarray]:
        """The numeric hyper-parameters, checked."""
        names = ("alpha", "learning_rate_init")
        return {n: np.asarray(at_least(n, getattr(self, n))) for n in names}

    @property
    def member_count(self) -> int:
        """The number of members, checked."""
        return at_least("n_members", self.n_members, 1, whole=True)

    def solver_for(self, size: int, n: int, *, stochastic: bool) -> Any:
        """The solver of a problem.

        Args:
            size: rows times parameters.
            n: rows, padding included.
            stochastic: whether one loss of all rows is not what is minimised: dropout,
                batch norm or validation rows.
        """
        if self._uses_all_rows(size, stochastic or bool(self.early_stopping)):
            return self._lbfgs()
        return eqx.tree_at(  # a run has them; a learner that is kept holds no functions
            lambda s: (s.sampling, s.continuation),
            self.first_order(n),
            (None, None),
            is_leaf=lambda v: v is None,
        )

    def split(self, batch: Batch) -> tuple[Batch, Batch]:
        """Some rows to learn from and the others to stop by; a function of the seed."""
        seed = np.asarray(jax.random.key_data(self._key))
        present = np.flatnonzero(batch.w > 0)
        share = float(self.validation_fraction)
        learn, stop = early_stopping_split(present, share, seed)
        return Batch(*(a[learn] for a in batch)), Batch(*(a[stop] for a in batch))

    @property
    def _key(self) -> Any:
        return key_of(self.random_state)

    @property
    def _needs_minibatches(self) -> bool:
        """Whether something was asked for that only minibatches have."""
        plain = self.learning_rate == "constant" if _is_text(self.learning_rate) else 0
        given = (self.clip_norm, self.weight_average, self.augment)
        given = any(setting is not None for setting in given)
        return given or not plain

    def _uses_all_rows(self, size: int, stochastic: bool) -> bool:
        if isinstance(self.solver, AbstractFirstOrder):
            return False
        if isinstance(self.solver, LBFGS) or self.solver == "lbfgs":
            if stochastic or self._needs_minibatches:
                raise InputError(
                    "L-BFGS uses all rows at once and one loss: it has no dropout, no "
                    "batch norm, no validation rows, no schedule, clipping, averaging or "
                    'augmentation; give solver="adam".'
                )
            return True
        if self.solver not in ("auto", "adam"):
            raise InputError(
                f'solver is {self.solver!r}; give "auto", "lbfgs", "adam", or one of '
                "`likely.solvers`."
            )
        return (
            self.solver == "auto"
            and size <= MAX_FULL_BATCH
            and not stochastic
            and not self._needs_minibatches
        )

    def _lbfgs(self) -> LBFGS:
        """On all rows."""
        if isinstance(self.solver, LBFGS):
            return self.solver
        return LBFGS(self.max_iter, self.tol)

    def first_order(self, n: int) -> AbstractFirstOrder:
        """On minibatches of n rows, as many as there are with padding."""
        if isinstance(self.solver, AbstractFirstOrder):
            _check_sampling(self.solver)
            return self._augmented(self.solver)
        rows = self.batch_rows
        per_epoch = Minibatches.of(n, rows).count
        steps = np.asarray(np.int32(int(self.max_iter) * per_epoch))
        adam = Adam(
            self._rate(steps, per_epoch),
            steps=steps,
            batch_size=rows,
            clip=() if self.clip_norm is None else (ClipByNorm(self.clip_norm),),
            average=self._average(per_epoch),
        )
        return self._augmented(adam)

    def padded_rows(self, n: int) -> int:
        """To how many rows n are padded: whole minibatches, of few different numbers."""
        own = isinstance(self.solver, AbstractFirstOrder)
        rows = self.solver.batch_size if own else self.batch_rows
        if rows is None:
            return size_class(n)
        if n <= rows:
            return min(size_class(n), rows)
        count = -(-n // rows)
        step = max(1, (1 << count.bit_length() - 1) // 16)
        return rows * step * -(-count // step)

    def _augmented(self, solver: AbstractFirstOrder) -> AbstractFirstOrder:
        """The solver that disturbs each batch, or moves two players, where that is asked."""
        if self.players is not None:
            return self.players(solver)
        if self.augment is None:
            return solver
        return eqx.tree_at(
            lambda s: s.noise, solver, self.augment, is_leaf=lambda v: v is None
        )

    @property
    def rated(self) -> bool:
        """Whether `learning_rate_init` is what the rate is made of."""
        own = isinstance(self.solver, AbstractFirstOrder)
        return not own and not isinstance(self.learning_rate, AbstractSchedule)

    @property
    def batch_rows(self) -> int:
        """Rows in a minibatch."""
        if is_auto(self.batch_size):
            return BATCH_ROWS
        return int(self.batch_size)

    def _rate(self, steps: np.ndarray, per_epoch: int) -> AbstractSchedule:
        """A schedule; its height comes from the hyper-parameters."""
        if isinstance(self.learning_rate, AbstractSchedule):
            return self.learning_rate
        base = np.asarray(1e-3)
        schedules = {
            "constant": lambda: Constant(base),
            "cosine": lambda: Cosine(base, steps.astype(np.float64)),
            "plateau": lambda: ReduceOnPlateau(
                Constant(base),
                as_real(0.5),
                as_whole(PLATEAU_EPOCHS),
                every=as_whole(per_epoch),
            ),
        }
        if self.learning_rate not in schedules:
            raise InputError(
                f"learning_rate is {self.learning_rate!r}; give one of "
                f"{', '.join(schedules)}, or a schedule of `likely.solvers`."
            )
        return schedules[self.learning_rate]()

    def _average(self, per_epoch: int) -> AbstractAverage | None:
        given = self.weight_average
        if given is None or isinstance(given, AbstractAverage):
            return given
        if _is_text(given) and given == "uniform":
            half = int(self.max_iter) * per_epoch // 2
            return UniformAverage(as_whole(half))
        if _is_text(given) or not 0 < float(given) < 1:
            raise InputError(
                f"weight_average is {given!r}; give a decay between 0 and 1, "
                '"uniform", or None.'
            )
        return ExponentialAverage(as_real(float(given)))


def _check_sampling(solver: AbstractFirstOrder) -> None:
    """Refuse difficulties by number: rows are padded, held out and drawn again."""
    if solver.sampling is not None and not solver.sampling.by_rows:
        raise InputError(
            "an estimator rearranges its rows, so that their difficulty cannot be a list; give "
            "sampling a function of a batch (of inputs and targets as the network gets them)."
        )


def is_auto(value: Any) -> bool:
    """Whether a setting is left open."""
    return _is_text(value) and value == "auto"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
