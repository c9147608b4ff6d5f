"""The games of GANs: the best critic and what it is worth, in closed form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import energy_distance as scipy_energy_distance

from likely.core import float64
from likely.core.checks import InputError
from likely.information import jensen_shannon
from likely.objectives import AdversarialLoss, energy_distance, optimal_critic
from likely.objectives.adversarial import (
    critic_losses,
    generator_losses,
    square_slopes,
)
from likely.objectives.rows import Normalisation
from likely.solvers import LBFGS, Players
from likely.typing import Batch

P, Q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.1, 0.3, 0.2, 0.4])


class SymbolCritic(eqx.Module):
    """A number for each of four symbols."""

    weight: jax.Array

    def __call__(self, x, given):
        return x @ self.weight


class Drawn(eqx.Module):
    """Draws that are known beforehand."""

    rows: tuple = eqx.field(static=True)

    def draw(self, given, key):
        return jnp.asarray(self.rows)


class CriticsLoss(eqx.Module):
    """What the critic minimises, as an objective by itself."""

    game: AdversarialLoss
    draws: Drawn

    def __call__(self, model, batch, *, key=None, state=None):
        both = Players(model, self.draws)
        return self.game.loss(0, both, batch, key=jax.random.key(0), state=state)


def symbols():
    """400 rows with the frequencies P beside 400 draws with the frequencies Q."""
    x, z = (np.repeat(np.eye(4), np.round(400 * p).astype(int), axis=0) for p in (P, Q))
    return x, tuple(map(tuple, z.tolist()))


def test_the_best_critic_is_the_log_ratio_and_worth_the_divergence():
    """The optimum of the critic: D = p/(p + q), where the loss is 2 log 2 − 2 JS(p, q)."""
    x, z = symbols()
    with float64():
        data = jax.tree.map(jnp.asarray, Batch(x, np.zeros((400, 0)), np.ones(400)))
        game = AdversarialLoss(None, Normalisation.of(data))
        model = SymbolCritic(jnp.zeros(4))
        found = LBFGS(tolerance=1e-10).minimize(
            CriticsLoss(game, Drawn(z)), model, data, key=None
        )
        best = optimal_critic(np.log(P), np.log(Q))
        assert np.allclose(found.model.weight, best, atol=1e-6)
        worth = 2 * np.log(2) - 2 * jensen_shannon(P, Q)
        assert float(found.loss) == pytest.approx(worth, abs=1e-9)
    assert np.allclose(expit(best), P / (P + Q))


def test_against_the_best_critic_draws_like_rows_are_best():
    """The minimax generator pays −E log(1 + e^b): least where q = p, with D = 1/2."""

    def paid(q):
        b = optimal_critic(np.log(P), np.log(q))
        with float64():
            a = jnp.asarray(b)
            return float(-jnp.asarray(P) @ jax.nn.softplus(-a)) + float(
                jnp.asarray(q) @ generator_losses("minimax", jnp.asarray(b))
            )

    assert paid(P) == pytest.approx(-2 * np.log(2))
    assert paid(Q) == pytest.approx(2 * jensen_shannon(P, Q) - 2 * np.log(2))
    for share in (0.05, 0.3, 0.9):
        assert paid((1 - share) * P + share * Q) > paid(P)


def test_losses_are_their_formulas(rng):
    a, b = rng.normal(size=(2, 7))
    D, F = expit(a), expit(b)
    expected = -np.log(D) - np.log1p(-F)
    for kind in ("minimax", "nonsaturating"):
        assert np.allclose(critic_losses(kind, a, b), expected, atol=1e-6)
    assert np.allclose(critic_losses("wasserstein", a, b), b - a)
    assert np.allclose(generator_losses("minimax", b), np.log1p(-F), atol=1e-6)
    assert np.allclose(generator_losses("nonsaturating", b), -np.log(F), atol=1e-6)
    assert np.allclose(generator_losses("wasserstein", b), -b)


def test_a_sure_critic_leaves_only_one_game_a_gradient():
    """At D(G(z)) ≈ 0 the minimax loss is flat, the other one is not."""
    slope = {
        kind: float(jax.grad(lambda b, k=kind: generator_losses(k, b))(-12.0))
        for kind in ("minimax", "nonsaturating")
    }
    assert abs(slope["minimax"]) < 1e-5
    assert slope["nonsaturating"] == pytest.approx(-1.0, abs=1e-4)


@pytest.mark.parametrize("kind", ["wasserstein", "nonsaturating"])
def test_the_penalty_is_that_of_a_linear_critic(kind, rng):
    """Its slope is |w| everywhere; rows of weight 0 do not count, whatever they are."""
    weight = np.array([0.6, 0.8, 0.0, 2.4], np.float32)
    x, draws = rng.normal(size=(2, 6, 4)).astype(np.float32)
    critic = SymbolCritic(jnp.asarray(weight))
    squares = square_slopes(critic, jnp.asarray(x), jnp.zeros((6, 0)))
    assert np.allclose(squares, weight @ weight)
    w = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 3.0], np.float32)
    x[2] = np.nan
    data = jax.tree.map(jnp.asarray, Batch(x, np.zeros((6, 0), np.float32), w))
    both = Players(critic, Drawn(tuple(map(tuple, draws.tolist()))))

    def loss(strength):
        game = AdversarialLoss(None, Normalisation.of(data), kind, strength)
        return float(game.loss(0, both, data, key=jax.random.key(0))[0])

    slope = np.linalg.norm(weight)
    cost = (slope - 1) ** 2 if kind == "wasserstein" else slope**2
    assert loss(3.0) - loss(0.0) == pytest.approx(3 * cost, rel=1e-4)


def test_the_energy_distance_is_scipys(rng):
    x, z = rng.normal(size=(2, 50, 1)) * [[[1.0]], [[2.0]]]
    with float64():
        found = energy_distance(jnp.asarray(x), jnp.asarray(z), jnp.ones(50))
    biased = scipy_energy_distance(x[:, 0], z[:, 0]) ** 2  # pairs of a row with itself
    own = [np.abs(u - u.T).mean() / 49 for u in (x, z)]
    assert float(found) == pytest.approx(biased - sum(own), abs=1e-6)


def test_a_game_that_does_not_exist():
    with pytest.raises(InputError, match="loss"):
        AdversarialLoss(None, Normalisation(jnp.ones(()), jnp.ones(())), "chess")
