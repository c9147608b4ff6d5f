r"""Correlation of images with filters, and its two adjoints: three bilinear maps.

$$C(x, f)_{n,i,o} = \sum_{k,c} x_{n,\,iS + kD - P,\,c}\; f_{k,c,o}$$

with rows n, places i, filter positions k, channels c in and o out. The inner products
$\langle C(x, f), y\rangle = \langle x, A(y, f)\rangle = \langle f, B(x, y)\rangle$ define
the way back to the images, A (the transposed convolution), and to the filters, B. The
derivatives of each of the three are the other two, so each is a primitive of JAX with two
rules, and derivatives of any order and mode follow.

How a primitive is computed is chosen where it is compiled: by `correlation_cpu` on CPUs,
elsewhere by the plain versions in `sliding`, the oracle of the fast ones.
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
    Places,
    Sliding,
    plain_correlate,
    plain_filters,
    plain_images,
)

# Primitives ---------------------------------------------------------------------------


def correlate(x: Images, f: Filters, how: Sliding) -> Places:
    """C(x, f): each filter's inner product with the images, place by place."""
    return _correlate.bind(x, f, how=how)


def images_of(y: Places, f: Filters, how: Sliding) -> Images:
    """A(y, f): each filter put back at each place, times what is there."""
    return _images.bind(y, f, how=how)


def filters_of(x: Images, y: Places, how: Sliding) -> Filters:
    """B(x, y): what each filter position saw, times what came out there."""
    return _filters.bind(x, y, how=how)


def _primitive(
    name: str, shape: Callable, plain: Callable, fast: Callable
) -> Primitive:
    made = Primitive(name)

    def abstract(a, b, *, how):
        return ShapedArray(shape(a, b, how), jnp.result_type(a.dtype, b.dtype))

    def compiled(a, b, *, how):
        return _alone(made, how)(a, b)

    made.def_impl(compiled)
    made.def_abstract_eval(abstract)
    for by, platform in ((plain, None), (fast, "cpu")):
        rule = mlir.lower_fun(_keywords(by), multiple_results=False)
        mlir.register_lowering(made, rule, platform=platform)
    batching.primitive_batchers[made] = partial(_members, made)
    return made


def _keywords(function: Callable) -> Callable:
    return lambda a, b, *, how: function(a, b, how)


@cache
def _alone(primitive: Primitive, how: Sliding) -> Callable:
    """The primitive as a program of its own, for calls outside of any."""
    return jax.jit(lambda a, b: primitive.bind(a, b, how=how))


def _members(primitive: Primitive, args: Any, axes: Any, *, how: Sliding) -> Any:
    """Under `vmap`: one member after another.

    Where only rows are many, they are one larger batch. Convolutions of many filters at
    once are slow everywhere.
    """
    a, b = (
        x if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(args, axes, strict=True)
    )
    if axes[1] is None and not primitive.name.endswith("filters"):
        m, n, *shape = a.shape
        out = primitive.bind(a.reshape(m * n, *shape), b, how=how)
        return out.reshape(m, n, *out.shape[1:]), 0
    if axes[0] is None:
        return jax.lax.map(lambda b: primitive.bind(a, b, how=how), b), 0
    if axes[1] is None:
        return jax.lax.map(lambda a: primitive.bind(a, b, how=how), a), 0
    return jax.lax.map(lambda ab: primitive.bind(*ab, how=how), (a, b)), 0


_correlate = _primitive(
    "correlate",
    lambda x, f, how: (x.shape[0], *how.places, f.shape[3]),
    plain_correlate,
    correlation_cpu.correlate,
)
_images = _primitive(
    "correlate_images",
    lambda y, f, how: (y.shape[0], *how.positions, f.shape[2] * how.groups),
    plain_images,
    correlation_cpu.images_of,
)
_filters = _primitive(
    "correlate_filters",
    lambda x, y, how: (*how.size, x.shape[3] // how.groups, y.shape[3]),
    plain_filters,
    correlation_cpu.filters_of,
)

ad.defbilinear(
    _correlate,
    lambda y, x, f, *, how: images_of(y, f, how),
    lambda y, x, f, *, how: filters_of(x, y, how),
)
ad.defbilinear(
    _images,
    lambda x, y, f, *, how: correlate(x, f, how),
    lambda x, y, f, *, how: filters_of(x, y, how),
)
ad.defbilinear(
    _filters,
    lambda f, x, y, *, how: images_of(y, f, how),
    lambda f, x, y, *, how: correlate(x, f, how),
)
