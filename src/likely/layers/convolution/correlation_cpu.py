r"""Cross-correlation and its adjoints on CPUs, in forms that XLA computes fast.

XLA rewrites a convolution into its fast layout only outside of loops, but a training step
runs inside a loop; there the plain backward pass is up to fifty times slower. So every
convolution here uses the one layout that needs no rewriting (NHWC images, HWIO filters),
and shapes that convolution libraries handle badly are computed without a convolution:

| case | form |
|---|---|
| filters of size 1, or as large as their stride | one matrix product |
| few channels in a filter, or depthwise | a sum over the filter positions |
| few input and output channels | two neighbouring outputs as one with twice the channels |
| gradient of strided images | a matrix product, whose columns are added where they belong |
| that of filters of several strides | a convolution, whose channels are the positions of a stride |
| gradient of the filters | a convolution with the roles of rows and channels exchanged |

`unfused` prevents XLA from recomputing such a sum in each operation that reads it.
"""

import math
from collections.abc import Callable
from functools import reduce
from itertools import product
from operator import add, mul

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from likely.layers.convolution.sliding import (
    Filters,
    Images,
    Outputs,
    SlidingWindow,
    plain_correlate,
    plain_filter_gradient,
    plain_transposed,
)

MAX_SUMMED_ENTRIES = 27
"""Filters with at most this many entries per output channel are summed entry by entry."""
MAX_PAIRED_CHANNELS = 16
"""With at most this many channels two neighbouring outputs are computed as one."""
MIN_PHASE_CHANNELS = 64
"""From this many channels on, counting the phases of a stride, these become channels."""
MIN_COPIED_SIZE = 2**18
"""From this many entries on, images are copied rather than possibly recomputed."""
MAX_SPLIT_GROUPS = 16
"""More groups than this, with several channels each, go to the plain version."""


# The three maps -----------------------------------------------------------------------


def correlate(x: Images, f: Filters, window: SlidingWindow) -> Outputs:
    """C(x, f), the cross-correlation."""
    if window.groups > 1:
        maps = correlate, plain_correlate, _depthwise
        return _by_group(x, f, window, x.shape[-1], maps)
    if _is_tiling(window):
        return _patches(x, window) @ f.reshape(-1, f.shape[-1])
    if f[..., 0].size <= MAX_SUMMED_ENTRIES:
        return unfused(
            f,
            lambda: _sum_over_entries(x, f, window),
            lambda: plain_correlate(x, f, window),
        )
    return _convolution(x, f, window)


def correlate_transposed(y: Outputs, f: Filters, window: SlidingWindow) -> Images:
    """A(y, f), the adjoint with respect to the images."""
    if window.groups > 1:
        maps = correlate_transposed, plain_transposed, _depthwise_images
        return _by_group(y, f, window, f.shape[2] * window.groups, maps)
    if _is_tiling(window):
        return _from_patches(y @ f.reshape(-1, f.shape[-1]).T, window)
    _, _, c, o = f.shape
    if window.stride == (1, 1) and not (min(window.size) >= 5 and 2 * c <= o):
        back = window._replace(
            input_size=window.output_size, pads=_adjoint_padding(window)
        )
        return _convolution(y, _flipped_and_swapped(f), back)
    if _has_phases(window) and c * math.prod(window.stride) >= MIN_PHASE_CHANNELS:
        return _phases_as_channels(y, f, window)
    return unfused(
        f,
        lambda: _product_of_columns(y, f, window),
        lambda: plain_transposed(y, f, window),
    )


def filter_gradient(x: Images, y: Outputs, window: SlidingWindow) -> Filters:
    """B(x, y), the adjoint with respect to the filters."""
    if window.groups > 1:
        maps = filter_gradient, plain_filter_gradient, _depthwise_filters
        return _by_group(x, y, window, x.shape[-1], maps)
    shape = (*window.size, x.shape[-1], y.shape[-1])
    if _is_tiling(window):
        a, b = _patches(x, window), y.reshape(-1, shape[-1])
        return _transposed_product(a.reshape(len(b), -1), b).reshape(shape)
    if (
        window.stride == window.dilation == (1, 1)
        and shape[3] <= MAX_PAIRED_CHANNELS < shape[2]
    ):
        # the same sums with images and outputs exchanged: more columns, fewer rows
        back = window._replace(
            input_size=window.output_size, pads=_adjoint_padding(window)
        )
        return _flipped_and_swapped(filter_gradient(y, x, back))
    exchanged = window._replace(
        size=window.output_size,
        stride=window.dilation,
        dilation=window.stride,
        pads=_exact_padding(window),
    )
    small = x.size < MIN_COPIED_SIZE
    transpose = transposed_behind_barrier if small else transposed_copy
    found = plain_correlate(
        transpose(x, (3, 1, 2, 0)), transpose(y, (1, 2, 0, 3)), exchanged
    )
    return found.transpose(1, 2, 0, 3)


def _flipped_and_swapped(f: Array) -> Array:
    """The filters flipped, with input and output channels exchanged."""
    return jnp.flip(f, (0, 1)).transpose(0, 1, 3, 2)


def _transposed_product(a: Array, b: Array) -> Array:
    """aᵀb."""
    return lax.dot_general(a, b, (((0,), (0,)), ((), ())))


def unfused(f: Array, fast: Callable, other: Callable) -> Array:
    """The result of `fast()`, which XLA may not fuse into the operations after it.

    XLA would otherwise recompute the sum in each of them. An optimization barrier does
    not prevent that, but a branch on a computed number does: `other()` runs only if the
    filter is not finite.
    """
    return lax.cond(jnp.isfinite(f.reshape(-1)[0]), fast, other)


def transposed_copy(x: Array, axes: tuple[int, ...]) -> Array:
    """x with its axes in this order, as a copy.

    Without it XLA would recompute the norm and the activation that made x, entry by entry
    and against the memory order, to write the transposed result. The condition is always
    true, but XLA finds out too late to remove it.
    """
    shape = [x.shape[axis] for axis in axes]
    return lax.cond(
        lax.optimization_barrier(True),
        lambda x: x.transpose(axes),
        lambda x: jnp.zeros(shape, x.dtype),
        x,
    )


def transposed_behind_barrier(x: Array, axes: tuple[int, ...]) -> Array:
    """x with its axes in this order, for small x, where recomputing is cheaper than a copy."""
    return lax.optimization_barrier(lax.optimization_barrier(x).transpose(axes))


# Convolutions and sums ----------------------------------------------------------------


def _convolution(x: Array, f: Array, window: SlidingWindow) -> Array:
    even = window.output_size[1] % 2 == 0 and window.stride == window.dilation == (1, 1)
    if even and max(f.shape[2:]) <= MAX_PAIRED_CHANNELS:
        return _two_outputs_as_one(x, f, window)
    return plain_correlate(x, f, window)


def _two_outputs_as_one(x: Array, f: Array, window: SlidingWindow) -> Array:
    """Two neighbouring outputs as one with twice the channels, which fill a register.

    The two filters are the same one, shifted by a position and padded with a zero.
    """
    k, m, c, o = f.shape
    ends = [((0, 0), (i, 1 - i), (0, 0), (0, 0)) for i in range(2)]
    both = jnp.stack([jnp.pad(f, e) for e in ends], 3).reshape(k, m + 1, c, 2 * o)
    pairs = window._replace(size=(k, m + 1), stride=(1, 2))
    return plain_correlate(x, both, pairs).reshape(-1, *window.output_size, o)


def _exact_padding(window: SlidingWindow) -> tuple[tuple[int, int], ...]:
    """Padding with which the last window ends at the last position; negative crops."""
    return tuple(
        (p[0], (n - 1) * s + d * (k - 1) + 1 - width - p[0])
        for width, k, s, p, d, n in zip(*window[:5], window.output_size, strict=True)
    )


def _adjoint_padding(window: SlidingWindow) -> tuple[tuple[int, int], ...]:
    """The padding of the adjoint convolution."""
    return tuple(
        (d * (k - 1) - a, d * (k - 1) - b)
        for d, k, (a, b) in zip(window.dilation, window.size, window.pads, strict=True)
    )


def _padded(x: Array, pads: tuple, interior: tuple = (0, 0)) -> Array:
    edges = [(*p, i) for p, i in zip(pads, interior, strict=True)]
    if not any(map(any, edges)):
        return x
    return lax.pad(x, jnp.zeros((), x.dtype), ((0, 0, 0), *edges, (0, 0, 0)))


def _taps(x: Array, window: SlidingWindow) -> list[Array]:
    """For each filter position, the inputs that it reads at all output positions."""
    x, (h, w) = _padded(x, _exact_padding(window)), window.output_size
    (s, t), (d, e) = window.stride, window.dilation
    return [
        x[:, i * d : i * d + (h - 1) * s + 1 : s, j * e : j * e + (w - 1) * t + 1 : t]
        for i, j in product(*map(range, window.size))
    ]


def _add_taps(parts: list[Array], window: SlidingWindow) -> Array:
    """The transpose of `_taps`: each part is added to the inputs that its tap reads."""
    interior = tuple(s - 1 for s in window.stride)
    axes = window.pads, window.dilation, window.output_size, window.stride

    def placed(at: tuple[int, ...], part: Array) -> Array:
        edges = []
        for k, width, p, d, n, s in zip(at, window.input_size, *axes, strict=True):
            start = k * d - p[0]
            edges.append((start, width - start - (n - 1) * s - 1))
        return _padded(part, tuple(edges), interior)

    return reduce(add, map(placed, product(*map(range, window.size)), parts))


def _sum_over_entries(x: Array, f: Array, window: SlidingWindow) -> Array:
    """The sum of (input channel) · (filter entry) over the entries of the filters."""
    entries = f.reshape(-1, f.shape[2], 1, 1, 1, f.shape[3])
    terms = [
        tap[..., c : c + 1] * entries[k, c]
        for k, tap in enumerate(_taps(x, window))
        for c in range(f.shape[2])
    ]
    return reduce(add, terms)


def _product_of_columns(y: Array, f: Array, window: SlidingWindow) -> Array:
    """One matrix product for all filter positions, whose columns are then added up."""
    k, m, c, o = f.shape
    columns = (y @ f.reshape(-1, o).T).reshape(*y.shape[:3], k * m, c)
    return _add_taps([columns[:, :, :, i] for i in range(k * m)], window)


# Windows of several whole strides ------------------------------------------------------


def _has_phases(window: SlidingWindow) -> bool:
    """Whether the size of a filter is a multiple of its stride."""
    sides = zip(window.size, window.stride, strict=True)
    return window.dilation == (1, 1) and all(k % s == 0 for k, s in sides)


def _phases_as_channels(y: Array, f: Array, window: SlidingWindow) -> Array:
    """A convolution at the positions of y, which computes all positions of a stride at once.

    With k = qS + r an output i adds to the image at $iS + k = (i + q)S + r$: to the
    position i + q of a small image, and there to the channels of phase r.
    """
    (k, m, c, o), (s, t) = f.shape, window.stride
    steps = (k // s, m // t)
    cut = f.reshape(steps[0], s, steps[1], t, c, o).transpose(0, 2, 1, 3, 4, 5)
    every = window._replace(
        input_size=window.output_size,
        size=steps,
        stride=(1, 1),
        pads=tuple((q - 1, q - 1) for q in steps),
    )
    z = _convolution(y, _flipped_and_swapped(cut.reshape(*steps, -1, o)), every)
    n, h, w, _ = z.shape
    z = z.reshape(n, h, w, s, t, c).transpose(0, 1, 3, 2, 4, 5)
    z = z.reshape(n, h * s, w * t, c)
    edges = zip(window.pads, window.input_size, z.shape[1:3], strict=True)
    return _padded(z, tuple((-a, a + width - size) for (a, _), width, size in edges))


# Windows that do not overlap ----------------------------------------------------------


def _is_tiling(window: SlidingWindow) -> bool:
    """Whether windows neither overlap nor skip positions, or have size 1."""
    one = window.size == (1, 1)
    pads = _exact_padding(window)
    starts = all(a == 0 and b <= 0 for a, b in pads)
    whole = window.size == window.stride and window.dilation == (1, 1)
    return starts and (one or whole)


def _patches(x: Array, window: SlidingWindow) -> Array:
    """The windows as feature vectors: (n, i, j, k·l·c)."""
    (h, w), (k, m), c = window.output_size, window.size, x.shape[-1]
    if window.size == (1, 1):
        s, t = window.stride
        return x[:, : (h - 1) * s + 1 : s, : (w - 1) * t + 1 : t]
    x = x[:, : h * k, : w * m].reshape(-1, h, k, w, m, c)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(-1, h, w, k * m * c)


def _from_patches(z: Array, window: SlidingWindow) -> Array:
    """The transpose of `_patches`."""
    (h, w), (k, m) = window.output_size, window.size
    c = z.shape[-1] // (k * m)
    if window.size == (1, 1):
        return _add_taps([z], window)
    z = z.reshape(-1, h, w, k, m, c).transpose(0, 1, 3, 2, 4, 5)
    z = z.reshape(-1, h * k, w * m, c)
    rest = [p - q for p, q in zip(window.input_size, z.shape[1:3], strict=True)]
    return _padded(z, tuple((0, r) for r in rest))


# Groups -------------------------------------------------------------------------------


def _by_group(
    a: Array, b: Array, window: SlidingWindow, n_in: int, maps: tuple[Callable, ...]
) -> Array:
    """Each group separately; depthwise convolutions (one channel each) all at once."""
    groups, (fast, plain, depthwise) = window.groups, maps
    if n_in == b.shape[-1] == groups:
        return depthwise(a, b, window)
    if groups > MAX_SPLIT_GROUPS:
        return plain(a, b, window)
    one = window._replace(groups=1)
    parts = zip(jnp.split(a, groups, -1), jnp.split(b, groups, -1), strict=True)
    return jnp.concatenate([fast(*part, one) for part in parts], -1)


def _depthwise(x: Array, f: Array, window: SlidingWindow) -> Array:
    return reduce(add, map(mul, _taps(x, window), _entries(f)))


def _entries(f: Array) -> list[Array]:
    """The filters of all channels at each position: (1, 1, 1, c)."""
    return list(f.reshape(-1, 1, 1, 1, f.shape[-1]))


def _depthwise_images(y: Array, f: Array, window: SlidingWindow) -> Array:
    return _add_taps([y * entry for entry in _entries(f)], window)


def _depthwise_filters(x: Array, y: Array, window: SlidingWindow) -> Array:
    sums = jnp.stack([(tap * y).sum((0, 1, 2)) for tap in _taps(x, window)])
    return sums.reshape(*window.size, 1, -1)
