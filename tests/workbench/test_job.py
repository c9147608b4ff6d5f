"""Whole runs on small tables: what they write, that they repeat, that they resume."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import likely as lk
from likely.core.checks import InputError
from likely.files.lock import locked
from likely.workbench import Spec, job
from likely.workbench.table import Source, leaks, prepare, read

LINEAR_ONLY = {"models": ("linear",), "effort": "quick"}


@pytest.fixture(scope="module")
def houses():
    """A table with words, dates, holes, a constant, a name for each row, and a leak."""
    rng = np.random.default_rng(0)
    n = 240
    area = rng.uniform(40, 200, n)
    town = rng.choice(["Bern", "Basel", "Chur"], n)
    price = 3 * area + 50 * (town == "Basel") + 20 * rng.normal(size=n)
    area[rng.random(n) < 0.1] = np.nan
    days = np.datetime64("2020-01-01") + rng.integers(0, 1000, n)
    return pa.table(
        {
            "id": [f"house-{i}-{rng.integers(1e9)}" for i in range(n)],
            "area": pa.array(area, from_pandas=True),
            "town": town,
            "sold": days.astype("datetime64[ms]"),
            "country": ["CH"] * n,
            "fee": 0.03 * price,
            "price": price,
        }
    )


@pytest.fixture(scope="module")
def result(houses, tmp_path_factory):
    out = tmp_path_factory.mktemp("run")
    return lk.workbench.run(houses, "price", drop=["fee"], out=out, **LINEAR_ONLY), out


def test_the_folder_of_a_run(result, houses):
    found, out = result
    names = {path.name for path in out.iterdir()}
    assert names == {
        "model", "predictions.csv", "report.html", "report.json", "spec.toml",
        "timing.json",
    }  # fmt: skip
    report = json.loads((out / "report.json").read_text())
    assert report == found.report.to_dict()
    assert report["winner"]["name"] == "linear"
    assert report["winner"]["scores"]["r2"] > 0.8
    assert 0.84 < report["winner"]["coverage"] < 0.96
    lines = (out / "predictions.csv").read_text().splitlines()
    assert lines[0] == "row,id,fold,y,mean,low,high,nats"
    assert lines[1].split(",")[1] == houses["id"][0].as_py()  # the key of the row
    assert len(lines) == 241
    y, mean, low, high = np.loadtxt(lines[1:], delimiter=",", usecols=(3, 4, 5, 6)).T
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(
        report["winner"]["coverage"]
    )
    assert np.corrcoef(y, mean)[0, 1] > 0.9
    kinds = {f["kind"] for f in report["findings"]}
    assert {"column", "missing"} <= kinds


def test_the_saved_model_predicts_new_rows(result, houses):
    found, out = result
    model = lk.load(out / "model" / "model.likely")
    new = houses.slice(0, 5).drop_columns(["price", "fee"])
    np.testing.assert_array_equal(model.predict(new), found.model.predict(new))
    low, high = model.predict_interval(new, 0.8)
    wide = model.predict_interval(new, 0.95)
    assert (wide[0] < low).all()
    assert (high < wide[1]).all()
    with pytest.raises(InputError, match="area"):
        model.predict(new.drop_columns(["area"]))


class Checker(HTMLParser):
    """Every element is closed in order; nothing comes from elsewhere."""

    VOID = ("meta", "br", "img", "link", "hr")

    def __init__(self):
        super().__init__()
        self.open, self.outside = [], []

    def handle_starttag(self, tag, attrs):
        self.outside += [v for k, v in attrs if k in ("src", "href") and v[0] != "#"]
        assert tag not in ("script", "iframe", "object")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_asks_for_nothing(result):
    text = (result[1] / "report.html").read_text()
    checker = Checker()
    checker.feed(text)
    assert not checker.open
    assert not checker.outside
    assert "Content-Security-Policy" in text
    assert len(text) < 2_000_000
    assert not re.search(
        r"\bnan\b|\binf\b|None", re.sub(r"<style>.*?</style>", "", text)
    )
    assert "<table>" in result[0]._repr_html_()
    assert str(result[0]).count(".\n") == 2


def test_the_same_run_writes_the_same_bytes(result, houses, tmp_path):
    lk.workbench.run(houses, "price", drop=["fee"], out=tmp_path, **LINEAR_ONLY)
    for name in ("report.json", "report.html", "predictions.csv", "spec.toml"):
        assert (tmp_path / name).read_bytes() == (result[1] / name).read_bytes(), name


def test_a_leak_is_found(houses):
    table = prepare(Spec(target="price"), Source("houses", houses, (), {}))
    assert set(leaks(table)) == {"fee"}


def test_rows_in_order_of_time_are_split_by_time(houses):
    ordered = houses.sort_by("sold")
    table = prepare(Spec(target="price"), Source("houses", ordered, (), {}))
    assert "by time" in table.split
    shuffled = prepare(Spec(target="price"), Source("houses", houses, (), {}))
    assert shuffled.split == "at random"


def test_groups_stay_together(houses):
    table = prepare(
        Spec(target="price", groups="town", folds=3), Source("h", houses, (), {})
    )
    town = np.asarray(houses["town"])
    for held_out in table.folds.held_out:
        inside = set(town[held_out > 0])
        assert len(inside) == 1
    assert "town" not in table.schema.names


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"target": "prize"}, "price"),
        ({"target": "id"}, "too many"),
        ({"target": "sold"}, "dates"),
        ({"target": "country"}, "one value only"),
        ({"drop": ("price",)}, "among the columns to drop"),
        ({"weight": "area"}, "missing in some rows"),
        ({"models": ("tree",)}, "no model 'tree'"),
        ({"folds": 100, "target": "price"}, "at least 200|fewer folds"),
        ({"family": "poisson"}, "whole numbers"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(change, sentence, houses):
    if "folds" in change:
        houses = houses.slice(0, 150)
    with pytest.raises(InputError, match=sentence):
        job.run_spec(Spec(**{"target": "price", **change}), houses)


def test_an_unknown_source_is_a_sentence():
    with pytest.raises(InputError, match="neither a file nor a data set"):
        read("nowhere")


def test_weights_are_counts(houses):
    doubled = houses.append_column("w", pa.array(np.full(240, 2.0)))
    table = prepare(Spec(target="price", weight="w"), Source("h", doubled, (), {}))
    assert table.w.sum() == 480
    assert "w" not in table.schema.names


def test_a_finished_run_is_not_run_again(houses, tmp_path, monkeypatch):
    pq.write_table(houses.drop_columns(["fee"]), tmp_path / "houses.parquet")
    monkeypatch.chdir(tmp_path)
    job.run("houses.parquet", "price", out="run", folds=3, **LINEAR_ONLY)
    spec = Spec.read("run/spec.toml")
    assert "'houses.parquet" not in repr(spec)
    monkeypatch.chdir("run")  # paths in a spec are seen from its folder
    assert read(Spec.read("spec.toml").data).frame.num_rows == 240
    with pytest.raises(InputError, match="is finished: see"):
        job.resume(tmp_path / "run")
    pq.write_table(houses.slice(20), tmp_path / "houses.parquet")
    with pytest.raises(InputError, match="have changed since"):
        job.resume(tmp_path / "run")
    assert "--models linear" in (tmp_path / "run" / "report.html").read_text()


def test_two_runs_do_not_share_a_folder(houses, tmp_path):
    with locked(tmp_path), pytest.raises(InputError, match="another run"):
        job.run(houses, "price", out=tmp_path, **LINEAR_ONLY)


def test_a_failed_start_leaves_no_folder(houses, tmp_path):
    with pytest.raises(InputError, match="no model"):
        job.run(houses, "price", models=("tree",), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


KILLED = """
import sys
from likely.workbench import Spec, run_spec, resume
from pathlib import Path
out = Path(sys.argv[1])
if (out / "work").exists():
    resume(out)
elif not (out / "report.json").exists():
    run_spec(Spec(data="diabetes", models=("linear",), effort="quick"), out=out)
"""


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_bytes(tmp_path):
    """Ten kills at growing times, then to the end; the reports are equal."""
    command = [sys.executable, "-c", KILLED]
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    start = time.monotonic()
    subprocess.run([*command, str(whole)], check=True)
    length = time.monotonic() - start
    for k in range(10):
        process = subprocess.Popen([*command, str(torn)], stderr=subprocess.DEVNULL)
        try:
            process.wait(length * (0.4 + 0.06 * k))
            break
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    subprocess.run([*command, str(torn)], check=True)
    for name in ("report.json", "report.html", "predictions.csv"):
        assert (whole / name).read_bytes() == (torn / name).read_bytes()
