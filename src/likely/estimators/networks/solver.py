"""The solver of a network, from settings that are plain values."""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from likely.core.checks import InputError
from likely.core.rows import size_class
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

SMALL = 4_000_000
"""Rows times parameters up to which all rows are used at once, in float64."""
BATCH_ROWS = 200
PLATEAU = 10
"""Epochs without a lower loss after which the rate is halved."""


class Settings(NamedTuple):
    """What decides the solver; the names are those of the estimators."""

    solver: Any
    learning_rate: Any
    batch_size: Any
    max_iter: Any
    tol: Any
    clip_norm: Any
    weight_average: Any
    augment: Any = None

    @property
    def by_steps(self) -> bool:
        """Whether something was asked for that only minibatches have."""
        plain = self.learning_rate == "constant" if _is_text(self.learning_rate) else 0
        given = (self.clip_norm, self.weight_average, self.augment)
        given = any(setting is not None for setting in given)
        return given or not plain

    def full(self, size: int, noisy: bool) -> bool:
        """Whether to use all rows at once; `size` is rows times parameters."""
        if isinstance(self.solver, AbstractFirstOrder):
            return False
        if isinstance(self.solver, LBFGS) or self.solver == "lbfgs":
            if noisy or self.by_steps:
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
            self.solver == "auto" and size <= SMALL and not noisy and not self.by_steps
        )

    def lbfgs(self) -> LBFGS:
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
            clip=() if self.clip_norm is None else ClipByNorm(self.clip_norm),
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
                as_whole(PLATEAU),
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
