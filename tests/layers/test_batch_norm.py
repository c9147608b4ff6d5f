import jax
import jax.numpy as jnp
import numpy as np

from likely.layers import BatchNorm, Chain, Dense
from likely.layers.composition.chain import initial_state


def test_training_normalises_by_the_batch_and_moves_the_statistics(rng, getkey):
    X = jnp.asarray(rng.normal(3, 2, size=(64, 4)), jnp.float32)
    norm = BatchNorm(4, rate=0.1)
    out, state = norm(X, w=jnp.ones(64), key=getkey(), state=norm.initial_state())
    np.testing.assert_allclose(out.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(out.std(0), 1, atol=1e-4)
    np.testing.assert_allclose(state.mean, 0.1 * X.mean(0), rtol=1e-5)
    np.testing.assert_allclose(state.variance, 0.9 + 0.1 * X.var(0), rtol=1e-5)


def test_use_reads_the_statistics_and_moves_nothing(rng):
    X = jnp.asarray(rng.normal(size=(8, 4)), jnp.float32)
    norm = BatchNorm(4)
    start = norm.initial_state()
    out, state = norm(X, state=start)
    np.testing.assert_allclose(out, X / np.sqrt(1 + 1e-5), rtol=1e-5)
    assert state is start


def test_weights_are_repetitions_and_absent_rows_move_nothing(rng, getkey):
    X = jnp.asarray(rng.normal(size=(6, 3)), jnp.float32)
    w = jnp.array([2.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    twice = X[jnp.array([0, 0, 1, 4, 5])]
    norm = BatchNorm(3)
    start = norm.initial_state()
    out, state = norm(X, w=w, key=getkey(), state=start)
    same, again = norm(twice, w=jnp.ones(5), key=getkey(), state=start)
    np.testing.assert_allclose(state.variance, again.variance, rtol=1e-6)
    np.testing.assert_allclose(out[0], same[0], rtol=1e-4, atol=1e-6)
    _, still = norm(X, w=jnp.zeros(6), key=getkey(), state=start)
    np.testing.assert_array_equal(still.mean, start.mean)
    np.testing.assert_array_equal(still.variance, start.variance)


def test_a_chain_threads_states_and_keys(rng, getkey):
    chain = Chain(Dense(3, 5, key=getkey()), BatchNorm(5), jax.nn.relu)
    state = initial_state(chain)
    assert [s is None for s in state] == [True, False, True]
    X = jnp.asarray(rng.normal(size=(7, 3)), jnp.float32)
    _, moved = chain(X, w=jnp.ones(7), key=getkey(), state=state)
    assert not np.allclose(moved[1].mean, state[1].mean)
    assert initial_state(Chain(jax.nn.relu)) is None
