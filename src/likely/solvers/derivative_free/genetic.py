r"""A genetic algorithm, which needs no derivatives.

Each generation: the fitter of a few random members become parents (tournament), a child
lies on the line through two parents or a little beyond, entry by entry (crossover),
random numbers are added to some entries (mutation), and the best survive unchanged.
Mutations scale with the standard deviation of the population, so the search narrows as
it converges. The objective may be flat, not differentiable or discontinuous.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError
from likely.core.rows import fill_absent
from likely.solvers.flat import (
    empty_trace,
    flatten,
    record,
    trace_capacity,
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
        generations: the limit on the number of generations.
        population: number of members.
        spread: standard deviation of the first population about the start.
        mutation: size of a mutation, in standard deviations of the population.
        mutation_rate: the fraction of entries that mutate.
        reach: how far beyond its parents a child may lie, in units of their distance.
        tolerance: stop when the population's largest standard deviation is below.
        rivals: members of a tournament.
        elite: number of members that survive unchanged.
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
        capacity = trace_capacity(self.generations)
        return _minimize(
            self, objective, model, data, key=key, state=state, capacity=capacity
        )


class _Carry(NamedTuple):
    k: Int[Array, ""]
    reason: Int[Array, ""]
    X: Float[Array, "m p"]
    """The population, best first."""
    f: Float[Array, " m"]
    trace: Trace


@eqx.filter_jit
def _minimize(solver, objective, model, data, *, key, state, capacity: int) -> Solution:
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

    def check(k, X, f) -> Array:
        reason = jnp.where(k >= solver.generations, STEP_LIMIT, RUNNING)
        small = jnp.max(X.std(0)) <= solver.tolerance
        reason = jnp.where(small, PARAMETERS, reason)
        return jnp.where(jnp.isfinite(f[0]), reason, DIVERGED)

    def advance(c: _Carry) -> _Carry:
        trace = record(c.trace, c.k, c.f[0], jnp.nan, jnp.max(c.X.std(0)), c.X[0])
        children = _children(solver, c.X, jax.random.fold_in(later, c.k))
        X, f = ranked(jnp.concatenate([c.X[: solver.elite], children]))
        k = c.k + 1
        return _Carry(k, check(k, X, f), X, f, trace)

    offsets = solver.spread * jax.random.normal(first, (solver.population - 1, len(x)))
    offsets = offsets.astype(x.dtype)
    X, f = ranked(jnp.concatenate([x[None], x[None] + offsets]))
    trace = empty_trace(capacity, f.dtype, x if solver.path else None)
    zero = jnp.asarray(0)
    start = _Carry(zero, check(zero, X, f), X, f, trace)
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
    """Children of parents that won their tournaments."""
    count, p = solver.population - solver.elite, X.shape[1]
    k_rivals, k_cross, k_mutates, k_size = jax.random.split(key, 4)
    rivals = jax.random.randint(k_rivals, (2, count, solver.rivals), 0, len(X))
    mother, father = X[rivals.min(-1)]  # the population is sorted: low is fit
    u = jax.random.uniform(k_cross, (count, p), X.dtype)
    u = (1 + 2 * solver.reach) * u - solver.reach
    mutates = jax.random.bernoulli(k_mutates, solver.mutation_rate, (count, p))
    size = (
        solver.mutation
        * X.std(0)[None]
        * jax.random.normal(k_size, (count, p), X.dtype)
    )
    return (mother + u * (father - mother) + jnp.where(mutates, size, 0.0)).astype(
        X.dtype
    )
