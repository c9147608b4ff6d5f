"""The work of an equation: arithmetic, transcendental functions, bytes moved.

They are counted as XLA counts them: a multiply-add is two operations; `exp`, `log`, `tanh`
and the like are counted separately; moving entries costs no operations. The bytes of a
step are those of its inputs and outputs, before XLA fuses anything.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jax.extend import core

TRANSCENDENTAL = frozenset(
    """exp exp2 expm1 log log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh
    acosh atanh logistic erf erfc erf_inv lgamma digamma pow rsqrt sqrt cbrt bessel_i0e
    bessel_i1e igamma igammac regularized_incomplete_beta""".split()  # noqa: SIM905
)
FREE = frozenset(
    """reshape squeeze expand_dims transpose broadcast_in_dim convert_element_type copy
    copy_p slice dynamic_slice dynamic_update_slice concatenate pad rev iota gather split
    stop_gradient bitcast_convert_type random_wrap random_unwrap random_seed random_split
    random_fold_in""".split()  # noqa: SIM905
)


class Work(NamedTuple):
    """The cost of a computation."""

    flops: int | float = 0
    transcendentals: int | float = 0
    bytes: int | float = 0

    def __add__(self, other: Any) -> "Work":
        return Work(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Any) -> "Work":
        return Work(*(max(a - b, 0) for a, b in zip(self, other, strict=True)))

    def __mul__(self, times: Any) -> "Work":
        return Work(*(a * times for a in self))


def equation_work(equation: Any) -> Work:
    """The work of one equation of a jaxpr, with the equations inside it."""
    name, params = equation.primitive.name, equation.params
    if name == "scan":
        return _inside(params["jaxpr"]) * params["length"]
    if name == "while":
        return _inside(params["body_jaxpr"]) + _inside(params["cond_jaxpr"])
    if name == "cond":
        return max(_inside(branch) for branch in params["branches"])
    inner = params.get("jaxpr", params.get("call_jaxpr"))
    if inner is not None:
        return _inside(inner)
    inputs = [a.aval for a in equation.invars]
    outputs = [a.aval for a in equation.outvars]
    moved = sum(map(_bytes, inputs + outputs))
    if name in TRANSCENDENTAL:
        return Work(0, _size(outputs[0]), moved)
    return Work(_flops(name, params, inputs, outputs), 0, moved)


def jaxpr_work(jaxpr: Any) -> tuple[Work, set[Any]]:
    """The work of the equations that the outputs need, and the variables these read."""
    needed = {v for v in jaxpr.outvars if not isinstance(v, core.Literal)}
    total = Work()
    for equation in reversed(jaxpr.eqns):
        if needed.intersection(equation.outvars):
            needed |= {v for v in equation.invars if not isinstance(v, core.Literal)}
            total += equation_work(equation)
    return total, needed


def _inside(closed: Any) -> Work:
    return jaxpr_work(getattr(closed, "jaxpr", closed))[0]


def _size(aval: Any) -> int:
    return int(np.prod(getattr(aval, "shape", ())))


def _bytes(aval: Any) -> int:
    return _size(aval) * getattr(getattr(aval, "dtype", None), "itemsize", 8)


def _flops(name: str, params: dict, inputs: list, outputs: list) -> int | float:
    size = _size(outputs[0]) if outputs else 0
    if name in FREE:
        return 0
    if name in _SPECIAL:
        return _SPECIAL[name](params, inputs, outputs)
    if name.startswith(("reduce_", "argm")) and name != "reduce_precision":
        return _size(inputs[0]) - size
    return size


def _dot(params: dict, inputs: list, outputs: list) -> int | float:
    (axes, _), _ = params["dimension_numbers"]
    return 2 * _size(outputs[0]) * math.prod(inputs[0].shape[k] for k in axes)


def _convolution(params: dict, inputs: list, outputs: list) -> int | float:
    out_features = inputs[1].shape[params["dimension_numbers"].rhs_spec[0]]
    return 2 * _size(outputs[0]) * _size(inputs[1]) / out_features


def _correlation(params: dict, inputs: list, outputs: list) -> int | float:
    """The three maps of a convolution layer: each filter entry at each output position."""
    rows, filters = inputs[0].shape[0], _size(inputs[1])
    return 2 * rows * math.prod(params["window"].output_size) * filters


def _power(params: dict, inputs: list, outputs: list) -> int | float:
    y = abs(params["y"])
    return _size(outputs[0]) * (
        y.bit_length() - 1 + y.bit_count() - 1 + (params["y"] < 0)
    )


def _sort(params: dict, inputs: list, outputs: list) -> int | float:
    length = inputs[0].shape[params["dimension"]]
    return _size(inputs[0]) * math.ceil(math.log2(max(length, 2)))


def _cubic(factor: int | float) -> Callable[..., int | float]:
    def count(params: dict, inputs: list, outputs: list) -> int | float:
        n = inputs[0].shape[-1]
        return factor * n * _size(inputs[0])

    return count


_SPECIAL: dict[str, Callable[..., int | float]] = {
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "correlate": _correlation,
    "correlate_transposed": _correlation,
    "correlate_filter_gradient": lambda p, i, o: _correlation(p, i[:1] + o, o),
    "integer_pow": _power,
    "sort": _sort,
    "cholesky": _cubic(1 / 3),
    "lu": _cubic(2 / 3),
    "householder_product": _cubic(4 / 3),
    "geqrf": _cubic(4 / 3),
    "eigh": _cubic(9),
    "svd": _cubic(22),
    "triangular_solve": lambda p, i, o: i[0].shape[-1] * _size(o[0]),
    "scatter-add": lambda p, i, o: _size(i[-1]),
    "scatter_add": lambda p, i, o: _size(i[-1]),
    "threefry2x32": lambda p, i, o: 100 * _size(o[0]),
    "random_bits": lambda p, i, o: 100 * _size(o[0]),
}
