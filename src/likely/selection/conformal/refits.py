"""Models that are each fitted without some of the rows: one program, or one after another.

Linear models and networks have a pure core, so that leaving out every row in turn is one
program over weights. All others, and rows that count more than once, are fitted in a loop.
"""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, PyTree
from sklearn.utils import _safe_indexing

from likely.base.learning import held_out_etas
from likely.base.predictor import Predictor
from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.rows import pad_rows
from likely.evaluate.cross_validation import Splits
from likely.families import Predictive, StudentT
from likely.selection.members import fitted
from likely.selection.programs import fit_settings
from likely.selection.refits import TableRows

CHUNK_BYTES = 2**27
"""Memory for the rows of the fits that are made at once, and for η of all models."""


class ProgramRefits(eqx.Module):
    """The parameters of k models that are one program.

    Attributes:
        phi: of all models, leading axis k.
        single: whether they were fitted in float32.
    """

    phi: PyTree
    single: bool = eqx.field(static=True)

    def means(self, model: Any, X: Any) -> Float[np.ndarray, "k m"]:
        """The prediction of every model for every row.

        Args:
            model: the estimator, fitted to all rows.
            X: (m, d) inputs.
        """
        x = model._design(X) if hasattr(model, "_design") else model._inputs(X)
        x = x[0] if isinstance(x, tuple) else x  # models of counts: no offset
        k = len(jax.tree.leaves(eqx.filter(self.phi, eqx.is_array))[0])
        size = max(1, CHUNK_BYTES // (8 * k * model.learner_.family.n_eta))
        parts = [
            self._means_of(model, x[start : start + size])
            for start in range(0, len(x), size)
        ]
        return np.concatenate(parts, axis=1)

    def _means_of(self, model: Any, x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(not self.single):
            found = _etas(model.learner_, self.phi, pad_rows(x))
            etas = np.asarray(found, np.float64)[:, : len(x)]
        flat = etas.reshape(-1, etas.shape[-1])
        return Predictive(model.learner_.family, flat).mean.reshape(etas.shape[:2])


class LoopRefits(eqx.Module):
    """k fitted models.

    Attributes:
        models: the models.
    """

    models: list

    def means(self, model: Any, X: Any) -> Float[np.ndarray, "k m"]:
        """The prediction of every model for every row."""
        return np.stack([np.asarray(m.predict(X), np.float64) for m in self.models])


def refit_without(
    estimator: Any, rows: TableRows, splits: Splits
) -> tuple[ProgramRefits | LoopRefits, Float[np.ndarray, " n"]]:
    """Models fitted to the training rows of each fold, and what they predict for the rest.

    Args:
        estimator: a regressor; it is not changed.
        rows: rows that all have weight.
        splits: training rows and held-out rows; every row is held out once.
    """
    found = _as_program(estimator, rows, splits)
    return _one_by_one(estimator, rows, splits) if found is None else found


def leave_one_out(
    estimator: Any, rows: TableRows
) -> tuple[ProgramRefits | LoopRefits, Float[np.ndarray, " n"]]:
    """Models fitted without each row in turn, and what they predict for it.

    Of a row that counts w times one copy is left out, so that it counts w − 1 times.
    """
    every = np.arange(len(rows.y))
    if (rows.w == 1).all():
        splits = [(np.delete(every, i), every[i : i + 1]) for i in every]
        return refit_without(estimator, rows, splits)
    models, means = [], np.empty(len(every))
    for i in every:
        w = rows.w.copy()
        w[i] = max(w[i] - 1, 0.0)
        known = TableRows(rows.X, rows.y, w).part(every)
        models.append(fitted(estimator, known.X, known.y, known.w))
        means[i] = np.ravel(models[-1].predict(_safe_indexing(rows.X, [i])))[0]
    return LoopRefits(models), means


def _one_by_one(estimator: Any, rows: TableRows, splits: Splits):
    models, means = [], np.empty(len(rows.y))
    for train, out in splits:
        known, new = rows.part(train), rows.part(out)
        w = None if (rows.w == 1).all() else known.w
        models.append(fitted(estimator, known.X, known.y, w))
        means[out] = np.ravel(models[-1].predict(new.X))
    return LoopRefits(models), means


def _as_program(estimator: Any, rows: TableRows, splits: Splits):
    """The same by one program for as many folds as memory allows; None where there is none."""
    if not hasattr(estimator, "_problem") or not _predicts_means(estimator):
        return None
    n, d = np.shape(rows.X)
    at_once = min(len(splits), max(1, CHUNK_BYTES // (8 * n * (d + 2))))
    weight = None if (rows.w == 1).all() else rows.w
    parts, means, single = [], np.empty(n), False
    for start in range(0, len(splits), at_once):
        chunk = list(splits[start : start + at_once])
        more = at_once - len(chunk)  # the same shape again compiles nothing
        try:
            same = chunk + chunk[:1] * more
            fits = fit_settings(estimator, (rows.X, rows.y, weight), [{}], same)
        except InputError:  # a fit takes these rows, or says itself what is wrong
            return None
        if fits is None or not _is_plain(fits.problem):
            return None
        etas, held = held_out_etas(fits.problem, fits.phi, fits.held_out)
        family, single = fits.problem.learner.family, fits.problem.train is not None
        flat = np.asarray(etas[0], np.float64).reshape(-1, etas.shape[-1])
        predicted = Predictive(family, flat).mean.reshape(held.w.shape)
        for (_, out), own in zip(chunk, predicted, strict=False):
            means[np.sort(out)] = own[: len(out)]
        parts.append(_folds_of(fits.phi, len(chunk)))
    joined = jax.tree.map(
        lambda *a: np.concatenate(a) if eqx.is_array(a[0]) else a[0], *parts
    )
    return ProgramRefits(joined, single), means


def _predicts_means(estimator: Any) -> bool:
    """Whether it predicts the mean of its family; some predict a quantile."""
    from likely.estimators.networks.predictor import NetworkPredictor

    known = Predictor._mean, NetworkPredictor._mean
    return getattr(type(estimator), "_mean", None) in known


def _is_plain(problem: Any) -> bool:
    """Whether nothing but φ is learned from the rows, and y is one number."""
    family = problem.learner.family
    heavy = isinstance(family, StudentT)  # which may have no mean
    return problem.relearn is None and not (family.multivariate or heavy)


def _folds_of(phi: PyTree, k: int) -> PyTree:
    """φ of the only setting on the first k folds."""
    return jax.tree.map(lambda a: np.asarray(a)[0, :k] if eqx.is_array(a) else a, phi)


@lean_jit
def _etas(learner: Any, phi: PyTree, X: Any):
    arrays, static = eqx.partition(phi, eqx.is_array)
    return jax.vmap(lambda own: learner.eta(eqx.combine(own, static), X))(arrays)
