"""The schema of a table: what kind each column is, and why.

    number      a quantity: 3.5, or counts
    boolean     true or false, or 0 and 1
    code        whole numbers that name something: 101, 205, 307
    category    text values from a list
    date        a day, or a timestamp
    text        prose, of which encoders use the words where they are told to

A column may also be constant, or an identifier (a name or number of the rows, or of
entities that have several rows): neither says anything about other rows. Kinds are
inferred with a reason and can be overridden.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from likely.core.checks import InputError, nearest, suggestion

KINDS = ("number", "boolean", "code", "category", "date", "text")
VERSION = 1


@dataclasses.dataclass(frozen=True)
class Column:
    """One column: its kind, the reason, and what was seen in it."""

    name: str
    kind: str
    """One of `KINDS`."""
    reason: str
    """Why it is that kind, as a sentence."""
    constant: bool = False
    """Whether it holds a single value and nothing is missing."""
    identifier: bool = False
    """Whether it only names or numbers the rows, or entities that have several rows."""
    missing: int = 0
    """How many rows have no value."""
    distinct: int | None = None
    """How many different values there are; None where they were not counted."""
    low: float | str | None = None
    """The smallest number, or the first date in ISO form."""
    high: float | str | None = None
    """The largest number, or the last date."""
    examples: tuple[str, ...] = ()
    """The commonest values."""
    reading: str = ""
    """How its cells were read, one of `cells.READINGS`; new rows are read the same way."""

    @property
    def used(self) -> bool:
        """Whether encoders use it."""
        return not (self.constant or self.identifier or self.kind == "text")

    @property
    def prose(self) -> bool:
        """Whether it is text whose words may say something about other rows."""
        return self.kind == "text" and not (self.constant or self.identifier)


@dataclasses.dataclass(frozen=True)
class Schema:
    """The columns of a table, in order.

    Example:
        ```python
        schema = Schema.infer(data.read_table("houses.csv"))
        schema = schema.with_kinds({"zip": "category"})
        Schema.from_json(schema.to_json()) == schema
        ```
    """

    columns: tuple[Column, ...]
    rows: int = 0
    """How many rows were inspected."""
    notes: tuple[str, ...] = ()
    """What was guessed about the file, as sentences."""

    @classmethod
    def infer(
        cls,
        frame: Any,
        *,
        kinds: Mapping[str, str] | None = None,
        sample_weight: Any = None,
    ) -> "Schema":
        """The schema of a frame or a file, the latter chunk by chunk.

        Args:
            frame: whatever `to_arrow` takes.
            kinds: kinds that are known, by column.
            sample_weight: rows of weight 0 are ignored.
        """
        from likely.data.infer import infer_columns

        columns, rows = infer_columns(frame, sample_weight)
        found = cls(tuple(columns), rows, tuple(getattr(frame, "notes", ())))
        return found.with_kinds(kinds or {})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in reversed(self.columns)}

    def __getitem__(self, name: str) -> Column:
        self.check([name])
        return self._by_name[name]

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that are not columns, and suggest the most similar one."""
        for name in names:
            if name not in self._by_name:
                raise InputError(unknown_column(name, self.names))

    def with_kinds(self, kinds: Mapping[str, str]) -> "Schema":
        """The schema with the kinds of some columns set; these columns are used."""
        self.check(list(kinds))
        for name, kind in kinds.items():
            if kind not in KINDS:
                near = suggestion(kind, KINDS, "the kinds are")
                raise InputError(f"column {name!r} cannot be {kind!r}; {near}")

        def given(column: Column) -> Column:
            if column.name not in kinds:
                return column
            return dataclasses.replace(
                column,
                kind=kinds[column.name],
                reason="set by the user",
                identifier=False,
            )

        return dataclasses.replace(self, columns=tuple(map(given, self.columns)))

    def with_readings(self, readings: Mapping[str, str]) -> "Schema":
        """The schema with how the cells of each column were read, by name."""
        columns = [
            dataclasses.replace(c, reading=readings.get(c.name, c.reading))
            for c in self.columns
        ]
        return dataclasses.replace(self, columns=tuple(columns))

    def drop(self, *names: str) -> "Schema":
        """The schema without some columns, such as the target."""
        self.check(names)
        left = tuple(column for column in self.columns if column.name not in names)
        return dataclasses.replace(self, columns=left)

    def to_json(self) -> str:
        """The schema as JSON, to be kept with a model."""
        content = {"version": VERSION, **dataclasses.asdict(self)}
        return json.dumps(content, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Schema":
        """The schema that `to_json` wrote; anything else is refused."""
        from likely.data.schema_json import parse_schema

        return parse_schema(text)

    def __rich__(self) -> Any:
        from likely.data.schema_views import terminal

        return terminal(self)

    def __str__(self) -> str:
        from likely.data.schema_views import plain

        return plain(self)

    def _repr_html_(self) -> str:
        from likely.data.schema_views import html

        return html(self)


def unknown_column(name: str, names: Sequence[str]) -> str:
    """The error sentence about a column that does not exist."""
    near = nearest(name, names)
    hint = f"there are {_listed(names)}." if near is None else f"did you mean {near!r}?"
    return f"there is no column {name!r}; {hint}"


def _listed(names: Sequence[str], limit: int = 10) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    more = len(names) - limit
    return f"{shown} and {more} more" if more > 0 else shown
