"""Columns of text in a run: their words beside the other columns of a linear model."""

import json

import numpy as np
import pandas as pd
import pytest

import likely as lk
from likely import files
from likely.cli.predict import predictions
from likely.core.checks import InputError
from likely.data.frames import encode_text, to_arrow
from likely.data.schema import Schema
from likely.preprocess import TableEncoder
from likely.workbench import costs
from likely.workbench.candidates import CANDIDATES, TEXT, candidates_for
from likely.workbench.explanations import explain
from likely.workbench.fitted import Texts
from likely.workbench.plan import plan_for
from likely.workbench.problem import Problem
from likely.workbench.report import page

WORDS = [
    "the", "a", "of", "and", "it", "this", "house", "with", "big", "old", "near", "park",
    "sea", "view", "dark", "damp",
]  # fmt: skip
GOOD, BAD = "sunny", "noisy"


def houses(n=160, seed=0, signal=1.0):
    """Prices that depend on the area, and on two words of a description."""
    rng = np.random.default_rng(seed)
    area = rng.uniform(40, 200, n)
    good, bad = rng.random((2, n)) < 0.3
    texts = []
    for i in range(n):
        own = [GOOD] * int(good[i]) + [BAD] * int(bad[i])
        words = [*rng.choice(WORDS, 9), *own]
        texts.append(" ".join(rng.permutation(words)))
    price = area + signal * (60 * good - 60 * bad) + 10 * rng.normal(size=n)
    return pd.DataFrame({"area": area, "about": texts, "price": price})


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("text")
    found = lk.workbench.run(
        houses(), "price", models=["linear", "text"], effort="quick", folds=2, out=out
    )
    return found, out


def test_words_are_a_rung_of_the_ladder(result):
    report = result[0].report
    scores = {row.name: row.nats for row in report.ladder}
    assert list(scores)[:3] == ["null", "linear", "text"]
    assert scores["text"] < scores["linear"] - 0.5
    column = next(c for c in report.data.columns if c.name == "about")
    assert column.kind == "text"
    assert column.used
    (told,) = [line for line in report.shrunk if "words" in line]
    assert "'about'" in told
    text, words = (
        next(f for f in report.findings if f.kind == kind) for kind in ("text", "words")
    )
    assert "gain" in text.text
    assert f"more price '{GOOD}'" in words.text
    assert f"less price '{BAD}'" in words.text
    top = {word.word: word for word in report.words[:2]}
    assert set(top) == {GOOD, BAD}
    assert top[GOOD].effect == pytest.approx(60, rel=0.3)
    assert top[BAD].effect == pytest.approx(-60, rel=0.3)
    assert top[GOOD].share == pytest.approx(0.3, abs=0.1)
    assert GOOD in page(report)
    important = {i.column: i.nats for i in report.importances}
    assert important["about"] > 0.3
    assert json.loads((result[1] / "report.json").read_text())["words"]


def test_new_rows_are_predicted_one_by_one_as_together(result, tmp_path):
    model = files.load(result[1] / "model" / "model.likely")
    frame = houses(12, seed=1).drop(columns="price")
    frame.loc[0, "about"] = ""
    frame.loc[1, "about"] = "unheard of"
    frame.loc[2, "about"] = None
    frame.to_csv(tmp_path / "new.csv", index=False)
    together = predictions(result[1], str(tmp_path / "new.csv"), 0.9).splitlines()
    for i in range(len(frame)):
        frame.iloc[[i]].to_csv(tmp_path / "one.csv", index=False)
        alone = predictions(result[1], str(tmp_path / "one.csv"), 0.9).splitlines()
        assert alone[1].partition(",")[2] == together[1 + i].partition(",")[2]
    y = houses(200, seed=2)
    assert np.corrcoef(model.predict(y), y["price"])[0, 1] > 0.95
    assert model.texts == ("about",)
    with pytest.raises(InputError, match="'about'"):
        model.predict(frame[["area"]])


def test_contributions_of_texts_are_those_of_their_words(result):
    frame = pd.DataFrame({"area": [100.0] * 2, "about": [f"{GOOD} it", "it the"]})
    found = explain(result[0].model, frame)
    about = found.contributions[:, found.columns.index("about")]
    assert about[0] > about[1] + 20


def test_the_same_run_writes_the_same_bytes(result, tmp_path):
    settings = {"models": ["linear", "text"], "effort": "quick", "folds": 2}
    lk.workbench.run(houses(), "price", out=tmp_path, **settings)
    for name in ("report.json", "predictions.csv", "model/model.likely"):
        assert (tmp_path / name).read_bytes() == (result[1] / name).read_bytes(), name


KINDS = {
    "binary": lambda z, rng: np.where(z + 20 * rng.normal(size=len(z)) > 120, "y", "n"),
    "classes": lambda z, rng: np.digitize(z, [80, 140]).astype(str),
    "count": lambda z, rng: rng.poisson(np.exp(z / 100)),
    "positive": lambda z, rng: np.exp(z / 30 + rng.normal(size=len(z))),
    "nonnegative": lambda z, rng: np.maximum(z - 100, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_words_help_all_kinds_of_targets(kind):
    frame = houses(400)
    rng = np.random.default_rng(1)
    frame["price"] = KINDS[kind](frame["price"].to_numpy(), rng)
    found = lk.workbench.run(
        frame, "price", models=["linear", "text"], effort="quick", folds=3
    )
    scores = {row.name: row.nats for row in found.report.ladder}
    assert found.report.target.kind == kind
    assert scores["text"] < scores["linear"] - 0.05
    assert {GOOD, BAD} <= {word.word for word in found.report.words[:4]}


def test_texts_without_a_signal_are_told_to_have_none():
    found = lk.workbench.run(
        houses(signal=0.0), "price", models=["linear", "text"], effort="quick", folds=2
    )
    (text,) = [f.text for f in found.report.findings if f.kind == "text"]
    assert "tell nothing certain about price" in text
    assert not [f for f in found.report.findings if f.kind == "words"]


def test_a_table_of_nothing_but_text():
    frame = houses()[["about", "price"]]
    found = lk.workbench.run(frame, "price", effort="quick", folds=2)
    names = [row.name for row in found.report.ladder]
    assert names == ["null", "text"]
    assert found.report.winner.name == "text"
    assert np.isfinite(found.model.predict(frame[["about"]])).all()
    with pytest.raises(InputError, match="needs a column that is not text"):
        lk.workbench.run(frame, "price", models=["forest"], effort="quick")


def test_a_column_of_text_may_be_dropped_or_be_something_else():
    settings = {"models": ["linear"], "effort": "quick", "folds": 2}
    plain = lk.workbench.run(houses(), "price", drop=["about"], **settings)
    assert [c.name for c in plain.report.data.columns] == ["area"]
    with pytest.raises(InputError, match="for tables with a column of text"):
        lk.workbench.run(houses(), "price", drop=["about"], models=["text"])
    beside = lk.workbench.run(houses(), "price", **settings)
    assert beside.model.texts == ()
    np.testing.assert_allclose(
        beside.model.predict(houses()[["area"]]), plain.model.predict(houses())
    )
    names = pd.DataFrame({"town": [f"town {i}" for i in range(60)], "y": range(60)})
    assert Schema.infer(names)["town"].identifier
    assert Schema.infer(names, kinds={"town": "text"})["town"].prose


def test_lists_are_no_texts():
    lists = pd.DataFrame({"tags": [["a", "b"], ["c"]] * 10, "x": np.arange(20) ** 0.5})
    table = to_arrow(lists)
    assert Texts.of(Schema.infer(table), table).columns == ()
    assert TableEncoder(text=lk.TfidfVectorizer()).fit(table).texts_ == []


# Encoding -------------------------------------------------------------------------------


def test_words_stand_beside_the_other_columns():
    frame = houses().drop(columns="price").assign(town=["Bern", "Chur"] * 80)
    encoder = TableEncoder(text=lk.TfidfVectorizer(max_features=5)).fit(frame)
    names = list(encoder.get_feature_names_out())
    assert names[:3] == ["area", "town_Bern", "town_Chur"]
    assert [name.partition("_")[0] for name in names[3:]] == ["about"] * 5
    X = encoder.transform(frame)
    plain = lk.TfidfVectorizer(max_features=5).fit_transform(list(frame["about"]))
    count = np.diff(plain.indptr).mean()
    np.testing.assert_allclose(X[:, 3:], plain.toarray() * count**0.5)
    np.testing.assert_array_equal(X[:, :3], TableEncoder().fit_transform(frame))
    assert encoder.places()["about"] == [3, 4, 5, 6, 7]
    codes = encoder.level_codes(frame)
    other = encoder.with_levels(X, 1 - codes)
    np.testing.assert_array_equal(other[:, 3:], X[:, 3:])
    np.testing.assert_array_equal(other[:, 1:3], X[:, 2:0:-1])


def test_words_of_absent_rows_are_not_learned():
    frame = houses(40).drop(columns="price")
    more = pd.concat([frame, frame.assign(about="garbage garbage")])
    w = np.repeat([1.0, 0.0], 40)
    text = lk.TfidfVectorizer(min_df=2)
    schema = Schema.infer(frame)
    found = TableEncoder(schema=schema, text=text).fit(more, sample_weight=w)
    plain = TableEncoder(schema=schema, text=text).fit(frame)
    np.testing.assert_array_equal(found.transform(frame), plain.transform(frame))
    unique = pd.DataFrame(
        {"x": np.arange(20) ** 0.5, "t": [f"w{i} v{i} u{i} s{i}" for i in range(20)]}
    )
    alone = TableEncoder(text=text).fit(unique)  # no word is in two texts
    assert alone.transform(unique).shape == (20, 1)
    np.testing.assert_array_equal(
        encode_text(to_arrow(unique)).column("x").to_numpy(), unique["x"]
    )


# The plan -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["real", "binary", "classes", "count", "survival"])
@pytest.mark.parametrize("effort", ["quick", "normal", "thorough"])
def test_the_plan_keeps_to_the_seconds_with_texts(kind, effort):
    family = {"real": "normal", "count": "negative_binomial", "survival": "weibull"}
    classes = {"binary": 2, "classes": 5}.get(kind, 0)
    candidates = candidates_for(kind, (), texts=True)
    widths = {"scaled": 20, "compact": 20, "ordinal": 10}
    for n in (100, 5000, 100_000):
        problem = Problem(
            kind, family.get(kind, "bernoulli"), n, 0, effort, 0, classes=classes
        )
        texts = Texts(("about",), 100 * n)
        plan = plan_for(problem, widths, 10, 5, candidates, texts=texts)
        assert plan.seconds <= 1.001 * costs.available(effort)
        assert plan.words * n <= 20_000_000
        assert "text" in plan.models or n == 100_000


def test_the_model_with_text_is_offered_where_there_is_text():
    plain = [c.name for c in candidates_for("real", ())]
    assert TEXT.name not in plain
    assert plain == [c.name for c in CANDIDATES if "real" in c.kinds]
    some = [c.name for c in candidates_for("real", (), texts=True)]
    assert some[some.index("penalised") + 1] == TEXT.name
