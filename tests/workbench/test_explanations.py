"""What columns contribute to predictions of rows, alone and together; runs side by side."""

import numpy as np
import pyarrow as pa
import pytest

import likely as lk
from likely.core.checks import InputError
from likely.workbench import Spec
from likely.workbench.candidates import candidates_for
from likely.workbench.ladder import Ladder
from likely.workbench.measures.interactions import interactions
from likely.workbench.table import Source, prepare


def numbers(n=150, seed=0, product=0.0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(5, 2, n), rng.normal(-100, 30, n)
    town = rng.choice(["Bern", "Chur"], n, p=[0.7, 0.3])
    open_ = rng.random(n) < 0.5
    y = 3 * a - 0.1 * b + 4 * (town == "Chur") + 2 * open_
    y = y + product * (a - 5) * (b + 100) + rng.normal(size=n)
    return pa.table({"a": a, "b": b, "town": town, "open": open_, "y": y})


@pytest.fixture(scope="module")
def result():
    return lk.workbench.run(numbers(), models=("linear",), effort="quick")


def test_in_a_linear_model_contributions_are_products(result):
    """b (x − mean of x), also where a column is moved to other units."""
    rows = numbers().slice(0, 20).drop_columns(["y"])
    found = lk.workbench.explain(result.model, rows)
    assert found.columns == ("a", "b", "town", "open")
    for j, name in enumerate(("a", "b")):
        x = np.asarray(rows[name])
        slope = np.polyfit(x, found.contributions[:, j], 1)
        mean = np.asarray(numbers()[name]).mean()
        exact = slope[0] * (x - mean)
        np.testing.assert_allclose(found.contributions[:, j], exact, atol=1e-6)
    assert slope[0] == pytest.approx(-0.1, abs=0.02)
    town = found.contributions[:, 2]
    chur = np.asarray(rows["town"]) == "Chur"
    assert town[chur].min() > 0 > town[~chur].max()
    assert found.contributions[:, 3].max() > 0.5
    assert found.sentences(1)[0].split(" = ")[0] in found.columns


def test_contributions_depend_on_the_own_row(result):
    rows = numbers().slice(0, 6).drop_columns(["y"])
    whole = lk.workbench.explain(result.model, rows)
    single = [lk.workbench.explain(result.model, rows.slice(i, 1)) for i in range(6)]
    np.testing.assert_allclose(
        whole.contributions,
        np.concatenate([s.contributions for s in single]),
        atol=1e-9,
    )


@pytest.mark.parametrize(("name", "product"), [("linear", 0.3), ("boosting", 0.3)])
def test_interactions_are_found_where_the_model_has_them(name, product):
    """A linear model has none; trees find a product."""
    spec = Spec(target="y", models=(name,), effort="quick", folds=2)
    table = prepare(spec, Source("here", numbers(400, product=product), (), {}))
    ladder = Ladder(spec, table, candidates_for(table.target.kind, spec.models))
    ladder.run()
    found = interactions(ladder, name, ["a", "b", "open"])
    if name == "linear":
        assert found == ()
    else:
        assert found[0].columns == ("a", "b")
        assert found[0].share > 0.2


def test_runs_on_the_same_rows_are_compared_row_by_row(result, tmp_path):
    options = {"models": ("null",), "effort": "quick"}
    fewer = lk.workbench.run(numbers(), out=tmp_path / "less", **options)
    table = lk.workbench.compare(result, tmp_path / "less", result)
    _, less, same = table.runs
    losses = result.held_out["linear"].loss, fewer.held_out["null"].loss
    exact = lk.evaluate.paired_difference(*losses)
    assert (less.gain, less.gain_error) == pytest.approx(exact, rel=1e-9)
    assert "same 150 held-out rows with the same folds" in less.how
    assert (same.gain, same.gain_error) == (0.0, 0.0)
    assert "is worse than run 1 by" in table.sentences[0]
    again = lk.workbench.compare(fewer, tmp_path / "less")
    assert "is exactly as good as run 1" in again.sentences[0]
    assert table.rows[1]["gain"].startswith("-")
    moved = lk.workbench.run(numbers(seed=1), "y", **options)
    assert "on different rows" in lk.workbench.compare(result, moved).sentences[0]
    renamed = numbers().rename_columns(["a", "b", "town", "open", "z"])
    named = lk.workbench.run(renamed, **options)
    assert "the targets differ" in lk.workbench.compare(result, named).sentences[0]
    with pytest.raises(InputError, match="at least two"):
        lk.workbench.compare(result)
