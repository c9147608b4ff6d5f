"""A language model of characters: tinyshakespeare on two cores, and on a GPU.

    python -m benchmarks.language_model [--seeds 3] [--devices 1] [--out FILE]
    python -m benchmarks.language_model --gpu [--out FILE]

The data are in the folder `data` below the environment variable LIKELY_SHARED. Nine tenths of
the characters are learned from; the rest judges, in windows that do not overlap.

On two cores: 4 layers, 4 heads, size 128, context 64, batch 12, 2,000 steps.

On a GPU: 6 layers, 6 heads, size 384, context 256, batch 64, dropout 0.2, in bfloat16. Ours
goes through `fit`, PyTorch's side has `torch.compile`, automatic mixed precision, its fused
attention and a fused AdamW; each side is a process of its own, in turns, and the best of
several counts. A step is what more steps take more than fewer. Then ours is trained until the
validation loss is reached, without the time to compile.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

CPU_SETTINGS = {
    "n_layers": 4,
    "n_heads": 4,
    "size": 128,
    "context": 64,
    "batch_size": 12,
}
GPU_SETTINGS = {
    "n_layers": 6,
    "n_heads": 6,
    "size": 384,
    "context": 256,
    "batch_size": 64,
}
CPU_STEPS, GPU_STEPS = 2000, 5000
CPU_LOSS, CPU_SECONDS = 1.92, 180
GPU_LOSS, GPU_SECONDS, ASKED = 1.49, 75, 1.1
DROPOUT, WARM_UP = 0.2, 100
SHORT_RUN_STEPS, LONG_RUN_STEPS, ROUNDS = 200, 1000, 3
MODES = ("default", "reduce-overhead")
"""Ways to compile of PyTorch; the faster one counts."""
PEAK = 989e12
"""Operations a second of an H100 or H200 in bfloat16, without sparsity."""


def say(*words) -> None:
    print(*words, flush=True)


def tokens() -> tuple[np.ndarray, np.ndarray, int]:
    """The characters to learn from, those to judge by, and how many there are."""
    root = Path(__file__).parents[1]
    shared = Path(os.environ.get("LIKELY_SHARED", root.parent / "shared"))
    text = (shared / "data" / "tinyshakespeare.txt").read_text("utf-8")
    found, codes = np.unique(np.array(list(text)), return_inverse=True)
    cut = int(0.9 * len(codes))
    codes = codes.astype(np.int32)
    return codes[:cut], codes[cut:], len(found)


def model(steps: int, **settings):
    from likely.text import LanguageModel

    return LanguageModel(
        **{"max_iter": steps, "warm_up": WARM_UP, "early_stopping": False, **settings}
    )


def nats(fitted, held_out: np.ndarray) -> dict[str, float]:
    apart = np.log(fitted.perplexity(held_out, stride=fitted.context_))
    return {
        "validation": float(apart),
        "validation_overlapping": float(np.log(fitted.perplexity(held_out))),
    }


# Two cores ----------------------------------------------------------------------------


def on_cores(seeds: int, devices: int) -> dict:
    import jax

    from likely import tune_host

    tune_host(devices=devices) if devices > 1 else tune_host()
    mesh = jax.make_mesh((devices,), ("rows",)) if devices > 1 else None
    learn, held_out, _ = tokens()
    runs = []
    for seed in range(seeds):
        start, used = time.perf_counter(), time.process_time()
        fitted = model(CPU_STEPS, **CPU_SETTINGS, random_state=seed)
        fitted.fit(learn, mesh=mesh)
        run = {
            "seed": seed,
            "seconds": time.perf_counter() - start,
            "processor_seconds": time.process_time() - used,
            **nats(fitted, held_out),
        }
        say(json.dumps(run))
        runs.append(run)
    mean = float(np.mean([run["validation"] for run in runs]))
    return {
        "name": "tinyshakespeare on two cores",
        "parameters": fitted.n_parameters_,
        "steps": CPU_STEPS,
        "devices": devices,
        "runs": runs,
        "validation": mean,
        "asked": CPU_LOSS,
        "asked_seconds": CPU_SECONDS,
        "reached": mean <= CPU_LOSS,
    }


# A GPU: both sides of a step -----------------------------------------------------------


def ours():
    """A function that trains for some steps and returns the seconds and the last loss."""
    learn, _, _ = tokens()
    settings = {**GPU_SETTINGS, "dropout": DROPOUT, "precision": "bfloat16"}

    def run(steps: int) -> dict:
        start = time.perf_counter()
        fitted = model(steps, **settings).fit(learn)
        seconds = time.perf_counter() - start
        losses = np.asarray(fitted.history_["loss"])
        return {"seconds": seconds, "loss": float(losses[-20:].mean())}

    return run


def gpt(vocabulary: int):
    """GPT as in nanoGPT, with PyTorch's fused attention."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    T, d, h, layers = (
        GPU_SETTINGS[k] for k in ("context", "size", "n_heads", "n_layers")
    )

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
            self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
            self.drop = nn.Dropout(DROPOUT)

        def forward(self, x):
            n, t, _ = x.shape
            q, k, v = (
                a.view(n, t, h, d // h).transpose(1, 2)
                for a in self.qkv(self.norm1(x)).split(d, 2)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.drop(self.out(y.transpose(1, 2).reshape(n, t, d)))
            return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, d), nn.Embedding(T, d)
            self.drop, self.norm = nn.Dropout(DROPOUT), nn.LayerNorm(d)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            for name, p in self.named_parameters():
                if p.dim() > 1:
                    quiet = name.endswith(("out.weight", "down.weight"))
                    scale = (2 * layers) ** -0.5 if quiet else 1.0
                    nn.init.normal_(p, std=0.02 * scale)
                elif name.endswith("bias"):
                    nn.init.zeros_(p)

        def forward(self, x, y):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return self.loss(x, y)

        def loss(self, x, y):
            z = self.drop(self.tokens(x) + self.places.weight)
            for block in self.blocks:
                z = block(z)
            logits = self.norm(z) @ self.tokens.weight.T
            return F.cross_entropy(logits.view(-1, vocabulary), y.reshape(-1))

    return GPT()


def peer(mode: str):
    """The same in PyTorch, compiled in one of its modes."""
    import torch

    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    learn, _, vocabulary = tokens()
    T, B = GPU_SETTINGS["context"], GPU_SETTINGS["batch_size"]
    net = gpt(vocabulary).cuda()
    fast = torch.compile(net, mode=mode)
    matrices = [p for p in net.parameters() if p.dim() > 1]
    vectors = [p for p in net.parameters() if p.dim() < 2]
    adam = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": 0.1},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=1e-3,
        betas=(0.9, 0.99),
        fused=True,
    )
    data = torch.tensor(learn.astype(np.int64)).cuda()
    places = torch.arange(T + 1, device="cuda")

    def run(steps: int) -> dict:
        torch.cuda.synchronize()
        start, losses = time.perf_counter(), []
        for _ in range(steps):
            first = torch.randint(len(data) - T, (B, 1), device="cuda")
            window = data[first + places]
            loss = fast(window[:, :-1], window[:, 1:])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            adam.step()
            adam.zero_grad(set_to_none=True)
            losses.append(loss.detach().clone())
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "loss": torch.stack(losses[-20:]).mean().item()}

    return run


def learn_to_the_bar() -> dict:
    """Train ours with validation looks; when the bar was passed, and the loss in the end."""
    learn, held_out, _ = tokens()
    settings = {**GPU_SETTINGS, "dropout": DROPOUT, "precision": "bfloat16"}
    settings |= {"n_iter_no_change": 100}
    stop = lambda event: event.kind == "validation"  # noqa: E731
    model(GPU_STEPS, **settings).fit(learn, X_val=held_out, callbacks=stop)
    say("compiled")
    seen = []

    def look(event) -> None:
        if event.kind == "validation":
            seen.append((event.seconds, event.step, event.validation))
            if event.step % 500 == 0:
                say(f"step {event.step}: {event.validation:.4f}, {event.seconds:.1f} s")

    start = time.perf_counter()
    fitted = model(GPU_STEPS, **settings).fit(learn, X_val=held_out, callbacks=look)
    seconds = time.perf_counter() - start
    passed = [(s, k) for s, k, loss in seen if loss <= GPU_LOSS]
    return {
        "training_seconds": seconds,
        "steps": GPU_STEPS,
        "first_passed_seconds": passed[0][0] if passed else None,
        "first_passed_step": passed[0][1] if passed else None,
        "lowest_look": min(loss for _, _, loss in seen),
        "parameters": fitted.n_parameters_,
        **nats(fitted, held_out),
    }


def kernels(run) -> dict:
    """What the GPU does in a step of ours: microseconds of its kernels, the longest first."""
    import jax

    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, create_perfetto_trace=True):
            run(SHORT_RUN_STEPS)
        (path,) = Path(folder).rglob("perfetto_trace.json.gz")
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    about = [e for e in events if e.get("name") == "process_name"]
    names = {e["pid"]: e["args"].get("name", "") for e in about}
    on_gpu = [e for e in events if "dur" in e and "GPU" in names.get(e.get("pid"), "")]
    total = Counter()
    for event in on_gpu:
        total[event["name"]] += event["dur"] / SHORT_RUN_STEPS
    return {
        "events": len(on_gpu) / SHORT_RUN_STEPS,
        "microseconds": {k: round(v, 1) for k, v in total.most_common(40)},
    }


def operations(parameters: int, vocabulary: int) -> float:
    """Operations of a step, forward and backward: 6 for a parameter and token, and attention.

    The position embeddings take none.
    """
    T, d, L, B = (
        GPU_SETTINGS[k] for k in ("context", "size", "n_layers", "batch_size")
    )
    return (6 * (parameters - T * d) + 12 * L * d * T) * T * B


# A GPU: processes in turns -------------------------------------------------------------


def serve(side: str) -> None:
    if side == "train":
        say(json.dumps(learn_to_the_bar()))
        return
    run = ours() if side == "ours" else peer(side)
    run(SHORT_RUN_STEPS), run(LONG_RUN_STEPS)
    say(json.dumps({"ready": True}))
    for line in sys.stdin:
        steps = int(line)
        try:
            found = run(steps) if steps else kernels(run)
        except Exception as error:
            found = {"failed": repr(error)}
        say(json.dumps(found))


class Side:
    """A process that trains when told to; what it prints beside results is passed on."""

    def __init__(self, side: str):
        command = [sys.executable, "-m", "benchmarks.language_model", "--serve", side]
        environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def read(self) -> dict:
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
            say(line.rstrip())
        raise RuntimeError(f"a side of the benchmark died: {self.process.args}")

    def run(self, steps: int) -> dict:
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return self.read()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def on_gpu(out: Path | None, steps_only: bool) -> dict:
    vocabulary = tokens()[2]
    start, sides = time.perf_counter(), {}
    for name in ("ours", *MODES):
        sides[name] = Side(name)
        sides[name].read()
        say(f"{name} compiled after {time.perf_counter() - start:.0f} s")
    best, losses = dict.fromkeys(sides, np.inf), {}
    for _ in range(ROUNDS):
        for name, side in sides.items():
            few, more = side.run(SHORT_RUN_STEPS), side.run(LONG_RUN_STEPS)
            step = (more["seconds"] - few["seconds"]) / (
                LONG_RUN_STEPS - SHORT_RUN_STEPS
            )
            best[name], losses[name] = min(best[name], step), more["loss"]
            say(f"{name}: {1e3 * step:.3f} ms a step, loss {more['loss']:.3f}")
    say(json.dumps(sides["ours"].run(0), indent=2))
    for side in sides.values():
        side.close()
    steps = {name: 1e3 * step for name, step in best.items()}
    best["peer"] = min(best[mode] for mode in MODES)
    found = {
        "name": "nanoGPT's characters on a GPU",
        "ours_ms": 1e3 * best["ours"],
        "peer_ms": 1e3 * best["peer"],
        "ratio": best["peer"] / best["ours"],
        "asked": ASKED,
        "ms": steps,
        "losses": losses,
    }
    write(out, found)
    if steps_only:
        return found
    trained = Side("train")
    found |= {"training": trained.read()}
    trained.close()
    work = operations(found["training"]["parameters"], vocabulary)
    found |= {f"{s}_mfu": work / best[s] / PEAK for s in ("ours", "peer")}
    found |= {"asked_loss": GPU_LOSS, "asked_seconds": GPU_SECONDS}
    say(f"all took {time.perf_counter() - start:.0f} s")
    return found


def write(out: Path | None, found: dict) -> None:
    say(json.dumps(found, indent=2))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(found, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--steps-only", action="store_true")
    parser.add_argument("--serve")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if options.gpu:
        found = on_gpu(options.out, options.steps_only)
    else:
        found = on_cores(options.seeds, options.devices)
    write(options.out, found)


if __name__ == "__main__":
    main()
