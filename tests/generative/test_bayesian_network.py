"""Bayesian networks against enumeration, quadrature and pgmpy's stored answers."""

import itertools
import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledger import ROOT
from scipy.special import logsumexp

import likely as lk
from likely.generative import (
    BayesianNetwork,
    DirectedGraph,
    LinearNormal,
    MixtureAnswer,
    equivalence_class,
    markov_equivalent,
)
from likely.generative.graphs.answers import draw_rows, log_probs
from likely.generative.graphs.em import blank, fit_numbers
from likely.generative.graphs.nodes import Joint, NormalNode, TableNode
from likely.generative.graphs.scores import FamilyScores
from likely.probability import Table

FOLDER = ROOT / "tests" / "golden" / "graphs"
sys.path.insert(0, str(FOLDER))
from networks import (  # noqa: E402  # pyright: ignore
    INTERVENTIONS,
    LEVELS,
    NETWORKS,
    QUERIES,
    SEPARATIONS,
)

PGMPY = json.loads((FOLDER / "pgmpy.json").read_text())


def by_hand(name) -> BayesianNetwork:
    tables = []
    for child, (parents, yes) in NETWORKS[name].items():
        values = np.stack([1 - np.array(yes), yes], -1).reshape(
            [2] * (len(parents) + 1)
        )
        names = (*parents, child)
        tables.append(Table(values, names, dict.fromkeys(names, LEVELS), given=parents))
    return BayesianNetwork.from_conditionals(*tables)


@pytest.fixture(scope="module")
def asia() -> BayesianNetwork:
    return by_hand("asia")


@pytest.fixture(scope="module")
def mixed() -> Joint:
    """Two discrete and three continuous variables, with numbers at random."""
    rng = np.random.default_rng(0)
    names, sizes = ("a", "b", "x", "y", "z"), (2, 3, 0, 0, 0)
    parents = {"a": (), "b": ("a",), "x": ("a",), "y": ("b", "x"), "z": ("y", "a")}
    nodes = []
    for node in blank(names, sizes, parents).nodes:
        if isinstance(node, TableNode):
            logs = rng.normal(size=node.log_probs.shape)
            logs -= np.asarray(logsumexp(logs, axis=-1, keepdims=True))
            nodes.append(TableNode(node.name, node.parents, logs))
        else:
            B = rng.normal(size=node.coefficients.shape)
            s = np.exp(0.5 * rng.normal(size=node.scale.shape))
            nodes.append(NormalNode(node.name, node.discrete, node.continuous, B, s))
    return Joint(names, tuple(nodes), sizes)


# Exact answers ------------------------------------------------------------------------


def test_answers_are_pgmpys():
    for (name, targets, seen), expected in zip(QUERIES, PGMPY["queries"], strict=True):
        table = by_hand(name).query(targets, given=seen)
        np.testing.assert_allclose(table.values.ravel(), expected, rtol=0, atol=1e-12)
    pairs = zip(INTERVENTIONS, PGMPY["interventions"], strict=True)
    for (name, target, do, seen), expected in pairs:
        table = by_hand(name).query(target, given=seen, do=do)
        np.testing.assert_allclose(table.values, expected, rtol=0, atol=1e-12)


def test_answers_are_those_of_enumeration(asia):
    names = asia.graph_.names
    rows = pd.DataFrame(list(itertools.product(LEVELS, repeat=8)), columns=names)
    p = np.exp(asia.log_prob(rows))
    assert abs(p.sum() - 1) < 1e-12
    seen = (rows.xray == "yes") & (rows.smoke == "no")
    expected = [p[seen & (rows.lung == level)].sum() for level in LEVELS]
    found = asia.query("lung", given={"xray": "yes", "smoke": "no"})
    np.testing.assert_allclose(found.values, expected / np.sum(expected), atol=1e-13)
    part = pd.DataFrame([{n: None for n in names} | {"xray": "yes", "smoke": "no"}])
    np.testing.assert_allclose(np.exp(asia.log_prob(part)), p[seen].sum(), rtol=1e-12)
    cut = asia.query("lung", do={"either": "yes"})  # setting an effect says nothing
    np.testing.assert_allclose(cut.values, asia.query("lung").values, atol=1e-13)


def test_separations_are_pgmpys_and_follow_the_tables(asia):
    pairs = zip(SEPARATIONS, PGMPY["separations"], strict=True)
    for (name, a, b, given), expected in pairs:
        model = by_hand(name)
        assert model.graph_.d_separated(a, b, given) == expected
        joint = model.query([a, b, *given])
        assert bool(joint.independent(a, b, given)) == expected


def test_missing_values_are_summed_and_integrated_out(mixed):
    V = draw_rows(mixed, 3, np.random.default_rng(1))
    W = V.copy()
    W[:, [1, 3]] = np.nan  # b and y
    grid = np.linspace(-25, 25, 4001)
    for row, found in zip(V, log_probs(mixed, W), strict=True):
        total = 0.0
        for b in range(3):
            rows = np.repeat(row[None], len(grid), axis=0)
            rows[:, 1], rows[:, 3] = b, grid
            total += np.trapezoid(np.exp(log_probs(mixed, rows)), grid)
        assert abs(found - np.log(total)) < 1e-9


def test_mixed_queries_are_those_of_a_large_sample():
    model = BayesianNetwork.from_conditionals(
        Table([0.3, 0.7], ["c"], [["u", "v"]]),
        LinearNormal("x", intercept=[1.0, -2.0], scale=[0.5, 1.0], given=("c",)),
        LinearNormal("y", {"x": [2.0, 0.5]}, [0.0, 1.0], 0.7, given=("c",)),
    )
    rows = pd.DataFrame(model.sample(200_000, random_state=0))
    near = rows[(rows.y - 1.0).abs() < 0.05]
    c = model.query("c", given={"y": 1.0})
    assert abs(c.probability(c="u") - (near.c == "u").mean()) < 0.02
    x = model.query("x", given={"y": 1.0})
    assert isinstance(x, MixtureAnswer)
    assert abs(x.mean() - near.x.mean()) < 0.05
    assert abs(x.std() - near.x.std()) < 0.05
    low, high = x.interval(0.8)
    assert abs(((near.x > low) & (near.x < high)).mean() - 0.8) < 0.03
    np.testing.assert_allclose(x.cdf([low, high]), [0.1, 0.9], atol=1e-9)
    both = model.query(["c", "y"], do={"x": 3.0})
    assert abs(both.mean("y") - (0.3 * 6 + 0.7 * 2.5)) < 1e-9
    np.testing.assert_allclose(both.table.values, [0.3, 0.7], atol=1e-12)
    drawn = pd.DataFrame(model.sample(20_000, given={"y": 1.0}, random_state=1))
    assert (drawn.y == 1.0).all()
    assert abs(drawn.x.mean() - x.mean()) < 0.03
    assert abs((drawn.c == "u").mean() - c.probability(c="u")) < 0.015


def test_draws_given_evidence_are_from_the_posterior(asia):
    drawn = pd.DataFrame(asia.sample(20_000, given={"xray": "yes"}, random_state=0))
    expected = asia.query(["tub", "lung"], given={"xray": "yes"}).values
    counts = pd.crosstab(drawn.tub, drawn.lung).to_numpy() / len(drawn)
    np.testing.assert_allclose(counts, expected, atol=0.012)
    forced = pd.DataFrame(asia.sample(5000, do={"smoke": "yes"}, random_state=0))
    assert abs((forced.lung == "yes").mean() - 0.1) < 0.015


# Graphs -------------------------------------------------------------------------------


def test_graphs_and_their_classes():
    graph = DirectedGraph.of([("a", "c"), ("b", "c"), ("c", "d"), ("e", "a")])
    found = equivalence_class(graph)
    assert found.directed == {("a", "c"), ("b", "c"), ("c", "d")}
    assert found.undirected == {frozenset("ae")}
    turned = DirectedGraph.of([("a", "c"), ("b", "c"), ("c", "d"), ("a", "e")])
    assert markov_equivalent(graph, turned)
    assert not markov_equivalent(
        graph, DirectedGraph.of([*graph.edges[:2], ("d", "c"), ("e", "a")])
    )
    assert graph.markov_blanket("a") == ("c", "b", "e")
    assert graph.order.index("e") < graph.order.index("a") < graph.order.index("c")
    with pytest.raises(lk.core.InputError, match="cycle"):
        DirectedGraph.of([("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(lk.core.InputError, match="no variable 'x'"):
        graph.d_separated("a", "x")


def test_members_of_an_equivalence_class_are_those_of_all_graphs():
    """The compelled edges of every graph of four nodes, by looking at all graphs."""
    names = tuple("abcd")
    pairs = list(itertools.combinations(names, 2))
    classes: dict = {}
    for choice in itertools.product((None, 0, 1), repeat=len(pairs)):
        edges: Any = [
            p if c == 0 else p[::-1]
            for p, c in zip(pairs, choice, strict=True)
            if c is not None
        ]
        try:
            graph = DirectedGraph(names, tuple(edges))
        except lk.core.InputError:
            continue
        found = equivalence_class(graph)
        classes.setdefault(found, []).append(set(edges))
    assert len(classes) == 185  # known: the number of classes of four nodes
    for found, members in classes.items():
        assert set.intersection(*members) == found.directed


# Fits ---------------------------------------------------------------------------------


def test_scores_are_pgmpys():
    rows = np.column_stack([PGMPY["rows"][k] for k in "abc"]).astype(float)
    at = {k: i for i, k in enumerate("abc")}
    families = [(at[v], frozenset(at[p] for p in own)) for v, own in PGMPY["families"]]
    for kind, prior in (("bic", 1.0), ("bdeu", 5.0)):
        scores = FamilyScores(rows, np.ones(60), (2, 3, 2), kind, prior, np.zeros(3))
        found = [scores(*family) for family in families]
        np.testing.assert_allclose(found, PGMPY[kind], rtol=1e-10)


def test_scores_of_normal_columns_are_the_same_for_equivalent_graphs(rng):
    X = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3))
    X = (X - X.mean(0)) / X.std(0)
    for kind in ("bic", "bdeu"):
        s = FamilyScores(X, np.ones(80), (0, 0, 0), kind, 1.0, np.zeros(3))
        one = s(0, frozenset()) + s(1, frozenset({0})) + s(2, frozenset({0, 1}))
        other = s(2, frozenset()) + s(0, frozenset({2})) + s(1, frozenset({0, 2}))
        assert abs(one - other) < 1e-8


def test_structure_is_found_again_up_to_equivalence(asia):
    rows = pd.DataFrame(asia.sample(100_000, random_state=0))
    for criterion in ("bic", "bdeu"):
        model = BayesianNetwork(criterion=criterion).fit(rows)
        assert markov_equivalent(model.graph_, asia.graph_)
    table = model.query("lung", given={"xray": "yes", "dysp": "yes"})
    assert abs(table.probability(lung="yes") - 0.6213) < 0.02


def test_linear_normal_structure_is_found_again(rng):
    n = 5000
    a, b = rng.normal(size=(2, n))
    c = a - b + 0.5 * rng.normal(size=n)
    X = np.column_stack([a, b, c, 2 * c + rng.normal(size=n)])
    model = BayesianNetwork().fit(X)
    expected = DirectedGraph.of([("x0", "x2"), ("x1", "x2"), ("x2", "x3")])
    assert markov_equivalent(model.graph_, expected)
    covariance = model.query(["x0", "x1", "x2", "x3"]).covariance()
    np.testing.assert_allclose(covariance, np.corrcoef(X.T), atol=0.03)


def test_maximum_likelihood_without_prior_is_counting_and_least_squares(rng):
    frame = pd.DataFrame({"g": rng.choice(["p", "q"], 60), "x": rng.normal(size=60)})
    frame["y"] = np.where(frame.g == "p", 2.0, -1.0) * frame.x + rng.normal(size=60)
    frame["x"] -= 10 * frame["x"].abs().max()  # numbers that are not positive
    model = BayesianNetwork([("g", "y"), ("x", "y")], prior=0.0).fit(frame)
    counts = frame.g.value_counts(normalize=True)
    np.testing.assert_allclose(
        model.conditional("g").values, [counts["p"], counts["q"]]
    )
    node: Any = model.joint_.by_name["y"]
    for k, level in enumerate("pq"):
        part = frame[frame.g == level]
        slope = np.polyfit(part.x, part.y, 1)
        scales = frame.std(numeric_only=True, ddof=0)
        own = node.coefficients[k, 0] * scales["y"] / scales["x"]
        np.testing.assert_allclose(own, slope[0], rtol=1e-7)
        left = part.y - np.polyval(slope, part.x)
        np.testing.assert_allclose(
            node.scale[k] * scales["y"], left.std(ddof=0), rtol=1e-7
        )


def test_em_never_falls_and_finds_the_numbers_of_complete_rows(mixed):
    rng = np.random.default_rng(0)
    V = draw_rows(mixed, 1500, rng)
    gone = np.where(rng.random(V.shape) < 0.2, np.nan, V)
    start = blank(mixed.names, mixed.sizes, mixed.graph.parents)
    options = {"prior": 1.0, "least": {}, "tol": 1e-5, "max_iter": 50}
    found = fit_numbers(start, gone, np.ones(len(V)), **options)
    assert found.converged
    assert np.diff(found.path).min() > -1e-12
    whole = fit_numbers(start, V, np.ones(len(V)), **options)
    gap = log_probs(found.joint, V).mean() - log_probs(whole.joint, V).mean()
    assert -0.02 < gap <= 1e-9


def test_imputation_is_the_posterior(asia):
    rows = pd.DataFrame(asia.sample(20, random_state=0))
    holes = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.3)
    filled = asia.impute(holes)
    assert not filled.isna().any().any()
    kept = holes.notna()
    assert (filled.where(kept) == rows.where(kept)).where(kept, True).all().all()
    row = holes.iloc[int(holes.isna().any(axis=1).argmax())]
    target = row.index[row.isna()][0]
    table = asia.query(target, given=row.dropna().to_dict())
    best = LEVELS[int(table.values.argmax())]
    assert filled.loc[row.name, target] == best
    draws = asia.impute(holes, n_draws=2, random_state=3)
    assert len(draws) == 2
    assert any((draws[0][n] != draws[1][n]).any() for n in rows)


def test_weights_repeat_rows_and_garbage_is_absent(rng):
    frame = pd.DataFrame({"g": rng.choice(list("pqr"), 40), "x": rng.normal(size=40)})
    frame.loc[3, "x"] = np.nan
    w = np.arange(40) % 3
    dirty = frame.copy()
    dirty.loc[w == 0, "g"] = "never"
    model = BayesianNetwork().fit(dirty, sample_weight=w)
    other = BayesianNetwork().fit(frame.iloc[np.repeat(np.arange(40), w)])
    np.testing.assert_allclose(model.log_prob(frame), other.log_prob(frame), rtol=1e-9)


def test_real_tables_and_small_ones():
    frame = pd.DataFrame(lk.data.iris().X, columns=list("abcd"))
    frame["kind"] = np.array(["setosa", "versicolor", "virginica"])[lk.data.iris().y]
    model = BayesianNetwork().fit(frame)
    alone = BayesianNetwork("independent").fit(frame)
    assert model.nll(frame) < alone.nll(frame) - 3
    assert (model.predict(frame, "kind") == frame.kind).mean() > 0.95
    np.testing.assert_allclose(model.probabilities(frame, "kind").sum(1), 1)
    given = model.log_prob(frame, given=["kind"]) + BayesianNetwork("independent").fit(
        frame
    ).query("kind").factor.log_values.repeat(50)
    np.testing.assert_allclose(given, model.log_prob(frame), atol=0.02)
    for rows in (frame[:3], frame[["a", "b"]].assign(c=1.0)[:20]):
        small = BayesianNetwork().fit(rows)
        assert np.isfinite(small.log_prob(rows)).all()
    levels = pd.Categorical(["u", "v"] * 5, categories=["u", "v", "never"])
    empty = pd.DataFrame({"s": levels, "x": np.arange(10.0) % 7 + 0.25})
    assert np.isfinite(BayesianNetwork().fit(empty).query("s").values).all()
    with pytest.raises(lk.core.InputError, match="probability 0"):
        BayesianNetwork([("s", "x")], prior=0.0).fit(empty).query(
            "x", given={"s": "never"}
        )


def test_sentences():
    frame = pd.DataFrame({"g": list("ppqq") * 3, "x": np.arange(12) + 0.5})
    raises = lambda match: pytest.raises(lk.core.InputError, match=match)  # noqa: E731
    with raises("cannot be a parent of the discrete"):
        BayesianNetwork([("x", "g")]).fit(frame)
    with raises("not a modelled column"):
        BayesianNetwork([("nobody", "g")]).fit(frame)
    model = BayesianNetwork().fit(frame)
    with raises("no column 'y'"):
        model.query("y")
    with raises("known already"):
        model.query("g", given={"g": "p"})
    with raises("in given and in do"):
        model.query("x", given={"g": "p"}, do={"g": "q"})
    with raises("criterion"):
        BayesianNetwork(criterion="aic").fit(frame)
    with raises("is continuous"):
        model.probabilities(frame, "x")
