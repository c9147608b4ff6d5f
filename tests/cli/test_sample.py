"""`likely sample`: a synthetic table in the form of the original, and its report."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from likely.cli.main import app
from likely.core.checks import InputError
from likely.data.readings.forms import parse_form
from likely.workbench.sampling.fidelity import judge_synthesis
from likely.workbench.sampling.gaps import Gaps
from likely.workbench.sampling.source import Writing, read_original
from likely.workbench.sampling.synthesis import named_models, synthesize
from likely.workbench.sampling.written_table import text_of, write_table


def likely(*args: object):
    return CliRunner().invoke(app, [*map(str, args)])


def people(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """A table as people write it: words, dates, money, decimals, missing cells."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["female", "male"], n), rng.integers(18, 80, n)
    days: Any = pd.to_timedelta(rng.integers(0, 3000, n), "D")
    price = np.exp(7 + 0.5 * rng.normal(size=n) + 0.01 * age)
    height = 165 + 12 * (sex == "male") + 6 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "id": [f"P{i:05d}" for i in range(n)],
            "sex": sex,
            "age": age,
            "height": np.round(height, 1),
            "visits": rng.poisson(1 + age / 20).astype(float),
            "member": np.where(rng.random(n) < 0.3, "Yes", "No"),
            "since": (pd.Timestamp("2015-01-01") + days).strftime("%d.%m.%Y"),
            "price": [f"${x:,.2f}" for x in price],
            "sick": (rng.random(n) < 1 / (1 + np.exp(-(age - 50) / 8))).astype(int),
        }
    )
    frame.loc[(age < 40) & (rng.random(n) < 0.7), ["visits", "height"]] = np.nan
    frame["visits"] = frame["visits"].astype("Int64")
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table and a synthetic one."""
    place = tmp_path_factory.mktemp("sample")
    people().to_csv(place / "people.csv", index=False)
    done = likely(
        "sample", place / "people.csv", "--rows", 800, "--out", place / "new.csv"
    )
    assert done.exit_code == 0, done.stderr
    (place / "said.txt").write_text(done.stdout)
    return place


def test_cells_are_written_as_those_of_the_original(folder):
    new, old = pd.read_csv(folder / "new.csv"), people()
    assert len(new) == 800
    assert list(new) == [c for c in old if c != "id"]  # which names rows
    assert set(new.sex) == {"female", "male"}
    assert set(new.member) == {"Yes", "No"}
    assert new.age.dtype == new.sick.dtype == np.int64
    assert new.since.str.fullmatch(r"\d\d\.\d\d\.\d{4}").all()
    assert new.price.str.fullmatch(r"\$\d{1,3}(,\d{3})*\.\d\d").all()
    tenths = new.height.dropna() * 10
    assert np.allclose(tenths, np.round(tenths))
    assert (new.visits.dropna() >= 0).all()
    assert (new.visits.dropna() % 1 == 0).all()


def test_missing_cells_depend_on_what_they_did(folder):
    new, old = pd.read_csv(folder / "new.csv"), people()
    assert (new.visits.isna() == new.height.isna()).all()
    assert new.visits.isna().mean() == pytest.approx(old.visits.isna().mean(), abs=0.06)
    young = [f[f.age < 40].visits.isna().mean() for f in (new, old)]
    assert young[0] == pytest.approx(young[1], abs=0.15)
    assert new[new.age > 50].visits.isna().mean() < 0.1


def test_the_report_says_what_is_kept_and_what_is_given_away(folder):
    said = (folder / "said.txt").read_text()
    assert "There is no differential privacy" in said
    assert "No memorisation shown" in said
    assert "of 'sick' has AUC" in said
    assert "Left out, as they name rows, hold prose or are empty: 'id'" in said
    found = json.loads((folder / "new.report.json").read_text())
    assert found["differential_privacy"] is False
    assert found["rows"] == 800
    assert found["trained_on"] + found["held_out"] == 300
    assert len(found["columns"]) == 8
    assert found["train_on_synthetic"]["ratio"] > 0.8
    best = min(found["models"], key=lambda row: row["nats"])
    assert best["model"] == found["model"]
    assert found["mean_column_distance"] < 2 * np.mean(
        [row["by chance"] for row in found["columns"]]
    )


def test_the_same_seed_gives_the_same_table_and_files_are_kept(folder, tmp_path):
    out = tmp_path / "new.csv"
    args = "sample", folder / "people.csv", "--rows", 50, "--out", out
    first = likely(*args, "--model", "bayesiannetwork", "--json")
    assert first.exit_code == 0, first.stderr
    assert json.loads(first.stdout)["model"] == "BayesianNetwork"
    text = out.read_text()
    refused = likely(*args)
    assert refused.exit_code == 2
    assert "overwrite it with --force" in refused.stderr
    assert out.read_text() == text
    again = likely(*args, "--model", "BayesianNetwork", "--force")
    assert again.exit_code == 0
    assert out.read_text() == text
    original = read_original(str(folder / "people.csv"))
    other = synthesize(original, 50, models=("BayesianNetwork",), seed=1)
    write_table(other.table, out, original.writing)
    assert out.read_text() != text


def test_mistakes_are_sentences(folder, tmp_path):
    table = folder / "people.csv"
    out = ("--out", tmp_path / "x.csv")
    cases = {
        ("sample", "nowhere.csv", *out): "nowhere.csv",
        (
            "sample",
            table,
            "--out",
            tmp_path / "x.xlsx",
        ): "no format that can be written",
        ("sample", table, *out, "--model", "BayesianNetwrk"): "BayesianNetwork",
        ("sample", table, *out, "--target", "sik"): "'sick'",
        ("sample", table, "--out", tmp_path / "no" / "x.csv"): "there is no folder",
        ("sample", table, "--out", tmp_path): "is a folder",
    }
    for args, words in cases.items():
        done = likely(*args)
        assert done.exit_code == 2, (args, done.stderr)
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("x.*"))
    (tmp_path / "few.csv").write_text("a,b\n1,x\n2,y\n")
    done = likely("sample", tmp_path / "few.csv", *out)
    assert done.exit_code == 2
    assert "at least 10" in done.stderr


def test_help_comes_without_jax():
    code = (
        "import sys; from typer.testing import CliRunner; from likely.cli.main import app;"
        "r = CliRunner().invoke(app, ['sample', '--help']); assert r.exit_code == 0;"
        "assert 'synthetic' in r.stdout and 'jax' not in sys.modules, r.stdout"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_types_of_parquet_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    frame = pa.table(
        {
            "word": pa.array(rng.choice(["a", "b", "c"], 120)).dictionary_encode(),
            "flag": pa.array(rng.random(120) < 0.5),
            "small": pa.array(rng.integers(0, 50, 120), pa.int16()),
            "time": pa.array(
                np.datetime64("2020-01-01", "s")
                + rng.integers(0, 10_000, 120)
                .astype("timedelta64[h]")
                .astype("timedelta64[s]")
            ),
            "x": pa.array(rng.normal(size=120), pa.float32()),
        }
    )
    original = read_original(frame)
    made = synthesize(original, 40, models=("independent columns",))
    write_table(made.table, tmp_path / "new.parquet", original.writing)
    found = pq.read_table(tmp_path / "new.parquet")
    assert found.column_names == frame.column_names
    for name in ("flag", "small", "x"):
        assert found.schema.field(name).type == frame.schema.field(name).type
    assert pa.types.is_dictionary(found.schema.field("word").type)
    assert pa.types.is_timestamp(found.schema.field("time").type)
    for name in ("a.json", "a.jsonl", "a.tsv", "a.feather"):
        write_table(made.table, tmp_path / name, original.writing)
        again = read_original(str(tmp_path / name)).frame
        assert len(again) == 40
        assert again["small"].to_pylist() == made.table["small"].to_pylist()


def test_numbers_are_written_in_their_form():
    writing = Writing({"p": "number €1.234,5", "q": "number 1,5"}, {"p": 2, "q": 1})
    assert parse_form(writing.readings["p"]) is not None
    values = pa.chunked_array([[1234.5, None, -3.0]])
    assert text_of(values, "p", writing) == ["€1.234,50", "", "-€3,00"]
    assert text_of(values, "q", writing) == ["1234,5", "", "-3,0"]
    assert text_of(values, "r", writing) == ["1234.5", "", "-3"]


def test_gaps_are_added_and_taken_away_again():
    frame = pa.table(
        {"a": [1.0, None, 3.0], "b": ["x", None, "z"], "a is missing": [1, 2, 3]}
    )
    gaps = Gaps.of(frame)
    assert list(gaps.flags.values()) == [("a", "b")]
    added = gaps.added(frame)
    assert len(added.column_names) == 4
    assert gaps.removed(added).equals(frame)


def test_a_copier_would_be_reported(folder):
    original = read_original(str(folder / "people.csv"))
    made = synthesize(original, 100, models=("independent columns",))
    keep = made.table.column_names
    copied = made._replace(table=made.train.select(keep).slice(0, 100))
    found = judge_synthesis(copied)
    assert found.memorization.copies == 1
    assert any("repeat training rows" in s for s in found.sentences())


def test_models_are_named_as_people_do():
    assert named_models("") == named_models("quick") == "quick"
    assert named_models("all") is None
    assert named_models("vae, bayesiannetwork") == ("VAE", "BayesianNetwork")
    with pytest.raises(InputError, match="at least 1"):
        synthesize(read_original(pa.table({"a": [1]})), 0)
