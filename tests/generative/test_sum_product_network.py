"""Circuits against sums over all states, quadrature and plain NumPy passes."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp as scipy_logsumexp

import likely as lk
from likely.generative import BayesianNetwork, SumProductNetwork
from likely.generative.circuits.circuit import Circuit, ProductNode, SumNode
from likely.generative.circuits.dependence import (
    components,
    dependent_pairs,
    pair_p_values,
)
from likely.generative.circuits.explanation import explain
from likely.generative.circuits.kernels.kinds import (
    CATEGORY,
    HISTOGRAM,
    NEGATIVE,
    NORMAL,
    POISSON,
    PRODUCT,
    ROUNDED,
    STUDENT,
)
from likely.generative.circuits.leaves import (
    Leaf,
    draw,
    log_prob,
    mean,
    support,
    variance,
)
from likely.preprocess import TableCodec

EDGES = np.array([-2.0, -1.0, 0.5, 1.0, 3.0])
LEAVES = {
    "normal": Leaf(NORMAL, 0, 0.3, 0.7),
    "student": Leaf(STUDENT, 0, -0.2, 0.6, 5.0),
    "histogram": Leaf(
        HISTOGRAM,
        0,
        table=np.log([0.1, 0.4, 0.3, 0.2]) - np.log(np.diff(EDGES)),
        edges=EDGES,
    ),
    "rounded": Leaf(ROUNDED, 0, 0.13, 0.4, 0.25, edges=np.array([0.05])),
    "category": Leaf(CATEGORY, 0, table=np.log([0.2, 0.5, 0.3])),
    "poisson": Leaf(POISSON, 0, 3.7),
    "negative": Leaf(NEGATIVE, 0, 1.7, 4.2),
}


def logsumexp(logs, axis=None) -> Any:
    return scipy_logsumexp(logs, axis=axis)


def mixed_rows(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "word": np.array(["red", "green", "blue"])[
                np.where(rng.random(n) < 0.8, z, rng.integers(0, 3, n))
            ],
            "x": 2 * z + rng.normal(size=n),
            "count": rng.poisson(3 + 5 * z),
            "whole": np.round(rng.normal(100, 20, n) + 10 * z),
            "yes": rng.random(n) < 0.2 + 0.3 * z,
        }
    )
    frame.loc[::7, "x"] = np.nan
    frame.loc[::11, "word"] = None
    return frame


@pytest.fixture(scope="module")
def fitted() -> SumProductNetwork:
    return SumProductNetwork().fit(mixed_rows())


def plain_log_probs(circuit: Circuit, V: np.ndarray) -> np.ndarray:
    """The upward pass, node by node."""
    L = [log_prob(leaf, V[:, leaf.column]) for leaf in circuit.leaves]
    for k, kind in enumerate(circuit.kinds):
        edges = slice(circuit.starts[k], circuit.starts[k + 1])
        own = np.stack([L[i] for i in circuit.children[edges]])
        logs = circuit.logs[edges][:, None]
        L.append(own.sum(0) if kind == PRODUCT else logsumexp(own + logs, axis=0))
    return L[-1]


@pytest.mark.parametrize("name", LEAVES)
def test_leaves_sum_to_one_and_have_their_moments(name):
    leaf = LEAVES[name]
    points, p = support(leaf)
    assert abs(p.sum() - 1) < 1e-9
    if leaf.kind in (NORMAL, STUDENT, HISTOGRAM):
        grid = np.linspace(-60, 60, 60_001)
        density = np.exp(log_prob(leaf, grid))
        assert abs(np.trapezoid(density, grid) - 1) < 1e-4
        np.testing.assert_allclose(
            np.trapezoid(density * grid, grid), mean(leaf), atol=1e-3
        )
        second = np.trapezoid(density * (grid - mean(leaf)) ** 2, grid)
        np.testing.assert_allclose(second, variance(leaf), rtol=2e-3)
    else:
        np.testing.assert_allclose(np.exp(log_prob(leaf, points)), p, atol=1e-9)
        if leaf.kind != CATEGORY:
            np.testing.assert_allclose(p @ points, mean(leaf), rtol=1e-9)
            np.testing.assert_allclose(
                p @ (points - mean(leaf)) ** 2, variance(leaf), rtol=1e-6
            )
    drawn = draw(leaf, 20_000, np.random.default_rng(0))
    if leaf.kind != CATEGORY:
        error = np.sqrt(variance(leaf) / len(drawn))
        assert abs(drawn.mean() - mean(leaf)) < 5 * error
    one = Circuit.of(leaf, 1)
    x = np.append(points, [np.nan, points.max() + 0.0])[:, None]
    np.testing.assert_allclose(
        one.log_probs(x), log_prob(leaf, x[:, 0]), rtol=1e-9, atol=1e-9
    )


def test_compiled_passes_are_the_plain_ones(fitted):
    V = fitted.codec_.encode(mixed_rows())
    found = fitted.circuit_.log_probs(V)
    np.testing.assert_allclose(found, plain_log_probs(fitted.circuit_, V), atol=1e-11)
    flows = fitted.circuit_.leaf_flows(V)
    for j in range(V.shape[1]):  # every row uses one leaf of each column
        own = fitted.circuit_.spec[:, 1] == j
        np.testing.assert_allclose(flows[:, own].sum(1), 1, rtol=1e-9)
    many = np.repeat(V, 20, axis=0)  # by threads
    np.testing.assert_array_equal(fitted.circuit_.log_probs(many), np.repeat(found, 20))


def test_marginals_are_sums_and_integrals(fitted):
    row = mixed_rows().iloc[[1]]
    levels = [["red", "green", "blue"], [False, True]]
    cells = [row.assign(word=w, yes=y) for w, y in itertools.product(*levels)]
    total = logsumexp(fitted.log_prob(pd.concat(cells)))
    part = row.astype({"word": object, "yes": object}).assign(word=None, yes=None)
    np.testing.assert_allclose(fitted.log_prob(part), total, rtol=1e-10)
    grid = np.linspace(-15, 20, 8001)
    rows = pd.concat([row] * len(grid)).assign(x=grid)
    integral = np.trapezoid(np.exp(fitted.log_prob(rows)), grid)
    gone = fitted.log_prob(row.assign(x=np.nan))
    np.testing.assert_allclose(np.log(integral), gone, atol=1e-6)
    counts = pd.concat([row] * 200).assign(count=np.arange(200))
    whole = pd.concat([row] * 600).assign(whole=np.arange(-200.0, 400.0))
    for name, rows in (("count", counts), ("whole", whole)):
        gone = fitted.log_prob(row.astype({name: float}).assign(**{name: np.nan}))
        np.testing.assert_allclose(logsumexp(fitted.log_prob(rows)), gone, atol=1e-9)


def test_conditionals_draws_and_expectations_agree(fitted):
    drawn = fitted.sample(40_000, given={"word": "blue"}, random_state=0)
    assert (drawn.word == "blue").all()
    for name in ("x", "count", "whole"):
        found = fitted.expectation({name: lambda x: x}, given={"word": "blue"})[0]
        error = drawn[name].std() / 200
        assert abs(drawn[name].mean() - found) < 5 * error
    both = fitted.expectation(
        {"x": lambda x: x, "count": lambda x: x}, {"word": "blue"}
    )
    apart = [
        fitted.expectation({n: lambda x: x}, {"word": "blue"}) for n in ("x", "count")
    ]
    expected = np.cov(drawn.x, drawn["count"])[0, 1]
    np.testing.assert_allclose(both - apart[0] * apart[1], expected, atol=0.15)
    share = fitted.expectation({"word": lambda w: w == "red"}, given={"x": 0.1})[0]
    row = pd.DataFrame(
        [{"word": None, "x": 0.1, "count": None, "whole": None, "yes": None}]
    )
    proba = fitted.probabilities(row.astype(object), "word")
    level = fitted.codec_.columns[0].levels.index("red")
    np.testing.assert_allclose(proba[0, level], share, rtol=1e-9)


def test_most_probable_levels_are_those_of_enumeration(rng):
    """A random circuit over five categories, whose every state can be looked at."""

    def part(columns, depth):
        if len(columns) == 1:
            p = rng.dirichlet(np.ones(3))
            return Leaf(CATEGORY, columns[0], table=np.log(p))
        if depth % 2:
            cut = rng.integers(1, len(columns))
            return ProductNode(
                (part(columns[:cut], depth + 1), part(columns[cut:], depth + 1))
            )
        w = rng.dirichlet(np.ones(4))
        return SumNode(tuple(part(columns, depth + 1) for _ in w), tuple(w))

    for _ in range(5):
        circuit = Circuit.of(part(list(range(5)), 0), 5)
        states = np.array(list(itertools.product(range(3), repeat=5)), float)
        logs = circuit.log_probs(states)
        assert abs(logsumexp(logs)) < 1e-10
        evidence = np.full((1, 5), np.nan)
        evidence[0, 2] = 1.0
        found = explain(circuit, evidence)
        assert found.exact.all()
        np.testing.assert_allclose(found.log_probs, logs[states[:, 2] == 1].max())
        bound = circuit.upper_bounds(evidence)
        assert bound >= found.log_probs - 1e-12


def test_most_probable_rows_of_mixed_columns_beat_draws(fitted):
    best = fitted.most_probable({"word": ["red", "blue"]})
    np.testing.assert_allclose(best.log_probs, fitted.log_prob(best.rows), rtol=1e-9)
    for k, word in enumerate(("red", "blue")):
        drawn = fitted.sample(2000, given={"word": word}, random_state=0)
        assert best.log_probs[k] > fitted.log_prob(drawn).max()
    assert not best.exact.any()


def test_em_never_falls_and_structure_is_found():
    frame = mixed_rows()
    model = SumProductNetwork(tol=0.0, max_iter=30).fit(frame)
    assert np.diff(model.history_).min() > -1e-10
    alone = BayesianNetwork("independent").fit(frame)
    assert model.nll(frame) < alone.nll(frame) - 1
    rng = np.random.default_rng(1)
    free = pd.DataFrame({"a": rng.normal(size=400), "b": rng.choice(["u", "v"], 400)})
    assert (
        len(SumProductNetwork().fit(free).circuit_.leaves) == 2
    )  # independent columns


def test_p_values_of_independent_columns_are_not_small(rng):
    n, small = 200, 0
    for _ in range(20):
        frame = {"a": rng.normal(size=n), "b": rng.choice(["u", "v", "w"], n)}
        frame |= {"c": rng.exponential(size=n), "d": rng.normal(size=n)}
        codec = TableCodec.fit(frame)
        p = pair_p_values(codec.encode(frame), np.ones(n), codec.columns)
        small += int((p[np.triu_indices(4, 1)] < 0.05).sum())
    assert small <= 20 * 6 * 0.05 + 3 * np.sqrt(20 * 6 * 0.05)
    x = rng.normal(size=n)
    frame = {"a": x, "b": x**2 + 0.1 * rng.normal(size=n), "c": x + rng.normal(size=n)}
    codec = TableCodec.fit(frame)
    p = pair_p_values(codec.encode(frame), np.ones(n), codec.columns)
    assert p[0, 1] < 1e-6  # not monotone
    assert p[0, 2] < 1e-6


def test_imputation_fills_what_is_missing_only(fitted):
    frame = mixed_rows()
    filled = fitted.impute(frame)
    assert not filled.isna().any().any()
    kept = frame.x.notna()
    np.testing.assert_array_equal(filled.x[kept], frame.x[kept])
    truth = SumProductNetwork().fit(frame).predict(frame, "x")
    np.testing.assert_allclose(filled.x[~kept], truth[~kept], rtol=1e-6)
    draws = fitted.impute(frame, n_draws=2)
    assert (draws[0].x[~kept] != draws[1].x[~kept]).all()


def test_weights_repeat_rows_and_garbage_is_absent():
    frame = mixed_rows(120)
    w = np.arange(120) % 3
    dirty = frame.copy()
    dirty.loc[w == 0, "whole"] = 1e9
    model = SumProductNetwork().fit(dirty, sample_weight=w)
    other = SumProductNetwork().fit(
        frame.iloc[np.repeat(np.arange(120), w)].reset_index(drop=True)
    )
    seen = frame[w > 0]
    np.testing.assert_allclose(model.log_prob(seen), other.log_prob(seen), rtol=1e-9)


def test_small_tables_and_sentences():
    iris = pd.DataFrame(lk.data.iris().X, columns=list("abcd"))
    model = SumProductNetwork().fit(iris)
    assert model.nll(iris) < BayesianNetwork("independent").fit(iris).nll(iris) - 1.5
    assert np.isfinite(SumProductNetwork().fit(iris[:3]).log_prob(iris[:3])).all()
    constant = iris[:30].assign(k=1.0, s="same")
    found = SumProductNetwork().fit(constant)
    assert (found.sample(5, random_state=0).s == "same").all()
    with pytest.raises(lk.core.InputError, match="no column 'z'"):
        model.expectation({"z": lambda x: x})
    with pytest.raises(lk.core.InputError, match="no category"):
        model.probabilities(iris, "a")
    with pytest.raises(lk.core.InputError, match="alpha"):
        SumProductNetwork(alpha=-1).fit(iris)
    single = SumProductNetwork().fit(iris[["a"]])
    assert np.isfinite(single.log_prob(iris[["a"]])).all()


def test_groups_of_columns_are_apart_also_where_columns_are_constant():
    rng = np.random.default_rng(0)
    for n in (7, 50, 333):
        x = rng.normal(size=n)
        V = np.c_[x, np.full(n, 0.1), x + 0.1 * rng.normal(size=n), np.full(n, 1 / 3)]
        w = rng.uniform(0.1, 3.0, n)
        codes = TableCodec.fit(rng.normal(size=(30, 4))).columns
        near = dependent_pairs(V, w, codes, 0.01)
        assert (near == near.T).all()
        assert not near[[1, 3]].any()  # nothing depends on a constant
        groups = components(near)
        assert sorted(np.concatenate(groups)) == [0, 1, 2, 3]
