"""The contents of a trace: names, locations, values; and the calls it expands."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from likely.autodiff import trace
from likely.autodiff.program import unrolling
from likely.core import InputError, float64


def near(ours, theirs, tolerance=1e-6):
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def affine(x, w):
    return x @ w + 1.0


def small(w, x):
    z = affine(x, w)
    for _ in range(2):
        z = jnp.tanh(z)
    return jnp.sum(z * z)


W, X = (
    np.array([0.3, -0.2], np.float32),
    np.array([[1.0, 2.0], [0.5, -1.0]], np.float32),
)


def test_steps_have_the_authors_names_and_places():
    recorded = trace(small, W, X)
    # z = affine(...) is stored where it is returned to, and again in each turn.
    assert recorded.names[-1] != ""
    assert recorded.value("z₁") is not None
    shown = [recorded.names[s.outputs[0]] for s in recorded.steps]
    assert shown == ["v1", "z₁", "z₂", "z₃", "v5", "result"]
    assert [s.where.function for s in recorded.steps[:3]] == [
        "affine",
        "affine",
        "small",
    ]
    assert recorded.steps[0].where.code == "x @ w"
    assert recorded.steps[2].where.code == "jnp.tanh(z)"
    assert str(recorded.steps[0].where).startswith("test_trace.py:")
    near(recorded.value("z₁"), X @ W + 1)
    near(recorded.output, small(W, X))


def test_print_is_a_table():
    text = str(trace(small, W, X)).splitlines()
    assert text[0].split() == [
        "step",
        "value",
        "computed",
        "as",
        "shape",
        "result",
        "where",
    ]
    assert "w" in text[2]
    assert "input" in text[2]
    assert "[0.3, -0.2]" in text[2]
    assert "z₂" in str(text)
    assert "tanh(z₁)" in str(text)
    assert len({len(line.split("  ")[0]) for line in text[2:]}) <= 3
    forward, reverse = trace(small, W, X).forward(), trace(small, W, X).reverse()
    assert "tangent" in str(forward).splitlines()[0]
    assert "its adjoint" in str(reverse).splitlines()[0]


def test_modes_are_jaxs():
    recorded = trace(small, W, X)
    near(recorded.reverse().gradient, jax.grad(small, argnums=(0, 1))(W, X))
    along = (np.ones_like(W), np.ones_like(X))
    near(recorded.forward(*along).output, jax.jvp(small, (W, X), along)[1])
    near(recorded.forward(along).output, jax.jvp(small, (W, X), along)[1])
    near(recorded.forward().output, jax.jvp(small, (W, X), along)[1])
    near(recorded.forward(W, None).output, jax.jvp(small, (W, X), (W, 0 * X))[1])


def test_argnums_and_aux():
    recorded = trace(lambda w, x: (small(w, x), x), W, X, argnums=0, has_aux=True)
    near(recorded.reverse().gradient, jax.grad(small)(W, X))
    assert X.shape not in [np.shape(a) for a in jax.tree.leaves(recorded.output)]
    both = trace(small, W, X, argnums=(1, 0)).reverse().gradient
    near(both, jax.grad(small, argnums=(1, 0))(W, X))


def test_adjoints_of_every_value_are_derivatives_by_it():
    """Cut the function at a value: the adjoint is the gradient of the rest."""
    recorded = trace(small, W, X)
    back = recorded.reverse()

    def rest(z):
        return jnp.sum(jnp.tanh(jnp.tanh(z)) ** 2)

    near(back.adjoint("z₁"), jax.grad(rest)(X @ W + 1))
    near(recorded.forward(W, None).tangent("z₁"), X @ W)
    assert [s.number for s in back.steps] == [6, 5, 4, 3, 2, 1]


def test_cotangent_of_an_array():
    f = lambda x: {"a": jnp.sin(x), "b": x**2}  # noqa: E731
    x, ct = np.arange(3.0, dtype=np.float32), np.array([1.0, -2.0, 0.5], np.float32)
    near(
        trace(f, x).reverse({"a": ct, "b": 2 * ct}).gradient,
        jax.vjp(f, x)[1]({"a": ct, "b": 2 * ct})[0],
    )
    near(trace(f, x).reverse().gradient, np.cos(x) + 2 * x)


class Pair(eqx.Module):
    weight: jax.Array
    name: str
    function: object = jnp.tanh

    def __call__(self, x):
        return self.function(x @ self.weight).sum()


def test_pytrees_with_settings():
    model = Pair(jnp.asarray(W), "a name")
    recorded = trace(
        lambda model, data: model(data["x"][0]), model, {"x": [X]}, argnums=0
    )
    gradient = recorded.reverse().gradient
    assert isinstance(gradient, Pair)
    assert gradient.name is None
    near(gradient.weight, jax.grad(lambda w: jnp.tanh(X @ w).sum())(W))
    assert recorded.program.values[recorded.program.inputs[1]].name == "data['x'][0]"
    moved = recorded.forward(Pair(jnp.ones(2), "other"), None)
    near(moved.output, gradient.weight.sum())


def test_numbers_and_constants():
    scale = jnp.array([2.0, 3.0])
    recorded = trace(lambda x, n: jnp.sum(scale * x) * n, 2.0, 3)
    near(recorded.output, 30.0)
    assert recorded.reverse().gradient[0] == 15.0
    assert recorded.reverse().gradient[1] is None
    assert "constant" in str(recorded)


def test_random_functions_replay_the_same_numbers(getkey):
    def f(x, key):
        first, second = jax.random.split(key)
        return jnp.sum(x * jax.random.normal(first, (3,))) + jax.random.uniform(second)

    x, key = np.ones(3, np.float32), getkey()
    recorded = trace(f, x, key)
    near(recorded.output, f(x, key))
    near(recorded.reverse().gradient[0], recorded.checkpointed(3).gradient[0])
    assert recorded.reverse().gradient[1] is None
    assert "a random key" in str(recorded)


def test_precision_is_that_of_the_scope_it_was_made_in():
    with float64():
        recorded = trace(lambda x: jnp.sin(x) ** 2, np.float64(0.3))
    assert recorded.output.dtype == np.float64
    assert recorded.reverse().gradient.dtype == np.float64
    near(recorded.reverse().gradient, np.sin(0.6), 1e-15)
    assert trace(lambda x: jnp.sin(x), np.float64(0.3)).output.dtype == np.float32


# What is stepped into -------------------------------------------------------------------


def names(recorded):
    return [s.name for s in recorded.steps]


@jax.jit
def wave(x):
    return jnp.sin(x) * x


def test_jit_is_stepped_into_or_one_step():
    f = lambda x: wave(x).sum()  # noqa: E731
    x = np.arange(3.0, dtype=np.float32)
    inside, one = trace(f, x), trace(f, x, step_into=())
    assert names(inside) == ["sin", "mul", "reduce_sum"]
    assert names(one) == ["wave", "reduce_sum"]
    for recorded in (inside, one):
        near(recorded.reverse().gradient, jax.grad(f)(x))
        near(recorded.forward(x).output, jax.jvp(f, (x,), (x,))[1])


def test_library_functions_are_one_step_or_stepped_into():
    f = lambda x: jax.nn.softplus(jnp.where(x > 1, x, 0.0)).sum()  # noqa: E731
    x = np.arange(3.0, dtype=np.float32)
    assert names(trace(f, x)) == ["gt", "where", "softplus", "reduce_sum"]
    assert "where" not in names(trace(f, x, step_into=("jit", "library")))
    near(trace(f, x, step_into=("jit", "library")).reverse().gradient, jax.grad(f)(x))


def test_vmap_is_the_mapped_steps():
    f = lambda x: jax.vmap(lambda row: jnp.tanh(row @ W))(x).sum()  # noqa: E731
    assert names(trace(f, X)) == ["dot_general", "tanh", "reduce_sum"]
    near(trace(f, X).reverse().gradient, jax.grad(f)(X))


def test_checkpoint_is_stepped_into():
    f = lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x)  # noqa: E731
    assert names(trace(f, 0.3)) == ["sin", "sin"]
    assert len(trace(f, 0.3, step_into=()).steps) == 1
    near(trace(f, 0.3, step_into=()).reverse().gradient, jax.grad(f)(0.3))


@jax.custom_jvp
def clipped(x):
    return jnp.minimum(x, 1.0)


@clipped.defjvp
def _(primals, tangents):
    return clipped(*primals), 5.0 * tangents[0]


@jax.custom_vjp
def doubled(x):
    return 2 * x


doubled.defvjp(lambda x: (doubled(x), None), lambda _, ct: (7.0 * ct,))


@pytest.mark.parametrize(
    ("f", "own", "plain"), [(clipped, 5.0, 1.0), (doubled, 7.0, 2.0)]
)
def test_custom_derivatives_are_used_unless_stepped_into(f, own, plain):
    one, inside = trace(f, 0.3), trace(f, 0.3, step_into="all")
    assert names(one) == [f.__name__]
    assert one.reverse().gradient == own
    assert names(inside) != names(one)
    assert inside.reverse().gradient == plain


def test_custom_vjp_has_no_forward_mode_but_its_steps_have():
    with pytest.raises(InputError, match="step_into='custom'"):
        trace(doubled, 0.3).forward()
    assert trace(doubled, 0.3, step_into="custom").forward(1.0).output == 2.0


def recurrence(x, reverse=False):
    def cell(h, u):
        h = jnp.tanh(h * x + u)
        return h, h * u

    h, rows = lax.scan(cell, 0.1, jnp.arange(3.0), reverse=reverse)
    return rows.sum() + h


@pytest.mark.parametrize("backwards", [False, True])
def test_scan_is_one_step_or_its_turns(backwards):
    f = functools.partial(recurrence, reverse=backwards)
    one, turns = trace(f, 0.7), trace(f, 0.7, step_into=("jit", "scan"))
    assert "scan" in names(one)
    assert "scan" not in names(turns)
    assert {s.scope for s in turns.steps} >= {("scan[0]",), ("scan[2]",)}
    assert {"h₁", "h₂", "h₃"} <= set(turns.names)
    for recorded in (one, turns):
        near(recorded.output, f(0.7))
        near(recorded.reverse().gradient, jax.grad(f)(0.7))
        near(recorded.forward(1.0).output, jax.grad(f)(0.7))


def test_loops_do_not_need_the_counts_that_versions_of_jax_name_differently(
    monkeypatch,
):
    """Which inputs are constants, carried or sequences follows from their axes."""
    counts = {"num_consts", "num_carry", "cond_nconsts", "body_nconsts"}
    removed = set()

    def without_counts(expand):
        def expanded(builder, equation, inputs, at):
            removed.update(counts & equation.params.keys())
            kept = {k: v for k, v in equation.params.items() if k not in counts}
            return expand(builder, equation.replace(params=kept), inputs, at)

        return expanded

    for name in ("scan", "while"):
        expand = unrolling.EXPANSIONS[name]
        monkeypatch.setitem(unrolling.EXPANSIONS, name, without_counts(expand))

    def f(x):
        after = lax.while_loop(lambda h: h < 2, lambda h: h + x, recurrence(x))
        return after * recurrence(x, reverse=True)

    recorded = trace(f, 0.7, step_into="all")
    near((recorded.output, recorded.forward(1.0).output), jax.jvp(f, (0.7,), (1.0,)))
    assert removed == counts


def test_what_is_shown_of_a_trace():
    recorded = trace(small, np.ones(2, np.float32), np.ones((3, 2), np.float32))
    assert repr(recorded).startswith(f"Trace of small: {len(recorded.steps)} steps, 8 ")
    for found in (recorded.reverse(), recorded.forward(), recorded.jacobians()):
        assert repr(found) == str(found)


def test_a_long_scan_is_not_unrolled():
    f = lambda x: lax.scan(lambda c, t: (c * t, None), x, jnp.ones(100))[0]  # noqa: E731
    with pytest.raises(InputError, match="takes 100 iterations and limit is 64"):
        trace(f, 1.0, step_into="scan")
    assert len(trace(f, 1.0, step_into="scan", limit=100).steps) >= 100


def halving(x):
    return lax.while_loop(lambda c: c > 1.0, lambda c: 0.5 * c + 0.1 * jnp.sin(c), x)


def test_while_has_forward_mode_as_one_step_and_both_as_its_turns():
    near(trace(halving, 9.0).forward(1.0).output, jax.jvp(halving, (9.0,), (1.0,))[1])
    with pytest.raises(InputError, match="step_into='while'"):
        trace(halving, 9.0).reverse()
    turns = trace(halving, 9.0, step_into="while")
    assert turns.steps[-1].scope == ("while[3]",)
    near(turns.output, halving(9.0))
    near(turns.reverse().gradient, jax.jvp(halving, (9.0,), (1.0,))[1])
    with pytest.raises(InputError, match="limit is 2"):
        trace(halving, 9.0, step_into="while", limit=2)


@pytest.mark.parametrize("x", [0.5, -0.5])
def test_cond_is_one_step_or_the_branch_taken(x):
    f = lambda x: lax.cond(x > 0, lambda x: x**2, lambda x: jnp.exp(x), x)  # noqa: E731
    one, taken = trace(f, x), trace(f, x, step_into="all")
    assert "cond" in names(one)
    assert names(taken)[-1] == ("integer_pow" if x > 0 else "exp")
    assert taken.steps[-1].scope[-1] == f"branch {int(x > 0)} of 2"
    for recorded in (one, taken):
        near(recorded.reverse().gradient, jax.grad(f)(x))


def test_nested_loops_unroll_together():
    def f(x):
        def body(c, t):
            return lax.cond(t > 0, halving, jnp.sin, c * 3), None

        return lax.scan(body, x, jnp.arange(3))[0]

    turns = trace(f, 0.9, step_into="all")
    near(turns.output, f(0.9))
    scopes = {s.scope for s in turns.steps}
    assert any(len(scope) == 3 for scope in scopes)
    near(turns.reverse().gradient, jax.jvp(f, (0.9,), (1.0,))[1])


def test_dead_and_held_steps():
    def f(x):
        jnp.cos(x)  # no result needs it
        jax.debug.print("x is {}", x)
        return lax.stop_gradient(jnp.exp(x)) * x

    recorded = trace(f, 0.3)
    assert names(recorded) == ["exp", "stop_gradient", "mul"]
    near(recorded.reverse().gradient, np.exp(0.3))
    near(recorded.forward(1.0).output, np.exp(0.3))


def test_results_that_are_arguments_or_the_same_twice():
    f = lambda x, y: (x, x * y, x * y, 3.0)  # noqa: E731
    recorded = trace(f, 2.0, 5.0)
    near(recorded.output, (2.0, 10.0, 10.0, 3.0))
    near(recorded.reverse().gradient, (1 + 5 + 5, 2 + 2))


def test_shapes_alone_are_enough_for_the_steps():
    shape = jax.ShapeDtypeStruct((2,), np.float32)
    recorded = trace(small, shape, X)
    assert names(recorded)[0] == "dot_general"
    assert recorded.cost(xla=False).n_inputs == 6


# Sentences ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (lambda: trace(small, W, X, argnums=5), "argnums has 5 but there are 2"),
        (lambda: trace(small, W, X, step_into="jot"), "unknown option 'jot'"),
        (lambda: trace(small, W, X).forward(W), "got 1 tangents for 2 arguments"),
        (lambda: trace(small, W, X).forward(X, X), "the tangent of w has shape"),
        (lambda: trace(small, W, X).forward([W, W], X), "has 2 leaves but"),
        (lambda: trace(small, W, X).reverse(W), "the cotangent of result has shape"),
        (lambda: trace(lambda n: n + 1, 2).reverse(), "is not a float"),
        (lambda: trace(lambda n: n * 1.0, 2).reverse(), "no float argument"),
        (lambda: trace(lambda n: n * 1.0, 2).forward(), "no float argument to move"),
        (lambda: trace(small, W, X).value("q"), "no value 'q'"),
        (lambda: trace(small, W, X).checkpointed(99), "segments=99, but there are 6"),
    ],
)
def test_errors_are_sentences(job, sentence):
    with pytest.raises(InputError, match=sentence):
        job()
