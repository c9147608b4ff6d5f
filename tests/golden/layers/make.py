"""Make torch.npz: what PyTorch says of the layers, for `tests/layers/test_torch.py`.

    python tests/golden/layers/make.py

PyTorch is an oracle here and no dependency of the tests.
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = {
    "relu": F.relu,
    "leaky_relu": lambda s: F.leaky_relu(s, 0.01),
    "elu": F.elu,
    "softplus": F.softplus,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "silu": F.silu,
}


def tensor(rng, *shape):
    return torch.tensor(rng.normal(size=shape), requires_grad=True)


def main() -> None:
    """Values and gradients in double precision."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    kept = {}

    s = torch.linspace(-4, 4, 24, dtype=torch.float64, requires_grad=True)
    kept["s"] = s
    for name, function in ACTIVATIONS.items():
        value = function(s)
        kept[f"{name}.value"] = value
        kept[f"{name}.slope"] = torch.autograd.grad(value.sum(), s)[0]

    X, slope, seen = tensor(rng, 5, 3), tensor(rng, 3), tensor(rng, 5, 3)
    value = F.prelu(X, slope)
    kept |= {"prelu.X": X, "prelu.a": slope, "prelu.value": value, "prelu.seen": seen}
    kept["prelu.da"] = torch.autograd.grad((value * seen).sum(), slope)[0]

    # images of 4 channels: torch has channels first, we have them last
    images, seen = tensor(rng, 6, 4, 3, 2), tensor(rng, 6, 4, 3, 2)
    norms = {
        "batch": nn.BatchNorm2d(4, dtype=torch.float64),
        "layer": nn.LayerNorm((3, 2, 4), dtype=torch.float64),
    }
    kept |= {"images": images.movedim(1, -1), "seen": seen.movedim(1, -1)}
    for name, norm in norms.items():
        with torch.no_grad():
            for p in norm.parameters():
                p.copy_(torch.tensor(rng.normal(size=p.shape)))
        kept |= {f"{name}.scale": norm.weight, f"{name}.shift": norm.bias}
        last = name == "layer"
        value = norm(images.movedim(1, -1)) if last else norm(images).movedim(1, -1)
        wanted = (value * seen.movedim(1, -1)).sum()
        found = torch.autograd.grad(wanted, [images, norm.weight, norm.bias])
        kept[f"{name}.value"] = value
        kept |= {f"{name}.dX": found[0].movedim(1, -1)}
        kept |= {f"{name}.dscale": found[1], f"{name}.dshift": found[2]}
    kept["batch.mean"] = norms["batch"].running_mean
    kept["batch.variance"] = norms["batch"].running_var
    norms["batch"].eval()
    kept["batch.use"] = norms["batch"](images).movedim(1, -1)

    X, y = tensor(rng, 7, 4), torch.tensor(rng.integers(0, 3, 7))
    layers = [nn.Linear(4, 6), nn.Linear(6, 5), nn.Linear(5, 3)]
    h = X
    for i, layer in enumerate(layers):
        layer.double()
        h = F.relu(layer(h)) if i < 2 else layer(h)
        kept |= {f"mlp.W{i}": layer.weight.T, f"mlp.b{i}": layer.bias}
    loss = F.cross_entropy(h, y)
    loss.backward()
    kept |= {"mlp.X": X, "mlp.y": y, "mlp.eta": h, "mlp.loss": loss}
    for i, layer in enumerate(layers):
        kept |= {f"mlp.dW{i}": layer.weight.grad.T, f"mlp.db{i}": layer.bias.grad}

    arrays = {name: value.detach().numpy() for name, value in kept.items()}
    np.savez_compressed(Path(__file__).parent / "torch.npz", **arrays)


if __name__ == "__main__":
    main()
