"""The arguments of a traced call: from pytrees to numbered inputs, and back."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path

from likely.autodiff.program.builder import Builder, Location
from likely.autodiff.program.calls import needs_data, step_into_options
from likely.autodiff.program.program import INPUT, Data, Program
from likely.core.checks import InputError


class Arguments:
    """A call `f(*args, **kwargs)`, flattened, with the jaxpr that JAX makes of it."""

    def __init__(
        self,
        f: Callable,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        argnums: int | Sequence[int] | None,
        has_aux: bool,
    ):
        self.title, names = _title(f), _parameters(f, len(args))
        slots, self.tree = tree_flatten_with_path(args, is_leaf=_is_none)
        self.count, self.chosen = len(args), _chosen(argnums, len(args))
        self.single = isinstance(argnums, int) or (argnums is None and len(args) == 1)
        self.slots = [leaf for _, leaf in slots]
        self.positions = [k for k, leaf in enumerate(self.slots) if _is_number(leaf)]
        self.owners = [slots[k][0][0].idx for k in self.positions]
        self.paths = [
            names[slots[k][0][0].idx] + keystr(slots[k][0][1:]) for k in self.positions
        ]
        self.double = bool(jax.config.read("jax_enable_x64"))

        self._f, self._kwargs, self._has_aux = f, kwargs, has_aux
        given = [self.slots[k] for k in self.positions]
        try:
            self.jaxpr, shapes = jax.make_jaxpr(self.call, return_shape=True)(*given)
        except jax.errors.TracerArrayConversionError as error:
            raise InputError(
                f"{self.title} passes its values to NumPy, which JAX cannot trace; use "
                "jax.numpy (jnp.tanh instead of np.tanh)."
            ) from error
        self.out_tree = jax.tree.structure(shapes)
        self.leaves = tuple(map(_as_numpy, given, self.jaxpr.in_avals))

    def call(self, *leaves: Any) -> Any:
        """The result of the function for these numeric leaves of its arguments."""
        arrays = [x if _is_key(x) else jnp.asarray(x) for x in leaves]
        given = dict(zip(self.positions, arrays, strict=True))
        slots = [given.get(k, leaf) for k, leaf in enumerate(self.slots)]
        result = self._f(*jax.tree.unflatten(self.tree, slots), **self._kwargs)
        return result[0] if self._has_aux else result

    def program(self, step_into: str | Iterable[str], limit: int) -> Program:
        """The steps of the call."""
        options = step_into_options(step_into)
        builder = Builder(options, limit)
        inputs = [
            builder.value(aval, INPUT, path)
            for aval, path in zip(self.jaxpr.in_avals, self.paths, strict=True)
        ]
        if needs_data(options):
            builder.data |= zip(inputs, self.leaves, strict=True)
        jaxpr, consts = self.jaxpr.jaxpr, self.jaxpr.consts
        with jax.enable_x64(self.double), jax.debug_key_reuse(False):
            outputs = builder.inline(jaxpr, consts, inputs, Location())
        variables = frozenset(
            i
            for i, owner in zip(inputs, self.owners, strict=True)
            if owner in self.chosen and builder.values[i].is_inexact
        )
        return builder.program(inputs, outputs, variables)

    def restore(self, program: Program, leaves: Data) -> Any:
        """Numbers by value, as a tree like the requested arguments; None elsewhere."""
        slots: list[Any] = [None] * len(self.slots)
        for k, i in zip(self.positions, program.inputs, strict=True):
            slots[k] = leaves.get(i)
        restored = jax.tree.unflatten(self.tree, slots)
        parts = tuple(restored[k] for k in self.chosen)
        return parts[0] if self.single else parts

    def tangents(self, program: Program, tangents: Sequence[Any]) -> Data:
        """The tangents of the arguments, by the number of the input."""
        _require(program.variables, "there is no float argument to move")
        if not tangents:
            return {i: _full(1.0, program.values[i]) for i in sorted(program.variables)}
        if len(tangents) == 1 < self.count and isinstance(tangents[0], tuple):
            tangents = tangents[0]
        if len(tangents) != self.count:
            raise InputError(
                f"forward() got {len(tangents)} tangents for {self.count} arguments; "
                "give one for each, None for an argument that is held constant."
            )
        given = [
            leaf
            for k, tree in enumerate(self.tree.children())
            for leaf in _matched(tangents[k], tree.num_leaves, k)
        ]
        return {
            i: _shaped(given[k], program.values[i], "tangent")
            for k, i in zip(self.positions, program.inputs, strict=True)
            if _is_number(given[k]) and i in program.variables
        }

    def cotangents(self, program: Program, cotangent: Any) -> Data:
        """The adjoint of the result, by the number of the output."""
        outputs = [i for i in program.outputs if program.values[i].is_inexact]
        _require(outputs, "the result is not a float, so it has no derivative")
        _require(program.variables, "there is no float argument to differentiate by")
        if np.ndim(cotangent) == 0 and not isinstance(cotangent, dict | list | tuple):
            parts = [cotangent] * len(program.outputs)
        else:
            parts = self.out_tree.flatten_up_to(cotangent)
        found: Data = {}
        for i, part in zip(program.outputs, parts, strict=True):
            value = program.values[i]
            if part is None or not value.is_inexact:
                continue
            whole = _full(part, value) if np.ndim(part) == 0 else part
            part = _shaped(whole, value, "cotangent")
            found[i] = found[i] + part if i in found else part
        return found


def to_numpy(tree: Any) -> Any:
    """The tree with NumPy arrays as leaves; random keys stay unchanged."""
    return jax.tree.map(lambda leaf: leaf if _is_key(leaf) else np.asarray(leaf), tree)


def _is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(
        getattr(leaf, "dtype", np.float32), jax.dtypes.extended
    )


def _as_numpy(leaf: Any, aval: Any) -> Any:
    kept = _is_key(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)
    return leaf if kept else np.asarray(leaf, aval.dtype)


def _is_none(leaf: Any) -> bool:
    return leaf is None


def _is_number(leaf: Any) -> bool:
    """Whether a leaf is numeric; functions, strings and flags are settings."""
    if isinstance(leaf, bool | str):
        return False
    return hasattr(leaf, "dtype") or isinstance(leaf, int | float | complex)


def _title(f: Callable) -> str:
    while isinstance(f, functools.partial):
        f = f.func
    return getattr(f, "__name__", type(f).__name__)


def _parameters(f: Callable, count: int) -> list[str]:
    """The names of the positional parameters."""
    kinds = inspect.Parameter
    names: list[str] = []
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    for p in parameters:
        if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
        elif p.kind is kinds.VAR_POSITIONAL:
            names += [f"{p.name}[{k}]" for k in range(count - len(names))]
    return names[:count] + [f"argument {k}" for k in range(len(names), count)]


def _chosen(argnums: int | Sequence[int] | None, count: int) -> tuple[int, ...]:
    """The numbers of the arguments to differentiate by, counted from 0."""
    given = range(count) if argnums is None else argnums
    chosen = (given,) if isinstance(given, int) else tuple(given)
    bad = [k for k in chosen if not -count <= k < count]
    if bad:
        raise InputError(
            f"argnums has {bad[0]} but there are {count} arguments; count from 0."
        )
    return tuple(k % count for k in chosen)


def _matched(tangent: Any, count: int, k: int) -> list[Any]:
    """The leaves of a tangent, one for each leaf of its argument."""
    if tangent is None:
        return [None] * count
    leaves = jax.tree.leaves(tangent, is_leaf=_is_none)
    if len(leaves) != count:
        raise InputError(
            f"the tangent of argument {k} has {len(leaves)} leaves but the argument has "
            f"{count}; give a tree like the argument, None for a constant leaf."
        )
    return leaves


def _full(number: Any, value: Any) -> np.ndarray:
    return np.full(value.shape, number, value.dtype)


def _shaped(data: Any, value: Any, what: str) -> np.ndarray:
    data = np.asarray(data, value.dtype)
    if data.shape != value.shape:
        raise InputError(
            f"the {what} of {value.name} has shape {data.shape} but the value has shape "
            f"{value.shape}; give one number for each of its entries."
        )
    return data


def _require(found: Any, sentence: str) -> None:
    if not found:
        raise InputError(f"{sentence}; pass floats (2.0, not 2) and check argnums.")
