r"""Correlation on CPUs: the same three maps, in the forms that XLA computes fast there.

XLA brings a convolution into its fast form only outside of loops, and a training step is
inside of one; there the plain way back is up to fifty times slower. So every convolution
here is written in the one form that needs no rewriting (rows, height, width, channels;
filters with channels in before channels out), and the shapes that a convolution library
does badly are written without one:

| what | how |
|---|---|
| filters of size 1, or as large as their stride | one matrix product |
| few channels in a filter, or depthwise | a sum over its positions |
| narrow filters, from and to few channels | two neighbouring places as one |
| the way back to images under a stride | a matrix product, its columns added in place |
| the way back to filters | a convolution in which rows and channels change places |

`fenced` keeps a sum over positions from being computed again by everyone who reads it.
"""

from collections.abc import Callable
from itertools import product

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from likely.layers.convolution.sliding import (
    Filters,
    Images,
    Places,
    Sliding,
    plain_correlate,
    plain_filters,
    plain_images,
)

FEW = 27
"""The most entries of a filter that are summed one by one."""
NARROW = 16
"""The most channels, in and out, of two places that are computed as one."""
LARGE = 2**18
"""Entries of images from which on a copy is cheaper than computing them again."""
MOST_GROUPS = 16
"""Above it groups with several channels are left to the plain version."""


# The three maps -----------------------------------------------------------------------


def correlate(x: Images, f: Filters, how: Sliding) -> Places:
    """C(x, f)."""
    if how.groups > 1:
        return _grouped(x, f, how, correlate, plain_correlate, _depthwise)
    if _is_tiling(how):
        return _cut(x, how) @ f.reshape(-1, f.shape[-1])
    if f[..., 0].size <= FEW:
        return fenced(f, lambda: _summed(x, f, how), lambda: _canonical(x, f, how))
    return _slid(x, f, how)


def images_of(y: Places, f: Filters, how: Sliding) -> Images:
    """A(y, f)."""
    if how.groups > 1:
        return _grouped(y, f, how, images_of, plain_images, _depthwise_images)
    if _is_tiling(how):
        return _joined(y @ f.reshape(-1, f.shape[-1]).T, how)
    _, _, c, o = f.shape
    if how.stride == (1, 1) and not (min(how.size) >= 5 and 2 * c <= o):
        back = how._replace(positions=how.places, pads=_mirrored(how))
        return _slid(y, _turned(f), back)
    return fenced(f, lambda: _columns(y, f, how), lambda: plain_images(y, f, how))


def filters_of(x: Images, y: Places, how: Sliding) -> Filters:
    """B(x, y)."""
    if how.groups > 1:
        return _grouped(x, y, how, filters_of, plain_filters, _depthwise_filters)
    shape = (*how.size, x.shape[-1], y.shape[-1])
    if _is_tiling(how):
        a, b = _cut(x, how), y.reshape(-1, shape[-1])
        return _product(a.reshape(len(b), -1), b).reshape(shape)
    if how.stride == how.dilation == (1, 1) and shape[3] <= NARROW < shape[2]:
        # the same sums with the roles exchanged: more columns, fewer rows
        back = how._replace(positions=how.places, pads=_mirrored(how))
        return _turned(filters_of(y, x, back))
    turned = how._replace(
        size=how.places, stride=how.dilation, dilation=how.stride, pads=_tight(how)
    )
    lay = laid_out if x.size < LARGE else moved
    found = _canonical(lay(x, (3, 1, 2, 0)), lay(y, (1, 2, 0, 3)), turned)
    return found.transpose(1, 2, 0, 3)


def _turned(f: Array) -> Array:
    """Filters backwards, channels out and in exchanged."""
    return jnp.flip(f, (0, 1)).transpose(0, 1, 3, 2)


def _product(a: Array, b: Array) -> Array:
    """aᵀb."""
    return lax.dot_general(a, b, (((0,), (0,)), ((), ())))


def fenced(f: Array, fast: Callable, other: Callable) -> Array:
    """`fast()`, which XLA may not merge into what comes after it.

    It would compute the sum again for each reader. A barrier does not hold it; a choice
    that depends on a number does, and a filter that is not finite may as well be slow.
    """
    return lax.cond(jnp.isfinite(f.reshape(-1)[0]), fast, other)


def moved(x: Array, axes: tuple[int, ...]) -> Array:
    """x with its axes in this order, of values that are there.

    XLA would compute a norm and a bend again, entry by entry against the order of memory,
    to write their results in another one. The choice is always the first one, but XLA
    learns it too late. It costs a copy.
    """
    blank = [x.shape[axis] for axis in axes]
    return lax.cond(
        lax.optimization_barrier(True),
        lambda x: x.transpose(axes),
        lambda x: jnp.zeros(blank, x.dtype),
        x,
    )


def laid_out(x: Array, axes: tuple[int, ...]) -> Array:
    """The same for small x, where the copy costs more than what might be computed again."""
    return lax.optimization_barrier(lax.optimization_barrier(x).transpose(axes))


# Forms --------------------------------------------------------------------------------


def _canonical(x: Array, f: Array, how: Sliding) -> Array:
    return lax.conv_general_dilated(
        x,
        f,
        how.stride,
        how.pads,
        rhs_dilation=how.dilation,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


def _slid(x: Array, f: Array, how: Sliding) -> Array:
    even = how.places[1] % 2 == 0 and how.stride == how.dilation == (1, 1)
    if even and max(f.shape[2:]) <= NARROW:
        return _paired(x, f, how)
    return _canonical(x, f, how)


def _paired(x: Array, f: Array, how: Sliding) -> Array:
    """Two places side by side as one of twice the channels, which fill a register.

    Their filters are the same one, a position apart: a product with zeros for each of
    its K, and less than is gained.
    """
    k, m, c, o = f.shape
    ends = [((0, 0), (i, 1 - i), (0, 0), (0, 0)) for i in range(2)]
    both = jnp.stack([jnp.pad(f, e) for e in ends], 3).reshape(k, m + 1, c, 2 * o)
    pairs = how._replace(size=(k, m + 1), stride=(1, 2))
    return _canonical(x, both, pairs).reshape(-1, *how.places, o)


def _tight(how: Sliding) -> tuple[tuple[int, int], ...]:
    """Pads after which the last window ends where the positions do; below 0 cuts."""
    return tuple(
        (p[0], (n - 1) * s + d * (k - 1) + 1 - width - p[0])
        for p, n, s, d, k, width in zip(
            how.pads,
            how.places,
            how.stride,
            how.dilation,
            how.size,
            how.positions,
            strict=True,
        )
    )


def _mirrored(how: Sliding) -> tuple[tuple[int, int], ...]:
    """The pads of the way back."""
    return tuple(
        (d * (k - 1) - a, d * (k - 1) - b)
        for d, k, (a, b) in zip(how.dilation, how.size, how.pads, strict=True)
    )


def _padded(x: Array, pads: tuple, interior: tuple = (0, 0)) -> Array:
    edges = [(*p, i) for p, i in zip(pads, interior, strict=True)]
    if not any(map(any, edges)):
        return x
    return lax.pad(x, jnp.zeros((), x.dtype), ((0, 0, 0), *edges, (0, 0, 0)))


def _taps(x: Array, how: Sliding) -> list[Array]:
    """What each position of a window sees, at all places."""
    x, (h, w) = _padded(x, _tight(how)), how.places
    (s, t), (d, e) = how.stride, how.dilation
    return [
        x[:, i * d : i * d + (h - 1) * s + 1 : s, j * e : j * e + (w - 1) * t + 1 : t]
        for i, j in product(*map(range, how.size))
    ]


def _spread(parts: list[Array], how: Sliding) -> Array:
    """The transpose of `_taps`: each part added where its position saw from."""
    edges = zip(how.pads, how.places, how.stride, how.positions, strict=True)
    ends = [(p[0], (n - 1) * s + 1, width) for p, n, s, width in edges]
    total = jnp.zeros((), parts[0].dtype)
    for at, part in zip(product(*map(range, how.size)), parts, strict=True):
        starts = [
            k * d - p for k, d, (p, _, _) in zip(at, how.dilation, ends, strict=True)
        ]
        pads = tuple(
            (a, width - a - covered)
            for a, (_, covered, width) in zip(starts, ends, strict=True)
        )
        moved = _padded(part, pads, tuple(s - 1 for s in how.stride))
        total = moved if total.ndim == 0 else total + moved
    return total


def _summed(x: Array, f: Array, how: Sliding) -> Array:
    """A product and a sum for each entry of a filter."""
    terms = [
        tap[..., c : c + 1] * f[i, j, c][None, None, None]
        for (i, j), tap in zip(
            product(*map(range, how.size)), _taps(x, how), strict=True
        )
        for c in range(f.shape[2])
    ]
    return sum(terms[1:], terms[0])


def _columns(y: Array, f: Array, how: Sliding) -> Array:
    """One product makes every filter position's share; they are added in place."""
    k, m, c, o = f.shape
    shares = (y @ f.reshape(-1, o).T).reshape(*y.shape[:3], k * m, c)
    return _spread([shares[:, :, :, i] for i in range(k * m)], how)


# Windows side by side -----------------------------------------------------------------


def _is_tiling(how: Sliding) -> bool:
    """Whether windows neither overlap nor skip a position, or see one each."""
    one = how.size == (1, 1)
    pads = _tight(how)
    starts = all(a == 0 and b <= 0 for a, b in pads)
    whole = how.size == how.stride and how.dilation == (1, 1)
    return starts and (one or whole)


def _cut(x: Array, how: Sliding) -> Array:
    """The windows as features: (n, i, j, k·l·c)."""
    (h, w), (k, m), c = how.places, how.size, x.shape[-1]
    if how.size == (1, 1):
        s, t = how.stride
        return x[:, : (h - 1) * s + 1 : s, : (w - 1) * t + 1 : t]
    x = x[:, : h * k, : w * m].reshape(-1, h, k, w, m, c)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(-1, h, w, k * m * c)


def _joined(z: Array, how: Sliding) -> Array:
    """The transpose of `_cut`."""
    (h, w), (k, m) = how.places, how.size
    c = z.shape[-1] // (k * m)
    if how.size == (1, 1):
        return _spread([z], how)
    z = z.reshape(-1, h, w, k, m, c).transpose(0, 1, 3, 2, 4, 5)
    z = z.reshape(-1, h * k, w * m, c)
    rest = [p - q for p, q in zip(how.positions, z.shape[1:3], strict=True)]
    return _padded(z, tuple((0, r) for r in rest))


# Groups -------------------------------------------------------------------------------


def _grouped(
    a: Array, b: Array, how: Sliding, fast: Callable, plain: Callable, *depthwise
) -> Array:
    """Each group on its own; where each has one channel in and out, all together."""
    groups, (alone,) = how.groups, depthwise
    c, o = _channels(a, b, how, fast)
    if c == groups and o == groups:
        return alone(a, b, how)
    if groups > MOST_GROUPS:
        return plain(a, b, how)
    one = how._replace(groups=1)
    parts = zip(jnp.split(a, groups, -1), jnp.split(b, groups, -1), strict=True)
    return jnp.concatenate([fast(*part, one) for part in parts], -1)


def _channels(a: Array, b: Array, how: Sliding, fast: Callable) -> tuple[int, int]:
    """Channels of images and of places."""
    if fast is images_of:
        return b.shape[2] * how.groups, a.shape[-1]
    return a.shape[-1], b.shape[-1]


def _depthwise(x: Array, f: Array, how: Sliding) -> Array:
    taps = zip(_taps(x, how), _entries(f), strict=True)
    terms = [tap * entry for tap, entry in taps]
    return sum(terms[1:], terms[0])


def _entries(f: Array) -> list[Array]:
    """Each position of the filters, of all channels: (1, 1, 1, c)."""
    return list(f.reshape(-1, 1, 1, 1, f.shape[-1]))


def _depthwise_images(y: Array, f: Array, how: Sliding) -> Array:
    return _spread([y * entry for entry in _entries(f)], how)


def _depthwise_filters(x: Array, y: Array, how: Sliding) -> Array:
    sums = jnp.stack([(tap * y).sum((0, 1, 2)) for tap in _taps(x, how)])
    return sums.reshape(*how.size, 1, -1)
