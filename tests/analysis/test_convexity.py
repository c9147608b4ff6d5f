"""Convexity: known functions and sets by each test, witnesses that are ones, rules."""

import jax.numpy as jnp
import numpy as np
import pytest

from likely import analysis
from likely.analysis.search import evaluator
from likely.core.checks import InputError
from likely.solvers import minimize

TESTS = ("definition", "gradient", "hessian")


def well(x):
    return (x[0] ** 2 - 1) ** 2 + 0.3 * x[0] + x[1] ** 2


def softmax_log(x):
    return jnp.log(jnp.exp(x).sum())


@pytest.mark.parametrize("by", TESTS)
def test_a_convex_function_is_not_refuted_and_not_proved(by):
    found = analysis.convexity(softmax_log, [-2, -2], [2, 2], by=by, n=300)
    assert found.answer == "not refuted"
    assert found
    assert not found.proved
    assert "no proof" in str(found)


def test_witnesses_refute():
    """Each witness is checked by plain arithmetic."""
    box = [-1.5, -1.0], [1.5, 1.0]
    found = [analysis.convexity(well, *box, by=by, n=300) for by in TESTS]
    assert all(verdict.refuted and not verdict for verdict in found)
    w = found[0].witness
    between = w["t"] * w["x"] + (1 - w["t"]) * w["y"]
    chord = w["t"] * well(w["x"]) + (1 - w["t"]) * well(w["y"])
    assert well(between) > chord + 0.5
    w = found[1].witness
    x, y = w["x"], w["y"]
    slope = np.array([4 * x[0] * (x[0] ** 2 - 1) + 0.3, 2 * x[1]])
    assert well(y) < well(x) + slope @ (y - x) - 0.5
    w = found[2].witness
    H = np.diag([12 * w["x"][0] ** 2 - 4, 2.0])
    np.testing.assert_allclose(w["v"] @ H @ w["v"], w["curvature"], rtol=1e-9)
    assert w["curvature"] < -3.9


def test_a_small_dent_is_found():
    def dented(x):
        return (x**2).sum() - 0.02 * jnp.exp(-200 * ((x - 0.3) ** 2).sum())

    assert analysis.convexity(dented, [-1, -1], [1, 1], n=600).refuted


def test_functions_that_jax_cannot_trace():
    def steps(x):
        return float(np.ceil(np.asarray(x)[0]))

    def tent(x):
        return abs(float(x[0]))

    assert analysis.convexity(steps, -2, 2, n=100).refuted
    assert not analysis.convexity(tent, -2, 2, n=100).refuted


def test_strict_convexity():
    """x⁴ is strictly convex though its curvature is zero at 0; a valley floor is straight."""
    for by in ("definition", "gradient"):
        curve = analysis.convexity(
            lambda x: x[0] ** 4, -1, 1, by=by, strict=True, n=300
        )
        assert not curve.refuted
        valley = analysis.convexity(
            lambda x: (x[0] + x[1]) ** 2, [-1, -1], [1, 1], by=by, strict=True, n=300
        )
        assert valley.refuted
        gap = valley.witness["x"] - valley.witness["y"]
        np.testing.assert_allclose(gap.sum(), 0, atol=1e-6)
    with pytest.raises(InputError, match="cannot refute strict"):
        analysis.convexity(well, [-1, -1], [1, 1], by="hessian", strict=True)


def test_sets():
    def disc(x):
        return (x**2).sum() <= 1

    def ring(x):
        return 0.25 <= (x**2).sum() <= 1

    assert analysis.set_convexity(disc, [-1, -1], [1, 1]).answer == "not refuted"
    found = analysis.set_convexity(ring, [-1, -1], [1, 1])
    w = found.witness
    assert found.refuted
    assert ring(w["x"])
    assert ring(w["y"])
    assert not ring(w["between"])
    np.testing.assert_allclose(w["between"], w["t"] * w["x"] + (1 - w["t"]) * w["y"])
    with pytest.raises(InputError, match="closer around it"):
        analysis.set_convexity(lambda x: False, -1, 1, n=50)


def test_closure_rules():
    square = analysis.curved(lambda x: (x**2).sum(), "convex")
    line = analysis.curved(lambda x: x.sum(), "affine")
    root = analysis.curved(lambda x: -(x**2).sum(), "concave")
    grow = analysis.curved(jnp.exp, "convex", direction="increasing")
    fall = analysis.curved(lambda s: jnp.exp(-s), "convex", direction="decreasing")
    plain = analysis.curved(lambda s: s**2, "convex")
    made = {
        "sum": analysis.weighted_sum([2, 3], [square, line]),
        "difference": analysis.weighted_sum([1, -1], [square, root]),
        "maximum": analysis.maximum(square, line),
        "exp of convex": analysis.composition(grow, square),
        "exp of minus concave": analysis.composition(fall, root),
        "square of affine": analysis.composition(plain, line),
        "affine input": analysis.affine_input(square, [[1, 2], [3, 4]], [1.0, 0.0]),
    }
    for name, f in made.items():
        assert f.curvature == "convex", name
        tested = analysis.convexity(f, [-1, -1], [1, 1], n=100)
        assert not tested.refuted, name
    flipped = analysis.weighted_sum([-1], [square])
    assert flipped.curvature == "concave"
    log = analysis.curved(jnp.log, "concave", direction="increasing")
    assert analysis.composition(log, root).curvature == "concave"


def test_rules_that_do_not_apply():
    """No rule, and indeed a counter-example."""
    square = analysis.curved(lambda x: (x**2).sum() - 1, "convex")
    plain = analysis.curved(lambda s: s**2, "convex")
    fall = analysis.curved(lambda s: jnp.exp(-s), "convex", direction="decreasing")
    for f in (
        analysis.weighted_sum([1, -2], [square, square]),
        analysis.composition(plain, square),
        analysis.composition(fall, square),
        analysis.maximum(square, analysis.weighted_sum([-1], [square])),
    ):
        assert f.curvature == "unknown"
        assert "no rule" in f.reason
        assert analysis.convexity(f, [-1, -1], [1, 1], n=100).refuted


def test_local_minima_of_convex_functions_are_global():
    """From every start the same lowest value; a strictly convex one has one minimiser."""

    def f(x):
        return softmax_log(x) + 0.1 * (x**2).sum()

    starts = np.random.default_rng(0).normal(size=(3, 2)) * 3
    ends = [np.asarray(minimize(f, start).model) for start in starts]
    np.testing.assert_allclose(ends, np.broadcast_to(ends[0], (3, 2)), atol=1e-4)


def test_bad_input():
    cases = [
        (lambda: analysis.convexity(well, [1, 1], [0, 2]), "low below high"),
        (lambda: analysis.convexity(well, [0, 0], [1, 2, 3]), "shapes"),
        (lambda: analysis.convexity(well, [0, 0], [1, 1], by="look"), "by is 'look'"),
        (
            lambda: analysis.convexity(lambda x: x, [0, 0], [1, 1], n=20),
            "has to be one",
        ),
        (lambda: analysis.curved(well, "round"), "curvature is 'round'"),
        (lambda: analysis.curved(well, "convex", direction="up"), "direction is 'up'"),
    ]
    for call, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            call()
    rows = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(evaluator(lambda x: x.sum())(rows), rows.sum(1))
