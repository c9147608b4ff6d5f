"""The options of a training, and the solver that follows from them."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.core.random import key_of
from likely.core.rows import size_class
from likely.evaluate.assignment import early_stopping_split
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

    @classmethod
    def of(cls, estimator: Any) -> "TrainingOptions":
        """The settings of an estimator."""
        given = {n: getattr(estimator, n) for n in cls._fields if hasattr(estimator, n)}
        return cls(**given)

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
                batch norm, validation rows, callbacks or checkpoints.
        """
        if self._uses_all_rows(size, stochastic or bool(self.early_stopping)):
            return self._lbfgs()
        return self.first_order(n)

    def split(self, batch: Batch) -> tuple[Batch, Batch]:
        """Some rows to learn from and the others to stop by; a function of the seed."""
        seed = np.asarray(jax.random.key_data(key_of(self.random_state)))
        present = np.flatnonzero(batch.w > 0)
        share = float(self.validation_fraction)
        learn, stop = early_stopping_split(present, share, seed)
        return Batch(*(a[learn] for a in batch)), Batch(*(a[stop] for a in batch))

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
                    "batch norm, no validation rows, no callbacks or checkpoints, no "
                    'schedule, clipping, averaging or augmentation; give solver="adam".'
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
        """The solver that disturbs each batch as the augmentation says."""
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
        if _is_text(self.batch_size) and self.batch_size == "auto":
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


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
