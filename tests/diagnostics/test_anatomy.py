import equinox as eqx
import jax.numpy as jnp
import numpy as np

from likely.diagnostics import anatomy, dead_units, parameter_count
from likely.layers import initial_state
from likely.models import Shared, mlp


def test_depth_width_and_capacity(getkey):
    """The pictured network: widths 4, 2, 3 and two outputs have 4 D_i + 31 parameters."""
    found = anatomy(mlp((3, 4, 2, 3, 2), key=getkey()))
    assert (found.inputs, found.widths, found.outputs) == (3, (4, 2, 3), 2)
    assert (found.depth, found.width, found.capacity) == (3, 4, 9)
    assert found.parameters == 4 * 3 + 31 == 43
    assert "3-4-2-3-2: depth 3, width 4, 9 hidden units, 43 parameters" in str(found)


def test_parameters_of_shallow_and_deep_networks(getkey):
    """3D + 1 and 3D + 1 + (K − 1) D (D + 1)."""
    assert parameter_count(mlp((1, 3, 1), key=getkey())) == 10
    assert parameter_count(mlp((1, 3, 3, 1), key=getkey())) == 22


def test_it_looks_inside_of_blocks_and_wrappers(getkey):
    model = mlp(
        (3, 8, 8, 2),
        norm="batch",
        residual=True,
        dropout=0.1,
        dtype="bfloat16",
        key=getkey(),
    )
    found = anatomy(Shared(model, jnp.zeros(1)))
    assert (found.inputs, found.widths, found.outputs) == (3, (8, 8), 2)
    assert [name for name, _ in found.rows][:4] == [
        "Dense 3-8",
        "BatchNorm",
        "relu",
        "Dropout",
    ]
    assert found.parameters == parameter_count(model) + 1


def test_dead_units_are_zero_on_every_row_that_counts(rng, getkey):
    X = jnp.asarray(rng.uniform(-1, 1, size=(200, 2)), jnp.float32)
    model = mlp((2, 5, 4, 1), key=getkey())
    biases = lambda m: (m.layers[0].bias, m.layers[2].bias)  # noqa: E731
    shifts = (
        jnp.array([-99.0, 5.0, 5.0, -99.0, 5.0]),
        jnp.array([-1e4, 9.0, 9.0, 9.0]),
    )
    model = eqx.tree_at(biases, model, shifts)
    first, second = dead_units(model, X)
    np.testing.assert_array_equal(first, [True, False, False, True, False])
    assert first.mean() == 0.4
    assert second[0]
    rare = X.at[7].set(1e6)  # one row that wakes a unit counts only if it has weight
    w = np.ones(200)
    assert dead_units(model, rare, w=w)[0].sum() < 2
    w[7] = 0
    np.testing.assert_array_equal(dead_units(model, rare, w=w)[0], first)


def test_leaky_units_never_die(rng, getkey):
    X = jnp.asarray(rng.normal(size=(50, 2)), jnp.float32)
    model = mlp((2, 5, 1), activation="leaky_relu", norm="batch", key=getkey())
    model = eqx.tree_at(lambda m: m.layers[1].shift, model, jnp.full(5, -99.0))
    (dead,) = dead_units(model, X, state=initial_state(model))
    assert not dead.any()
