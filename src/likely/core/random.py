"""JAX keys and seeds from scikit-learn's `random_state`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from likely.core.forks import check_not_forked
from likely.typing import Key


def key_of(
    random_state: None | int | np.integer | np.random.RandomState | np.random.Generator,
) -> Key:
    """A JAX key from whatever scikit-learn accepts as `random_state`.

    An integer always gives the same key, a generator its next one, `None` a fresh one.
    """
    check_not_forked()
    if random_state is None:
        seed = np.random.SeedSequence().generate_state(1)[0]
    elif isinstance(random_state, np.random.Generator):
        seed = random_state.integers(2**32)
    elif isinstance(random_state, np.random.RandomState):
        seed = random_state.randint(2**32, dtype=np.uint64)
    else:
        seed = int(random_state)
    return jax.random.key(int(seed) % 2**63)


def seed_of(random_state: Any) -> int:
    """A whole number of 64 bits from whatever scikit-learn accepts as `random_state`."""
    high, low = np.asarray(jax.random.key_data(key_of(random_state))).tolist()[-2:]
    return high << 32 | low


def is_key(value: Any) -> bool:
    """Whether a value is a JAX key, or an array of keys."""
    key = jax.dtypes.prng_key
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, key)
