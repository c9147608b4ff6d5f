r"""A genetic algorithm: a population instead of a slope.

Each generation: the fitter of a few random members become parents (tournament), a child
lies on the line through two parents or a little beyond, entry by entry (crossover),
some entries jump (mutation), and the best survive as they are. Jumps are measured in
the spread of the population, so the search narrows as it converges. No derivatives:
the objective may be flat, kinked or discontinuous.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError
from likely.core.rows import fill_absent
from likely.solvers.flat import (
    capacity_of,
    empty_trace,
    flatten,
    record,
    unflatten_path,
)
from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import (
    DIVERGED,
    PARAMETERS,
    RUNNING,
    STEP_LIMIT,
    Batch,
    Key,
    Solution,
    State,
    Status,
    Trace,
)


class Genetic(eqx.Module):
    """Selection, crossover and mutation of a population of parameters.

    Args:
        generations: the most generations.
        population: how many members.
        spread: standard deviation of the first population about the start.
        mutation: size of a jump, in standard deviations of the population.
        mutation_rate: the share of entries that jump.
        reach: how far beyond its parents a child may lie, in their distance.
        tolerance: stop when the population's largest standard deviation is below.
        rivals: members of a tournament.
        elite: how many survive as they are.
        path: whether the trace keeps the best parameters of each generation.
    """

    generations: Whole = whole(500)
    population: int = eqx.field(static=True, default=64)
    spread: Real = real(1.0, kw_only=True)
    mutation: Real = real(1.0, kw_only=True)
    mutation_rate: Real = real(0.2, kw_only=True)
    reach: Real = real(0.4, kw_only=True)
    tolerance: Real = real(1e-8, kw_only=True)
    rivals: int = eqx.field(static=True, default=2, kw_only=True)
    elite: int = eqx.field(static=True, default=2, kw_only=True)
    path: bool = eqx.field(static=True, default=False, kw_only=True)

    def __check_init__(self):
        if not 1 <= self.elite < self.population:
            raise InputError(
                f"elite is {self.elite} of a population of {self.population}; "
                "give at least 1 and fewer than all."
            )

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the parameters of the model."""
        if key is None:
            raise InputError("a genetic algorithm draws random numbers; give it a key.")
        capacity = capacity_of(self.generations)
        return _minimize(
            self, objective, model, data, key=key, state=state, room=capacity
        )


class _Carry(NamedTuple):
    k: Int[Array, ""]
    reason: Int[Array, ""]
    X: Float[Array, "m p"]
    """The population, best first."""
    f: Float[Array, " m"]
    trace: Trace


@eqx.filter_jit
def _minimize(solver, objective, model, data, *, key, state, room: int) -> Solution:
    x, rebuild = flatten(model)
    data = fill_absent(data)
    first, noise, later = jax.random.split(key, 3)

    def loss(x: Float[Array, " p"]) -> Float[Array, ""]:
        return objective(rebuild(x), data, key=noise, state=state)[0]

    def ranked(X: Float[Array, "m p"]) -> tuple[Array, Array]:
        f = jax.vmap(loss)(X)
        f = jnp.where(jnp.isfinite(f), f, jnp.inf)
        order = jnp.argsort(f)
        return X[order], f[order]

    def judge(k, X, f) -> Array:
        reason = jnp.where(k >= solver.generations, STEP_LIMIT, RUNNING)
        small = jnp.max(X.std(0)) <= solver.tolerance
        reason = jnp.where(small, PARAMETERS, reason)
        return jnp.where(jnp.isfinite(f[0]), reason, DIVERGED)

    def advance(c: _Carry) -> _Carry:
        trace = record(c.trace, c.k, c.f[0], jnp.nan, jnp.max(c.X.std(0)), c.X[0])
        children = _children(solver, c.X, jax.random.fold_in(later, c.k))
        X, f = ranked(jnp.concatenate([c.X[: solver.elite], children]))
        k = c.k + 1
        return _Carry(k, judge(k, X, f), X, f, trace)

    jumps = solver.spread * jax.random.normal(first, (solver.population - 1, len(x)))
    jumps = jumps.astype(x.dtype)
    X, f = ranked(jnp.concatenate([x[None], x[None] + jumps]))
    trace = empty_trace(room, f.dtype, x if solver.path else None)
    zero = jnp.asarray(0)
    start = _Carry(zero, judge(zero, X, f), X, f, trace)
    last = jax.lax.while_loop(lambda c: c.reason == RUNNING, advance, start)
    best, spread = last.f[0], jnp.max(last.X.std(0))
    trace = record(last.trace, last.k, best, jnp.nan, spread, last.X[0])
    value = jnp.where(last.reason == PARAMETERS, spread, jnp.nan)
    status = Status(
        last.reason, last.k, jnp.where(last.reason == DIVERGED, best, value)
    )
    trace = unflatten_path(trace, rebuild)
    return Solution(rebuild(last.X[0]), state, best, trace, status)


def _children(solver: Genetic, X: Float[Array, "m p"], key: Key) -> Float[Array, "c p"]:
    """A generation from parents that won their tournaments."""
    count, p = solver.population - solver.elite, X.shape[1]
    chosen, mixed, jumping, jump = jax.random.split(key, 4)
    rivals = jax.random.randint(chosen, (2, count, solver.rivals), 0, len(X))
    mother, father = X[rivals.min(-1)]  # the population is sorted: low is fit
    u = jax.random.uniform(mixed, (count, p), X.dtype)
    u = (1 + 2 * solver.reach) * u - solver.reach
    jumps = jax.random.bernoulli(jumping, solver.mutation_rate, (count, p))
    size = (
        solver.mutation * X.std(0)[None] * jax.random.normal(jump, (count, p), X.dtype)
    )
    return (mother + u * (father - mother) + jnp.where(jumps, size, 0.0)).astype(
        X.dtype
    )
