"""Tables: the rules of probability against enumeration, and sentences for bad input."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest

from likely.core.checks import InputError
from likely.families import Bernoulli, Binomial, Categorical, Poisson, Predictive
from likely.probability import Factor, Table, eliminate, multiply


@pytest.fixture
def joint(rng) -> Table:
    values = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    values[0, 1] = 0  # structural zeros
    levels = [["a", "b"], [0, 1, 5], ["p", "q", "r", "s"]]
    return Table(values / values.sum(), ["x", "y", "z"], levels)


def test_sum_rule_and_conditioning_by_enumeration(joint):
    p = joint.values
    np.testing.assert_allclose(joint.marginal("z", "x").values, p.sum(1).T, atol=1e-15)
    given = joint.given(x="b", y=5)
    np.testing.assert_allclose(given.values, p[1, 2] / p[1, 2].sum(), rtol=1e-13)
    assert given.names == ("z",)
    assert joint.probability(x="b", y=5) == pytest.approx(p[1, 2].sum(), rel=1e-13)
    conditional = joint.given("y")
    assert (conditional.heads, conditional.conditions) == (("x", "z"), ("y",))
    np.testing.assert_allclose(conditional.values.sum((0, 2)), 1, rtol=1e-13)


def test_product_rule_and_total_probability(joint):
    again = joint.given("x") * joint.marginal("x")
    np.testing.assert_allclose(
        again.arranged(joint.names).values, joint.values, atol=1e-15
    )
    chain = Table.from_conditionals(
        joint.marginal("x"), joint.marginal("x", "z").given("x"),
        joint.arranged(("y", "z", "x")).given("z", "x")
        if (joint.marginal("x", "z").values > 0).all() else joint,
    )  # fmt: skip
    np.testing.assert_allclose(
        chain.arranged(joint.names).values, joint.values, atol=1e-15
    )
    # P(y) = Σ P(y | x) P(x)
    total = joint.marginal("x", "y").given("x").values.T @ joint.marginal("x").values
    np.testing.assert_allclose(total, joint.marginal("y").values, rtol=1e-13)


def test_bayes_rule():
    ill = Table([0.01, 0.99], "ill", [["yes", "no"]])
    test = Table(
        [[0.95, 0.05], [0.1, 0.9]],
        ["ill", "test"],
        [["yes", "no"], ["+", "-"]],
        given="ill",
    )
    posterior = ill.bayes(test, test="+")
    share = 0.95 * 0.01 / (0.95 * 0.01 + 0.1 * 0.99)
    np.testing.assert_allclose(posterior.values, [share, 1 - share], rtol=1e-13)
    whole = ill.bayes(test)
    assert whole.conditions == ("test",)
    np.testing.assert_allclose(whole.values[:, 0], posterior.values, rtol=1e-13)
    # levels in another order are matched by what they are called
    turned = Table([0.99, 0.01], "ill", [["no", "yes"]])
    np.testing.assert_allclose(
        turned.bayes(test, test="+").values, posterior.values[::-1], rtol=1e-13
    )


def test_tower_property_and_the_parts_of_a_variance(joint):
    def g(x, y):
        return (x == "a") * y**2 + y

    tower = joint.tower(g, "z")
    assert tower.iterated == pytest.approx(tower.total, rel=1e-13)
    assert tower.total == pytest.approx(joint.expectation(g), rel=1e-13)
    assert tower.within + tower.between == pytest.approx(joint.variance(g), rel=1e-12)
    for i, level in enumerate(joint.levels[2]):
        own = joint.given(z=level).expectation(g)
        assert tower.conditional[i] == pytest.approx(own, rel=1e-12)
    only = Table([[0.5, 0.5], [0.0, 0.0]], ["x", "y"])
    assert np.isnan(only.expectation("y", given="x")[1])
    assert only.tower("y", "x").iterated == 0.5


def test_covariance_is_that_of_many_rows(rng):
    table = Table(
        rng.dirichlet(np.ones(6)).reshape(2, 3), ["x", "y"], [[0, 2], [1, 2, 7]]
    )
    grid = np.array(list(itertools.product([0, 2], [1, 2, 7])), float)
    known = np.cov(grid.T, aweights=table.values.ravel(), ddof=0)
    np.testing.assert_allclose(table.covariance(), known, rtol=1e-12)
    assert table.covariance("y")[0, 0] == pytest.approx(table.variance("y"))
    apart = table.marginal("x") * table.marginal("y")
    assert abs(apart.covariance()[0, 1]) < 1e-15


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_frames_are_counted_with_weights(make, rng):
    columns = {"a": rng.choice(["u", "v"], 60), "b": rng.integers(3, size=60)}
    w = rng.integers(0, 3, size=60).astype(float)
    table = Table.from_frame(make(columns), sample_weight=w)
    keep = pd.DataFrame(columns).loc[np.repeat(np.arange(60), w.astype(int))]
    known = pd.crosstab(keep["a"], keep["b"]).to_numpy()
    np.testing.assert_array_equal(table.counts, known)
    np.testing.assert_allclose(table.values, known / known.sum(), rtol=1e-15)
    smooth = Table.from_frame(make(columns), sample_weight=w, prior=0.5)
    np.testing.assert_allclose(smooth.values, (known + 0.5) / (known.sum() + 3))
    np.testing.assert_array_equal(smooth.marginal("b").counts, known.sum(0))
    # garbage in a row of weight 0 changes nothing
    dirty = {"a": columns["a"].astype(object), "b": columns["b"].astype(float)}
    dirty["a"][w == 0], dirty["b"][w == 0] = None, np.nan
    again = Table.from_frame(make(dirty), sample_weight=w)
    np.testing.assert_array_equal(again.values, table.values)


def test_categories_keep_their_order_and_those_that_never_occur():
    size = pd.Categorical(["big", "small", "big"], categories=["small", "big", "huge"])
    table = Table.from_frame(pd.DataFrame({"size": size}), prior=1.0)
    assert table.levels[0].tolist() == ["small", "big", "huge"]
    np.testing.assert_allclose(table.values, [2 / 6, 3 / 6, 1 / 6])
    named = Table.from_frame({"k": [1, 2]}, levels={"k": [2, 1, 0]})
    assert named.counts is not None
    assert named.counts.tolist() == [1, 1, 0]


def test_tables_of_families(rng):
    counts = Table.from_family(Poisson(), rate=3.0)
    assert counts.expectation("y") == pytest.approx(3, rel=1e-13)
    assert counts.variance("y") == pytest.approx(3, rel=1e-12)
    coin = Table.from_family(Bernoulli(), probs=0.3)
    np.testing.assert_allclose(coin.values, [0.7, 0.3], rtol=1e-14)
    three = Table.from_family(Binomial(3), probs=0.3)
    assert three.levels[0].tolist() == [0, 1, 2, 3]
    logits = rng.normal(size=(2, 3))
    rows = Predictive(Categorical(3), logits, classes=["u", "v", "w"])
    table = Table.from_family(rows, "kind", given="row")
    assert (table.names, table.conditions) == (("row", "kind"), ("row",))
    assert table.levels[1].tolist() == ["u", "v", "w"]
    np.testing.assert_allclose(table.values, rows.probs, rtol=1e-12)


def test_elimination_is_the_sum_of_the_whole_product(rng):
    """A chain of thirty variables, whose joint table would have 2^30 cells."""
    chain = [Factor(("x0",), np.log(rng.dirichlet([1, 1])))]
    chain += [
        Factor((f"x{i}", f"x{i + 1}"), np.log(rng.dirichlet([1, 1], size=2)))
        for i in range(29)
    ]
    found = eliminate(chain, ("x29",))
    p = np.exp(chain[0].log_values)
    for step in chain[1:]:
        p = p @ np.exp(step.log_values)
    np.testing.assert_allclose(np.exp(found.log_values), p, rtol=1e-12)
    few = chain[:5]
    whole = multiply(few)
    seen = eliminate(few, ("x0", "x3"), evidence={"x4": 1})
    cells = np.exp(whole.log_values)[..., 1].sum((1, 2))
    assert seen.names == ("x0", "x3")
    np.testing.assert_allclose(np.exp(seen.log_values), cells, rtol=1e-12)


def test_small_numbers_do_not_underflow():
    rare = [Factor(("z",), np.log(np.array([1e-3, 2e-3]))) for _ in range(200)]
    found = multiply(rare).log_values
    assert np.exp(found).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(found[1] - found[0], 200 * np.log(2), rtol=1e-12)


def test_samples_have_the_shares_of_the_table(joint):
    drawn = joint.sample(20_000, random_state=1)
    again = Table.from_frame(
        drawn, levels=dict(zip(joint.names, joint.levels, strict=True))
    )
    assert np.abs(again.values - joint.values).max() < 0.015


def test_what_it_looks_like(joint):
    assert "P(y | x)" in repr(joint.marginal("x", "y").given("x"))
    text = repr(joint)
    assert text.startswith("P(x, y, z)")
    assert "less probable cells" in text
    page = joint.marginal("x", "y")._repr_html_()
    assert "<caption>P(x, y)</caption>" in page
    counted = Table.from_counts([3, 1], "x", [["<b>", "c"]])
    assert "4 rows counted" in repr(counted)
    assert "&lt;b&gt;" in counted._repr_html_()


def test_values_cannot_be_changed(joint):
    with pytest.raises(ValueError, match="read-only"):
        joint.values[0, 0, 0] = 1.0


BAD = {
    "sum to 0.9, 0.1 below one": lambda t: Table([0.5, 0.4], "x"),
    "given a=1 sum to 1.2, 0.2 above one": lambda t: Table(
        [[0.5, 0.5], [0.6, 0.6]], ["a", "b"], given="a"
    ),
    "the cell x=1 is -0.5": lambda t: Table([1.5, -0.5], "x"),
    "the cell x=0 is nan": lambda t: Table([np.nan, 1.0], "x"),
    "there is no variable 'yy'.*did you mean 'y'": lambda t: t.marginal("yy"),
    "y has no level 3; its levels are 0, 1, 5": lambda t: t.given(y=3),
    "each axis a name of its own": lambda t: Table(np.eye(2) / 2, ["x", "x"]),
    "one axis with levels for each name": lambda t: Table([0.5, 0.5], ["x", "y"]),
    "give 2 different ones": lambda t: Table([0.5, 0.5], "x", [["a", "a"]]),
    "no variable would be left": lambda t: t.marginal(),
    "every variable is given": lambda t: t.given("x", "y", "z"),
    "every variable is a condition": lambda t: Table([1.0], "x", given="x"),
    "has probability 0, so nothing follows": lambda t: t.given(x="a", y=1),
    "both tables are of 'x'": lambda t: t * t,
    "each table is conditional on a variable of the other": lambda t: (
        t.marginal("x", "z").given("x") * t.marginal("x", "z").given("z")
    ),
    "needs a joint table": lambda t: t.given("x").expectation("y"),
    "which are no numbers": lambda t: t.expectation("x"),
    "give each of the names once": lambda t: t.arranged(("x", "y")),
    "has missing values": lambda t: Table.from_frame({"a": [1.0, np.nan]}),
    "the weights sum to zero": lambda t: Table.from_frame(
        {"a": [1, 2]}, sample_weight=[0, 0]
    ),
    "has no rows to count": lambda t: Table.from_frame({"a": np.zeros(0)}),
    "not among its levels": lambda t: Table.from_frame({"a": [7]}, levels={"a": [1]}),
    "the counts sum to zero": lambda t: Table.from_counts([0, 0], "x"),
    "the count at \\(1,\\) is -1.0": lambda t: Table.from_counts([1, -1], "x"),
    "prior is -1": lambda t: Table.from_counts([1, 1], "x", prior=-1),
    "1e\\+08 cells.*a \\(10000 levels\\)": lambda t: Table.from_frame(
        {"a": np.arange(10**4), "b": np.arange(10**4)}
    ),
    "do not fit Poisson": lambda t: Table.from_family(Poisson(), mean=3.0),
    "no tables to multiply": lambda t: Table.from_conditionals(),
    "has 2 levels in one table and 3": lambda t: multiply(
        [Factor(("x",), np.zeros(2)), Factor(("x",), np.zeros(3))]
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_a_sentence(joint, message):
    with pytest.raises(InputError, match=message):
        BAD[message](joint)
