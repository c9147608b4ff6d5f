"""A run as data, and what a target is."""

import shlex
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from typer.testing import CliRunner

from likely.cli.main import app
from likely.core.checks import InputError
from likely.data.schema import Schema
from likely.workbench.spec import Spec
from likely.workbench.target import read_target

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(
    data=TEXTS, target=TEXTS, kinds=st.dictionaries(TEXTS, TEXTS, max_size=3),
    drop=st.lists(TEXTS, max_size=3).map(tuple), seed=st.integers(0, 2**62),
)  # fmt: skip
def test_a_spec_is_its_toml(data, target, kinds, drop, seed):
    spec = Spec(data=data, target=target, kinds=kinds, drop=drop, seed=seed)
    assert Spec.from_toml(spec.to_toml()) == spec


@given(
    data=TEXTS.filter(lambda text: not text.startswith("-")),
    models=st.sampled_from([(), ("linear",), ("linear", "stack")]),
    kinds=st.dictionaries(TEXTS, st.sampled_from(["code", "text"]), max_size=2),
    drop=st.lists(TEXTS.filter(lambda text: not text.startswith("-")), max_size=3),
    groups=st.sampled_from(["", "town"]),
    family=st.sampled_from(["", "gamma"]),
    coverage=st.sampled_from([0.9, 0.8]),
)  # fmt: skip
def test_the_command_gives_the_spec(**settings):
    settings = {**settings, "drop": tuple(settings["drop"])}
    spec, found = Spec(**settings), []
    run = mock.patch("likely.cli.fit.run_with_progress", lambda s, _: found.append(s))
    with run, mock.patch("likely.cli.main._show_run"):
        words = shlex.split(spec.command())[1:]
        done = CliRunner().invoke(app, [*words, "--out", "nowhere"])
    assert done.exit_code == 0, done.output
    assert found == [spec]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("folds = 1", "from 2 to 100"),
        ("folds = true", "from 2 to 100"),
        ("effort = 'huge'", "quick, normal, thorough"),
        ("coverage = 1.5", "between 0 and 1"),
        ("colour = 'red'", "'colour'"),
        ("version = 9", "version 9"),
        ("folds = ", "not TOML"),
        ("models = [1]", "names of models"),
        ("groups = 'a'\ntime = 'b'", "both given"),
    ],
)
def test_a_bad_spec_is_a_sentence(text, sentence):
    with pytest.raises(InputError, match=sentence):
        Spec.from_toml(text)


def target_of(values, family=""):
    frame = pa.table({"y": values})
    return read_target(Schema.infer(frame)["y"], frame["y"], family)


@pytest.mark.parametrize(
    ("values", "kind", "family"),
    [
        (np.linspace(-3, 3, 50), "real", "normal"),
        (np.exp(np.linspace(-3, 4, 50)), "positive", "lognormal"),
        (np.arange(50) % 17, "count", "negative_binomial"),
        (np.arange(50) % 2, "binary", "bernoulli"),
        (np.arange(50) % 3, "classes", "categorical"),
        (["yes", "no"] * 25, "binary", "bernoulli"),
        (["a", "b", "c", "c"] * 12, "classes", "categorical"),
        ([True, False] * 25, "binary", "bernoulli"),
        (np.arange(20_000, 21_000, 20), "real", "normal"),
    ],
)
def test_the_kind_of_a_target(values, kind, family):
    target, y, rows = target_of(values)
    assert (target.kind, target.family) == (kind, family)
    assert len(y) == len(rows) == len(values)


def test_classes_of_one_row_are_left_out_and_rare_whole_numbers_are_counts():
    target, y, rows = target_of(["a", "b", "a", "odd", "b", "c", "c"])
    assert target.classes == ("a", "b", "c")
    assert target.single == ("odd",)
    assert 3 not in rows
    assert len(y) == 6
    target, _, _ = target_of([0, 1, 2, 3] * 10 + [9])
    assert target.kind == "count"
    target, _, _ = target_of([0.5, 1.5, 2.5] * 10, "categorical")
    assert target.reason == "set by the user"


def test_labels_are_in_the_order_of_people_and_missing_rows_are_left_out():
    target, y, rows = target_of(["10", "9", None, "9", "10", "x", "x"])
    assert target.classes == ("9", "10", "x")
    assert y.tolist() == [1, 0, 0, 1, 2, 2]
    assert rows.tolist() == [0, 1, 3, 4, 5, 6]
    assert target.missing == 1


def test_the_user_may_say_otherwise():
    assert target_of(np.arange(50) % 3, "poisson")[0].kind == "count"
    assert target_of(np.arange(1, 51) % 30 + 1.0, "gamma")[0].kind == "positive"


@pytest.mark.parametrize(
    ("values", "family", "sentence"),
    [
        ([1.0] * 20, "", "nothing to learn"),
        (["a"] * 20, "", "one value only"),
        ([None] * 20, "categorical", "no values"),
        (["a"] * 20 + ["b"], "", "one row only"),
        ([1e200, 2e200, -3e200] * 9, "", "change its unit"),
        ([str(i // 2) + "x" for i in range(300)], "", "too many"),
        ([-1.5, 2.5] * 10, "poisson", "whole numbers"),
        ([-1.5, 2.5, 3.5] * 10, "gamma", "above zero"),
        (["a", "b", "c"] * 9, "bernoulli", "does not fit 3"),
        (["a", "b", "c"] * 9, "normal", "needs numbers"),
        ([1.0, 2.0] * 9, "cauchy", "give one of"),
        ([None] * 9, "", "no values|one value"),
        ([1.0, np.inf, 3.0, 7.5] * 9, "", "infinity"),
    ],
)
def test_a_hopeless_target_is_a_sentence(values, family, sentence):
    with pytest.raises(InputError, match=sentence):
        target_of(pa.array(values), family)
