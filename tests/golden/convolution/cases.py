"""The table of layers that are compared with PyTorch, and their inputs.

Read by `make.py`, which needs PyTorch, and by the tests, which do not.
"""

import numpy as np

ROWS = 2


def conv(n_in, n_out, size, positions=(6, 5), **settings):
    """Settings of a convolution, or of its transpose."""
    return {
        "n_in": n_in,
        "n_out": n_out,
        "size": size,
        "positions": positions,
    } | settings


CONVOLUTIONS = {
    # few entries in a filter, and many
    "3x3, one channel": conv(1, 3, 3),
    "3x3, three channels": conv(3, 2, 3),
    "3x3": conv(4, 3, 3),
    "3x3, valid": conv(4, 3, 3, padding="valid"),
    "5x5, one channel": conv(1, 4, 5, (7, 6)),
    "5x5, few to many": conv(2, 5, 5, (7, 6), padding="valid"),
    "5x5, as many": conv(3, 3, 5, (7, 6)),
    "2x3": conv(5, 2, (2, 3)),
    "4x4, even": conv(3, 4, 4),
    "as large as the image": conv(2, 3, (6, 5), padding="valid"),
    # strides
    "stride 2": conv(4, 3, 3, stride=2),
    "stride 2, one channel": conv(1, 4, 3, (7, 6), stride=2, padding="valid"),
    "stride 2, padding 1, positions left over": conv(4, 2, 2, (7, 8), stride=3, padding=1),
    "stride (2, 1), padding (0, 2)": conv(4, 3, 3, stride=(2, 1), padding=(0, 2)),
    "5x5, stride 2, few to many": conv(2, 6, 5, (8, 7), stride=2),
    # matrix products
    "1x1": conv(4, 3, 1),
    "1x1, stride 2": conv(4, 3, 1, stride=2),
    "1x1, padding 1": conv(3, 2, 1, padding=1),
    "2x2, stride 2": conv(3, 4, 2, (6, 4), stride=2, padding="valid"),
    "2x2, stride 2, positions left over": conv(3, 4, 2, (7, 5), stride=2, padding="valid"),
    # dilation
    "dilation 2": conv(4, 3, 3, (7, 6), dilation=2),
    "dilation (1, 2), valid": conv(1, 3, 3, (5, 7), dilation=(1, 2), padding="valid"),
    "dilation 2, stride 2": conv(4, 2, 3, (8, 7), dilation=2, stride=2),
    "2x2, stride 2, dilation 2": conv(2, 2, 2, (7, 6), dilation=2, stride=2),
    # groups
    "two groups": conv(4, 6, 3, groups=2),
    "two groups, stride 2": conv(6, 4, 3, groups=2, stride=2),
    "1x1, two groups": conv(4, 4, 1, groups=2),
    "depthwise": conv(4, 4, 3, groups=4),
    "depthwise, stride 2": conv(3, 3, 3, (7, 6), groups=3, stride=2),
    "depthwise, two each": conv(3, 6, 3, groups=3),
    "depthwise, dilation 2, valid": conv(3, 3, 3, (7, 6), groups=3, dilation=2, padding="valid"),
    # edges
    "cyclic": conv(4, 3, 3, edges="cyclic"),
    "reflected": conv(4, 3, 3, edges="reflected"),
    "cyclic, 4x4, dilation 2": conv(2, 3, 4, (7, 8), edges="cyclic", dilation=2),
    "reflected, stride 2, groups": conv(4, 4, 5, (7, 6), edges="reflected", stride=2, groups=2),
    # the convolution of mathematics
    "flipped": conv(3, 2, 3, flipped=True),
    "flipped, 2x3, stride 2": conv(4, 3, (2, 3), flipped=True, stride=2),
    # sequences
    "sequence": conv(3, 4, 3, (9,)),
    "sequence, valid, no bias": conv(4, 2, 4, (9,), padding="valid", bias=False),
    "sequence, stride 2, dilation 2": conv(4, 3, 3, (9,), stride=2, dilation=2),
    "sequence, depthwise": conv(3, 3, 5, (9,), groups=3),
    "sequence, cyclic": conv(2, 3, 3, (8,), edges="cyclic"),
    "sequence, 1": conv(3, 4, 1, (8,)),
}  # fmt: skip

TRANSPOSED = {
    "2x2, stride 2": conv(4, 3, 2, (3, 4), stride=2, padding=0),
    "3x3, stride 2, extra 1": conv(3, 4, 3, (3, 4), stride=2, padding=1, extra=1),
    "4x4, stride 2": conv(4, 2, 4, (3, 4), stride=2, padding=1),
    "3x3, stride 1": conv(4, 3, 3, (4, 5), stride=1, padding=1),
    "3x3, stride 3": conv(2, 3, 3, (3, 2), stride=3, padding=0, extra=2),
    "2x2, stride 3": conv(2, 3, 2, (3, 2), stride=3, padding=0),
    "dilation 2": conv(3, 2, 3, (4, 3), stride=2, padding=2, dilation=2),
    "two groups": conv(4, 6, 3, (3, 4), stride=2, padding=0, groups=2),
    "depthwise": conv(3, 3, 2, (3, 4), stride=2, padding=0, groups=3),
    "1x1": conv(3, 4, 1, (3, 4), stride=1, padding=0),
    "sequence": conv(3, 2, 4, (5,), stride=2, padding=1),
}

POOLS = {
    "max 2": {"size": 2, "positions": (6, 5)},
    "max 3, stride 2": {"size": 3, "stride": 2, "positions": (7, 6)},
    "max 3, stride 2, padding 1": {"size": 3, "stride": 2, "padding": 1, "positions": (7, 6)},
    "max (2, 3), stride (1, 3)": {"size": (2, 3), "stride": (1, 3), "positions": (5, 7)},
    "max, tied": {"size": 2, "positions": (4, 4), "tied": True},
    "max, tied, overlapping": {"size": 3, "stride": 2, "positions": (5, 5), "tied": True},
    "max, sequence": {"size": 2, "positions": (7,)},
    "min 2": {"size": 2, "kind": "min", "positions": (4, 6)},
    "mean 2": {"size": 2, "kind": "mean", "positions": (6, 5)},
    "mean 3, stride 2, padding 1": {
        "size": 3, "stride": 2, "padding": 1, "kind": "mean", "positions": (7, 6),
    },
    "mean, sequence": {"size": 3, "stride": 1, "kind": "mean", "positions": (7,)},
}  # fmt: skip

UPSAMPLINGS = {
    "nearest 2": {"scale": 2, "positions": (3, 4)},
    "nearest (2, 3)": {"scale": (2, 3), "positions": (3, 2)},
    "bilinear 2": {"scale": 2, "kind": "bilinear", "positions": (3, 4)},
    "bilinear 3": {"scale": 3, "kind": "bilinear", "positions": (2, 3)},
    "bilinear, sequence": {"scale": 2, "kind": "bilinear", "positions": (4,)},
}


def per_axis(value, axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else tuple(value)


def rng_of(kind: str, name: str) -> np.random.Generator:
    return np.random.default_rng(list(f"{kind}: {name}".encode()))


def filters(kind: str, name: str, case: dict) -> dict[str, np.ndarray]:
    """Inputs, filters, bias: channels last, as we have them."""
    rng = rng_of(kind, name)
    axes, groups = len(case["positions"]), case.get("groups", 1)
    size = per_axis(case["size"], axes)
    pair = (case["n_in"] // groups, case["n_out"])
    if kind == "transposed":
        pair = (case["n_out"] // groups, case["n_in"])
    made = {
        "X": rng.normal(size=(ROWS, *case["positions"], case["n_in"])),
        "weight": rng.normal(size=(*size, *pair)),
    }
    if case.get("bias", True):
        made["bias"] = rng.normal(size=case["n_out"])
    return made


def images(kind: str, name: str, case: dict) -> np.ndarray:
    """Rows with two channels; tied ones have few different values."""
    rng = rng_of(kind, name)
    X = rng.normal(size=(ROWS, *case["positions"], 2))
    return np.round(X) if case.get("tied") else X


def seen(shape: tuple[int, ...]) -> np.ndarray:
    """What outputs are multiplied with before they are summed: a fixed pattern."""
    return np.cos(np.arange(np.prod(shape))).reshape(shape)
