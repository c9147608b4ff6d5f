"""A search that is killed goes on to the same trials, winner and journal."""

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import KFold

import likely as lk
from likely.core import InputError
from likely.selection.search.evaluation import Evaluation

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=60)
SPACE = {"n_neighbors": stats.randint(1, 20), "weights": ["uniform", "distance"]}
SEARCH = lk.RandomSearch(lk.KNeighborsRegressor(), SPACE, n_iter=5, cv=2)
PROGRAM = Path(__file__).with_name("search_program.py")
N_KILLS = 10


def trials(search):
    return [(trial.params, trial.scores, trial.failure) for trial in search.trials_]


@pytest.fixture
def whole(tmp_path):
    """A finished search and its journal."""
    path = tmp_path / "whole.jsonl"
    return clone(SEARCH).fit(X, Y, journal=path), path


def test_a_journal_has_a_line_for_each_trial_and_changes_nothing(whole):
    found, path = whole
    assert trials(found) == trials(clone(SEARCH).fit(X, Y))
    header, *lines = map(json.loads, path.read_text().splitlines())
    assert header["search"] == "RandomSearch"
    assert [line["trials"] for line in lines] == [[i] for i in range(5)]
    assert [tuple(line["scores"][0]) for line in lines] == [
        trial.scores for trial in found.trials_
    ]


def test_a_torn_line_is_tried_again_and_nothing_else(whole, tmp_path, monkeypatch):
    found, path = whole
    content, counts = path.read_bytes(), []
    run = Evaluation.__call__
    monkeypatch.setattr(
        Evaluation, "__call__", lambda s, given: counts.append(1) or run(s, given)
    )
    for cut in (7, len(content) // 2, len(content) - 1, len(content)):
        torn = tmp_path / f"torn{cut}.jsonl"
        torn.write_bytes(content[:cut])
        kept = max(0, content[:cut].count(b"\n") - 1)
        counts.clear()
        again = clone(SEARCH).fit(X, Y, journal=torn)
        assert len(counts) == 5 - kept
        assert trials(again) == trials(found)
        assert again.best_params_ == found.best_params_
        assert torn.read_bytes() == content


def test_a_longer_search_goes_on_from_a_shorter_one(whole):
    found, path = whole
    longer = clone(SEARCH).set_params(n_iter=7).fit(X, Y, journal=path)
    assert trials(longer)[:5] == trials(found)
    assert trials(longer) == trials(clone(longer).fit(X, Y))


def test_failures_are_remembered(tmp_path):
    grid = {"n_neighbors": [2, 0], "weights": ["uniform"]}
    search = lk.GridSearch(lk.KNeighborsRegressor(), grid, cv=2)
    path = tmp_path / "failed.jsonl"
    first = clone(search).fit(X, Y, journal=path)
    again = clone(search).fit(X, Y, journal=path)
    assert first.trials_[1].failure
    assert [t.failure for t in again.trials_] == [t.failure for t in first.trials_]
    assert np.isnan(again.trials_[1].mean)


def test_without_a_seed_a_search_goes_on_with_that_of_its_journal(tmp_path):
    path = tmp_path / "fresh.jsonl"
    search = clone(SEARCH).set_params(random_state=None)
    first = clone(search).fit(X, Y, journal=path)
    assert trials(clone(search).fit(X, Y, journal=path)) == trials(first)
    assert trials(clone(search).fit(X, Y)) != trials(first)


def test_journals_of_other_searches_are_refused(whole):
    _, path = whole
    content = path.read_bytes()
    shuffled = KFold(2, shuffle=True, random_state=1)
    for change, rows, message in [
        ({"scoring": "r2"}, (X, Y), "its scores are others"),
        ({"cv": shuffled}, (X, Y), "its folds are others"),
        ({"random_state": 1}, (X, Y), "its random_state is another one"),
        ({"estimator__metric": "cosine"}, (X, Y), "its estimator is another one"),
        ({}, (X, Y + 1), "its rows .* are others"),
        ({"param_distributions": {"n_neighbors": [3]}}, (X, Y), "its trial 0 has"),
    ]:
        search = clone(SEARCH).set_params(**change)
        with pytest.raises(InputError, match=f"is the journal of another.*{message}"):
            search.fit(*rows, journal=path)
    grid = lk.GridSearch(lk.KNeighborsRegressor(), {"n_neighbors": [3]}, cv=2)
    with pytest.raises(InputError, match="it is of another kind"):
        grid.fit(X, Y, journal=path)
    assert path.read_bytes() == content


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "halving", "programs"])
def test_ten_kills_change_neither_the_winner_nor_the_journal(kind, tmp_path):
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"

    def run(path):
        command = [sys.executable, str(PROGRAM), str(path), kind]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    winner, _ = run(whole).communicate()
    moments, alive = np.random.default_rng(7), 0
    for _ in range(N_KILLS):
        before = killed.stat().st_size if killed.exists() else 0
        process = run(killed)
        while process.poll() is None and (
            not killed.exists() or killed.stat().st_size == before
        ):
            time.sleep(0.01)  # it has begun to work
        time.sleep(moments.exponential(0.15))
        alive += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert whole.read_bytes().startswith(killed.read_bytes().rpartition(b"\n")[0])
    assert alive >= N_KILLS // 2
    again, _ = run(killed).communicate()
    assert again == winner
    assert killed.read_bytes() == whole.read_bytes()


@pytest.mark.slow
def test_processes_run_the_same_trials(tmp_path):
    grid = {"alpha": [0.1, 1.0, 10.0], "fit_intercept": [True, False]}
    search = lk.GridSearch(lk.Ridge(), grid, cv=3)
    alone, apart = tmp_path / "alone.jsonl", tmp_path / "apart.jsonl"
    here = clone(search).fit(X, Y, journal=alone)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        there = clone(search).fit(X, Y, journal=apart, executor=pool)
        nested = lk.nested_cross_validate(search, X, Y, cv=2, executor=pool)
    for one, other in zip(there.trials_, here.trials_, strict=True):
        assert one.params == other.params
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-12)
    lines = [
        [json.loads(line) for line in path.read_text().splitlines()]
        for path in (alone, apart)
    ]
    numbers = [sorted(line["trials"] for line in own[1:]) for own in lines]
    assert numbers[0] == numbers[1] == [[0, 2, 4], [1, 3, 5]]
    assert lines[0][0] == lines[1][0]
    expected = lk.nested_cross_validate(search, X, Y, cv=2)
    np.testing.assert_allclose(nested.scores, expected.scores, rtol=1e-9)
