r"""The assignment of objects to predictions that costs least, inside of a compiled program.

The Hungarian method by shortest augmenting paths: objects are assigned one after another, each
along the path of predictions and objects that costs least, where u and v are the prices that make
all reduced costs $c_{ij} - u_i - v_j$ at least zero. It is exact, and takes $O(m^2 n)$ for m
objects and n predictions. `vision.boxes.match` is the same on the host.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError


class _Prices(NamedTuple):
    """Prices, and who has each prediction; entry 0 stands for the object that is new."""

    u: Float[Array, " objects"]
    v: Float[Array, " predictions"]
    owner: Int[Array, " predictions"]


class _Search(NamedTuple):
    """A search for the cheapest path to a free prediction."""

    prices: _Prices
    at: Int[Array, ""]
    least: Float[Array, " predictions"]
    before: Int[Array, " predictions"]
    seen: Array


def assign(cost: Float[Array, "b m n"]) -> Int[Array, "b m"]:
    """The prediction of each object.

    Args:
        cost: of each of n predictions for each of m objects, m at most n; an object that is
            not there costs the same everywhere.
    """
    if cost.shape[1] > cost.shape[2]:
        raise InputError(
            f"{cost.shape[1]} objects are to be assigned to {cost.shape[2]} predictions; "
            "give at least as many predictions."
        )
    return jax.vmap(_assign)(cost)


def _assign(cost: Float[Array, "m n"]) -> Int[Array, " m"]:
    m, n = cost.shape
    C = jnp.pad(cost, ((1, 0), (1, 0)))
    nothing = _Prices(
        jnp.zeros(m + 1, C.dtype), jnp.zeros(n + 1, C.dtype), jnp.zeros(n + 1, int)
    )
    prices = jax.lax.fori_loop(1, m + 1, lambda i, p: _add(C, i, p), nothing)
    found = jnp.zeros(m + 1, int).at[prices.owner].set(jnp.arange(n + 1))
    return found[1:] - 1


def _add(C: Float[Array, "i j"], i: Array, prices: _Prices) -> _Prices:
    """The prices after object i has its prediction."""
    size = C.shape[1]
    prices = prices._replace(owner=prices.owner.at[0].set(i))
    start = _Search(
        prices,
        jnp.zeros((), int),
        jnp.full(size, jnp.inf, C.dtype),
        jnp.zeros(size, int),
        jnp.zeros(size, bool),
    )
    search = jax.lax.while_loop(
        lambda s: s.prices.owner[s.at] != 0, lambda s: _extend(C, s), start
    )

    def shift(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        owner, j = carry
        earlier = search.before[j]
        return owner.at[j].set(owner[earlier]), earlier

    owner, _ = jax.lax.while_loop(
        lambda c: c[1] != 0, shift, (search.prices.owner, search.at)
    )
    return search.prices._replace(owner=owner)


def _extend(C: Float[Array, "i j"], s: _Search) -> _Search:
    """The search with the next cheapest prediction seen."""
    u, v, owner = s.prices
    seen = s.seen.at[s.at].set(True)
    row = owner[s.at]
    reduced = C[row] - u[row] - v
    closer = ~seen & (reduced < s.least)
    least = jnp.where(closer, reduced, s.least)
    before = jnp.where(closer, s.at, s.before)
    free = jnp.where(seen, jnp.inf, least).at[0].set(jnp.inf)
    nearest = jnp.argmin(free)
    step = free[nearest]
    u = u + jnp.zeros_like(u).at[owner].add(jnp.where(seen, step, 0.0))
    v = jnp.where(seen, v - step, v)
    least = jnp.where(seen, least, least - step)
    return _Search(_Prices(u, v, owner), nearest, least, before, seen)
