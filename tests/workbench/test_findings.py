"""Findings are sentences with the right number in them."""

import pytest

from likely.workbench.findings import _interval_change


@pytest.mark.parametrize(
    ("factor", "sentence"),
    [(1.25, "widened by 25 %"), (0.9, "narrowed by 10 %"), (0.0, "narrowed by 100 %")],
)
def test_intervals_that_were_too_wide_or_narrow(factor, sentence):
    assert sentence in _interval_change(factor)
