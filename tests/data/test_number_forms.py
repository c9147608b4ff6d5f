"""Numbers as people write them: read back equal, alone or among others, or left as text."""

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from likely.data import Schema, cells, open_table, read_table
from likely.data.cells import convert
from likely.data.readings.brackets import parse_halves, parse_range
from likely.data.readings.evidence import Evidence, conclude
from likely.data.readings.forms import CURRENCIES, STYLES, Form, parse_form
from likely.data.readings.text_columns import numbers_in_text


def written(number: float, form: Form, places: int, brackets: bool) -> str:
    """A number in a form."""
    text = f"{abs(number):,.{places}f}"
    text = text.replace(",", "G").replace(".", form.decimal).replace("G", form.group)
    text = f"{form.currency}{text}"
    if form.unit:
        text += form.unit if form.unit == "%" else f" {form.unit}"
    if number >= 0:
        return text
    return f"({text})" if brackets else f"-{text}"


FORMS = st.builds(
    lambda style, currency, unit: Form(*style, currency, "" if currency else unit),
    st.sampled_from(STYLES),
    st.sampled_from(["", "", *CURRENCIES]),
    st.sampled_from(["", "", "%", "kg", "km/h", "°C", "m²"]),
)
NUMBERS = st.lists(
    st.decimals(-(10**9), 10**9, places=2, allow_nan=False).map(float),
    min_size=1,
    max_size=8,
)


@given(NUMBERS, FORMS, st.integers(0, 2), st.booleans())
@settings(max_examples=80)
def test_a_number_in_a_form_is_read_back_equal(numbers, form, places, brackets):
    numbers = [round(number, places) for number in numbers]
    text = pa.array([written(number, form, places, brackets) for number in numbers])
    assert parse_form(form.reading) == form
    assert convert(text, form.reading).to_pylist() == numbers


@given(NUMBERS, FORMS, st.booleans())
@settings(max_examples=60)
def test_the_form_is_found_from_the_cells(numbers, form, brackets):
    """With decimals and thousands nothing is ambiguous, whatever the order of the cells."""
    numbers = [*numbers, 1234.56, 0.25, 12.5]
    text = [written(number, form, 2, brackets) for number in numbers]
    if form.group == "":
        text[-3] = written(234.56, form, 2, brackets)
        numbers[-3] = 234.56
    evidence, backwards = Evidence(), Evidence()
    evidence.add(pa.array(text))
    for cell in reversed(text):
        backwards.add(pa.array([cell]))
    found = conclude(evidence)
    if form == Form():
        assert found.reading == "text" or brackets
        return
    assert convert(pa.array(text), found.reading).to_pylist() == numbers
    assert conclude(backwards).reading == found.reading


COLUMNS = {
    "dollars": (["$1,234", "$5", "0"], [1234, 5, 0]),
    "thousands": (["1,234", "12"], [1234, 12]),
    "comma in one cell": (["1,234", "1,5"], [1.234, 1.5]),
    "German": (["38.500,00", "1,5", "900"], [38500, 1.5, 900]),
    "euros": (["€1.234", "€900"], [1234, 900]),
    "percent": (["12%", "3.5 %", "0"], [12, 3.5, 0]),
    "French": (["1 234,5", "2"], [1234.5, 2]),
    "hard spaces": (["1\u00a0234", "2\u202f345", "5"], [1234, 2345, 5]),
    "Swiss": (["1'234.50", "7"], [1234.5, 7]),
    "Indian": (["12,34,567", "1"], [1234567, 1]),
    "accounts": (["($1,200.50)", "$5", "-$7", "$-8"], [-1200.5, 5, -7, -8]),
    "true minus": (["\u22125", "3"], [-5, 3]),
    "units": (["5 kg", "3.2kg"], [5, 3.2]),
    "letters": (["5k", "3M", "200"], [5e3, 3e6, 200]),
    "value of players": (["€110.5M", "€560K", "€0"], [110.5e6, 560e3, 0]),
    "ledgers": (["$ 1,200.00", "$(45.50)", "$-", "$ -"], [1200, -45.5, 0, 0]),
    "plurals": (["1 year", "2 years", "7 Years"], [1, 2, 7]),
    "negative percent": (["-12%", "(3%)", "5 %"], [-12, -3, 5]),
    "a question mark": (["?", "5", "7.5"], [None, 5, 7.5]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_numbers(name, tmp_path):
    column, numbers = COLUMNS[name]
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f'"{c}",x\n' for c in column))
    file = open_table(tmp_path / "t.csv")
    assert file.read()["a"].to_pylist() == numbers
    assert [note for note in file.notes if note.startswith("column 'a' is read as num")]
    frame, readings, notes = numbers_in_text(pa.table({"a": column}))
    assert frame["a"].to_pylist() == numbers
    assert readings["a"] == file.readings()["a"]
    assert len(notes) == 1


WORDS = {
    "zeros": ["007", "12"],
    "zeros in groups": ["0 123", "1 234"],
    "versions": ["1.2.3", "1.2.4"],
    "addresses": ["192.168.1.1", "10.0.0.1"],
    "telephones": ["612 345 678", "698 765 432"],
    "telephones with dashes": ["555-1234", "555-9876"],
    "area codes": ["(555) 123-4567", "(555) 987-6543"],
    "area codes alone": ["(555)", "(212)"],
    "two currencies": ["$5", "€6"],
    "two units": ["5 kg", "6 lb"],
    "some with a unit": ["12%", "3"],
    "contradiction": ["1,234.5", "1.234,5"],
    "flats": ["12A", "13A"],
    "dates": ["01/02/2024", "03/04/2024"],
    "months": ["2024-01", "2024-02"],
    "clocks": ["12:30", "13:40"],
    "fractions": ["1/2", "3/4"],
    "results": ["1-0", "2-1"],
    "long codes": ["9" * 25, "?"],
    "words": ["5", "many"],
    "halves of a scale": ["<=50K", ">50K"],
    "overlaps": ["10-30", "20-40"],
}


@pytest.mark.parametrize("name", WORDS)
def test_columns_that_are_no_numbers(name, tmp_path):
    (tmp_path / "t.csv").write_text(
        "a,b\n" + "".join(f'"{c}",x\n' for c in WORDS[name])
    )
    assert read_table(tmp_path / "t.csv")["a"].to_pylist() == WORDS[name]


@pytest.mark.parametrize("name", ["two currencies", "some with a unit", "dates"])
def test_doubt_is_said(name, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{c},x\n" for c in WORDS[name]))
    file = open_table(tmp_path / "t.csv")
    file.read()
    assert "kept as text" in " ".join(file.notes)


def test_points_beside_decimal_commas_separate_thousands(tmp_path):
    rows = "".join(
        f"{a};{b};{c}\n" for a, b, c in [("1,5", "1.234", 7), ("2", "900", 8)]
    )
    (tmp_path / "t.csv").write_text("a;b;c\n" + rows)
    table = read_table(tmp_path / "t.csv")
    assert table["b"].to_pylist() == [1234, 900]
    (tmp_path / "t.csv").write_text("a;b;c\n" + rows.replace("1,5", "1.5"))
    assert read_table(tmp_path / "t.csv")["b"].to_pylist() == [1.234, 900]


def test_money_has_no_three_decimals(tmp_path):
    """Semicolons alone say that 1,234 has decimals, unless it is money."""
    (tmp_path / "t.csv").write_text("a;b\n$1,234;1,234\n$2,500;2,500\n")
    table = read_table(tmp_path / "t.csv")
    assert table["a"].to_pylist() == [1234, 2500]
    assert table["b"].to_pylist() == [1.234, 2.5]


PIECES = (
    "$1,234",
    "5",
    "1.5",
    "1,5",
    "1.234,5",
    "12%",
    "0",
    "(3)",
    "?",
    "x",
    "25-34",
    "35+",
)


@given(st.lists(st.sampled_from(PIECES), min_size=2, max_size=6), st.integers(1, 5))
@settings(max_examples=60)
def test_forms_do_not_depend_on_how_a_column_is_cut(column, place):
    from likely.data.text_table import Columns

    def readings(*parts):
        columns = Columns({"a": list(cells.READINGS)}, comma=False)
        for part in parts:
            batch = pa.record_batch({"a": pa.array(part, pa.string())})
            columns.narrow(batch, {})
        return columns.readings()

    assert readings(column) == readings(column[:place], column[place:])


RANGES = {
    "incomes": (
        ["<10k", "$10,000-$19,999", "$20,000-$29,999", "75k+"],
        [5000.5, 14999.5, 24999.5, 79999.5],
    ),
    "ages": (
        ["under 25", "25-34", "35 to 44", "45 and over"],
        [20.5, 29.5, 39.5, 49.5],
    ),
    "years": (["18-24 years", "25–34 years", "65 years or older"], [21, 29.5, 69.5]),
    "children": (["0", "1", "2", "3+"], [0, 1, 2, 3]),
    "cuts of pandas": (["(10, 20]", "(20, 30]"], [15, 25]),
    "thousands at the end": (["10-20k", "20-30k"], [15e3, 25e3]),
    "refusals": (["10-20", "20-30", "Don't know", "Refused"], [15, 25, None, None]),
    "words": (["up to 5 miles", "6 to <10 miles", "10+ miles"], [3, 8, 12]),
    "below the limit": (["<0.5", "0.7", "1.2"], [0.25, 0.7, 1.2]),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges_are_ordered_numbers(name, tmp_path):
    column, numbers = RANGES[name]
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f'"{c}",x\n' for c in column))
    file = open_table(tmp_path / "t.csv")
    assert file.read()["a"].to_pylist() == numbers
    assert "is read as its middle" in file.notes[0]
    reading = file.readings()["a"]
    assert parse_halves(reading) is not None
    for cell, number in zip(column, numbers, strict=True):
        assert convert(pa.array([cell]), reading).to_pylist() == [number]


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=8, unique=True))
@settings(max_examples=30)
def test_ranges_keep_their_order(ends):
    ends = sorted(ends)
    column = [f"<{ends[0]}"] + [
        f"{a:,}-{b:,}" for a, b in zip(ends, ends[1:], strict=False)
    ]
    column.append(f"{ends[-1]}+")
    evidence = Evidence()
    evidence.add(pa.array(column))
    values = convert(pa.array(column), conclude(evidence).reading).to_pylist()
    assert values == sorted(values)
    assert parse_range(column[1]) == (ends[0], ends[1])


@pytest.mark.parametrize(
    "reading", ["number $1,234.5", "number 1.5 km/h", "range -0.5 +2.0"]
)
def test_readings_are_kept_in_the_schema(reading):
    schema = Schema.infer({"a": [1.5, 2.5]}).with_readings({"a": reading})
    assert Schema.from_json(schema.to_json()) == schema
    damaged = schema.to_json().replace(reading, "number 12 5")
    with pytest.raises(ValueError, match="the reading of column 'a'"):
        Schema.from_json(damaged)
