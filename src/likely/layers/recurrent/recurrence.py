r"""The loop of a recurrent layer, with a derivative written by hand.

All products that do not depend on the state are taken outside of the loop: the forward loop
has one product $h U$ a step, the backward one $\dot p\, U^\top$, and the derivative of U is one
product over all steps. JAX's own derivative adds to it in every step. It is a derivative of
reverse mode: `jax.jvp` refuses it.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.layers.recurrent.cells import CELLS, Carry


def plain_recurrence(  # noqa: PLR0917
    kind: str,
    Z: Float[Array, "t n g"],
    U: Float[Array, "k g"],
    bias: Float[Array, " g"] | None,
    start: Carry,
    present: Float[Array, "t n 1"] | None,
) -> tuple[Float[Array, "t n k"], Carry]:
    """The states after each step and the last one, differentiated by JAX: the reference."""
    H, end, _ = _forward(kind, Z, U, bias, start, present)
    return H, end


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def recurrence(  # noqa: PLR0917
    kind: str,
    Z: Float[Array, "t n g"],
    U: Float[Array, "k g"],
    bias: Float[Array, " g"] | None,
    start: Carry,
    present: Float[Array, "t n 1"] | None,
) -> tuple[Float[Array, "t n k"], Carry]:
    """The states after each step, and the last one.

    Args:
        kind: a name of `CELLS`.
        Z: what the inputs add to the gates.
        U: from the state to the gates.
        bias: of the product with U, where the cell has one.
        start: the state before the first step.
        present: 0 where a position is absent: the state passes unchanged.
    """
    return plain_recurrence(kind, Z, U, bias, start, present)


def _forward(kind: str, Z, U, bias, start: Carry, present):  # noqa: PLR0917
    cell = CELLS[kind]

    def step(carry: Carry, inputs: Any):
        z, m = inputs
        p = carry[0] @ U
        p = p if bias is None else p + bias[None]
        after, kept = cell.step(z, p, carry)
        if m is not None:
            after = tuple(
                jnp.where(m > 0, a, b) for a, b in zip(after, carry, strict=True)
            )
        return after, (carry, kept)

    end, (before, kept) = jax.lax.scan(step, start, (Z, present))
    H = jnp.concatenate([before[0][1:], end[0][None]])
    return H, end, (before, kept)


def _recurrence_fwd(kind: str, Z, U, bias, start, present):  # noqa: PLR0917
    H, end, saved = _forward(kind, Z, U, bias, start, present)
    return (H, end), (U, bias, present, saved)


def _recurrence_bwd(kind: str, residuals, cotangents):
    U, bias, present, (before, kept) = residuals
    dH, d_end = cotangents
    cell = CELLS[kind]
    factors = cell.slopes(kept, before)

    def step(d: Carry, inputs: Any):
        factor, dh, m = inputs
        d = (d[0] + dh, *d[1:])
        dz, dp, through = cell.back(factor, d)
        if m is not None:
            dz = jnp.where(m > 0, dz, 0)
            dp = None if dp is None else jnp.where(m > 0, dp, 0)
        first = through[0] + (dz if dp is None else dp) @ U.T
        passed = (first, *through[1:])
        if m is not None:
            passed = tuple(
                jnp.where(m > 0, a, b) for a, b in zip(passed, d, strict=True)
            )
        return passed, (dz, dp)

    d_start, (dZ, dP) = jax.lax.scan(step, d_end, (factors, dH, present), reverse=True)
    dP = dZ if dP is None else dP
    dU = by_rows(before[0]).T @ by_rows(dP)
    d_bias = None if bias is None else dP.sum((0, 1))
    d_present = None if present is None else jnp.zeros_like(present)
    return dZ, dU, d_bias, d_start, d_present


def by_rows(A: Float[Array, "t n k"]) -> Float[Array, "m k"]:
    """All steps of the first row, then of the next: each device keeps the rows it has."""
    return jnp.swapaxes(A, 0, 1).reshape(-1, A.shape[2])


recurrence.defvjp(_recurrence_fwd, _recurrence_bwd)
