import jax
import numpy as np

from likely.core import key_of


def same(a, b):
    return bool((jax.random.key_data(a) == jax.random.key_data(b)).all())


def test_an_integer_always_gives_the_same_key():
    assert same(key_of(3), key_of(3))
    assert same(key_of(3), key_of(np.int64(3)))
    assert not same(key_of(3), key_of(4))


def test_generators_give_their_next_key():
    for make in (np.random.default_rng, np.random.RandomState):
        state = make(0)
        first, second = key_of(state), key_of(state)
        assert not same(first, second)
        assert same(first, key_of(make(0)))


def test_none_is_fresh():
    assert not same(key_of(None), key_of(None))
