"""Names of columns that number the rows, or that name entities with several rows each."""

import re
from collections.abc import Mapping

import numpy as np

_ENTITY = (
    "person|pers|subject|subj|patient|pat|participant|respondent|resp|customer|cust|user|"
    "client|member|household|hh|family|fam|firm|company|employee|emp|student|stud|school|"
    "house|account|acc|case|order|transaction|trans|item|product|player|team|store|shop|"
    "site|loan|claim|policy|ticket|movie|record|obs|row|panel|unit|animal|plot|device|"
    "session|visit|group|cluster|worker|driver|vehicle|car"
)
ENTITY = re.compile(
    rf"(^|[_\W])(id|uuid|guid|key|idnum|idno)$|(?-i:[a-z]I[dD])$|^({_ENTITY})[_\W]?id"
    r"(num|no|nr|pn)?$|^(p|u|s|pt)id(num|no|nr|pn)$|"
    r"^(id|subject|subj|patient|participant|respondent|individual)$",
    re.I,
)
"""Identifiers of the rows, or of entities."""
ROW = re.compile(
    r"(^|[_\W])(index|idx|row)$|^unnamed:?[_\W]?\d*(_level_\d+)?$|^level_0$|^row[_\W]?names?$|"
    rf"^({_ENTITY}|serial|sr|s|seq|sequence|running)?[_\W]*(no|nr|num|number|seq)\.?$|^#$|"
    r"^(obs|observation|case|serial|sequence|rownum|recno|lfd)$",
    re.I,
)
"""Numbers of the rows."""
UNNAMED = re.compile(r"^(x(\.1)?|column_1|v1|\.\.\.1)$", re.I)
"""What row numbers without a name are called by programs that write and read tables."""
MEASURED = re.compile(
    r"(^|[_\W])(year|yr|date|time|day|month|week|hour|minute|second|quarter|period|season|"
    r"age|t|rank|ranking|position|place|score|grade|level|dose|temp|temperature|x|depth|"
    r"distance|step|epoch|round|lap|generation|trial|size|weight|height|semester|wave|visit|"
    r"session|episode|cycle|occasion|matchday|gameweek|count|amount|price|value|degree)s?$",
    re.I,
)
"""Names of what is measured, also where it is 1, 2, 3, ..."""
TIME = re.compile(
    r"(^|[_\W])(year|yr|date|time|day|month|week|hour|quarter|period|season|wave|visit|t|"
    r"round|session|trial|episode|cycle|occasion)s?$",
    re.I,
)
"""Names of when a row of an entity was observed."""
YEARS = (1500, 2100)
MIN_COUNTED_ROWS = 10
MIN_SURE_ROWS = 100
"""Numbers that count up in this many rows are row numbers wherever they begin."""
MAX_SPARSITY = 3
"""Row numbers of a sample of rows are at most so many times as many as the rows."""
MIN_ENTITIES, MAX_ROWS_PER_ENTITY = 20, 10
"""Names of at least so many entities with fewer rows each are not learned from."""
MIN_NUMBERED, MAX_DISPERSION = 30, 0.5
"""At least so many numbers from 1 on, all about equally often, number entities."""


def numbers_rows(
    name: str, present: int, ends: tuple[float, float], consecutive: bool
) -> str:
    """Why whole numbers, each of which appears once, only number the rows; or nothing.

    Args:
        name: of the column.
        present: how many numbers there are.
        ends: the smallest and the largest.
        consecutive: whether each row has the next number.
    """
    low, high = ends
    measured = MEASURED.search(name) is not None and not ROW.search(name)
    years = YEARS[0] <= low and high <= YEARS[1]
    if present < MIN_COUNTED_ROWS or (measured and not UNNAMED.search(name)) or years:
        return ""
    begins = low in (0, 1)
    if consecutive and (begins or present >= MIN_SURE_ROWS or ROW.search(name)):
        return "whole numbers that count the rows"
    if begins and high - low + 1 == present and present >= MIN_SURE_ROWS:
        return "row numbers: each whole number once"
    dense = low >= 0 and high < MAX_SPARSITY * present + MIN_SURE_ROWS
    if ROW.search(name) or (UNNAMED.search(name) and dense):
        return "row numbers, by the name of the column"
    return "an identifier of the rows, by the name of the column" * bool(
        ENTITY.search(name)
    )


def names_entities(name: str, present: int, distinct: int) -> bool:
    """Whether values only name entities, each of which has a few rows."""
    many = distinct >= MIN_ENTITIES and present < MAX_ROWS_PER_ENTITY * distinct
    return many and ENTITY.search(name) is not None


def numbers_entities(name: str, counts: Mapping[int, int]) -> bool:
    """Whether whole numbers number entities: from 1 on, each in about as many rows.

    Numbers that are measured appear with a variance at least that of chance, which is
    their mean.

    Args:
        name: of the column.
        counts: how often each number appears.
    """
    if len(counts) < MIN_NUMBERED or MEASURED.search(name) or TIME.search(name):
        return False
    times = np.fromiter(counts.values(), float)
    dense = 0 <= min(counts) <= 3 and max(counts) <= 1.2 * len(counts) + 3
    few = 1.5 <= times.mean() < MAX_ROWS_PER_ENTITY
    return bool(dense and few and times.var() < MAX_DISPERSION * times.mean())
