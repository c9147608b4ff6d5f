"""Levels that training did not have: an average over the known ones, with their spread.

The truth is known: countries have random effects of standard deviation 2 around a line
with noise of standard deviation 0.5.
"""

import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from likely import files
from likely.cli.predict import predictions
from likely.data.frames import encode_text, to_arrow
from likely.evaluate import radius
from likely.families import Categorical, Mixed, Normal, Predictive
from likely.families.averaged import Averaged
from likely.families.joined import Joined
from likely.preprocess.levels import MISSING, UNKNOWN
from likely.workbench import scoring
from likely.workbench.candidates import CANDIDATES, candidates_for
from likely.workbench.fitted import level_limit, pooled_levels
from likely.workbench.ladder import Ladder
from likely.workbench.model import TableModel
from likely.workbench.nesting import is_nested
from likely.workbench.quantiles import quantile_table
from likely.workbench.spec import Spec
from likely.workbench.table import prepare, read
from likely.workbench.unseen import KnownLevels

COUNTRIES, ROWS = 40, 8
SLOW = {"spline", "svm", "forest", "network", "penalised"}
MODELS = [
    pytest.param(c.name, marks=[pytest.mark.slow] if c.name in SLOW else [])
    for c in CANDIDATES
    if "real" in c.kinds and c.name != "null"
]


def countries(count=COUNTRIES, rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    effect = 2 * rng.normal(size=count)
    country = np.repeat(np.arange(count), rows)
    x = rng.normal(size=len(country))
    y = effect[country] + x + 0.5 * rng.normal(size=len(country))
    names = [f"land {7 * c % count:03d}" for c in country]
    codes = [f"code {c}" for c in country]
    return pd.DataFrame({"country": names, "code": codes, "x": x, "y": y}), country


def ladder(frame, models, *, groups="", effort="quick", kinds=None):
    spec = Spec(
        data="frame", target="y", models=tuple(models), effort=effort, folds=2,
        groups=groups, kinds=kinds or {},
    )  # fmt: skip
    table = prepare(spec, read(frame, "y"))
    return Ladder(spec, table, candidates_for(table.target.kind, spec.models))


def predicted(model, frame):
    return model.predict_dist(encode_text(to_arrow(frame)))


@pytest.mark.parametrize("name", MODELS)
def test_an_unseen_level_is_the_average_of_the_known_ones(name):
    frame = countries()[0].drop(columns="code")
    effort = "normal" if name == "spline" else "quick"  # which has few columns
    model = ladder(frame, [name], effort=effort).of_all(name)
    seen = pd.DataFrame({"country": frame.country.unique(), "x": 0.5})
    new = pd.DataFrame({"country": ["aaa", "zzz", None], "x": 0.5})
    known, dist = predicted(model, seen), predicted(model, new)
    np.testing.assert_allclose(dist.mean, np.mean(known.mean), atol=0.3)
    between = np.var(np.asarray(known.mean))
    total = np.sqrt(between + np.mean(known.var))
    np.testing.assert_allclose(np.sqrt(dist.var), total, rtol=0.12)
    # whatever its name, and whether it is a name at all
    np.testing.assert_allclose(dist.mean, dist.mean[0], rtol=1e-9)
    # other rows do not change it
    both = predicted(model, pd.concat([seen, new]))
    np.testing.assert_allclose(both.mean[:-3], known.mean, rtol=1e-9)
    np.testing.assert_allclose(both.mean[-3:], dist.mean, rtol=1e-9)
    table = quantile_table(both)
    np.testing.assert_allclose(table[-3:], quantile_table(dist), rtol=1e-6, atol=1e-6)


def intervals_cover(found, name, new):
    """The share of new rows in the 90 % intervals of a model, and its nats."""
    predictions = found.held_out[name]
    calibrated = scoring.calibrate(found.table, predictions)
    assert calibrated.scale == "width"
    table = quantile_table(dist := predicted(found.of_all(name), new))
    low, middle, high = scoring.inner_ends(table, calibrated.stretch)
    q = radius(calibrated.scores, 0.9, calibrated.weights)
    y = new.y.to_numpy()
    ends = middle + q * (low - middle), middle + q * (high - middle)
    return np.mean((y >= ends[0]) & (y <= ends[1])), -np.mean(dist.log_prob(y))


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["country", ""])
def test_intervals_cover_the_rows_of_new_countries(groups):
    cover, nats, null = [], [], []
    for seed in (0, 1, 2):
        frame, country = countries(100, 6, seed)
        frame, new = frame.drop(columns="code"), country >= 60
        found = ladder(frame[~new], ["linear"], groups=groups)
        found.run()
        share, loss = intervals_cover(found, "linear", frame[new])
        cover.append(share)
        nats.append(loss)
        null.append(np.log(np.std(frame.y)) + 1.42)
    assert 0.85 < np.mean(cover) < 0.95
    assert np.mean(nats) < np.mean(null) + 0.05


def test_codes_of_groups_are_left_out():
    frame, _ = countries()
    table = ladder(frame, ["linear"], groups="country").table
    assert table.schema.names == ("x",)
    assert any("'code' is left out" in note for note in table.notes)
    kept = ladder(frame, ["linear"], groups="country", kinds={"code": "category"})
    assert kept.table.schema.names == ("code", "x")
    parts = countries()[0].assign(part=np.arange(COUNTRIES * ROWS) % 3)
    table = ladder(parts, ["linear"], groups="country").table
    assert "part" in table.schema.names


def test_the_type_of_a_column_of_categories_does_not_matter():
    frame = countries()[0].drop(columns="code")
    more = [*frame.country.unique(), "zzz"]  # a level that no row has
    same = frame.assign(country=pd.Categorical(frame.country, more))
    seen = pd.DataFrame({"country": [*frame.country[:3], None, "zzz"], "x": 0.5})
    means = [
        predicted(ladder(rows, ["neighbors"]).of_all("neighbors"), new).mean
        for rows, new in [
            (frame, seen),
            (same, seen.assign(country=pd.Categorical(seen.country, more))),
            (pa.Table.from_pandas(frame).combine_chunks(), pa.Table.from_pandas(seen)),
        ]
    ]
    np.testing.assert_array_equal(means[0], means[1])
    np.testing.assert_array_equal(means[0], means[2])


def test_new_levels_are_counted_in_the_output(tmp_path, capsys):
    frame = countries()[0].drop(columns="code")
    found = ladder(frame, ["neighbors"])
    fitted, table = found.of_all("neighbors"), found.table
    model = TableModel(
        "neighbors", table.target, fitted.encoders, tuple(fitted.parts), fitted.weights,
        1.0, 1.0, np.linspace(0, 1, 20), np.ones(20), fitted.known,
    )  # fmt: skip
    files.save(model, tmp_path / "model.likely")
    new = pd.DataFrame({"country": ["land 003", "Utopia", "", "Nowhere"], "x": 0.5})
    new.to_csv(tmp_path / "new.csv", index=False)
    text = predictions(tmp_path, str(tmp_path / "new.csv"), 0.9)
    rows = pd.read_csv(io.StringIO(text), keep_default_na=False)
    assert list(rows["unseen"]) == ["", "country", "country", "country"]
    means = rows["mean"].to_numpy()
    assert means[1] == means[3]
    assert (
        "3 rows have a value of 'country' that the model has not"
        in capsys.readouterr().err
    )
    one = predictions(tmp_path, str(tmp_path / "new.csv"), 0.9, as_json=True)
    assert json.loads(one)["unseen"] == list(rows["unseen"])


# Which known levels stand in --------------------------------------------------------------


def known_levels(w=None):
    """A fine column within a coarse one, and one of its own that has missing values."""
    rng = np.random.default_rng(0)
    fine = np.repeat(np.arange(60), 5)
    codes = np.stack([fine, fine % 3, rng.integers(-1, 4, len(fine))], axis=1)
    y = codes[:, 1] * 10.0 + fine / 60
    return KnownLevels.of(codes, y, np.ones(len(y)) if w is None else w), codes, y


def test_stand_ins_belong_together():
    known, codes, _ = known_levels()
    assert known.parents == ((1,), (), ())
    new = np.array([[UNKNOWN, 2, 0], [UNKNOWN, UNKNOWN, 1], [3, 0, UNKNOWN], [3, 0, 1]])
    found = known.replaced(new)
    assert found.shape == (known.stand_ins, 4, 3)
    assert (found[:, 0, 0] % 3 == 2).all(), "levels within the same coarse level"
    assert (found[:, 1, 0] % 3 == found[:, 1, 1]).all(), "both from the same row"
    assert len(np.unique(found[:, 1, 0])) == known.stand_ins
    assert set(found[:, 2, 2]) == {0, 1, 2, 3}, "and not what is missing"
    assert (found[:, 3] == [3, 0, 1]).all()
    pairs = {tuple(row) for row in codes[:, :2]}
    assert {tuple(row) for row in found[:, 1, :2]} <= pairs


def test_a_missing_value_is_unseen_where_none_was_missing():
    known, _, _ = known_levels()
    found = known.unseen(np.array([[MISSING, MISSING, MISSING]]))
    np.testing.assert_array_equal(found, [[True, True, False]])


def test_weights_are_repetitions():
    w = np.random.default_rng(1).integers(0, 3, 300).astype(float)
    weighted, codes, y = known_levels(w)
    rows = np.repeat(np.arange(300), w.astype(int))
    repeated = KnownLevels.of(codes[rows], y[rows], np.ones(len(rows)))
    garbage = np.where(w > 0, y, np.nan)
    absent = KnownLevels.of(np.where(w[:, None] > 0, codes, 99), garbage, w)
    for other in (repeated, absent):
        for ours, theirs in zip(weighted.weights, other.weights, strict=True):
            np.testing.assert_allclose(ours, theirs)
        for ours, theirs in zip(weighted.rows, other.rows, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert weighted.parents == other.parents


def test_levels_are_nested_where_each_lies_in_one():
    fine = np.repeat(np.arange(20), 4)
    assert is_nested(fine, fine // 5)
    assert not is_nested(fine // 5, fine)
    assert not is_nested(np.arange(80), fine), "nothing is repeated"
    assert not is_nested(np.full(80, -1), fine)


# Rows of several predictions ------------------------------------------------------------


def test_joined_rows_are_those_of_their_parts():
    rng = np.random.default_rng(0)
    eta = rng.normal(size=(7, 2))
    whole = Predictive(Normal(), eta)
    rows = [np.array([1, 4, 6]), np.array([0, 2, 3, 5])]
    joined = Joined([whole[rows[0]], whole[rows[1]]], rows)
    y = rng.normal(size=7)
    for name in ("log_prob", "cdf", "crps"):
        np.testing.assert_allclose(
            getattr(joined, name)(y), getattr(whole, name)(y), rtol=1e-9
        )
    for name in ("mean", "var", "mode", "median"):
        np.testing.assert_allclose(
            getattr(joined, name), getattr(whole, name), rtol=1e-6, atol=1e-6
        )
    few = [5, 1, 0]
    np.testing.assert_allclose(joined[few].mean, whole[few].mean)
    np.testing.assert_allclose(joined.cdf(0.3), whole.cdf(0.3))
    assert len(joined) == 7
    assert joined.sample(3, random_state=0).shape == (3, 7)


def test_averaged_rows_are_mixtures_of_copies():
    rng = np.random.default_rng(0)
    base, y = Predictive(Normal(), rng.normal(size=(12, 2))), rng.normal(size=4)
    averaged = Averaged(base, 3)
    mixed = Mixed([base[:4], base[4:8], base[8:]], np.full(3, 1 / 3))
    for name in ("log_prob", "cdf", "crps"):
        np.testing.assert_allclose(
            getattr(averaged, name)(y), getattr(mixed, name)(y), rtol=1e-5
        )
    for name in ("mean", "var", "mode", "median"):
        np.testing.assert_allclose(
            getattr(averaged, name), getattr(mixed, name), rtol=1e-6, atol=1e-6
        )
    np.testing.assert_allclose(quantile_table(averaged), quantile_table(mixed))
    np.testing.assert_allclose(averaged[[2, 0]].mean, mixed[[2, 0]].mean)
    classes = Predictive(Categorical(3), rng.normal(size=(12, 3)), np.array([*"abc"]))
    averaged = Averaged(classes, 3)
    parts = classes.probs.reshape(3, 4, 3).mean(0)
    np.testing.assert_allclose(averaged.probs, parts)
    assert set(averaged.mode) <= set("abc")


# How many levels have a column ------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "n", "limit"),
    [
        ([5, 142], 1200, None),
        ([5, 142], 200, 61),
        ([20, 30], 200, 30),
        ([5000, 10], 1200, 290),
        ([5000, 5000], 100_000, 70),
        ([500] * 20, 1200, 30),
    ],
)
def test_levels_are_pooled_only_where_rows_are_too_few(sizes, n, limit):
    rng = np.random.default_rng(0)
    names = {f"c{j}": np.arange(12_000) % size for j, size in enumerate(sizes)}
    columns = {name: [f"v{v}" for v in values] for name, values in names.items()}
    frame = pa.table({**columns, "x": rng.normal(size=12_000)})
    spec = Spec(data="frame", target="x", kinds=dict.fromkeys(names, "category"))
    schema = prepare(spec, read(frame, "x")).schema
    assert level_limit(schema, n) == limit
    pooled = pooled_levels(schema, n)
    assert pooled == {
        f"c{j}": (size, limit - 1)
        for j, size in enumerate(sizes)
        if limit is not None and size > limit
    }
