"""A table with folds: the losses of fits to parts of its training rows."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from likely.base.rows import fill_absent_targets, weights_of
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.diagnostics.generalization.learning.measures import SizeLosses
from likely.diagnostics.generalization.learning.subsets import random_order
from likely.diagnostics.generalization.refits.loop import Options
from likely.diagnostics.generalization.refits.question import Question
from likely.diagnostics.generalization.refits.refit import refit
from likely.diagnostics.generalization.refits.training_sets import weighted_sets
from likely.diagnostics.generalization.risk.losses import (
    loss_name,
    losses_from,
    what_loss_needs,
)
from likely.evaluate.cross_validation import Splits, check_folds, cv_splits


class FoldedTable(NamedTuple):
    """Rows with folds, and how losses on them are measured."""

    X: Any
    y: np.ndarray
    w: np.ndarray
    classes: np.ndarray | None
    groups: np.ndarray | None
    splits: Splits
    loss: str
    seed: int
    options: Options

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, **settings: Any) -> "FoldedTable":
        """Checked rows with their folds.

        Args:
            estimator: what will be fitted, which says whether y is a class.
            X: (n, d) inputs.
            y: (n,) targets.
            settings: `cv`, `loss`, `sample_weight`, `groups`, `random_state`, `options`.
        """
        loss = loss_name(settings["loss"], estimator)
        w = weights_of(settings["sample_weight"], len(np.asarray(y)))
        targets = np.asarray(fill_absent_targets(y, w))
        if targets.ndim > 1:
            raise InputError("y has several columns; draw the curve of one at a time.")
        is_class, groups = bool(is_classifier(estimator)), settings["groups"]
        splits = cv_splits(
            settings["cv"], targets, X, classes=is_class, groups=groups, w=w
        )
        check_folds(splits, w)
        return cls(
            X,
            targets,
            w,
            np.unique(targets[w > 0]) if is_class else None,
            None if groups is None else np.asarray(groups),
            splits,
            loss,
            seed_of(settings["random_state"]) % 2**31,
            settings["options"],
        )

    @property
    def present(self) -> int:
        """The number of rows that have weight."""
        return int((self.w > 0).sum())

    @property
    def most(self) -> int:
        """The training rows of the smallest fold."""
        return min(len(rows) for rows in self.training_rows())

    def training_rows(self) -> list[np.ndarray]:
        """The present training rows of each fold."""
        return [train[self.w[train] > 0] for train, _ in self.splits]

    def orders(self, repeats: int, rng: np.random.Generator) -> list[list[np.ndarray]]:
        """For each fold, its training rows in some random orders."""
        of = {"classes": self.classes is not None, "groups": self.groups}
        return [
            [random_order(rows, self.y, rng, **of) for _ in range(repeats)]
            for rows in self.training_rows()
        ]

    def losses(self, estimator: Any, orders: list, size: int) -> SizeLosses:
        """The losses of fits to the first rows of each order.

        Args:
            estimator: what is fitted.
            orders: for each fold, its training rows in some orders.
            size: the number of rows.
        """
        k, r, n = len(orders), len(orders[0]), len(self.y)
        weights, asked = np.zeros((k, r, n)), np.zeros((k, r, n), bool)
        for j, (_, held_out) in enumerate(self.splits):
            asked[j][:, held_out] = self.w[held_out] > 0
            for i, order in enumerate(orders[j]):
                weights[j, i, order[:size]] = self.w[order[:size]]
        sets = weighted_sets(self.X, self.y, weights.reshape(k * r, n))
        asked = asked.reshape(k * r, n)
        want = what_loss_needs(self.loss)
        question = Question(want, asked=asked, classes=self.classes)
        fits = refit(estimator, sets, question, seed=self.seed, options=self.options)
        new = losses_from(self.loss, fits.points, self.y, self.classes)
        own = losses_from(self.loss, fits.own, self.y[sets.rows], self.classes)
        train = np.full((k * r, n), np.nan)
        for row, rows, w, values in zip(train, sets.rows, sets.w, own, strict=True):
            row[rows[w > 0]] = values[w > 0]
        held_out = np.where(asked, new, np.nan)
        return SizeLosses(held_out.reshape(k, r, n), train.reshape(k, r, n))
