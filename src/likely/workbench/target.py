r"""The kind of a target, inferred from its values; it decides the family.

real       any number                              normal
positive   above zero, and skewed                  log-normal, gamma
count      whole numbers from zero on              negative binomial, Poisson
binary     two values                              Bernoulli
classes    a few values, or text                   categorical
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from likely.core.checks import InputError
from likely.data.columns import as_levels, as_numbers
from likely.data.schema import Column

FAMILIES = {
    "normal": "real",
    "lognormal": "positive",
    "gamma": "positive",
    "negative_binomial": "count",
    "poisson": "count",
    "bernoulli": "binary",
    "categorical": "classes",
}
"""The kind of target that each family is for."""
DEFAULT = {kind: family for family, kind in reversed(FAMILIES.items())}
"""The family of each kind of target: the first one that is for it."""
HELD = {"category": "categories", "boolean": "true and false", "text": "text"}
"""What columns of these kinds hold, as words."""
MAX_NUMBER_CLASSES, MIN_CLASS_ROWS = 10, 3
"""Whole numbers are classes if they are at most so many, each in at least so many rows."""
MAX_CLASSES = 100
MIN_SKEWNESS = 1.0
"""Numbers above zero are modelled on the log scale from this skewness on."""
MAX_MAGNITUDE = 1e100
"""The largest absolute value of a target, whose square can still be computed."""


@dataclasses.dataclass(frozen=True)
class Target:
    """The column to predict.

    Attributes:
        name: the name of the column.
        kind: "real", "positive", "count", "binary" or "classes".
        family: the distribution that it is taken to have.
        reason: why it is of that kind, as a sentence.
        classes: the labels of the classes, if it has some.
        missing: the number of rows without a value, which are left out.
        single: classes of one row, which are left out.
    """

    name: str
    kind: str
    family: str
    reason: str
    classes: tuple[str, ...] = ()
    missing: int = 0
    single: tuple[str, ...] = ()

    @property
    def is_class(self) -> bool:
        """Whether it is a class and not a number."""
        return self.kind in ("binary", "classes")


def read_target(
    column: Column, values: Any, family: str = ""
) -> tuple[Target, Float[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """The target, its values as numbers, and the rows that have one.

    Args:
        column: the column of the schema.
        values: the Arrow column.
        family: the family that the user chose, or nothing.
    """
    if family and family not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise InputError(f"family is {family!r}; give one of {known}.")
    name = column.name
    wants = FAMILIES.get(family, "")
    as_class = wants in ("binary", "classes")
    if as_class or (not wants and column.kind in ("category", "boolean", "text")):
        reason = "set by the user" if as_class else f"it holds {HELD[column.kind]}"
        return _class(name, values, family, reason)
    if column.kind in ("category", "text", "date"):
        if not wants:
            raise InputError(
                f"the target {name!r} holds dates; name a column of numbers or classes."
            )
        raise InputError(
            f"family {family} needs numbers, but {name!r} does not hold any."
        )
    y = as_numbers(values, name)
    rows = np.flatnonzero(np.isfinite(y))
    if not len(rows):
        raise InputError(f"the target {name!r} has no values; name another column.")
    if np.isinf(y).any():
        row = int(np.argmax(np.isinf(y)))
        raise InputError(f"the target {name!r} contains infinity (row {row}).")
    y = y[rows]
    kind, reason = (wants, "set by the user") if wants else _kind(y)
    if kind in ("binary", "classes"):
        return _class(name, values, family, reason)
    _check_support(name, kind, y)
    if (y == y[0]).all():
        raise InputError(
            f"the target {name!r} is {y[0]:g} in every row; there is "
            "nothing to learn: name another column."
        )
    if np.abs(y).max() > MAX_MAGNITUDE or np.abs(y - y[0]).max() < 1 / MAX_MAGNITUDE:
        raise InputError(
            f"the target {name!r} has numbers like {y[np.abs(y).argmax()]:g}, whose "
            "squares cannot be computed; change its unit."
        )
    family = family or DEFAULT[kind]
    return Target(name, kind, family, reason, (), len(values) - len(rows)), y, rows


def _class(name: str, values: Any, family: str, reason: str):
    """Classes as codes, in natural order: numbers by size, text alphabetically."""
    levels = as_levels(values, name)
    if (levels.codes < 0).all():
        raise InputError(f"the target {name!r} has no values; name another column.")
    count = np.bincount(
        levels.codes[levels.codes >= 0], minlength=len(levels.categories)
    )
    single, different = np.flatnonzero(count == 1), int((count > 0).sum())
    if different > MAX_CLASSES:
        raise InputError(
            f"the target {name!r} has {different} different values; that is too many "
            f"for classes (at most {MAX_CLASSES}): name another column."
        )
    if (count > 1).sum() < 2 and len(single) and different > 1:
        raise InputError(
            f"class {levels.categories[int(single[0])]!r} of the target {name!r} has one row "
            "only; a class needs rows to learn from and rows to test."
        )
    rows = np.flatnonzero((levels.codes >= 0) & (count > 1)[levels.codes])
    labels = [levels.categories[i] for i in np.flatnonzero(count > 1)]
    labels = tuple(sorted(labels, key=_sort_key))
    rank = {label: float(code) for code, label in enumerate(labels)}
    codes = np.array([rank.get(label, -1.0) for label in levels.categories])
    if len(labels) < 2:
        raise InputError(
            f"the target {name!r} has one value only; there is nothing to "
            "learn: name another column."
        )
    kind = "binary" if len(labels) == 2 else "classes"
    if family and FAMILIES[family] != kind:
        raise InputError(
            f"family {family} does not fit {len(labels)} classes; use {DEFAULT[kind]}."
        )
    missing = int((levels.codes < 0).sum())
    alone = tuple(levels.categories[int(i)] for i in single)
    target = Target(name, kind, DEFAULT[kind], reason, labels, missing, alone)
    return target, codes[levels.codes[rows]], rows


def _sort_key(label: str) -> tuple:
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)


def _kind(y: np.ndarray) -> tuple[str, str]:
    """The kind of a column of numbers, and why."""
    values, counts = np.unique(y[:100_000], return_counts=True)
    distinct = len(values)
    whole = bool((y == np.round(y)).all())
    if distinct == 2:
        return "binary", "it has two different values"
    few = whole and distinct <= MAX_NUMBER_CLASSES
    small = y.min() >= 0 and y.max() <= 2 * MAX_NUMBER_CLASSES
    if few and small and counts.min() >= MIN_CLASS_ROWS:
        return "classes", (
            f"it has {distinct} different whole numbers (--family poisson counts instead)"
        )
    if whole and y.min() >= 0 and (y.min() == 0 or np.median(y) < 100):
        return "count", "it has whole numbers from zero on"
    if y.min() > 0:
        z = (y - y.mean()) / y.std() if y.std() > 0 else y * 0
        skew = float((z**3).mean())
        if skew > MIN_SKEWNESS:
            return "positive", f"it is above zero and skewed ({skew:.1f})"
    return "real", "it has numbers"


def _check_support(name: str, kind: str, y: np.ndarray) -> None:
    bad, needs = {
        "positive": (~(y > 0), "numbers above zero"),
        "count": ((y < 0) | (y != np.round(y)), "whole numbers from zero"),
    }.get(kind, (np.zeros(1, bool), ""))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"the target {name!r} has {y[row]:g}, but {kind} targets are "
            f"{needs}; choose another family."
        )
