"""Numbers as people write them."""

import pytest

from likely.core.written_numbers import (
    counted,
    listed,
    number,
    p_value,
    percent,
    tick_labels,
    ticks,
    with_error,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (1.0, "1"), (50470.2, "50,470"), (1990, "1990"), (-34056.4, "-34,056"),
        (1.234e6, "1.23M"), (999_999, "1.00M"), (3e41, "3e41"), (-27877652, "-27.9M"),
        (12.345, "12.3"), (0.012345, "0.0123"), (0.00001, "1e-5"), (5e-324, "0"),
        (999.6, "1000"), (2.5e9, "2.50B"), (None, ""), (float("nan"), ""),
    ],
)  # fmt: skip
def test_three_digits(value, text):
    assert number(value) == text


@pytest.mark.parametrize("low", [-1e5, -3.0, 0.0, 1e-7, 7.0, 1990.0, 5e4, 4.2e5, 1e12])
@pytest.mark.parametrize("width", [1e-8, 0.5, 1.0, 30.0, 6e4, 2e6, 1e13])
def test_ticks_are_short_different_and_without_powers(low, width):
    values = ticks(low, low + width)
    labels = tick_labels(values)
    if width > 1e-6 * abs(low):  # else the digits do not tell them apart
        assert len(set(labels)) == len(values)
        assert all(len(label) <= 12 for label in labels)
    if 1e-3 < width < 1e12 and width / max(abs(low), 1e-300) > 1e-9:
        assert not any("e" in label for label in labels)


def test_a_number_with_its_error_has_two_digits_of_it():
    assert with_error(0.01234, 0.0012, "+") == "+0.0123 ± 0.0012"
    assert with_error(50470.1, 12.3) == "50,470 ± 12"
    assert with_error(1.2, None) == "1.20"
    assert with_error(3e41, 1e40) == "3e41 ± 1e40"
    assert with_error(None, 1.0) == ""


def test_words():
    assert counted(1, "column") == "1 column"
    assert counted(1200, "row") == "1,200 rows"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert percent(1.0) == "100 %"
    assert percent(0.9999) == "over 99.9 %"
    assert percent(0.123) == "12.3 %"
    assert p_value(0.00001) == "< 0.001"
