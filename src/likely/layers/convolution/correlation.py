r"""Cross-correlation of images with filters, and its two adjoints, as JAX primitives.

$$C(x, f)_{n,i,o} = \sum_{k,c} x_{n,\,iS + kD - P,\,c}\; f_{k,c,o}$$

with rows n, output positions i, filter positions k, input channels c and output channels
o. The inner products
$\langle C(x, f), y\rangle = \langle x, A(y, f)\rangle = \langle f, B(x, y)\rangle$ define
the adjoint with respect to the images, A (the transposed convolution), and with respect
to the filters, B. The derivatives of each of the three bilinear maps are the other two,
so each is a JAX primitive with two rules, and derivatives of any order and mode follow.

The implementation is chosen at compilation: `correlation_cpu` on CPUs, elsewhere the
plain versions in `sliding`, against which the tests check the fast ones.
Images are (n, h, w, c), filters (k, l, g, o) with g = c/groups.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from likely.layers.convolution import correlation_cpu
from likely.layers.convolution.sliding import (
    Filters,
    Images,
    Outputs,
    SlidingWindow,
    plain_correlate,
    plain_filter_gradient,
    plain_transposed,
)

# Primitives ---------------------------------------------------------------------------


def correlate(x: Images, f: Filters, window: SlidingWindow) -> Outputs:
    """C(x, f): the inner product of each filter with each window of the images."""
    return _correlate.bind(x, f, window=window)


def correlate_transposed(y: Outputs, f: Filters, window: SlidingWindow) -> Images:
    """A(y, f): the transposed convolution, the adjoint with respect to the images."""
    return _images.bind(y, f, window=window)


def filter_gradient(x: Images, y: Outputs, window: SlidingWindow) -> Filters:
    """B(x, y): the adjoint with respect to the filters."""
    return _filters.bind(x, y, window=window)


def _primitive(
    name: str, shape: Callable, plain: Callable, fast: Callable
) -> Primitive:
    made = Primitive(name)

    def abstract(a, b, *, window):
        return ShapedArray(shape(a, b, window), jnp.result_type(a.dtype, b.dtype))

    def compiled(a, b, *, window):
        return _compiled(made, window)(a, b)

    made.def_impl(compiled)
    made.def_abstract_eval(abstract)
    for by, platform in ((plain, None), (fast, "cpu")):
        rule = mlir.lower_fun(_keywords(by), multiple_results=False)
        mlir.register_lowering(made, rule, platform=platform)
    batching.primitive_batchers[made] = partial(_batched, made)
    return made


def _keywords(function: Callable) -> Callable:
    return lambda a, b, *, window: function(a, b, window)


@cache
def _compiled(primitive: Primitive, window: SlidingWindow) -> Callable:
    """The primitive as a compiled function, for calls outside of `jit`."""
    return jax.jit(lambda a, b: primitive.bind(a, b, window=window))


def _batched(
    primitive: Primitive, args: Any, axes: Any, *, window: SlidingWindow
) -> Any:
    """The batching rule: a batch of images is one larger batch, otherwise a loop.

    Convolutions with a batch of filters are slower than the loop on every platform.
    """
    a, b = (
        x if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(args, axes, strict=True)
    )
    if axes[1] is None and not primitive.name.endswith("filter_gradient"):
        m, n, *shape = a.shape
        out = primitive.bind(a.reshape(m * n, *shape), b, window=window)
        return out.reshape(m, n, *out.shape[1:]), 0
    if axes[0] is None:
        return jax.lax.map(lambda b: primitive.bind(a, b, window=window), b), 0
    if axes[1] is None:
        return jax.lax.map(lambda a: primitive.bind(a, b, window=window), a), 0
    return jax.lax.map(lambda ab: primitive.bind(*ab, window=window), (a, b)), 0


_correlate = _primitive(
    "correlate",
    lambda x, f, window: (x.shape[0], *window.output_size, f.shape[3]),
    plain_correlate,
    correlation_cpu.correlate,
)
_images = _primitive(
    "correlate_transposed",
    lambda y, f, window: (y.shape[0], *window.input_size, f.shape[2] * window.groups),
    plain_transposed,
    correlation_cpu.correlate_transposed,
)
_filters = _primitive(
    "correlate_filter_gradient",
    lambda x, y, window: (*window.size, x.shape[3] // window.groups, y.shape[3]),
    plain_filter_gradient,
    correlation_cpu.filter_gradient,
)

ad.defbilinear(
    _correlate,
    lambda y, x, f, *, window: correlate_transposed(y, f, window),
    lambda y, x, f, *, window: filter_gradient(x, y, window),
)
ad.defbilinear(
    _images,
    lambda x, y, f, *, window: correlate(x, f, window),
    lambda x, y, f, *, window: filter_gradient(x, y, window),
)
ad.defbilinear(
    _filters,
    lambda f, x, y, *, window: correlate_transposed(y, f, window),
    lambda f, x, y, *, window: correlate(x, f, window),
)
