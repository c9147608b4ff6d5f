"""Settings that Optuna proposes are judged as any others, and kept in its storage."""

import importlib.util

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

import likely as lk
from likely.core import InputError
from likely.selection.search.optuna_space import distribution_in, value_of

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=60)
SPACE = {"n_neighbors": stats.randint(1, 20), "weights": ["uniform", "distance"]}
SEARCH = lk.OptunaSearch(lk.KNeighborsRegressor(), SPACE, n_iter=6, cv=2, batch_size=3)
INSTALLED = importlib.util.find_spec("optuna") is not None
needs_optuna = pytest.mark.skipif(not INSTALLED, reason="Optuna is not installed")


def trials(search):
    return [(trial.params, trial.scores) for trial in search.trials_]


@pytest.mark.skipif(INSTALLED, reason="Optuna is installed")
def test_without_optuna_a_sentence_says_what_to_do():
    with pytest.raises(InputError, match="pip install optuna"):
        clone(SEARCH).fit(X, Y)


@needs_optuna
def test_trials_are_those_of_a_function_of_the_seed_with_honest_scores():
    found = clone(SEARCH).fit(X, Y)
    assert trials(found) == trials(clone(SEARCH).fit(X, Y))
    assert len(found.trials_) == 6
    for trial in found.trials_:
        assert type(trial.params["n_neighbors"]) is int
        one = lk.cross_validate(lk.KNeighborsRegressor(**trial.params), X, Y, cv=2)
        np.testing.assert_allclose(trial.scores, -one.nll[0])
    assert found.best_score_ == max(trial.mean for trial in found.trials_)
    assert found.predict(X).shape == (60,)
    with pytest.raises(InputError, match="in its storage"):
        clone(SEARCH).fit(X, Y, journal="unused.jsonl")


@needs_optuna
def test_a_storage_is_shared_and_gone_on_with(tmp_path):
    storage = f"sqlite:///{tmp_path / 'trials.db'}"
    search = clone(SEARCH).set_params(storage=storage, n_iter=4)
    first = clone(search).fit(X, Y)
    more = clone(search).set_params(n_iter=7).fit(X, Y)
    assert trials(more)[:4] == trials(first)
    assert len(more.trials_) == 7
    assert trials(clone(search).fit(X, Y)) == trials(more)  # nothing is left to do
    with pytest.raises(InputError, match="the study 'likely' is one of another search"):
        clone(search).fit(X, Y + 1)
    nested = lk.nested_cross_validate(search, X, Y, cv=2)
    assert np.isfinite(nested.scores).all()


@needs_optuna
def test_failures_are_told_to_the_study(tmp_path):
    space = {"n_neighbors": [2, 0]}
    storage = f"sqlite:///{tmp_path / 'failed.db'}"
    search = clone(SEARCH).set_params(param_distributions=space, storage=storage)
    found = search.fit(X, Y)
    assert {bool(t.failure) for t in found.trials_} == {True, False}
    assert found.best_params_ == {"n_neighbors": 2}
    again = clone(search).fit(X, Y)
    assert [t.failure for t in again.trials_] == [t.failure for t in found.trials_]


@needs_optuna
def test_distributions_are_optunas_own_or_quantiles():
    import optuna

    kinds = optuna.distributions
    log = distribution_in(optuna, stats.loguniform(1e-3, 10.0))
    assert log == kinds.FloatDistribution(1e-3, 10.0, log=True)
    assert distribution_in(optuna, stats.uniform(1, 2)) == kinds.FloatDistribution(1, 3)
    assert distribution_in(optuna, stats.randint(2, 9)) == kinds.IntDistribution(2, 8)
    own = kinds.FloatDistribution(0, 1)
    assert distribution_in(optuna, own) is own
    gamma = stats.gamma(2.0)
    assert distribution_in(optuna, gamma) == kinds.FloatDistribution(0, 1)
    np.testing.assert_allclose(value_of(0.3, gamma), gamma.ppf(0.3))
    widths = [(5,), (10, 10)]
    choices = distribution_in(optuna, widths).choices
    assert [value_of(choice, widths) for choice in choices] == widths
