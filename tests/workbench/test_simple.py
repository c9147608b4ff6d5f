"""The coefficients of a report, and where there are none."""

import numpy as np
import pyarrow as pa
import pytest

from likely.workbench import Spec
from likely.workbench.report.charts import Axes
from likely.workbench.simple import MAX_COEFFICIENTS, MAX_COLUMNS, simple_model
from likely.workbench.table import Source, prepare


def simple_model_of(columns):
    table = prepare(Spec(target="y"), Source("here", pa.table(columns), (), {}))
    return simple_model(table)


def test_the_coefficients_are_those_of_least_squares(rng):
    X = rng.normal(size=(80, 2))
    y = X @ [2.0, -1.0] + 0.1 * rng.normal(size=80)
    found = simple_model_of({"a": X[:, 0], "b": X[:, 1], "y": y})
    scaled = (X - X.mean(0)) / X.std(0)
    exact = np.linalg.lstsq(np.column_stack([np.ones(80), scaled]), y, rcond=None)[0]
    estimates = {row["name"]: row["estimate"] for row in found.rows}
    assert [estimates["a"], estimates["b"]] == pytest.approx(exact[1:], rel=1e-6)


def test_without_a_column_that_varies_it_says_so(rng):
    """Numbers that differ by their last bit only."""
    x = np.full(30, 1e6)
    x[::2] = np.nextafter(1e6, 2e6)
    found = simple_model_of({"x": x, "y": rng.normal(size=30)})
    assert not found.rows
    assert found.refusal == "no column varies from row to row."


def test_what_nobody_would_read_is_not_fitted(rng):
    wide = {f"x{j}": rng.normal(size=30) for j in range(MAX_COLUMNS + 1)}
    assert (
        "too many to read"
        in simple_model_of({**wide, "y": rng.normal(size=30)}).refusal
    )
    classes = MAX_COEFFICIENTS // 20 + 2
    some = {f"x{j}": rng.normal(size=5 * classes) for j in range(20)}
    y = [f"c{i % classes}" for i in range(5 * classes)]
    assert "coefficients are too many" in simple_model_of({**some, "y": y}).refusal


@pytest.mark.parametrize("value", [0.0, 5.3e18, -1e300])
def test_axes_around_one_value_have_room(value):
    axes = Axes((value, value), (0, 1))
    assert np.isfinite(axes.pixels([value], [0.5])).all()
