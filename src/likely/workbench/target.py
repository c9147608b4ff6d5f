r"""The kind of a target, inferred from its values; it decides the family.

real       any number                              normal
positive   above zero, and skewed                  log-normal, gamma
nonnegative  from zero on, with exact zeros        a hurdle: zero, else one of these; Tweedie
count      whole numbers from zero on              negative binomial, Poisson
binary     two values                              Bernoulli
classes    a few values, or text                   categorical
ordinal    levels whose order is known             cumulative logit
survival   times until an event, some censored     Weibull, log-normal, exponential
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from likely.base.order import MAX_LEVELS, names_levels, natural_order
from likely.core.checks import InputError, nearest, suggestion
from likely.data.columns import as_levels, as_numbers
from likely.data.schema import Column
from likely.workbench import survival

FAMILIES = {
    "normal": "real",
    "lognormal": "positive",
    "gamma": "positive",
    "hurdle_lognormal": "nonnegative",
    "hurdle_gamma": "nonnegative",
    "tweedie": "nonnegative",
    "negative_binomial": "count",
    "poisson": "count",
    "bernoulli": "binary",
    "categorical": "classes",
    "ordinal": "ordinal",
    "cumulative_logit": "ordinal",
}
"""The kind of target that each family is for."""
DEFAULT = {kind: family for family, kind in reversed(FAMILIES.items())}
"""The family of each kind of target: the first one that is for it."""
CLASS_KINDS = ("binary", "classes", "ordinal")
"""The kinds of targets that are classes."""
HELD = {"category": "categories", "boolean": "true and false", "text": "text"}
"""What columns of these kinds hold, as words."""
MAX_NUMBER_CLASSES, MIN_CLASS_ROWS = 10, 3
"""Whole numbers are classes if they are at most so many, each in at least so many rows."""
MAX_CLASSES = 100
MIN_SKEWNESS = 1.0
"""Numbers above zero are modelled on the log scale from this skewness on."""
MIN_ZEROS = 0.05
"""Numbers from zero on have a probability of zero if so large a share is zero."""
MIN_AMOUNT = 100
"""Whole numbers with zeros are amounts, not counts, from this median above zero on."""
MAX_MAGNITUDE = 1e100
"""The largest absolute value of a target, whose square can still be computed."""


@dataclasses.dataclass(frozen=True)
class Target:
    """The column to predict.

    Attributes:
        name: the name of the column.
        kind: "real", "positive", "nonnegative", "count", "binary", "classes", "ordinal"
            or "survival".
        family: the distribution that it is taken to have.
        reason: why it is of that kind, as a sentence.
        classes: the labels of the classes, if it has some.
        missing: the number of rows without a value, which are left out.
        single: classes of one row, which are left out.
        event: the column that says whether the event happened, where it is a time.
        times: for which predictions say how likely no event is until then.
    """

    name: str
    kind: str
    family: str
    reason: str
    classes: tuple[str, ...] = ()
    missing: int = 0
    single: tuple[str, ...] = ()
    event: str = ""
    times: tuple[float, ...] = ()

    @property
    def is_class(self) -> bool:
        """Whether it is a class and not a number."""
        return self.kind in CLASS_KINDS


def read_target(
    column: Column, values: Any, family: str = ""
) -> tuple[Target, Float[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """The target, its values as numbers, and the rows that have one.

    Args:
        column: the column of the schema.
        values: the Arrow column.
        family: the family that the user chose, or nothing.
    """
    family, order = _given_order(family)
    _check_family(family)
    name = column.name
    wants = FAMILIES.get(family, "")
    as_class = wants in CLASS_KINDS
    if as_class or (not wants and column.kind in ("category", "boolean", "text")):
        reason = "set by the user" if as_class else f"it holds {HELD[column.kind]}"
        return _class(name, values, family, reason, order)
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


def read_survival(
    name: str, event: str, columns: tuple[Any, Any], family: str = ""
) -> tuple[Target, Float[np.ndarray, " n"], Int[np.ndarray, " m"], tuple[str, ...]]:
    """The target of times until an event, its values, its rows, and what was assumed.

    Times are negative where they are censored.

    Args:
        name: of the column of times.
        event: the name of the column of events.
        columns: both as Arrow columns.
        family: the family that the user chose, or nothing.
    """
    if family and family not in survival.FAMILIES:
        near = suggestion(family, [*survival.FAMILIES], "with --event give one of")
        raise InputError(f"family is {family!r}; {near}")
    y, rows, notes = survival.read_times(name, columns[0], event, columns[1])
    if len(np.unique(y[y > 0])) < 2:
        raise InputError(
            f"all events of {name!r} happened at one time; there is nothing to learn."
        )
    share = float((y > 0).mean())
    reason = f"{event!r} says whether its event happened ({100 * share:.0f} % of rows)"
    chosen = family or "weibull"
    target = Target(
        name, survival.KIND, chosen, reason, missing=len(columns[0]) - len(rows),
        event=event, times=survival.horizons(y, np.ones(len(y))),
    )  # fmt: skip
    return target, y, rows, notes


def _check_family(family: str) -> None:
    """Refuse families that there are not, or not without --event."""
    if family in survival.FAMILIES and family not in FAMILIES:
        raise InputError(
            f"family {family} is for times until an event; say with --event which column "
            "tells whether it happened."
        )
    if family and family not in FAMILIES:
        near = suggestion(family, [*FAMILIES], "give one of")
        raise InputError(f"family is {family!r}; {near}")


def _given_order(family: str) -> tuple[str, tuple[str, ...]]:
    """The family, and the levels in "ordinal:low,medium,high", from lowest to highest."""
    name, colon, levels = family.partition(":")
    if not colon or FAMILIES.get(name) != "ordinal":
        return family, ()
    mark = "<" if "<" in levels else ","
    return name, tuple(level.strip() for level in levels.split(mark))


def _class(
    name: str, values: Any, family: str, reason: str, order: tuple[str, ...] = ()
):
    """Classes as codes in their order, where it is known; else alphabetically."""
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
    labels, ordered = _ordered(name, labels, FAMILIES.get(family, ""), order)
    rank = {label: float(code) for code, label in enumerate(labels)}
    codes = np.array([rank.get(label, -1.0) for label in levels.categories])
    if len(labels) < 2:
        raise InputError(
            f"the target {name!r} has one value only; there is nothing to "
            "learn: name another column."
        )
    kind = "binary" if len(labels) == 2 else "ordinal" if ordered else "classes"
    if ordered and not family:
        reason = f"{ordered} (--family categorical ignores the order)"
    if family and FAMILIES[family] != kind:
        raise InputError(
            f"family {family} does not fit {len(labels)} classes; use {DEFAULT[kind]}."
        )
    missing = int((levels.codes < 0).sum())
    alone = tuple(levels.categories[int(i)] for i in single)
    target = Target(name, kind, DEFAULT[kind], reason, labels, missing, alone)
    return target, codes[levels.codes[rows]], rows


def _ordered(
    name: str, labels: list[str], wants: str, order: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    """The labels, sorted, and a sentence about their order; empty where there is none."""
    sorted_ = tuple(sorted(labels, key=_sort_key))
    if len(labels) < 3 or wants in ("binary", "classes"):
        return sorted_, ""
    if order:
        missing = [label for label in sorted_ if label not in order]
        if missing:
            unknown = [level for level in order if level not in labels]
            near = nearest(missing[0], unknown)
            hint = "" if near is None else f" Did you mean {missing[0]!r} for {near!r}?"
            raise InputError(
                f"the target {name!r} has {missing[0]!r}, which is not among the levels "
                f"of --family ordinal:{','.join(order)}; name every level once.{hint}"
            )
        return tuple(level for level in order if level in labels), "set by the user"
    numbers = [_sort_key(label)[:2] for label in sorted_]
    if all(kind == 0 for kind, _ in numbers):
        found = sorted_ if wants or _are_levels(name, [x for _, x in numbers]) else None
    else:
        found = natural_order(sorted_, name)
    if found is None and wants:
        raise InputError(
            f"the order of the levels of {name!r} is not known ({', '.join(sorted_[:5])}); "
            "give it, from lowest to highest: --family ordinal:low,medium,high."
        )
    if found is None:
        return sorted_, ""
    shown = found if len(found) <= 5 else (*found[:2], "...", found[-1])
    return found, f"its levels have an order: {' < '.join(shown)}"


def _are_levels(name: str, numbers: list[float]) -> bool:
    """Whether whole numbers are levels of a scale: by the name, or from 1 to 5."""
    steps = set(np.diff(numbers).tolist())
    few = len(numbers) <= MAX_LEVELS and steps == {1.0}
    return few and (names_levels(name) or numbers == [1.0, 2.0, 3.0, 4.0, 5.0])


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
            f"it has {distinct} different whole numbers (--family poisson counts instead, "
            "--family ordinal takes them for levels in an order)"
        )
    if y.min() == 0 and _has_zeros(y, whole):
        share = float((y == 0).mean())
        part = f"{100 * share:.0f} %" if share >= 0.01 else "some"
        return (
            "nonnegative",
            f"it has numbers from zero on, {part} of them exactly zero",
        )
    if whole and y.min() >= 0 and (y.min() == 0 or np.median(y) < 100):
        return "count", "it has whole numbers from zero on"
    if y.min() > 0:
        skew = _skewness(y)
        if skew > MIN_SKEWNESS:
            return "positive", f"it is above zero and skewed ({skew:.1f})"
    return "real", "it has numbers"


def _has_zeros(y: np.ndarray, whole: bool) -> bool:
    """Whether zero has a probability, and what is above it is an amount and not a count."""
    above = y[y > 0]
    if len(np.unique(above)) < 3:
        return False
    many = len(above) <= (1 - MIN_ZEROS) * len(y)
    if whole:
        return many and bool(np.median(above) >= MIN_AMOUNT)
    return many or _skewness(y) > MIN_SKEWNESS


def _skewness(y: np.ndarray) -> float:
    z = (y - y.mean()) / y.std() if y.std() > 0 else y * 0
    return float((z**3).mean())


def _check_support(name: str, kind: str, y: np.ndarray) -> None:
    bad, needs = {
        "positive": (~(y > 0), "numbers above zero"),
        "nonnegative": (~(y >= 0), "numbers from zero on"),
        "count": ((y < 0) | (y != np.round(y)), "whole numbers from zero"),
    }.get(kind, (np.zeros(1, bool), ""))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"the target {name!r} has {y[row]:g}, but {kind} targets are "
            f"{needs}; choose another family."
        )
