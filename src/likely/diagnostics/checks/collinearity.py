r"""LK202: columns that others nearly determine, by their variance inflation factors.

The variance of a coefficient is VIF = 1 / (1 - R²) times what it would be if its column
were uncorrelated with the others, where R² says how well they predict it. For a category
with k indicator columns it is the generalised factor of Fox and Monette (1992), with the
correlation matrix R and its part R_b of these columns,

    VIF = (det R_b · det (R⁻¹)_b) ^ (1/k).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from likely.core.written_numbers import listed, number
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject

MIN_VIF = 10.0
"""The smallest factor that is worth a word."""
MIN_EIGENVALUE = 1e-9
"""Smaller ones of the correlations are zero: columns determine another exactly."""
MAX_COLUMNS = 500
MAX_PARTNERS, MAX_TOLD = 3, 5
EVERYTHING = "the other columns"
MAX_EXPLAINED, MAX_TRIED = 20, 30
"""For how many columns partners are sought, and among how many others."""


SPARED = "The predictions do not suffer, but read such coefficients together."


@runtime_checkable
class DesignColumn(Protocol):
    """A column of a design; several may stand for one column of a table."""

    @property
    def column(self) -> str:
        """The column of the table."""
        ...

    @property
    def values(self) -> Any:
        """(n,) numbers."""
        ...


class Inflation(NamedTuple):
    """How much the variance of a column's coefficients is inflated by other columns."""

    column: str
    vif: float
    """Infinite where others determine the column."""
    partners: tuple[str, ...] = ()
    """The columns that it repeats, the nearest first; none where the factor is small, or
    where it takes more than three."""

    @property
    def sentence(self) -> str:
        """What it means."""
        others = listed([repr(name) for name in self.partners]) or EVERYTHING
        if not np.isfinite(self.vif):
            verb = "determines" if len(self.partners) == 1 else "determine"
            return f"{others} {verb} {self.column!r}; leave one of them out."
        is_one = len(self.partners) == 1
        verb = "nearly repeats" if is_one else "is nearly a combination of"
        vif, error = number(self.vif), number(self.vif**0.5)
        return (
            f"{self.column!r} {verb} {others} (VIF {vif}): the standard error of its "
            f"coefficient is {error} times as large as it would be otherwise."
        )


def inflation(
    columns: Sequence[DesignColumn], w: Float[np.ndarray, " n"]
) -> tuple[Inflation, ...]:
    """The variance inflation factor of each column of a table, the largest first.

    Args:
        columns: of a design.
        w: how often each row counts.

    Returns:
        Nothing where there are too many columns for the rows.
    """
    rows = w > 0
    if not columns or not 2 <= len(columns) <= min(MAX_COLUMNS, rows.sum() // 2):
        return ()
    A = np.stack([column.values[rows] for column in columns], axis=1)
    R, varies = _correlations(A, w[rows])
    names = [c.column for c, v in zip(columns, varies, strict=True) if v]
    blocks = {name: np.flatnonzero(np.array(names) == name) for name in names}
    if len(blocks) < 2:
        return ()
    values, Q = np.linalg.eigh(R)
    none = values < MIN_EIGENVALUE
    inverse = (Q[:, ~none] / values[~none]) @ Q[:, ~none].T
    determined = (Q[:, none] ** 2).sum(1) > MIN_EIGENVALUE
    found = []
    for name, b in blocks.items():
        vif = np.inf
        if not determined[b].any():
            parts = R[np.ix_(b, b)], inverse[np.ix_(b, b)]
            log = sum(np.linalg.slogdet(part)[1] for part in parts) / len(b)
            vif = max(float(np.exp(log)), 1.0)
        found.append(Inflation(name, vif))
    found = sorted(found, key=lambda one: -one.vif)
    for i, one in enumerate(found[:MAX_EXPLAINED]):
        if one.vif >= MIN_VIF:
            partners = _partners(R, blocks, one.column, 1 / one.vif)
            found[i] = one._replace(partners=partners)
    return tuple(found)


def repeated(found: tuple[Inflation, ...]) -> tuple[Inflation, ...]:
    """Those that are worth a word, one of each group of columns that repeat each other."""
    told: set[str] = set()
    kept = []
    for one in (one for one in found if one.vif >= MIN_VIF):
        group = {one.column, *(one.partners or (EVERYTHING,))}
        if not group & told:
            kept.append(one)
            told |= group
    return tuple(kept[:MAX_TOLD])


class _Column(NamedTuple):
    column: str
    values: np.ndarray


def collinear(subject: Subject) -> Finding | None:
    """Whether coefficients that are to be read depend on columns that repeat each other."""
    fit = subject.linear
    if fit is None or fit.penalised:
        raise DoesNotApply("it has no coefficients without a penalty")
    names, A = fit.names[fit.first :], fit.A[:, fit.first :]
    columns = [_Column(name, A[:, j]) for j, name in enumerate(names)]
    if hasattr(subject.last, "basis_") or len(columns) != len(subject.columns):
        columns = [
            _Column(c.name, np.where(c.missing, np.nanmean(c.values), c.values))
            for c in subject.columns
            if c.levels is None and not c.missing.all()
        ]
        if len(columns) < 2:
            raise DoesNotApply("fewer than two columns are numbers")
    found = repeated(inflation(columns, subject.known.w[: len(A)]))
    if not found:
        return None
    worst = found[0]
    vif = worst.vif if np.isfinite(worst.vif) else None
    more = f" So it is with {len(found) - 1} more." if len(found) > 1 else ""
    text = f"{worst.sentence[0].upper()}{worst.sentence[1:]}{more}"
    return Finding(
        "collinearity", "note", text, SPARED, worst.column, numbers={"vif": vif}
    )


def _correlations(A: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The correlations of the columns that vary, and which these are."""
    A = A / np.maximum(np.abs(A).max(0), 1e-300)  # squares of huge numbers are infinite
    centred = A - (w @ A) / w.sum()
    scale = np.sqrt(w @ centred**2)
    varies = scale > 1e-9 * np.sqrt(w.sum())
    Z = centred[:, varies] / scale[varies] * np.sqrt(w)[:, None]
    return Z.T @ Z, varies


def _partners(
    R: np.ndarray, blocks: dict[str, np.ndarray], name: str, unexplained: float
) -> tuple[str, ...]:
    """A few columns, found one by one, that predict most of what all others predict."""
    b = blocks[name]
    near = {k: -np.abs(R[np.ix_(v, b)]).max() for k, v in blocks.items() if k != name}
    others = sorted(near, key=lambda other: near[other])[:MAX_TRIED]
    chosen: list[str] = []
    while len(chosen) < min(MAX_PARTNERS, len(others)):
        left = [other for other in others if other not in chosen]

        def share(other: str) -> float:
            return _share(R, b, np.concatenate([blocks[o] for o in (*chosen, other)]))

        chosen.append(max(left, key=share))
        predicted = _share(R, b, np.concatenate([blocks[o] for o in chosen]))
        if 1 - predicted <= 3 * unexplained + 1e-7:
            return tuple(chosen)
    return ()


def _share(R: np.ndarray, b: np.ndarray, others: np.ndarray) -> float:
    """The largest R² of a column of a block that some other columns predict."""
    cross = R[np.ix_(others, b)]
    solved = np.linalg.lstsq(R[np.ix_(others, others)], cross, rcond=MIN_EIGENVALUE)[0]
    return float((cross * solved).sum(0).max())
