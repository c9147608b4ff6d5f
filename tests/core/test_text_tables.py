"""Tables as text and as HTML."""

import numpy as np

from likely.core.text_tables import cell, html_table, text_table

COLUMNS = {"name": ["a", "long <b>"], "value": np.array([1.23456, -20.0])}


def test_text_is_aligned_words_left_and_numbers_right():
    lines = text_table(COLUMNS).split("\n")
    assert lines[0] == "name      value"
    assert lines[2] == "a         1.235"
    assert lines[3] == "long <b>    -20"


def test_html_is_escaped_and_says_what_is_left_out():
    shown = html_table(COLUMNS, max_rows=1)
    assert "<th" in shown
    assert "... and 1 more" in shown
    assert "&lt;b&gt;" in html_table(COLUMNS)


def test_cells():
    assert [cell(v) for v in (None, np.int64(12345), 0.000012345, "x")] == [
        "", "12345", "1.234e-05", "x",
    ]  # fmt: skip
