"""One table in many files: titles, Excel, JSON, archives, bytes; the same columns."""

import builtins
import bz2
import contextlib
import gzip
import io
import json
import zipfile

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import feather, parquet

from likely.data import TableError, open_table, read_table

TEXT = "name,price,n,day\nBern,1.5,3,2024-01-31\nBasel,2.5,,2024-02-01\nChur,7,5,2024-02-02\n"
ROWS = [
    {"name": "Bern", "price": 1.5, "n": 3, "day": "2024-01-31"},
    {"name": "Basel", "price": 2.5, "n": None, "day": "2024-02-01"},
    {"name": "Chur", "price": 7.0, "n": 5, "day": "2024-02-02"},
]
LINES = (
    '{"name": "Bern", "price": 1.5, "n": 3, "day": "2024-01-31"}\n'
    '{"name": "Basel", "price": 2.5, "n": null, "day": "2024-02-01"}\n\n'
    '{"name": "Chur", "price": 7, "day": "2024-02-02", "n": 5}\n'
)


def sheet(rows: list[list], name: str = "xl/worksheets/sheet1.xml") -> bytes:
    """The smallest workbook that Excel opens: numbers, text and empty cells."""
    body = ""
    for r, row in enumerate(rows, start=1):
        cells = ""
        for c, value in enumerate(row):
            place = f"{chr(ord('A') + c)}{r}"
            if isinstance(value, str):
                cells += f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
            elif value is not None:
                cells += f'<c r="{place}"><v>{value}</v></c>'
        body += f'<row r="{r}">{cells}</row>'
    space = "http://schemas.openxmlformats.org"
    main, office = f"{space}/spreadsheetml/2006/main", f"{space}/officeDocument/2006"
    package = f"{space}/package/2006"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package'
        '.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application'
        '/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship '
        f'Id="r1" Type="{office}/relationships/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}/relationships">'
        '<sheets><sheet name="Data" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/relationships/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
        name: f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>',
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return out.getvalue()


def zipped(content: bytes, *names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return out.getvalue()


def arrow(writer) -> bytes:
    out = io.BytesIO()
    writer(read_table(TEXT.encode()), out)
    return out.getvalue()


CELLS = [list(ROWS[0]), *(list(row.values()) for row in ROWS)]
CONTENTS = {
    "text": lambda: TEXT.encode(),
    "sep": lambda: b"sep=;\r\n" + TEXT.replace(",", ";").replace("\n", "\r\n").encode(),
    "sep with a mark": lambda: (
        "\ufeffsep=;\n".encode() + TEXT.replace(",", ";").encode()
    ),
    "sep in UTF-16": lambda: ("sep=,\n" + TEXT).encode("utf-16"),
    "title": lambda: f"Report 2024\n\n{TEXT}".encode(),
    "title at once": lambda: f"Report 2024\n{TEXT}".encode(),
    "padded title": lambda: f"Report 2024,,,\n,,,\n{TEXT}".encode(),
    "long title": lambda: f"Report\nby: us, them\nof 2024\n\n{TEXT}".encode(),
    "title with a date": lambda: f"Report\nDate:,2024-01-01\n{TEXT}".encode(),
    "quoted title": lambda: f'"Report\nof 2024"\n\n{TEXT}'.encode(),
    "lines": lambda: LINES.encode(),
    "records": lambda: f"[{','.join(filter(None, LINES.split(chr(10))))}]".encode(),
    "records in an object": lambda: json.dumps(
        {"data": ROWS, "n": 3}, indent=1
    ).encode(),
    "columns": lambda: json.dumps({k: [r[k] for r in ROWS] for k in ROWS[0]}).encode(),
    "columns of pandas": lambda: json.dumps(
        {k: {str(i): r[k] for i, r in enumerate(ROWS)} for k in ROWS[0]}
    ).encode(),
    "sheet": lambda: sheet(CELLS),
    "sheet with a title": lambda: sheet([["Report 2024"], [], *CELLS]),
    "zip": lambda: zipped(TEXT.encode(), "houses.csv", "__MACOSX/houses.csv"),
    "parquet": lambda: arrow(parquet.write_table),
    "feather": lambda: arrow(feather.write_feather),
}
PACKERS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "zstd": lambda content: pa.compress(content, "zstd", asbytes=True),
}


def rows_of(table: pa.Table) -> list[dict]:
    days = [str(day)[:10] for day in table["day"].to_pylist()]
    table = table.drop_columns(["day"])
    return [
        {**row, "day": day} for row, day in zip(table.to_pylist(), days, strict=True)
    ]


@pytest.mark.parametrize("content", CONTENTS)
def test_the_same_table_in_every_format(content, tmp_path):
    found = CONTENTS[content]()
    assert rows_of(read_table(found)) == ROWS
    for name, pack in PACKERS.items():
        path = tmp_path / f"table.{name}"
        path.write_bytes(pack(found))
        assert rows_of(read_table(path)) == ROWS
        assert sum(len(chunk) for chunk in open_table(path)) == 3


def test_guesses_are_notes():
    assert (
        "left out 2 lines above the names" in open_table(CONTENTS["title"]()).notes[0]
    )
    assert "says that ';' separates" in open_table(CONTENTS["sep"]()).notes[0]
    assert "'houses.csv' in the archive" in open_table(CONTENTS["zip"]()).notes[0]


HEADERS = {
    "an index without a name": (",x\n0,5\n1,6\n", ["column_1", "x"]),
    "row names of R": ("x,\na,5\nb,6\n", ["x", "column_2"]),
    "one column": ("x\n5\n\n6\n", ["x"]),
    "years": ("country,2001,2002\nCH,1,2\nDE,3,4\n", ["country", "2001", "2002"]),
    "years below a title": (
        "Rates\n\ncountry,2001,2002\nCH,1,2\n",
        ["country", "2001", "2002"],
    ),
    "blank lines above": ("\n\na,b\n1,2\n3,4\n", ["a", "b"]),
    "empty rows": ("a,b,c\n1,2,3\n,,\n4,5,6\n", ["a", "b", "c"]),
    "few values": ("a,b,c\n1,,\n,,3\n4,5,6\n", ["a", "b", "c"]),
}


@pytest.mark.parametrize("name", HEADERS)
def test_what_is_no_title(name):
    text, names = HEADERS[name]
    table = read_table(text.encode())
    assert table.column_names == names
    assert names[0] not in table[names[0]].to_pylist()


def test_errors_below_a_title_name_the_line():
    for text in ("Report\n\na,b\n1,2\n3\n", "sep=;\n\na;b\n1;2\n3\n"):
        with pytest.raises(TableError, match="line 5: has 1 cells"):
            read_table(text.encode())
    with pytest.raises(TableError, match="line 5, column 'a': 'x' is no number"):
        read_table(b"Report\n\na,b\n1,2\nx,3\n", readings={"a": "number"})


JSON = {
    "a comma too few": ('{"a": 1}\n{"a" 2}\n', "line 2: is not JSON"),
    "no object": ('{"a": 1}\n[2]\n', "line 2: is no JSON object"),
    "a list of numbers": ('[{"a": 1}, 2]', "has more than objects"),
    "a list that is cut": ('[{"a": 1},\n {"a"', "line 2: is not JSON"),
    "nothing": ("{}\n", "has objects without values"),
}


@pytest.mark.parametrize("name", JSON)
def test_json_that_is_no_table(name):
    text, sentence = JSON[name]
    with pytest.raises(TableError, match=sentence):
        read_table(text.encode())


def test_json_keeps_digits_and_flattens_objects():
    text = '{"a": {"b": 123456789012345678, "c": [1, 2]}, "d": true}\n{"d": false}\n'
    table = read_table(text.encode())
    assert table.column_names == ["a.b", "a.c", "d"]
    assert table["a.b"][0].as_py() == 123456789012345678
    assert table["d"].to_pylist() == [True, False]


def test_sheets_without_their_library_are_a_sentence(monkeypatch):
    imported = builtins.__import__

    def missing(name, *rest, **options):
        if name == "python_calamine":
            raise ImportError
        return imported(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(TableError, match=r"pip install 'likely\[excel\]'"):
        read_table(CONTENTS["sheet"]())


def test_archives_that_are_no_table():
    with pytest.raises(TableError, match="zip archive of 2 files"):
        read_table(zipped(b"a,b\n1,2\n", "a.csv", "b.csv"))
    with pytest.raises(TableError, match="save it as CSV"):
        read_table(sheet([["a"], [1]])[:-40])
    with pytest.raises(TableError, match="no sheet with cells"):
        read_table(sheet([]))
    with pytest.raises(TableError, match="is empty"):
        read_table(b"")


@given(
    st.lists(st.text("ab 0,;.\n\t\"'", max_size=6), max_size=3),
    st.booleans(),
)
@settings(max_examples=40)
def test_any_line_above_is_no_crash(titles, blank):
    text = "\n".join([*titles, *[""] * blank, TEXT])
    with contextlib.suppress(TableError):
        assert len(read_table(text.encode())) >= 1
