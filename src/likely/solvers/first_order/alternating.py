r"""Two players that move in turn, each to lower a loss of its own.

Player 1 has the parameters a and the loss f(a, b), player 2 has b and g(a, b). One step is

    a ← a − η₁ ∇_a f(a, b)      `turns` times, each on its part of the batch
    b ← b − η₂ ∇_b g(a, b)      once, on the last part

with an update rule, a rate and clipping for each. Where g = −f this is a zero-sum game, whose
solution is a saddle point and not a minimum: no loss has to fall.
"""

from typing import Any, Protocol, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from likely.core.checks import InputError
from likely.solvers.first_order.accumulation import split_rows
from likely.solvers.first_order.clipping import max_abs
from likely.solvers.first_order.rules import AbstractFirstOrder
from likely.solvers.first_order.schedules import (
    AbstractFormula,
    AbstractSchedule,
    as_schedule,
)
from likely.solvers.first_order.stepper import Move, Run
from likely.typing import Batch, Key, State


class Players(eqx.Module):
    """The models of two players, as one model."""

    first: Any
    second: Any


class Game(Protocol):
    """An objective with a loss for each player; called as one, it judges both."""

    def loss(
        self, player: int, model: Players, batch: Batch, *, key: Key, state: State
    ) -> tuple[Float[Array, ""], State]:
        """What player 0 or 1 minimises, over its own parameters."""
        ...


class Alternating(AbstractFirstOrder):
    """Two players that move in turn, each by its own solver.

    The model is `Players`, the objective a `Game`. Batches, steps, averages and validation
    are those of this solver; rules, clipping and relative rates those of the players'.
    The loss of a step is that of the first player, the mean over its turns.

    Args:
        first: the solver of the first player.
        second: the solver of the second.
        turns: updates of the first for one of the second; a batch is cut in as many parts.
        rate: a schedule that multiplies the rates of both players.
    """

    first: AbstractFirstOrder  # pyright: ignore[reportGeneralTypeIssues]
    second: AbstractFirstOrder  # pyright: ignore[reportGeneralTypeIssues]
    turns: int = eqx.field(static=True, default=1)
    rate: AbstractSchedule = eqx.field(converter=as_schedule, default=1.0)

    def transform(self, rate: Float[Array, ""]) -> optax.GradientTransformation:
        """The rules of both players at once, on a tree of two."""
        rules = [_rule(player, 0, rate) for player in (self.first, self.second)]

        def init(params: PyTree) -> PyTree:
            return [rule.init(p) for rule, p in zip(rules, _pair(params), strict=True)]

        def update(g: PyTree, memory: PyTree, params: PyTree = None) -> Any:
            parts = zip(rules, _pair(g), memory, _pair(params), strict=True)
            found = [rule.update(own, m, p) for rule, own, m, p in parts]
            changes, memories = zip(*found, strict=True)
            return Players(*changes), list(memories)

        return optax.GradientTransformation(init, cast(Any, update))

    def moves(
        self,
        stepper: Any,
        run: Run,
        batch: Batch,
        key: Key | None,
        rate: Float[Array, ""],
    ) -> Move:
        """All turns of the first player, then one of the second."""
        if key is None:
            raise InputError("players draw at random; give the solver a key.")
        k_first, k_second = jax.random.split(key)
        rules = [_rule(p, run.step, rate) for p in (self.first, self.second)]
        memories = run.memory[-1]
        parts = split_rows(batch, self.turns)

        def evaluate(player: int, own: PyTree, other: PyTree, rows: Batch, key: Key):
            pair = (own, other) if player == 0 else (other, own)
            model = eqx.combine(Players(*pair), stepper.static)
            return stepper.objective.loss(player, model, rows, key=key, state=run.state)

        def turn(carry: tuple, part: tuple) -> tuple[tuple, tuple]:
            own, memory = carry
            number, rows = part
            k = jax.random.fold_in(k_first, number)
            (loss, _), g = jax.value_and_grad(evaluate, 1, has_aux=True)(
                0, own, second, rows, k
            )
            change, memory = rules[0].update(g, memory, own)
            return (optax.apply_updates(own, change), memory), (loss, max_abs(g))

        first, second = _pair(run.params)
        (moved, memory), (losses, peaks) = jax.lax.scan(
            turn, (first, memories[0]), (jnp.arange(self.turns), parts)
        )
        last = jax.tree.map(lambda a: a[-1], parts)
        (_, state), g = jax.value_and_grad(evaluate, 1, has_aux=True)(
            1, second, moved, last, k_second
        )
        change, other = rules[1].update(g, memories[1], second)
        step = jax.tree.map(lambda a, b: a - b, moved, first)
        largest = jnp.maximum(peaks.max(), max_abs(g))
        return Move(
            losses.mean(),
            state,
            largest,
            Players(step, change),
            (*run.memory[:-1], [memory, other]),
        )

    def __check_init__(self):
        if self.turns < 1:
            raise InputError(f"turns is {self.turns}; give 1 or more.")
        if self.clip or self.noise is not None or self.accumulate > 1:
            raise InputError(
                "clip, noise and accumulate are settings of one player; give clip to the "
                "solvers of the players."
            )
        for player in (self.first, self.second):
            if not isinstance(player.rate, AbstractFormula):
                raise InputError(
                    f"the rate of a player is {type(player.rate).__name__}, which looks at "
                    "a loss that falls; give a formula of the step."
                )


def _rule(player: AbstractFirstOrder, at: Any, rate: Float[Array, ""]) -> Any:
    """Clipping and the rule of a player, at its rate times that of the game."""
    own = cast(AbstractFormula, player.rate)(jnp.asarray(at)) * rate
    clips = [clip.transform() for clip in player.clip]
    return optax.chain(*clips, player.transform(own))


def _pair(params: PyTree) -> tuple[PyTree, PyTree]:
    return params.first, params.second
