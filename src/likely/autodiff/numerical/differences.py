r"""Numerical derivatives by finite differences.

| method | formula | error |
|---|---|---|
| `forward` | $(f(x+h) - f(x))/h$ | truncation h, rounding ε/h: best near $h = \sqrt ε$ |
| `central` | $(f(x+h) - f(x-h))/2h$ | truncation h², rounding ε/h: best near $h = ε^{1/3}$ |
| `complex` | $\operatorname{Im} f(x + ih)/h$ | truncation h², no rounding: any tiny h |

Everything runs in float64, whatever the precision of the arguments: in float32 a central
difference has only about three correct digits.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from likely.autodiff.program.arguments import Arguments
from likely.autodiff.program.rules import is_inexact
from likely.core.checks import InputError
from likely.core.precision import float64

EPSILON = float(np.finfo(np.float64).eps)
STEPS = {"forward": EPSILON**0.5, "central": EPSILON ** (1 / 3), "complex": 1e-30}


def numerical_gradient(
    f: Callable,
    *args: Any,
    argnums: int | Sequence[int] | None = None,
    method: str = "central",
    step: float | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """The gradient of `f(*args, **kwargs)` by differences, shaped like the arguments.

    If the result is an array, this is the Jacobian: the axes of the result come first.

    Args:
        f: any function JAX can trace; for `complex` it has to be analytic (no comparisons,
            no absolute values).
        *args: arrays, numbers or pytrees.
        argnums: the arguments to differentiate by; all of them by default.
        method: `forward`, `central` or `complex`.
        step: h for entries up to 1; for larger entries it is multiplied by their size.
        has_aux: whether `f` returns (result, something else).
        **kwargs: further arguments, held constant.
    """
    if method not in STEPS:
        raise InputError(
            f"method={method!r} is unknown; give any of {', '.join(STEPS)}."
        )
    call = Call(f, args, kwargs, argnums=argnums, has_aux=has_aux)
    found = {}
    for k, leaf in enumerate(call.leaves):
        columns = call.differences(k, method, step, np.arange(leaf.size))
        found[call.inputs[k]] = columns.reshape(columns.shape[:-1] + leaf.shape)
    return call.arguments.restore(call.program, found)


class Call:
    """A call in float64, as a function of the leaves it is differentiated by."""

    def __init__(self, f, args, kwargs, *, argnums, has_aux):
        with float64():
            doubled = jax.tree.map(_double, args)
            self.arguments = Arguments(
                f, doubled, kwargs, argnums=argnums, has_aux=has_aux
            )
            self.program = self.arguments.program((), 1)
        inputs = self.program.inputs
        self.chosen = [k for k, i in enumerate(inputs) if i in self.program.variables]
        if not self.chosen:
            raise InputError("there is no float argument to differentiate by.")
        self.inputs = [inputs[k] for k in self.chosen]
        self.names = [self.arguments.paths[k] for k in self.chosen]
        self.leaves = [self.arguments.leaves[k] for k in self.chosen]

    def value(self, *moved: Any) -> Any:
        """The result, as one array, for other values of the chosen leaves."""
        changed = dict(zip(self.chosen, moved, strict=True))
        leaves = self.arguments.leaves
        results = jax.tree.leaves(
            self.arguments.call(*(changed.get(k, x) for k, x in enumerate(leaves)))
        )
        if len(results) != 1 or not is_inexact(results[0].dtype):
            raise InputError(
                "the function has to return one float or one array of floats; "
                "use has_aux=True where it returns (result, something else)."
            )
        return results[0]

    def differences(
        self, leaf: int, method: str, step: float | None, entries: np.ndarray
    ) -> np.ndarray:
        """∂result/∂(entries of a leaf), with the axes of the result first."""
        size = STEPS[method] if step is None else step
        shape, flat = self.leaves[leaf].shape, self.leaves[leaf].ravel()

        def one(entry):
            def moved(by):
                """The result after a change of one entry."""
                here = [jnp.astype(x, jnp.result_type(x, by)) for x in self.leaves]
                here[leaf] = here[leaf].ravel().at[entry].add(by).reshape(shape)
                return self.value(*here)

            return _difference(method, moved, jnp.asarray(flat)[entry], size)

        with float64():
            columns = np.asarray(jax.jit(lambda e: jax.lax.map(one, e))(entries))
        return np.moveaxis(columns, 0, -1)

    def automatic(self) -> list[np.ndarray]:
        """∂result/∂leaf for each chosen leaf, by reverse mode."""
        with float64():
            positions = tuple(range(len(self.chosen)))
            jacobian = jax.jit(jax.jacrev(self.value, argnums=positions))
            return [np.asarray(j) for j in jacobian(*self.leaves)]


def _double(leaf: Any) -> Any:
    if isinstance(leaf, float):
        return np.float64(leaf)
    single = hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, np.floating)
    return np.asarray(leaf, np.float64) if single else leaf


def _difference(method: str, f: Callable, x: Any, size: float) -> Any:
    """The derivative of f(change of x), by one of the methods."""
    if method == "complex":
        return _complex_step(f, 1j * jnp.asarray(size)) / size
    # a step h, larger for large entries, such that (x + h) − x is exactly h
    h = (x + size * jnp.maximum(1.0, jnp.abs(x))) - x
    if method == "forward":
        return (f(h) - f(jnp.zeros_like(h))) / h
    return (f(h) - f(-h)) / (2 * h)


def _complex_step(f: Callable, by: Any) -> Any:
    """Im f, where f is analytic."""
    try:
        used = _primitives(jax.make_jaxpr(f)(by).jaxpr)
    except (TypeError, ValueError) as error:
        raise InputError(_NO_COMPLEX.format(str(error).splitlines()[0])) from error
    if used & _NOT_ANALYTIC:
        raise InputError(
            _NO_COMPLEX.format(f"it uses {sorted(used & _NOT_ANALYTIC)[0]}")
        )
    return f(by).imag


_NOT_ANALYTIC = frozenset(
    {"abs", "conj", "real", "imag", "sign", "floor", "ceil", "round"}
)
_NO_COMPLEX = (
    "the complex step needs a function that is analytic and takes complex numbers; "
    "{}; use method='central'."
)


def _primitives(jaxpr: Any) -> set[str]:
    """The names of all primitives, including those inside calls and loops."""
    names = {equation.primitive.name for equation in jaxpr.eqns}
    return names.union(*map(_primitives, core.subjaxprs(jaxpr)))
