"""Columns of text in frames and files that have types, whose numbers are read."""

from collections.abc import Collection

import pyarrow as pa
from pyarrow import types

from likely.data.columns import is_text, strings
from likely.data.readings.evidence import Evidence, conclude, decimal_sign


def numbers_in_text(
    table: pa.Table, kept: Collection[str] = ()
) -> tuple[pa.Table, dict[str, str], tuple[str, ...]]:
    """A table whose numbers that are written in a form of their own are read.

    Columns of text that holds nothing but digits stay text: in a frame someone wants it.

    Args:
        table: any table.
        kept: columns that stay text.

    Returns:
        The table, the readings of the columns that were read, and sentences about them.
    """
    columns: dict[str, Evidence] = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        declared = types.is_dictionary(field.type)
        if is_text(field.type) and not declared and field.name not in kept:
            evidence = columns[field.name] = Evidence()
            evidence.add(strings(column))
    sign = decimal_sign(columns)
    readings, notes = {}, []
    for name, evidence in columns.items():
        finding = conclude(evidence, sign)
        notes.append(finding.note(name))
        if finding.reading != "text":
            readings[name] = finding.reading
            values = finding.read(strings(table[name]))
            table = table.set_column(table.column_names.index(name), name, values)
    return table, readings, tuple(filter(None, notes))
