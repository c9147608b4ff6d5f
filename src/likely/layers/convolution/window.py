r"""Sliding windows: padding and output sizes."""

from collections.abc import Sequence
from typing import Any

from likely.core.checks import InputError

Padding = str | int | Sequence


def per_axis(value: Any, axes: int, what: str) -> tuple[int, ...]:
    """One whole number for each axis, from a single number or one for each axis."""
    numbers = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(numbers) != axes or any(int(n) != n or n < 1 for n in numbers):
        raise InputError(
            f"{what} is {value!r}; give a whole number of at least 1, "
            f"or {axes} of them, one for each axis."
        )
    return tuple(int(n) for n in numbers)


def padding_widths(
    padding: Padding, size: Sequence[int], dilation: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    r"""The number of positions to add before and after, for each axis.

    "valid" adds none. "same" adds $D(K-1)$ in all, one more after than before if that is
    odd, so that W positions become $\lceil W/S \rceil$. A number P, or one for each
    axis, is added on both sides.
    """
    if padding == "valid":
        return ((0, 0),) * len(size)
    if padding == "same":
        totals = [d * (k - 1) for k, d in zip(size, dilation, strict=True)]
        return tuple((total // 2, total - total // 2) for total in totals)
    if isinstance(padding, str):
        raise InputError(
            f'padding is {padding!r}; give "same", "valid" or how many positions to add.'
        )
    each = (padding,) * len(size) if isinstance(padding, int) else tuple(padding)
    if len(each) != len(size) or any(int(p) != p or p < 0 for p in each):
        raise InputError(
            f'padding is {padding!r}; give "same", "valid", a whole number of at least '
            f"0, or {len(size)} of them, one for each axis."
        )
    return tuple((int(p), int(p)) for p in each)


def output_size(
    width: int,
    size: int,
    *,
    stride: int = 1,
    padding: str | int | tuple[int, int] = 0,
    dilation: int = 1,
) -> int:
    r"""The output size of a sliding window: $\lfloor (W + 2P - D(K-1) - 1)/S \rfloor + 1$.

    Args:
        width: W, the input size.
        size: K, the window size.
        stride: S, the step of the window.
        padding: P, the positions added on each side; or a pair, those added before and
            after; or "same" or "valid".
        dilation: D, the distance between the positions inside a window.
    """
    if not isinstance(padding, tuple):
        ((before, after),) = padding_widths(padding, (size,), (dilation,))
    else:
        before, after = padding
    return (width + before + after - dilation * (size - 1) - 1) // stride + 1


def output_sizes(
    positions: Sequence[int],
    size: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> tuple[int, ...]:
    """The output size of each axis; an error where the window does not fit."""
    found = tuple(
        output_size(w, k, stride=s, padding=(p[0], p[1]), dilation=d)
        for w, k, s, p, d in zip(positions, size, stride, pads, dilation, strict=True)
    )
    if any(n < 1 for n in found):
        raise InputError(
            f"a window of size {tuple(size)} (dilation {tuple(dilation)}) does not fit "
            f"into {tuple(positions)} positions; give larger inputs, a smaller window "
            'or padding="same".'
        )
    return found
