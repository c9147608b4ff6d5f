"""Make torch.npz: what PyTorch says of convolutions and their like, in double precision.

    python tests/golden/convolution/make.py

PyTorch is an oracle here and no dependency of the tests. `cases.py` has the table.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[2])]

import cases  # noqa: E402

from benchmarks.convolution import resnet, unet  # noqa: E402

MODES = {"zero": "constant", "cyclic": "circular", "reflected": "reflect"}


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array, requires_grad=True)


def first(X: torch.Tensor) -> torch.Tensor:
    return X.movedim(-1, 1)


def last(X: torch.Tensor) -> torch.Tensor:
    return X.movedim(1, -1)


def convolution(case: dict, X, weight, bias=None):
    axes = X.ndim - 2
    size, stride, dilation = (
        cases.per_axis(case.get(n, 1), axes) for n in ("size", "stride", "dilation")
    )
    padding = case.get("padding", "same")
    if padding == "same":
        totals = [d * (k - 1) for d, k in zip(dilation, size, strict=True)]
        pads = [(t // 2, t - t // 2) for t in totals]
    else:
        pads = [
            (p, p) for p in cases.per_axis(0 if padding == "valid" else padding, axes)
        ]
    if case.get("flipped"):
        weight = weight.flip(tuple(range(axes)))
    edges = [a for pair in reversed(pads) for a in pair]
    X = F.pad(first(X), edges, mode=MODES[case.get("edges", "zero")])
    weight = weight.movedim((-1, -2), (0, 1))
    run = F.conv1d if axes == 1 else F.conv2d
    return last(run(X, weight, bias, stride, 0, dilation, case.get("groups", 1)))


def transposed(case: dict, X, weight, bias=None):
    run = F.conv_transpose1d if X.ndim == 3 else F.conv_transpose2d
    weight = weight.movedim((-1, -2), (0, 1))
    return last(
        run(
            first(X),
            weight,
            bias,
            case["stride"],
            case["padding"],
            case.get("extra", 0),
            case.get("groups", 1),
            case.get("dilation", 1),
        )
    )


def pool(case: dict, X):
    size, stride = case["size"], case.get("stride", case["size"])
    pad, kind, one = case.get("padding", 0), case.get("kind", "max"), X.ndim == 3
    if kind == "mean":
        run = F.avg_pool1d if one else F.avg_pool2d
        return last(run(first(X), size, stride, pad, count_include_pad=False))
    run = F.max_pool1d if one else F.max_pool2d
    sign = -1 if kind == "min" else 1
    return last(sign * run(sign * first(X), size, stride, pad))


def upsample(case: dict, X):
    kind = case.get("kind", "nearest")
    if kind == "bilinear" and X.ndim == 3:
        kind = "linear"
    scale = cases.per_axis(case["scale"], X.ndim - 2)
    options = {} if kind == "nearest" else {"align_corners": False}
    return last(
        F.interpolate(
            first(X), scale_factor=tuple(map(float, scale)), mode=kind, **options
        )
    )


def slopes(y: torch.Tensor, **inputs) -> dict:
    """The value, and the slopes of its product with a fixed pattern."""
    total = (y * torch.tensor(cases.seen(y.shape))).sum()
    found = torch.autograd.grad(total, list(inputs.values()))
    return {"value": y, **{f"d{n}": g for n, g in zip(inputs, found, strict=True)}}


def networks() -> dict:
    """State dicts of small networks, an input each, and what they say of it in use."""
    torch.manual_seed(0)
    flat = nn.Sequential(
        *(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(4 * 2 * 2, 5), nn.ReLU(), nn.Linear(5, 3)),
    )
    nets = {
        "cnn": (flat, (8, 8, 2)),
        "resnet": (resnet(2, 3, (4, 6)), (8, 8, 2)),
        "unet": (unet(1, 2, (3, 4)), (8, 4, 1)),
    }
    kept = {}
    for name, (net, shape) in nets.items():
        X = torch.tensor(cases.rng_of("network", name).normal(size=(5, *shape)))
        X = X.float().movedim(-1, 1)
        net.train()
        for _ in range(3):  # running statistics of their own
            net(X)
        net.eval()
        y = net(X)
        kept[f"{name}.X"] = X.movedim(1, -1)
        kept[f"{name}.y"] = y.movedim(1, -1) if y.ndim == 4 else y
        kept |= {f"{name}:{n}": v for n, v in net.state_dict().items()}
    return kept


def main() -> None:
    kept = {}
    for kind, table, run in (
        ("convolution", cases.CONVOLUTIONS, convolution),
        ("transposed", cases.TRANSPOSED, transposed),
    ):
        for name, case in table.items():
            made = {n: tensor(a) for n, a in cases.filters(kind, name, case).items()}
            found = slopes(run(case, **made), **made)
            kept |= {f"{kind}: {name}.{n}": v for n, v in found.items()}
    for kind, table, run in (
        ("pool", cases.POOLS, pool),
        ("upsampling", cases.UPSAMPLINGS, upsample),
    ):
        for name, case in table.items():
            X = tensor(cases.images(kind, name, case))
            found = slopes(run(case, X), X=X)
            kept |= {f"{kind}: {name}.{n}": v for n, v in found.items()}
    X = tensor(cases.rng_of("unpool", "2").normal(size=(2, 4, 6, 3)))
    y, at = F.max_pool2d(first(X), 2, return_indices=True)
    kept["unpool.value"] = last(F.max_unpool2d(y, at, 2))
    X = tensor(cases.rng_of("group", "norm").normal(size=(2, 3, 4, 6)))
    scale, shift = (tensor(cases.rng_of("group", n).normal(size=6)) for n in "ab")
    y = last(F.group_norm(first(X), 3, scale, shift))
    found = slopes(y, X=X, scale=scale, shift=shift)
    kept |= {f"group norm.{n}": v for n, v in found.items()}
    kept |= networks()
    arrays = {n: v.detach().numpy().astype(np.float32) for n, v in kept.items()}
    np.savez_compressed(HERE / "torch.npz", **arrays)


if __name__ == "__main__":
    main()
