"""JSON records as text: one object a line, or a list of objects.

The columns are the names of all objects, in the order in which they appear; objects in
objects become columns such as owner.age. Numbers keep their digits, and the text is read as
that of any other file.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from likely.data.errors import table_error
from likely.data.formats.content import Content

BEGINS = re.compile(rb'\s*(\[\s*\{|\{\s*["}])')
MAX_DEPTH = 5
"""Objects in objects beyond this depth stay JSON."""


def is_json(head: bytes) -> bool:
    """Whether bytes begin as JSON records do."""
    return BEGINS.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def records_as_text(content: Content) -> Content:
    """JSON records as CSV.

    Raises:
        TableError: names the line that is not JSON, or no object.
    """
    try:
        text = content.whole().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise table_error(
            content.path, f"is not valid UTF-8 ({error.reason})."
        ) from error
    rows = [dict(_flat(record)) for record in _records(content, text)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise table_error(content.path, "has objects without values; give a table.")
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    writer.writerows([row.get(name, "") for name in names] for row in rows)
    return Content(content.path, None, out.getvalue().encode("utf-8", "replace"))


def _records(content: Content, text: str) -> Iterator[Mapping[str, Any]]:
    """The objects: one a line, in a list, in an object that has one list, or by columns."""
    try:
        found = _parse(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("["):
            line = getattr(error, "lineno", None)
            problem = f"is not JSON ({error})."
            raise table_error(content.path, problem, line=line) from error
        yield from _lines(content, text)
        return
    for record in _listed(found):
        if not isinstance(record, dict):
            problem = "is a list that has more than objects; give one object a row."
            raise table_error(content.path, problem)
        yield record


def _listed(found: Any) -> list:
    """The rows of JSON that is no list of objects itself."""
    if isinstance(found, list):
        return found
    lists = [v for v in found.values() if isinstance(v, list)]
    tables = [v for v in lists if v and all(isinstance(row, dict) for row in v)]
    if len(tables) == 1:
        return tables[0]
    columns = [v for v in found.values() if isinstance(v, dict) and v]
    if len(columns) == len(found) > 0 and len({tuple(c) for c in columns}) == 1:
        found = {name: list(column.values()) for name, column in found.items()}
        lists = list(found.values())
    if len(lists) == len(found) > 0 and len({len(column) for column in lists}) == 1:
        return [dict(zip(found, row, strict=True)) for row in zip(*lists, strict=True)]
    return [found]


def _lines(content: Content, text: str) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = _parse(line)
        except (ValueError, RecursionError) as error:
            problem = (
                f"is not JSON ({error}); give one object a line, or a list of them."
            )
            raise table_error(content.path, problem, line=number) from error
        if not isinstance(record, dict):
            raise table_error(content.path, "is no JSON object; give one.", line=number)
        yield record


def _parse(text: str) -> Any:
    """JSON in which numbers are the text that stands there."""
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)


def _flat(record: Mapping[str, Any], before: str = "", depth: int = 0) -> Iterator:
    """The names and texts of an object, those of inner objects too."""
    for key, value in record.items():
        name = f"{before}{key.strip() or 'column'}"
        if isinstance(value, dict) and value and depth < MAX_DEPTH:
            yield from _flat(value, f"{name}.", depth + 1)
        else:
            yield name, _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
