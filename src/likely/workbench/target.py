r"""What a target is, told from its values: the kind decides the family.

real       any number                              normal
positive   above zero, and skewed                  log-normal, gamma
count      whole numbers from zero on              negative binomial, Poisson
binary     two values                              Bernoulli
classes    a few values, or words                  categorical
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
    "poisson": "count",
    "negative_binomial": "count",
    "bernoulli": "binary",
    "categorical": "classes",
}
DEFAULT = {
    "real": "normal",
    "positive": "lognormal",
    "count": "negative_binomial",
    "binary": "bernoulli",
    "classes": "categorical",
}
FEW, MANY, SKEWED, COMMON = 10, 100, 1.0, 3
LARGEST = 1e100


@dataclasses.dataclass(frozen=True)
class Target:
    """The column to predict.

    Attributes:
        name: of the column.
        kind: "real", "positive", "count", "binary" or "classes".
        family: how it is taken to be distributed.
        reason: why, as a sentence.
        classes: the labels, where it is a class.
        missing: rows without a value, which are left out.
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
        """Whether it is a label and not a number."""
        return self.kind in ("binary", "classes")


def read_target(
    column: Column, values: Any, family: str = ""
) -> tuple[Target, Float[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """The target, its values as numbers, and the rows that have one.

    Args:
        column: what the schema says of it.
        values: the Arrow column.
        family: what the user asked for, or nothing.
    """
    if family and family not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise InputError(f"family is {family!r}; give one of {known}.")
    name = column.name
    wants = FAMILIES.get(family, "")
    as_class = wants in ("binary", "classes")
    if as_class or (not wants and column.kind in ("category", "boolean", "text")):
        reason = "you said so" if as_class else f"it holds {_what(column.kind)}"
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
    kind, reason = (wants, "you said so") if wants else _kind(y)
    if kind in ("binary", "classes"):
        return _class(name, values, family, reason)
    _check_support(name, kind, y)
    if (y == y[0]).all():
        raise InputError(
            f"the target {name!r} is {y[0]:g} in every row; there is "
            "nothing to learn: name another column."
        )
    if np.abs(y).max() > LARGEST or np.abs(y - y[0]).max() < 1 / LARGEST:
        raise InputError(
            f"the target {name!r} has numbers like {y[np.abs(y).argmax()]:g}, whose "
            "squares cannot be computed; change its unit."
        )
    family = family or DEFAULT[kind]
    return Target(name, kind, family, reason, (), len(values) - len(rows)), y, rows


def _what(kind: str) -> str:
    return {"category": "words", "boolean": "true and false", "text": "text"}[kind]


def _class(name: str, values: Any, family: str, reason: str):
    """Labels as numbers, in the order in which people would write them."""
    levels = as_levels(values, name)
    if (levels.codes < 0).all():
        raise InputError(f"the target {name!r} has no values; name another column.")
    count = np.bincount(levels.codes[levels.codes >= 0], minlength=len(levels.words))
    single, different = np.flatnonzero(count == 1), int((count > 0).sum())
    if different > MANY:
        raise InputError(
            f"the target {name!r} has {different} different words; that is too many "
            f"for classes (at most {MANY}): name another column."
        )
    if (count > 1).sum() < 2 and len(single) and different > 1:
        raise InputError(
            f"class {levels.words[int(single[0])]!r} of the target {name!r} has one row "
            "only; a class needs rows to learn from and rows to be judged by."
        )
    rows = np.flatnonzero((levels.codes >= 0) & (count != 1)[levels.codes])
    used, codes = np.unique(levels.codes[rows], return_inverse=True)
    words = [levels.words[i] for i in used]
    order = sorted(range(len(words)), key=lambda i: _sort_key(words[i]))
    place = np.argsort(order)
    if len(words) < 2:
        raise InputError(
            f"the target {name!r} has one value only; there is nothing to "
            "learn: name another column."
        )
    kind = "binary" if len(words) == 2 else "classes"
    if family and FAMILIES[family] != kind:
        raise InputError(
            f"family {family} does not fit {len(words)} classes; use {DEFAULT[kind]}."
        )
    labels = tuple(words[i] for i in order)
    missing = int((levels.codes < 0).sum())
    alone = tuple(levels.words[int(i)] for i in single)
    target = Target(name, kind, DEFAULT[kind], reason, labels, missing, alone)
    return target, place[codes].astype(np.float64), rows


def _sort_key(word: str) -> tuple:
    try:
        return (0, float(word), word)
    except ValueError:
        return (1, 0.0, word)


def _kind(y: np.ndarray) -> tuple[str, str]:
    """The kind of a column of numbers, and why."""
    values, counts = np.unique(y[:100_000], return_counts=True)
    distinct = len(values)
    whole = bool((y == np.round(y)).all())
    if distinct == 2:
        return "binary", "it has two different values"
    few = whole and distinct <= FEW and y.min() >= 0 and y.max() <= 2 * FEW
    if few and counts.min() >= COMMON:
        return "classes", (
            f"it has {distinct} different whole numbers (--family poisson counts instead)"
        )
    if whole and y.min() >= 0 and (y.min() == 0 or np.median(y) < 100):
        return "count", "it has whole numbers from zero on"
    if y.min() > 0:
        z = (y - y.mean()) / y.std() if y.std() > 0 else y * 0
        skew = float((z**3).mean())
        if skew > SKEWED:
            return "positive", f"it is above zero and skewed ({skew:.1f})"
    return "real", "it has numbers"


def _check_support(name: str, kind: str, y: np.ndarray) -> None:
    bad = {
        "positive": ~(y > 0),
        "count": (y < 0) | (y != np.round(y)),
    }.get(kind)
    if bad is not None and bad.any():
        row = int(np.argmax(bad))
        needs = (
            "numbers above zero" if kind == "positive" else "whole numbers from zero"
        )
        raise InputError(
            f"the target {name!r} has {y[row]:g}, but {kind} targets are "
            f"{needs}; choose another family."
        )
