"""Convolutional networks on a GPU against `torch.compile`: whole steps in bfloat16.

    python -m benchmarks.gpu_convolution [--batch 512] [--out runs/gpu_convolution.json]

Ours goes through `fit`'s loop; PyTorch's has channels last, automatic mixed precision and
a fused Adam. Parameters are float32 on both sides. Each side is a process of its own, in
turns, and the best of several counts. Model FLOP utilisation is three times the operations
of the way forward, over the time and the dense bfloat16 peak of the card.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SHAPE, BATCHES, STEPS, ROUNDS = (32, 32, 3), 4, 40, 3
PEAK = 989e12
"""Multiply-adds count two; an H100 or H200 without sparsity."""
NAMES = {"ResNet-18": 10, "U-Net 64-128-256": 4}
ASKED = 0.9


def rows(name: str, batch: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n, places = batch * BATCHES, SHAPE[:2] if "U-Net" in name else ()
    X = rng.normal(size=(n, *SHAPE)).astype(np.float32)
    return X, rng.integers(0, NAMES[name], (n, *places))


def settings(name: str, dtype: str | None):
    from likely.models import UNet, resnet18

    if "U-Net" in name:
        return UNet((64, 128, 256), dtype=dtype)
    return resnet18(dtype=dtype)


def ours(name: str, batch: int):
    """A function that trains for STEPS steps, and the operations of one row."""
    import jax
    import jax.numpy as jnp

    from likely.diagnostics import flops
    from likely.families import Categorical
    from likely.layers import initial_state
    from likely.objectives import NegativeLogLikelihood, PositionLikelihood
    from likely.solvers import Adam
    from likely.solvers.training import Training
    from likely.typing import Batch

    X, y = rows(name, batch)
    build = settings(name, "bfloat16").build
    model = build(SHAPE, NAMES[name], key=jax.random.key(0))
    data = Batch(X, y.astype(np.float32), np.ones(len(X), np.float32))
    data = jax.tree.map(jnp.asarray, data)
    kind = PositionLikelihood if y.ndim > 1 else NegativeLogLikelihood
    objective = kind.of(Categorical(NAMES[name]), data)
    training = Training(Adam(1e-3, steps=STEPS, batch_size=batch))

    def run() -> list[float]:
        found = training.minimize(
            objective, model, data, key=jax.random.key(1), state=initial_state(model)
        )
        return np.asarray(found.trace.loss)[:STEPS].tolist()

    return run, flops(model, SHAPE)


def peer(name: str, batch: int):
    """The same for PyTorch."""
    import torch
    from torch.nn.functional import cross_entropy

    from benchmarks.convolution import resnet, unet

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    channels, n_out = SHAPE[-1], NAMES[name]
    if "U-Net" in name:
        net = unet(channels, n_out, (64, 128, 256))
    else:
        net = resnet(channels, n_out, (64, 128, 256, 512), 2)
    net = net.cuda().to(memory_format=torch.channels_last)
    fast = torch.compile(net)
    X, y = rows(name, batch)
    X = torch.tensor(np.moveaxis(X, -1, 1).copy()).cuda()
    X, y = X.to(memory_format=torch.channels_last), torch.tensor(y).cuda()
    adam = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
    order = torch.randperm(len(X), device="cuda").reshape(BATCHES, batch)

    def run() -> list[float]:
        losses = []
        for step in range(STEPS):
            chosen = order[step % BATCHES]
            adam.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                eta = fast(X[chosen])
            loss = cross_entropy(eta.float(), y[chosen])
            loss.backward()
            adam.step()
            losses.append(loss.detach())
        torch.cuda.synchronize()
        return torch.stack(losses).tolist()

    return run, 0


def serve(side: str, name: str, batch: int) -> None:
    run, operations = {"ours": ours, "peer": peer}[side](name, batch)
    run()
    run()
    print(json.dumps({"operations": operations}), flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        losses = run()
        seconds = (time.perf_counter() - start) / STEPS
        print(json.dumps({"seconds": seconds, "losses": losses}), flush=True)


class Side:
    """A process that trains when told to."""

    def __init__(self, *words: str):
        command = [sys.executable, "-m", "benchmarks.gpu_convolution", *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.operations = self.read()["operations"]

    def read(self) -> dict:
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError(f"a side of the benchmark died: {self.process.args}")

    def run(self) -> dict:
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return self.read()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def measure(name: str, batch: int) -> dict:
    sides = {
        s: Side("--serve", s, name, "--batch", str(batch)) for s in ("ours", "peer")
    }
    turns = [{s: side.run() for s, side in sides.items()} for _ in range(ROUNDS)]
    for side in sides.values():
        side.close()
    best = {s: min(turn[s]["seconds"] for turn in turns) for s in sides}
    work = 3 * sides["ours"].operations * batch
    falls = all(
        turn[s]["losses"][-1] < turn[s]["losses"][0] for s in sides for turn in turns
    )
    return {
        "name": name,
        "batch": batch,
        "ours_ms": 1e3 * best["ours"],
        "peer_ms": 1e3 * best["peer"],
        "ratio": best["peer"] / best["ours"],
        "asked": ASKED,
        "ours_mfu": work / best["ours"] / PEAK,
        "peer_mfu": work / best["peer"] / PEAK,
        "losses_fall": falls,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=2, metavar=("SIDE", "NAME"))
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--out", type=Path, default=Path("runs/gpu_convolution.json"))
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve, options.batch)
        return
    found = [measure(name, options.batch) for name in NAMES]
    for row in found:
        print(json.dumps(row), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
