"""Grids, draws and halving: which settings are tried, and which one is chosen."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats
from sklearn import ensemble, linear_model, model_selection, neighbors, svm
from sklearn.base import (
    BaseEstimator,
    RegressorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likely as lk
from likely.core import InputError
from likely.plots import search_scores
from likely.selection.search.rungs import Rungs, fewer_rows
from likely.selection.search.space import drawn_settings, parameters_at_edge

rng = np.random.default_rng(0)
N = 80
X = rng.normal(size=(N, 2))
Y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=N)
LABELS = np.where(Y > 0, "yes", "no")
NEAR = lk.KNeighborsRegressor()
GRID = {"n_neighbors": [1, 4, 16], "weights": ["uniform", "distance"]}


def trials(search):
    return [(trial.params, trial.scores) for trial in search.trials_]


def test_a_grid_has_the_order_and_keys_of_scikit_learn():
    ours = lk.GridSearch(NEAR, GRID, scoring="r2", cv=3).fit(X, Y)
    peer = model_selection.GridSearchCV(
        neighbors.KNeighborsRegressor(), GRID, scoring="r2", cv=3
    ).fit(X, Y)
    assert ours.cv_results_["params"] == peer.cv_results_["params"]
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"]
    )
    assert (ours.best_params_, ours.best_index_) == (
        peer.best_params_,
        peer.best_index_,
    )
    np.testing.assert_allclose(ours.best_score_, peer.best_score_)
    for name in ("param_n_neighbors", "param_weights"):
        assert list(ours.cv_results_[name]) == list(peer.cv_results_[name])
    parts = [{"n_neighbors": [1]}, {"weights": ["distance"]}]
    ours = lk.GridSearch(NEAR, parts, cv=2).fit(X, Y)
    assert ours.cv_results_["param_weights"].mask.tolist() == [True, False]


def test_a_search_is_the_predictor_that_it_found():
    model = lk.GridSearch(NEAR, GRID, cv=3)
    assert is_regressor(model)
    with pytest.raises(NotFittedError):
        model.predict(X)
    best = model.fit(X, Y).best_estimator_
    assert best.n_neighbors == model.best_params_["n_neighbors"]
    np.testing.assert_array_equal(model.predict(X), best.predict(X))
    np.testing.assert_allclose(model.nll(X, Y), best.nll(X, Y))
    np.testing.assert_allclose(model.score(X, Y), best.score(X, Y))
    classes = lk.GridSearch(lk.GaussianNB(), {"var_smoothing": [1e-9]}, cv=2)
    classes.fit(X, LABELS)
    assert is_classifier(classes)
    assert classes.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(
        classes.predict_proba(X), classes.best_estimator_.predict_proba(X)
    )
    margins = lk.GridSearch(svm.SVC(), {"C": [0.1, 1.0]}, scoring="accuracy", cv=2)
    margins.fit(X, LABELS)
    assert not hasattr(margins, "predict_proba")
    assert margins.decision_function(X).shape == (N,)
    with pytest.raises(InputError, match="has no predict_proba"):
        margins.set_params(scoring=None).fit(X, LABELS)
    unfitted = clone(model).set_params(refit=False).fit(X, Y)
    assert unfitted.best_params_ == model.best_params_
    with pytest.raises(NotFittedError):
        unfitted.predict(X)
    second = clone(model).set_params(refit=lambda table: 1).fit(X, Y)
    assert second.best_index_ == 1


def test_trial_i_is_a_function_of_the_seed_and_i():
    space = [
        {"a": stats.loguniform(1e-3, 10), "b": ["x", "y"], "c": stats.randint(1, 9)}
    ]
    few, many = (drawn_settings(space, n, 7) for n in (4, 9))
    assert many[:4] == few
    assert drawn_settings(space, 4, 8) != few
    assert all(type(s["c"]) is int and type(s["a"]) is float for s in many)
    draws = np.log10([s["a"] for s in drawn_settings(space, 400, 0)])
    assert stats.kstest((draws + 3) / 4, "uniform").pvalue > 0.01
    lists = [{"a": [1, 2, 3], "b": [1, 2]}, {"c": [5]}]
    every = drawn_settings(lists, 100, 0)
    assert len(every) == 7
    assert len({str(sorted(s.items())) for s in every}) == 7
    assert drawn_settings(lists, 3, 0) == every[:3]


def test_random_searches_repeat_themselves():
    space = {"n_neighbors": stats.randint(1, 30), "weights": ["uniform", "distance"]}
    one = lk.RandomSearch(NEAR, space, n_iter=6, cv=2, random_state=3).fit(X, Y)
    again = clone(one).fit(X, Y)
    assert trials(one) == trials(again)
    longer = clone(one).set_params(n_iter=8).fit(X, Y)
    assert trials(longer)[:6] == trials(one)
    other = clone(one).set_params(random_state=4).fit(X, Y)
    assert trials(other) != trials(one)


def test_the_edge_of_a_grid_is_named():
    tried = [{"k": k, "kind": "a", "b": True} for k in (1, 4, 16)]
    space = [{"k": [1, 4, 16], "kind": ["a"], "b": [True]}]
    assert parameters_at_edge(space, tried, tried[2]) == ["k"]
    assert parameters_at_edge(space, tried, tried[0]) == ["k"]
    assert parameters_at_edge(space, tried, tried[1]) == []
    zero = [{"k": k} for k in (0, 1, 2)]
    assert parameters_at_edge([{"k": [0, 1, 2]}], zero, zero[0]) == []
    two = [{"k": 1}, {"k": 2}]
    assert parameters_at_edge([{"k": [1, 2]}], two, two[1]) == []
    wide = [{"k": stats.loguniform(1e-2, 1e2)}]
    assert parameters_at_edge(wide, [], {"k": 1.0}) == []
    assert parameters_at_edge(wide, [], {"k": 95.0}) == ["k"]
    found = lk.GridSearch(NEAR, {"n_neighbors": [2, 3, 40]}, cv=2).fit(X, Y)
    assert found.at_edge_ == (["n_neighbors"] if found.best_index_ != 1 else [])


def test_the_simplest_setting_within_one_standard_error():
    grid = {"n_neighbors": [1, 2, 4, 6, 8, 12, 16, 30]}
    best = lk.GridSearch(NEAR, grid, cv=5).fit(X, Y)
    simple = clone(best).set_params(rule="one-standard-error").fit(X, Y)
    top = best.trials_[best.best_index_]
    near = [t for t in best.trials_ if t.mean >= top.mean - top.standard_error]
    expected = max(t.params["n_neighbors"] for t in near)
    assert simple.best_params_ == {"n_neighbors": expected}
    assert expected > best.best_params_["n_neighbors"]
    smaller = clone(simple).set_params(simpler={"n_neighbors": "smaller"}).fit(X, Y)
    least = min(t.params["n_neighbors"] for t in near)
    assert smaller.best_params_ == {"n_neighbors": least}
    odd = lk.GridSearch(NEAR, {"weights": ["uniform"]}, rule="one-standard-error")
    with pytest.raises(
        InputError, match="which of its parameters make a model simpler"
    ):
        odd.fit(X, Y)
    with pytest.raises(InputError, match="rule is 'cheapest'"):
        odd.set_params(rule="cheapest").fit(X, Y)


def test_a_setting_that_fails_is_recorded_with_its_sentence():
    class Odd(neighbors.KNeighborsRegressor):
        def fit(self, X, y):
            if self.n_neighbors == 3:
                raise RuntimeError("three is too many")
            return super().fit(X, y)

        def predict(self, X):
            found = super().predict(X)
            return found * np.nan if self.n_neighbors == 4 else found

    grid = {"n_neighbors": [2, 3, -1]}
    found = lk.GridSearch(Odd(), grid, scoring="r2", cv=2).fit(X, Y)
    failures = found.cv_results_["failure"].tolist()
    assert failures[0] == ""
    assert failures[1] == "RuntimeError: three is too many"
    assert "n_neighbors" in failures[2]
    assert found.best_params_ == {"n_neighbors": 2}
    assert found.cv_results_["rank_test_score"].tolist() == [1, 2, 2]
    assert np.isnan(found.cv_results_["mean_test_score"][1:]).all()
    with pytest.raises(RuntimeError, match="three is too many"):
        clone(found).set_params(error_score="raise").fit(X, Y)
    with pytest.raises(RuntimeError, match="three"):  # all failed: the error itself
        lk.GridSearch(Odd(), {"n_neighbors": [3]}, scoring="r2", cv=2).fit(X, Y)
    dirty = np.where(X > 2, np.nan, X)
    with pytest.raises(ValueError, match="NaN"):
        lk.GridSearch(NEAR, {"n_neighbors": [2]}, cv=2).fit(dirty, Y)


def test_executors_run_the_same_trials():
    search = lk.GridSearch(NEAR, GRID, cv=2)
    with ThreadPoolExecutor(2) as pool:
        parallel = clone(search).fit(X, Y, executor=pool)
    assert trials(parallel) == trials(search.fit(X, Y))


def test_rungs_give_all_to_the_last_one():
    assert Rungs.of(9, 3.0, None, 441, 10) == ([9, 3, 1], [49, 147, 441])
    assert Rungs.of(27, 3.0, 100, 900, 10) == ([27, 9, 3], [100, 300, 900])
    assert Rungs.of(5, 2.0, None, 64, 1) == ([5, 3, 2], [16, 32, 64])
    assert Rungs.of(1, 3.0, None, 64, 1) == ([1], [64])
    with pytest.raises(InputError, match="min_resources is 65"):
        Rungs.of(4, 2.0, 65, 64, 1)


def test_halving_drops_bad_settings_early():
    grid = {"n_neighbors": [1, 2, 3, 4, 5, 6, 8, 10, 60]}
    found = lk.SuccessiveHalving(NEAR, grid, cv=2).fit(X, Y)
    assert found.n_candidates_ == [9, 3, 1]
    assert found.n_resources_ == [8, 24, 72]
    table = found.cv_results_
    assert table["iter"].tolist() == [0] * 9 + [1] * 3 + [2]
    assert table["n_resources"].tolist() == [8] * 9 + [24] * 3 + [72]
    assert found.best_index_ == 12
    first = table["mean_test_score"][:9]
    kept = {str(p) for p in table["params"][9:12]}
    assert kept == {str(table["params"][i]) for i in np.argsort(-first)[:3]}


def test_rows_of_a_rung_are_among_those_of_the_next():
    search = lk.SuccessiveHalving(lk.GaussianNB(), {"var_smoothing": [1.0]}, cv=2)
    from likely.selection.search.evaluation import Evaluation

    labels = np.where(np.arange(N) % 10 == 0, "rare", "often")
    w = np.r_[np.zeros(10), np.ones(N - 10)]
    evaluation = Evaluation.of(search, X, labels, w, None)
    few, more = (fewer_rows(evaluation, rows, 0) for rows in (30, 50))
    for (a, out), (b, _), (all_rows, held) in zip(
        few, more, evaluation.splits, strict=True
    ):
        assert set(a) < set(b) < set(all_rows)
        np.testing.assert_array_equal(out, held)
        assert abs(len(a) / len(all_rows) - 30 / 70) < 0.02
        assert (labels[a] == "rare").sum() >= 1
        assert (w[a] > 0).all()
    assert fewer_rows(evaluation, 70, 0) is evaluation.splits


def test_iterations_are_a_resource():
    model = ensemble.GradientBoostingRegressor(n_estimators=8)
    space = {"learning_rate": stats.uniform(0.01, 0.5)}
    halves = {"n_candidates": 4, "factor": 2, "scoring": "r2", "cv": 2}
    found = lk.SuccessiveHalving(model, space, resource="n_estimators", **halves)
    found.fit(X, Y)
    assert found.n_resources_ == [2, 4, 8]
    assert found.best_params_["n_estimators"] == 8
    assert found.best_estimator_.n_estimators == 8
    with pytest.raises(InputError, match="resource is 'epochs'"):
        found.set_params(resource="epochs").fit(X, Y)
    both = {"n_estimators": [1, 2]}
    with pytest.raises(InputError, match="also in param_distributions"):
        lk.SuccessiveHalving(model, both, resource="n_estimators").fit(X, Y)


def test_nested_cross_validation_is_a_loop_over_searches():
    search = lk.GridSearch(NEAR, {"n_neighbors": [1, 8, 30]}, cv=2)
    w = rng.integers(0, 3, size=N).astype(float)
    found = lk.nested_cross_validate(search, X, Y, cv=3, sample_weight=w)
    here = np.flatnonzero(w)
    for j, (a, b) in enumerate(model_selection.KFold(3).split(here)):
        one = clone(search).fit(X[here[a]], Y[here[a]], sample_weight=w[here[a]])
        nats = one.nll(X[here[b]], Y[here[b]], sample_weight=w[here[b]])
        np.testing.assert_allclose(found.scores[j], -nats)
        np.testing.assert_allclose(found.inner_scores[j], one.best_score_)
        assert found.params[j] == one.best_params_
    s = found.scores.std(ddof=1)
    np.testing.assert_allclose(
        found.standard_error, np.sqrt(1 / 3 + found.share) * s, rtol=1e-12
    )
    assert 0.4 < found.share < 0.6
    assert "of the whole search" in str(found)


class Guess(RegressorMixin, BaseEstimator):
    """A predictor that knows nothing, another one for each seed."""

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.random.default_rng(self.seed).normal(size=len(X))


def test_choosing_among_noise_is_optimistic():
    """The best score inside a search is too good, the honest one is not."""
    search = lk.GridSearch(Guess(), {"seed": list(range(30))}, scoring="r2", cv=3)
    found = lk.nested_cross_validate(search, X, Y, cv=3)
    assert found.optimism > 0.1
    assert found.mean < search.fit(X, Y).best_score_ - 0.1


def test_bad_arguments_get_sentences():
    for grid, message in [
        ({"alpha": 1.0}, "one or more values"),
        ({"alpha": []}, "one or more values"),
        ({"alphas_": [1]}, "has no parameter 'alphas_'; .* did you mean 'alphas'"),
        ([], "give values by parameter"),
        (3, "give values by parameter"),
    ]:
        with pytest.raises(InputError, match=message):
            lk.GridSearch(lk.Ridge(), grid).fit(X, Y)
    with pytest.raises(InputError, match="one or more values."):
        lk.GridSearch(lk.Ridge(), {"alpha": stats.uniform()}).fit(X, Y)
    with pytest.raises(InputError, match="scoring is 'r3'"):
        lk.GridSearch(NEAR, GRID, scoring="r3").fit(X, Y)
    with pytest.raises(InputError, match="n_iter is 0"):
        lk.RandomSearch(NEAR, GRID, n_iter=0).fit(X, Y)
    pipe = make_pipeline(StandardScaler(), linear_model.Ridge())
    swap = {"ridge": [linear_model.Lasso()], "ridge__alpha": [0.1]}
    lk.GridSearch(pipe, swap, scoring="r2", cv=2).fit(X, Y)
    with pytest.raises(InputError, match="has no parameter 'lasso__alpha'"):
        lk.GridSearch(pipe, {"lasso__alpha": [0.1]}).fit(X, Y)


def test_searches_are_saved_with_their_trials(tmp_path):
    space = {"n_neighbors": stats.randint(1, 9), "weights": ["uniform", "distance"]}
    cv = model_selection.KFold(2, shuffle=True, random_state=0)
    found = lk.RandomSearch(NEAR, space, n_iter=3, cv=cv).fit(X, Y)
    found.save(tmp_path / "search.likely")
    again = lk.load(tmp_path / "search.likely")
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert trials(again) == trials(found)
    assert again.at_edge_ == found.at_edge_
    assert trials(again.fit(X, Y)) == trials(found)  # the same distributions and folds


@pytest.mark.parametrize("names", [[], ["a"], ["a", "b"], ["a", "b", "c"], ["word"]])
def test_pictures_of_scores(names, tmp_path):
    values = {"a": [0.01, 0.1, 1.0], "b": [1, 2], "c": [3.0, 4.0], "word": ["x", "y"]}
    grid = list(model_selection.ParameterGrid({n: values[n] for n in names}))
    scores = np.arange(float(len(grid)))
    scores[1:2] = np.nan
    drawn = search_scores(grid, scores, 0 * scores + 0.1, best=len(grid) - 1)
    drawn.savefig(tmp_path / "scores.png")
    if names == ["a"]:
        (line,) = [x for x in drawn.axes[0].lines if len(x.get_xdata()) == 2]
        np.testing.assert_allclose(line.get_xydata(), [[0.01, 0], [1.0, 2]])
        assert drawn.axes[0].get_xscale() == "log"
    fitted = lk.GridSearch(NEAR, {"n_neighbors": [1, 2, 3]}, cv=2).fit(X, Y)
    assert "log-likelihood" in fitted.plot().axes[0].get_ylabel()
