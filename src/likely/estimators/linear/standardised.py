r"""Fits in coordinates where columns have moderate means, sizes and correlations.

A time stamp in milliseconds is $10^{12}$ give or take little: sums of its squares lose all
digits of what varies. A model with an intercept does not care where a column begins,
$xw + b = (x - c)w + (b + cw)$, so columns far from zero are fitted as x − c. The
subtraction does not round where c is close to x. Families that have no exact solution are
fitted to $z = (x - c)T$, with T the sizes of the columns, or, where columns are strongly
correlated as well (powers of a year), the triangular matrix that makes them orthogonal.

c and T come from some rows: any that are about right will do, for the result does not
depend on them. Where the columns are moderate already nothing is changed. Where there are more
columns than rows, T has orthonormal columns that span the rows (`row_space`).
"""

import warnings
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from scipy.linalg import solve_triangular
from scipy.sparse import issparse

from likely.base.learning import JudgedLearner, learn
from likely.core.random import key_of
from likely.core.threads import threads_for
from likely.estimators.linear.coefficients import linear_of
from likely.estimators.linear.fitting.row_space import row_space
from likely.typing import Batch, Key

SAMPLE_ROWS = 4096
"""Rows that means, sizes and correlations are taken from."""
MAX_DISTANCE = 100.0
"""Standard deviations from zero up to which a mean costs no digits that matter."""
MAX_SIZE = 1e3
"""The size of a column that is moderate; the least one is its inverse."""
MIN_EIGENVALUE = 1e-6
"""The least eigenvalue of a correlation matrix whose inverse keeps ten digits."""
MIN_LENGTH = 1e-12
"""The share of a column that others do not explain, below which it is dependent."""
MAX_COLUMNS = 1000
"""Columns up to which correlations are looked at."""
MIN_STEPS = 1000
"""Steps of double precision in a standard deviation that a column should have."""


class PrecisionWarning(UserWarning):
    """A column varies so little beside its mean that doubles hold few of its digits."""


class Standardisation(eqx.Module):
    """The coordinates z = (x − c)T.

    Args:
        centre: c, or None where there is no intercept to take it up.
        transform: T, or its diagonal, or None for the columns as they are.
    """

    centre: Float[Array | np.ndarray, " d"] | None
    transform: Float[Array | np.ndarray, " d *"] | None = None

    def columns(self, X: Any) -> Any:
        """(x − c)T of each row."""
        c, T = self.centre, self.transform
        lead = (1,) * (X.ndim - 1)
        X = X if c is None else X - c.reshape(*lead, -1)
        if T is None:
            return X
        return X * T.reshape(*lead, -1) if T.ndim == 1 else X @ T

    def weights(self, W: Any) -> Any:
        """The weights of the columns as they are, TW, from those of z."""
        T = self.transform
        if T is None:
            return W
        return T.reshape(*(1,) * (W.ndim - 2), -1, 1) * W if T.ndim == 1 else T @ W

    def widened(self, extra: int) -> "Standardisation":
        """The coordinates for rows with this many columns of zeros at the end."""
        c, T = self.centre, self.transform
        c = None if c is None else np.pad(c, (0, extra))
        return Standardisation(c, None if T is None else np.pad(T, (0, extra)))


class StandardisedLearner(eqx.Module):
    """Another learner in other coordinates: the same φ up to rounding.

    Args:
        learner: of a linear model.
        standardisation: the coordinates.
        raw_penalty: whether a penalty is about the weights of the columns as they are,
            or about those of z.
        orthonormal: whether T has orthonormal columns that span all rows, so that a
            penalty is the same about either.
    """

    learner: Any
    standardisation: Standardisation
    raw_penalty: bool = eqx.field(static=True, default=True)
    orthonormal: bool = eqx.field(static=True, default=False)

    @property
    def family(self) -> Any:
        """The family of p(y | x)."""
        return self.learner.family

    @property
    def leaves_out(self) -> bool:
        """Whether the learner has a shorter way to leave parts out."""
        return getattr(self.learner, "leaves_out", False)

    def learn(self, key: Key, hyper: dict, batch: Batch) -> PyTree:
        """φ for the columns as they are."""
        phi = self.learner.learn(key, self._hyper(hyper), self._rows(batch))
        return self._restored(phi)

    def on_host(self, hyper: dict, batch: Batch) -> PyTree | None:
        """φ by the program that other fits use, with columns changed before it runs.

        None where a penalty has to know the coordinates.
        """
        if np.any(hyper.get("alpha", 0.0)) and self._hyper(hyper) is not hyper:
            return None
        garbage = np.errstate(invalid="ignore", over="ignore")  # in absent rows
        with garbage, threads_for(len(batch.w)):
            rows = self._rows(batch)
        return self._restored(learn(self.learner, key_of(0), hyper, rows))

    def for_many(self, fits: int, X: Any) -> "StandardisedLearner":
        """The learner with a solver for many fits at once, in the same coordinates."""
        inner = self.learner
        inner = inner.for_many(fits, X) if hasattr(inner, "for_many") else inner
        return self.around(inner)

    def leave_out(self, hypers: dict, parts: Batch) -> tuple[PyTree, Any]:
        """φ without each part, and the held-out nats."""
        phi, nats = self.learner.leave_out(hypers, self._rows(parts))
        return self._restored(phi), nats

    def leave_out_on_host(
        self, hypers: dict, batch: Batch, train: Float[np.ndarray, "j n"]
    ) -> PyTree | None:
        """φ of every setting on every fold in NumPy, or None."""
        phi = self.learner.leave_out_on_host(hypers, self._rows(batch), train)
        return None if phi is None else self._restored(phi)

    def losses(self, phi: PyTree, batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return self.learner.losses(phi, batch)

    def held_out_losses(
        self, phi: PyTree, hyper: dict, known: Batch, rows: Batch
    ) -> Float[Array, " n"]:
        """−log p of rows, φ fitted to the known ones."""
        if not isinstance(self.learner, JudgedLearner):
            return self.losses(phi, rows)
        if self.orthonormal:  # fewer columns say the same
            phi, known, rows = self._along(phi), self._rows(known), self._rows(rows)
        return self.learner.held_out_losses(phi, hyper, known, rows)

    def eta(self, phi: PyTree, X: Any) -> Float[Array, "n k"]:
        """η of each row."""
        return self.learner.eta(phi, X)

    def widened(self, extra: int) -> "StandardisedLearner":
        """The learner for rows with this many columns of zeros at the end."""
        return self._with(self.learner, self.standardisation.widened(extra))

    def around(self, learner: Any) -> "StandardisedLearner":
        """Another learner in the same coordinates."""
        return self._with(learner, self.standardisation)

    def _with(
        self, learner: Any, coordinates: Standardisation
    ) -> "StandardisedLearner":
        return StandardisedLearner(
            learner, coordinates, self.raw_penalty, self.orthonormal
        )

    def _hyper(self, hyper: dict) -> dict:
        """The hyper-parameters, with T for penalties on the columns as they are."""
        T = self.standardisation.transform
        if T is None or self.orthonormal or not self.raw_penalty:
            return hyper
        return {**hyper, "coordinates": self.standardisation}

    def _rows(self, batch: Batch) -> Batch:
        if isinstance(batch.x, tuple):
            X, *known = batch.x
            return batch._replace(x=(self.standardisation.columns(X), *known))
        return batch._replace(x=self.standardisation.columns(batch.x))

    def _along(self, phi: PyTree) -> PyTree:
        """φ of orthonormal z, from that of the columns as they are."""
        T: Any = self.standardisation.transform
        phi = eqx.tree_at(
            lambda p: linear_of(p).weight, phi, T.T @ linear_of(phi).weight
        )
        return eqx.tree_at(
            lambda p: linear_of(p).centre, phi, None, is_leaf=lambda a: a is None
        )

    def _restored(self, phi: PyTree) -> PyTree:
        """φ of the columns as they are."""
        weight = self.standardisation.weights(linear_of(phi).weight)
        phi = eqx.tree_at(lambda p: linear_of(p).weight, phi, weight)
        if getattr(phi, "second", None) is not None:  # moments in other coordinates
            phi = eqx.tree_at(lambda p: (p.second, p.means), phi, (None, None))
        if self.standardisation.centre is None:
            return phi
        centre = jnp.broadcast_to(self.standardisation.centre, weight.shape[:-1])
        return eqx.tree_at(
            lambda p: linear_of(p).centre, phi, centre, is_leaf=lambda a: a is None
        )


def plain_learner(learner: Any) -> Any:
    """The learner itself, in whatever coordinates it was used."""
    return learner.learner if isinstance(learner, StandardisedLearner) else learner


def standardised(
    learner: Any, x: Any, w: Float[np.ndarray, " n"], names: Any = None, **options: Any
) -> Any:
    """The learner in coordinates that suit the rows; itself where they need no change.

    Args:
        learner: of a linear model.
        x: the columns, or these and offsets.
        w: weights.
        names: of the columns, for a warning; without them there is none.
        options: of `StandardisedLearner`.
    """
    X = x[0] if isinstance(x, tuple) else x
    if issparse(X):
        return learner
    if getattr(learner, "rotates", False):
        space = row_space(X, w, intercept=learner.intercept)
        if space is not None:
            return StandardisedLearner(
                learner, Standardisation(*space), orthonormal=True
            )
    found = standardisation(
        X,
        w,
        intercept=learner.intercept,
        transforms=learner.any_coordinates,
        names=names,
    )
    return learner if found is None else StandardisedLearner(learner, found, **options)


def standardisation(
    X: Float[np.ndarray, "n d"],
    w: Float[np.ndarray, " n"],
    *,
    intercept: bool,
    transforms: bool,
    thorough: bool = False,
    names: Any = None,
) -> Standardisation | None:
    """Coordinates that suit the rows, or None where those of the columns do.

    Args:
        X: the columns.
        w: weights.
        intercept: whether the model has one, so that columns may be shifted.
        transforms: whether columns may be scaled and combined too.
        thorough: whether to look at correlations also where means and sizes are moderate.
        names: of the columns, for a warning; without them there is none.
    """
    mean, spread = sampled_moments(X, w)
    varies = ~is_rounding(mean, spread)
    if intercept and names is not None:
        _warn_imprecise(mean, spread, varies, names)
    far = varies & (np.abs(mean) > MAX_DISTANCE * spread) & intercept
    centre = np.where(far, mean, 0.0) if intercept else None
    size = np.where(varies & intercept, spread, np.hypot(mean, spread))
    size = np.where(size > 0, size, 1.0)
    scaled = transforms and bool(((size > MAX_SIZE) | (size < 1 / MAX_SIZE)).any())
    if not (scaled or far.any() or (transforms and thorough)):
        return None
    shifted = Standardisation(centre) if far.any() else None
    if not transforms:
        return shifted
    size = 2.0 ** np.clip(np.round(np.log2(size)), -1000, 1000)
    middle = np.where(varies, mean, 0.0) if intercept else None
    T = _orthogonal(X, w, middle, size) if varies.all() else None
    if T is not None:
        return Standardisation(middle, T)
    return Standardisation(centre, 1 / size) if scaled else shifted


def sampled_moments(
    X: Float[np.ndarray, "n d"], w: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Means and standard deviations, about, from some of the present rows.

    Columns that do not vary among these are looked at in full.
    """
    rows = _sample(w)
    mean, spread = present_moments(X[rows], w[rows])
    still = np.flatnonzero(is_rounding(mean, spread))
    if len(still) and len(rows) == SAMPLE_ROWS:
        here = w > 0
        mean[still], spread[still] = present_moments(X[:, still][here], w[here])
    return mean, spread


def is_rounding(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Whether a column is constant up to the rounding of its values."""
    return spread <= 2 * np.spacing(np.abs(mean))


def _sample(w: np.ndarray) -> np.ndarray:
    """Indices of present rows, evenly spaced."""
    rows = np.flatnonzero(w > 0)
    if len(rows) <= SAMPLE_ROWS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, SAMPLE_ROWS).astype(int)]


def present_moments(X: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and standard deviations of present rows, without overflow."""
    share = w / w.sum()
    unit = np.abs(X).max(0, initial=0.0)
    unit = np.where(unit > 0, unit, 1.0)
    Z = X / unit
    first = Z[0]
    mean = first + share @ (Z - first)
    return unit * mean, unit * np.sqrt(share @ (Z - mean) ** 2)


def _orthogonal(X, w, centre, size) -> np.ndarray | None:
    """T that makes the columns orthogonal, where they are correlated but independent."""
    rows, d = _sample(w), X.shape[1]
    if not d < len(rows) or d > MAX_COLUMNS:
        return None
    Z = X[rows] if centre is None else X[rows] - centre
    Z = np.sqrt(w[rows] / w[rows].sum())[:, None] * Z / size
    values = np.linalg.eigvalsh(Z.T @ Z)
    if values[0] > MIN_EIGENVALUE * values[-1]:
        return None
    R = np.linalg.qr(Z, mode="r")
    own = np.abs(np.diagonal(R))
    if not (own > MIN_LENGTH * np.linalg.norm(R, axis=0)).all():
        return None
    return solve_triangular(R, np.eye(d)) / size[:, None]


def _warn_imprecise(mean, spread, varies, names) -> None:
    """Warn of columns of which doubles hold few digits."""
    few = spread < MIN_STEPS * np.spacing(np.abs(mean))
    for j in np.flatnonzero(varies & few):
        warnings.warn(
            f"column {names[j]!r} varies by {spread[j]:.2g} around {mean[j]:.6g}, where "
            f"double precision has steps of {np.spacing(abs(mean[j])):.2g}: its "
            "coefficient has few digits. Subtract a constant before the values are "
            "rounded to doubles.",
            PrecisionWarning,
            stacklevel=7,
        )
