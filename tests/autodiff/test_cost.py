"""Costs against counts by hand and by XLA; schedules against measured memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.autodiff import growth, multiply_adds, parameter_count, trace

FLOAT = np.float32


def chain(x, n=16):
    for _ in range(n):
        x = jnp.sin(x)
    return x.sum()


def test_a_product_costs_two_for_each_multiply_add():
    A, B = np.ones((3, 4), FLOAT), np.ones((4, 5), FLOAT)
    cost = trace(lambda A, B: A @ B, A, B).cost()
    assert cost["value"].work.flops == 2 * 3 * 4 * 5
    assert cost["value"].work.bytes == 4 * (3 * 4 + 4 * 5 + 3 * 5)
    assert cost["value"].xla.flops == 2 * 3 * 4 * 5
    # One pull for each of the 15 outputs: Ȳ Bᵀ and Aᵀ Ȳ.
    assert cost["reverse"].runs == 15
    assert cost["reverse"].work.flops == 120 + 15 * 2 * 120


def test_counts_are_xlas(getkey):
    """Within a few per cent for a network; XLA counts comparisons a little otherwise."""
    sizes = (20, 30, 30, 5)
    keys = [getkey() for _ in range(3)]
    W = [
        jax.random.normal(k, (a, b))
        for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]

    def f(W, x):
        for w in W:
            x = jnp.tanh(x @ w)
        return (x**2).sum()

    cost = trace(f, W, jnp.ones((8, 20)), argnums=0).cost()
    for name in ("value", "forward, one direction", "reverse"):
        mode = cost[name]
        assert abs(mode.work.flops / mode.xla.flops - 1) < 0.05, name
        assert mode.work.transcendentals == mode.xla.transcendentals
    assert cost["value"].work.flops > 2 * 8 * multiply_adds(sizes)
    assert "XLA" in str(cost)


def test_every_turn_of_a_loop_is_counted():
    """XLA counts the body of a loop once; the table mentions it."""
    W, x = np.ones((8, 8), FLOAT), np.ones((16, 8), FLOAT)

    def f(W, x):
        return jax.lax.scan(lambda h, u: (jnp.tanh(W @ h + u), None), x[0], x)[0].sum()

    cost = trace(f, W, x).cost()
    assert cost["value"].work.transcendentals == 16 * 8
    assert cost["value"].xla.transcendentals == 8
    assert 16 * 128 < cost["value"].work.flops < 16 * 150
    assert "the body of a loop once" in str(cost)


def test_forward_scales_with_inputs_and_reverse_with_outputs():
    """The number of passes for f: Rⁿ → R and f: R → Rⁿ."""

    def many_inputs(n):
        return (lambda x: jnp.tanh(x).sum()), (jax.ShapeDtypeStruct((n,), FLOAT),)

    def many_outputs(n):
        return (lambda t: jnp.tanh(t * jnp.ones(n))), (jax.ShapeDtypeStruct((), FLOAT),)

    one, many = (growth(f, (64, 128, 256)) for f in (many_inputs, many_outputs))
    assert one.exponent("forward") == pytest.approx(2, abs=0.1)
    assert one.exponent("reverse") == pytest.approx(1, abs=0.1)
    assert many.exponent("forward") == pytest.approx(1, abs=0.1)
    assert many.exponent("reverse") == pytest.approx(2, abs=0.1)
    assert one.exponent("forward", "runs") == 1
    assert "power" in str(one)


def test_reverse_memory_grows_with_depth_and_checkpointing_with_its_root():
    def deep(n):
        return (lambda x: chain(x, n)), (jax.ShapeDtypeStruct((100,), FLOAT),)

    measured = growth(deep, (64, 256))
    assert measured.exponent("reverse", "peak") == pytest.approx(1, abs=0.05)
    assert measured.exponent("checkpointed", "peak") == pytest.approx(0.5, abs=0.1)
    assert measured.exponent("forward", "peak") == pytest.approx(0, abs=0.05)
    # the cost is less than one more forward pass
    for cost in measured.costs:
        again = cost.modes[-1].work.transcendentals / cost["value"].work.transcendentals
        plain = (
            cost["reverse"].work.transcendentals / cost["value"].work.transcendentals
        )
        assert 0.8 < again - plain < 1


def test_four_blocks_with_checkpoints_1_2_4():
    """5 forward blocks instead of 4; 1.08 times the work if a backward block counts two."""
    recorded = trace(
        lambda x: jnp.exp(jnp.cos(jnp.tanh(jnp.sin(x)))), np.ones(3, FLOAT)
    )
    run = recorded.checkpointed(at=(1, 2, 4))
    assert run.stored == ("v1", "v2", "result")
    assert run.recomputed == (3,)
    assert run.forward_work == 1.25
    assert run.total_work(backward=2.0) == pytest.approx(13 / 12)
    np.testing.assert_array_equal(run.gradient, recorded.reverse().gradient)


@pytest.mark.parametrize("segments", [1, 3, 4, 17, None])
def test_checkpointed_gradient_is_the_same_and_memory_is_as_planned(segments):
    recorded = trace(chain, np.linspace(0, 1, 50, dtype=FLOAT))
    run = recorded.checkpointed(segments)
    np.testing.assert_array_equal(run.gradient, recorded.reverse().gradient)
    assert run.measured_peak == run.schedule.peak
    assert len(run.recomputed) < 17
    if segments in (3, 4, None):
        assert run.memory < 0.65
        assert run.forward_work < 2
    if segments == 17:
        assert run.memory == 1
        assert run.forward_work == 1
    assert "peak memory" in str(run)


def test_skip_connections_are_kept_across_cuts():
    def f(x):
        early = jnp.sin(x)
        for _ in range(5):
            x = jnp.cos(x) + early
        return (x * early).sum()

    recorded = trace(f, np.linspace(0, 1, 5, dtype=FLOAT))
    run = recorded.checkpointed(3)
    assert "early" in run.stored
    np.testing.assert_allclose(run.gradient, recorded.reverse().gradient, rtol=1e-6)
    assert run.measured_peak == run.schedule.peak


def test_forward_pass_complexity():
    """Σ nⱼ₋₁ nⱼ multiply-adds, (k + 1) n² for k hidden layers of width n."""
    assert multiply_adds((7, 7, 7, 7)) == 3 * 7**2
    sizes = (3, 5, 4, 2)
    pairs = list(zip(sizes[:-1], sizes[1:], strict=True))
    W = [np.ones(pair, FLOAT) for pair in pairs]
    counted = trace(lambda W, x: x @ W[0] @ W[1] @ W[2], W, np.ones(3, FLOAT)).cost()
    assert counted["value"].work.flops == 2 * multiply_adds(sizes)


def test_parameter_count():
    """3D + 1, and 3D + 1 + (K − 1) D (D + 1)."""
    assert parameter_count((1, 3, 1)) == 3 * 3 + 1 == 10
    assert parameter_count((1, 3, 3, 1)) == 3 * 3 + 1 + 3 * 4 == 22
    for D, K in ((2, 4), (5, 3)):
        expected = 3 * D + 1 + (K - 1) * D * (D + 1)
        assert parameter_count((1, *[D] * K, 1)) == expected
