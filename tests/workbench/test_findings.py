"""Findings are sentences with the right number in them."""

import pytest

from likely.workbench.findings import _stretched


@pytest.mark.parametrize(
    ("factor", "said"),
    [(1.25, "widened by 25 %"), (0.9, "narrowed by 10 %"), (0.0, "narrowed by 100 %")],
)
def test_intervals_that_were_too_wide_or_narrow(factor, said):
    assert said in _stretched(factor)
