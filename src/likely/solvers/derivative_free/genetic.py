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
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.solvers.flat import empty_trace, flatten, trace_capacity
from likely.solvers.full_batch import AbstractFullBatch, iterate, reason_to_stop
from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import PARAMETERS, Batch, Key, Solution


class Genetic(AbstractFullBatch):
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

    def trace_length(self) -> int:
        """The number of points of the trace."""
        return trace_capacity(self.generations)

    def solve(
        self, objective, model, data: Batch, *, key, state, capacity: int
    ) -> Solution:
        """Generations until there is a reason to stop."""
        if key is None:
            raise InputError("a genetic algorithm draws random numbers; give it a key.")
        x, rebuild = flatten(model)
        first, noise, later = jax.random.split(key, 3)

        def loss(x: Float[Array, " p"]) -> Float[Array, ""]:
            return objective(rebuild(x), data, key=noise, state=state)[0]

        def ranked(X: Float[Array, "m p"]) -> _Population:
            f = jax.vmap(loss)(X)
            f = jnp.where(jnp.isfinite(f), f, jnp.inf)
            order = jnp.argsort(f)
            return _Population(X[order], f[order])

        def check(k, at: _Population) -> Array:
            small = at.spread <= self.tolerance
            return reason_to_stop(k, self.generations, at.f[0], (small, PARAMETERS))

        def generation(k, at: _Population):
            children = _children(self, at.X, jax.random.fold_in(later, k))
            new = ranked(jnp.concatenate([at.X[: self.elite], children]))
            entry = at.f[0], jnp.nan, at.spread, at.X[0]
            return k + 1, check(k + 1, new), new, entry

        offsets = self.spread * jax.random.normal(first, (self.population - 1, len(x)))
        offsets = offsets.astype(x.dtype)
        start = ranked(jnp.concatenate([x[None], x[None] + offsets]))
        trace = empty_trace(capacity, start.f.dtype, x if self.path else None)
        run = iterate(generation, start, check(0, start), trace)
        best, lowest, spread = run.at.X[0], run.at.f[0], run.at.spread
        value = jnp.where(run.reason == PARAMETERS, spread, jnp.nan)
        run = run.record(lowest, jnp.nan, spread, best)
        return run.solution(best, rebuild, state, lowest, value)


class _Population(NamedTuple):
    X: Float[Array, "m p"]
    """The members, best first."""
    f: Float[Array, " m"]

    @property
    def spread(self) -> Float[Array, ""]:
        """The largest standard deviation of a parameter."""
        return jnp.max(self.X.std(0))


def _children(solver: Genetic, X: Float[Array, "m p"], key: Key) -> Float[Array, "c p"]:
    """Children of parents that won their tournaments."""
    count, p = solver.population - solver.elite, X.shape[1]
    k_rivals, k_cross, k_mutates, k_size = jax.random.split(key, 4)
    rivals = jax.random.randint(k_rivals, (2, count, solver.rivals), 0, len(X))
    mother, father = X[rivals.min(-1)]  # the population is sorted: low is fit
    u = jax.random.uniform(k_cross, (count, p), X.dtype)
    u = (1 + 2 * solver.reach) * u - solver.reach
    mutates = jax.random.bernoulli(k_mutates, solver.mutation_rate, (count, p))
    noise = jax.random.normal(k_size, (count, p), X.dtype)
    size = jnp.where(mutates, solver.mutation * X.std(0)[None] * noise, 0.0)
    return (mother + u * (father - mother) + size).astype(X.dtype)
