"""Two players: their updates by hand, a saddle point, conditional moves, resumed runs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core.checks import InputError
from likely.solvers import (
    Adam,
    Alternating,
    ClipByNorm,
    Constant,
    GradientDescent,
    Players,
    ReduceOnPlateau,
)
from likely.solvers.training import Checkpoints, Training
from likely.typing import Batch


class Numbers(eqx.Module):
    v: jax.Array


class Bilinear(eqx.Module):
    """f = a·b + |a|²/2 − |b|²/10 + s·a: a lowers it, b raises it; s is the mean of rows."""

    def loss(self, player, model, batch, *, key, state):
        a, b = model.first.v, model.second.v
        shift = (batch.w[:, None] * batch.x).sum(0) / len(batch.w)
        f = a @ b + 0.5 * (a**2).sum() - 0.1 * (b**2).sum() + shift @ a
        return (f if player == 0 else -f), state

    def __call__(self, model, batch, *, key=None, state=None):
        return (model.first.v**2).sum(), state


START = Players(Numbers(jnp.array([1.0, 2.0])), Numbers(jnp.array([1.0, -1.0])))


def rows(shift=(0.0, 0.0), n=8):
    x = jnp.broadcast_to(jnp.asarray(shift), (n, 2))
    return Batch(x, jnp.zeros((n, 0)), jnp.ones(n))


def solver(**options):
    return Alternating(GradientDescent(0.2), GradientDescent(0.1), **options)


@pytest.mark.parametrize("turns", [1, 3])
def test_players_move_in_turn(turns):
    """The second answers the first's new numbers; by hand."""
    found = solver(turns=turns, rate=0.5, steps=4, batch_size=6).minimize(
        Bilinear(), START, rows(), key=jax.random.key(0)
    )
    a, b = np.array([1.0, 2.0]), np.array([1.0, -1.0])
    for _ in range(4):
        for _ in range(turns):
            a = a - 0.5 * 0.2 * (b + a)
        b = b + 0.5 * 0.1 * (a - 0.2 * b)
    assert np.allclose(found.model.first.v, a, rtol=1e-5)
    assert np.allclose(found.model.second.v, b, rtol=1e-5)


def test_a_saddle_point_is_found():
    """Where both gradients vanish: a + b + s = 0 and a = b/5."""
    found = solver(steps=500, batch_size=4).minimize(
        Bilinear(), START, rows((1.2, -2.4)), key=jax.random.key(0)
    )
    assert np.allclose(found.model.second.v, [-1.0, 2.0], atol=1e-4)
    assert np.allclose(found.model.first.v, [-0.2, 0.4], atol=1e-4)


def test_a_run_is_resumed_to_the_same_bits(tmp_path):
    def run(steps, **options):
        both = Alternating(
            Adam(0.1, clip=ClipByNorm(1.0)), Adam(0.05), steps=steps, batch_size=3
        )
        training = Training(both, **options)
        data = rows((0.3, 0.1))
        return training.minimize(Bilinear(), START, data, key=jax.random.key(1))

    whole = run(40)
    kept = Checkpoints(tmp_path, every_steps=10)
    run(20, checkpoints=kept)
    found = run(40, checkpoints=kept, resume=True)
    assert (found.model.first.v == whole.model.first.v).all()
    assert (found.model.second.v == whole.model.second.v).all()


def test_players_with_settings_that_cannot_be():
    with pytest.raises(InputError, match="turns"):
        solver(turns=0)
    with pytest.raises(InputError, match="solvers of the players"):
        solver(clip=ClipByNorm(1.0))
    with pytest.raises(InputError, match="formula"):
        Alternating(Adam(ReduceOnPlateau(Constant(0.1))), Adam())
    with pytest.raises(InputError, match="key"):
        solver(steps=2).minimize(Bilinear(), START, rows(), key=None)
