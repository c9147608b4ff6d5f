"""Entities with several rows are found, and columns that repeat others."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.outliers_influence import variance_inflation_factor

from likely.diagnostics.checks.collinearity import inflation, repeated
from likely.workbench.entities import entities
from likely.workbench.simple import DesignColumn, design
from likely.workbench.spec import Spec
from likely.workbench.table import prepare, read

N = 240


def table_of(frame: dict, **settings):
    frame = pd.DataFrame({**frame, "y": np.random.default_rng(9).normal(size=N)})
    return prepare(Spec(data="frame", target="y", **settings), read(frame))


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(0)
    people = rng.permutation(10**5)[: N // 4]
    return {
        "pidnum": np.repeat(people, 4),
        "wave": np.tile(np.arange(4), N // 4),
        "sex": np.repeat(rng.choice(["F", "M"], N // 4), 4),
        "born": np.repeat(rng.integers(1940, 1990, N // 4), 4),
        "income": rng.normal(size=N),
    }


def test_entities_are_found_by_name_and_by_what_never_changes(panel):
    found = entities(table_of(panel))
    assert found[:3] == ("pidnum", N // 4, 4.0)
    assert set(found.constant) == {"sex", "born"}
    assert found.sentence.endswith("use --groups pidnum.")
    words = {"who": [f"p{i:05}" for i in panel["pidnum"]], **panel}
    del words["pidnum"]
    assert entities(table_of(words)).column == "who"


def test_no_entities(panel):
    assert entities(table_of(panel, groups="pidnum")) is None
    rng = np.random.default_rng(1)
    frame = {
        "age": rng.integers(20, 60, N),
        "town": rng.choice([f"town {i}" for i in range(30)], N),
        "x": rng.normal(size=N),
        "id": rng.permutation(N * 10)[:N],
    }
    assert entities(table_of(frame)) is None


def test_inflation_is_that_of_statsmodels(rng):
    x = rng.normal(size=(N, 4))
    x[:, 1] += 3 * x[:, 0]
    x[:, 3] = x[:, 2] + 0.1 * rng.normal(size=N)
    columns = [DesignColumn(f"x{j}", f"x{j}", x[:, j]) for j in range(4)]
    found = inflation(columns, np.ones(N))
    design_matrix = np.c_[np.ones(N), x]
    for one in found:
        j = int(one.column[1])
        expected = variance_inflation_factor(design_matrix, j + 1)
        assert one.vif == pytest.approx(expected, rel=1e-8)
    assert found[0].partners in {("x2",), ("x3",)}
    assert [one.column for one in repeated(found)][0] in {"x2", "x3"}
    assert "nearly repeats" in found[0].sentence


def test_weights_are_repetitions_and_absent_rows_are_absent(rng):
    x = rng.normal(size=(60, 2)) + rng.normal(size=(60, 1))
    w = rng.integers(0, 3, 60).astype(float)
    columns = [DesignColumn(f"x{j}", f"x{j}", x[:, j]) for j in range(2)]
    twice = [c._replace(values=np.repeat(c.values, w.astype(int))) for c in columns]
    garbage = [c._replace(values=np.where(w > 0, c.values, np.nan)) for c in columns]
    expected = [one.vif for one in inflation(twice, np.ones(int(w.sum())))]
    assert [one.vif for one in inflation(garbage, w)] == pytest.approx(expected)


def test_columns_that_determine_another_are_named(rng):
    a, b = rng.normal(size=N), rng.normal(size=N)
    town = rng.choice(list("abc"), N)
    table = table_of({"a": a, "b": b, "total": a + b, "town": town, "place": town})
    found = {one.column: one for one in inflation(design(table), table.w)}
    assert np.isinf([found[name].vif for name in ("a", "b", "total", "town")]).all()
    assert set(found["total"].partners) == {"a", "b"}
    assert found["place"].partners == ("town",)
    sentences = " ".join(one.sentence for one in repeated(tuple(found.values())))
    assert "determine" in sentences
    assert inflation(design(table)[:1], table.w) == ()
