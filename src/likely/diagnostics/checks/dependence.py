r"""LK104 and LK105: rows that are not independent, by entity or in time.

The same model is judged twice: on folds at random, and on folds that keep together what
belongs together (all rows of an entity, or of a stretch of time). The folds are of one size, so
a larger error on the second says how much folds at random flatter. The difference d is taken
row by row, and its standard error over entities or stretches, since their rows go together.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from likely.core.written_numbers import counted, number, percent
from likely.data.entity_names import ENTITY
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject
from likely.diagnostics.rows.columns import ColumnValues
from likely.diagnostics.rows.held_out import Predicted, fold_numbers

MIN_SHARE = 0.1
"""The least share of what the model gains over the null model that is lost."""
MIN_OVERLAP = 0.1
"""The least share of test rows whose group, or whose time, was learned from."""
N_STRETCHES = 10
MIN_ENTITIES, MIN_ROWS_PER_ENTITY, MIN_CONSTANT_COLUMNS = 15, 1.5, 2
"""What a column has to have to be taken for the names of entities."""


class Flattery(NamedTuple):
    """How much smaller errors are on folds at random."""

    share: float
    """Of what the model gains over the null model there."""
    z: float
    """The difference in units of its standard error."""
    clusters: int

    def shown(self, level: float) -> bool:
        """Whether it is more than chance, and worth a word."""
        p = float(stats.t.sf(self.z, max(self.clusters - 1, 1)))
        return self.share >= MIN_SHARE and p < level


def flattery(
    random: Predicted, together: Predicted, cluster: np.ndarray, null: float
) -> Flattery:
    """How much errors on folds at random flatter.

    Args:
        random: predictions on folds at random.
        together: predictions on folds that keep clusters together.
        cluster: (n,) the cluster of each row.
        null: the mean error of the null model.
    """
    w = random.w
    d = w * (together.error - random.error)
    names, place = np.unique(cluster, return_inverse=True)
    total = w.sum()
    mean = d.sum() / total
    rest = np.bincount(place, d) - mean * np.bincount(place, w)
    error = np.sqrt((rest**2).sum() * len(names) / max(len(names) - 1, 1)) / total
    gain = null - float(w @ random.error / total)
    share = float(mean / gain) if gain > 0 else 0.0
    z = float(mean / error) if error > 0 else 0.0
    return Flattery(share, z, len(names))


def entity_leakage(subject: Subject) -> Finding | None:
    """Rows of the same entity on both sides of a split, where that flatters."""
    known, new = subject.known, subject.new
    if new is not None and known.groups is not None and new.groups is not None:
        return _overlap(known.groups, new.groups)
    named = "the groups"
    groups = subject.entities
    if groups is None and known.groups is None:
        key = entity_column(subject.columns)
        if key is None:
            raise DoesNotApply("there are no groups, and no column names entities")
        groups, named = key.codes, f"the entities that {key.name!r} names"
    if groups is None:
        raise DoesNotApply("there are too few groups for folds of groups")
    if len(np.unique(groups)) > len(groups) / 1.2:
        raise DoesNotApply("almost every row is a group of its own")
    rows, options = subject.known, subject.options
    fold = fold_numbers(
        rows.y, rows.w, options.cv, classes=subject.classes is not None,
        groups=groups, random_state=options.random_state,
    )  # fmt: skip
    random = subject.cross_fitted("random")
    together = subject.cross_fitted("entities", fold)
    found = flattery(random, together, groups, _null_error(subject, random))
    if not found.shown(subject.level):
        return None
    text = (
        f"Folds at random flatter: for rows of new ones among {named} the model gains "
        f"{percent(found.share, 0)} less over the null model (by {number(found.z)} standard "
        "errors)."
    )
    advice = (
        "Judge it on folds of whole groups (groups= here and in cross-validation), if new "
        "rows come from new groups."
    )
    numbers = {"lost share": found.share, "z": found.z}
    return Finding("group leakage", "warning", text, advice, numbers=numbers)


def _overlap(known: np.ndarray, new: np.ndarray) -> Finding | None:
    shared = np.isin(new, known)
    if shared.mean() < MIN_OVERLAP:
        return None
    count = len(np.unique(new[shared]))
    text = (
        f"{counted(count, 'group')} of the test rows ({percent(shared.mean(), 0)} of them) "
        "were learned from too."
    )
    advice = "Split by whole groups, if new rows come from new groups."
    numbers = {"share": float(shared.mean())}
    return Finding("group leakage", "warning", text, advice, numbers=numbers)


def entity_column(columns: list[ColumnValues]) -> ColumnValues | None:
    """The column that names entities with several rows each, if there is one.

    By its name, or because several other columns never change within it.
    """
    codes = {c.name: c.codes for c in columns}
    best, score = None, (0, 0)
    for column in columns:
        own = codes[column.name]
        levels = int(own.max(initial=-1)) + 1
        repeats = (own >= 0).sum() >= MIN_ROWS_PER_ENTITY * levels
        if levels < MIN_ENTITIES or not repeats or (own < 0).any():
            continue
        others = {k: v for k, v in codes.items() if k != column.name}
        same = len(constant_within(own, others))
        named = bool(ENTITY.search(column.name))
        if (named or same >= MIN_CONSTANT_COLUMNS) and (named, same) > score:
            best, score = column, (named, same)
    return best


def constant_within(key: np.ndarray, others: dict[str, np.ndarray]) -> list[str]:
    """The columns that have one value for each entity, but not one entity for each value.

    Args:
        key: (n,) the codes of entities, −1 where it is missing.
        others: codes of other columns by name.
    """
    rows = np.flatnonzero(key >= 0)
    order = rows[np.argsort(key[rows], kind="stable")]
    same_entity = np.diff(key[order]) == 0
    count = int(key.max()) + 1
    found = []
    for name, codes in others.items():
        sorted_codes = codes[order]
        changes = (np.diff(sorted_codes) != 0) & same_entity
        values = int(codes.max()) + 1
        if not changes.any() and 1 < values < count:
            found.append(name)
    return found


def time_leakage(subject: Subject) -> Finding | None:
    """Errors that are smaller where neighbours in time were learned from."""
    known, new = subject.known, subject.new
    if known.time is None:
        raise DoesNotApply("no time was given")
    if new is not None and new.time is not None:
        return _from_the_future(known.time, new.time)
    order = np.argsort(known.time, kind="stable")
    if len(order) < 4 * N_STRETCHES:
        raise DoesNotApply(f"there are fewer than {4 * N_STRETCHES} rows")
    stretch = np.empty(len(order), int)
    stretch[order] = np.arange(len(order)) * N_STRETCHES // len(order)
    shuffled = np.random.default_rng(subject.options.random_state).permutation(stretch)
    random = subject.cross_fitted("shuffled", shuffled)
    together = subject.cross_fitted("stretches", stretch)
    cluster = np.empty(len(order), int)
    cluster[order] = np.arange(len(order)) * 2 * N_STRETCHES // len(order)
    found = flattery(random, together, cluster, _null_error(subject, random))
    if not found.shown(subject.level):
        return None
    text = (
        "Folds at random flatter: for rows of another time the model gains "
        f"{percent(found.share, 0)} less over the null model (by {number(found.z)} standard "
        "errors), since neighbours in time are alike."
    )
    advice = "Judge it on later rows than those of the fit (a split by time)."
    numbers = {"lost share": found.share, "z": found.z}
    return Finding("time leakage", "warning", text, advice, numbers=numbers)


def _from_the_future(known: np.ndarray, new: np.ndarray) -> Finding | None:
    later = float(np.mean(known[:, None] > np.sort(new)[: 1 + len(new) // 2][-1:]))
    if later < MIN_OVERLAP:
        return None
    text = (
        f"{percent(later, 0)} of the rows of the fit are later than half of the test rows: "
        "the model has learned from their future."
    )
    advice = "Test on rows that are later than all rows of the fit."
    return Finding("time leakage", "warning", text, advice, numbers={"share": later})


def _null_error(subject: Subject, rows: Any) -> float:
    """The mean error of the null model on the rows of the fit."""
    w = rows.w
    if subject.classes is None:
        y = subject.codes
        return float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    shares = np.bincount(subject.codes, w) / w.sum()
    return float(1 - (shares**2).sum())
