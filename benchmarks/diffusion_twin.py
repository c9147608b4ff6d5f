"""Training steps of a diffusion model with a U-Net against the same network in PyTorch, eager.

Both start with the same weights and use the same rows in the same order; times and noise are
each side's own, so that losses agree up to their noise. Ours shares each batch over the CPU as
two devices.
"""

import functools
from typing import Any

import numpy as np

from benchmarks.convolution import mesh_of
from benchmarks.harness import Answer, Case

SIDE, ROWS, BATCH, STEPS, RATE = 28, 1024, 64, 30, 1e-3
WIDTHS, PATCH, PLACES, TIME = (32, 64), 2, 4, 64
GROUPS, SCALE, LONGEST = 8, 1000.0, 10_000.0


class Bars:
    """Images of a bright bar at any angle, between −1 and 1."""

    def __init__(self):
        rng = np.random.default_rng(0)
        angle, at = rng.uniform(0, np.pi, ROWS), rng.uniform(-5, 5, ROWS)
        x, y = np.meshgrid(*[np.arange(SIDE) - SIDE / 2 + 0.5] * 2)
        far = np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y
        bar = 2 * np.exp(-0.5 * ((far - at[:, None, None]) / 2) ** 2) - 1
        self.X = bar[..., None].astype(np.float32)


@functools.cache
def _prepared() -> tuple:
    """Our objective, model and rows."""
    import jax
    import jax.numpy as jnp

    from likely.generative.diffusion.denoisers import DenoiserSettings
    from likely.generative.diffusion.denoising import DiffusionProblem
    from likely.generative.diffusion.schedule import NoiseSchedule
    from likely.objectives.rows import Normalisation
    from likely.typing import Batch

    settings = DenoiserSettings("unet", WIDTHS, PATCH)
    problem = DiffusionProblem(settings, NoiseSchedule("cosine", 1000), "v")
    ones = np.ones(ROWS, np.float32)
    data = Batch(Bars().X, np.zeros((ROWS, 0), np.float32), ones)
    data = jax.tree.map(jnp.asarray, data)
    model = problem.build(data, jax.random.key(0))
    return problem.objective(None, Normalisation.of(data)), model, data


def steps_ours(task: Bars) -> Answer:
    import jax

    from likely.solvers import Adam
    from likely.solvers.training import Training

    training = Training(Adam(RATE, steps=STEPS, batch_size=BATCH), mesh=mesh_of(2))
    found = training.minimize(*_prepared(), key=jax.random.key(1))
    return {"losses": np.asarray(found.trace.loss)[:STEPS]}


@functools.cache
def _order():
    """The rows of each step, in the order of our loop."""
    import jax
    import jax.numpy as jnp
    import torch

    from likely.solvers import Minibatches

    batches = Minibatches.of(ROWS, BATCH)
    key, _ = jax.random.split(jax.random.key(1))
    epochs = range(-(-STEPS // batches.count))
    rows = np.concatenate([batches.order(key, jnp.asarray(e)) for e in epochs])
    return torch.from_numpy(rows.astype(np.int64))


def twin() -> Any:
    """The same network in PyTorch: a U-Net on patches, which gets the time at each level."""
    import torch
    from torch import nn
    from torch.nn.functional import (
        interpolate,
        max_pool2d,
        pixel_shuffle,
        pixel_unshuffle,
        silu,
    )

    class Twice(nn.Module):
        def __init__(self, n_in, width):
            super().__init__()
            self.first = nn.Conv2d(n_in, width, 3, padding=1, bias=False)
            self.norm = nn.GroupNorm(GROUPS, width)
            self.shift = nn.Linear(TIME, width, bias=False)
            self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
            self.other = nn.GroupNorm(GROUPS, width)

        def forward(self, x, c):
            x = silu(self.norm(self.first(x))) + self.shift(c)[:, :, None, None]
            return silu(self.other(self.second(x)))

    class Twin(nn.Module):
        def __init__(self):
            super().__init__()
            a, b = WIDTHS
            pixels = PATCH**2
            self.down, self.deep = Twice(pixels + PLACES, a), Twice(a, b)
            self.narrow, self.up = nn.Conv2d(b, a, 1), Twice(2 * a, a)
            self.out = nn.Conv2d(a, pixels, 1)
            self.time = nn.Sequential(
                nn.Linear(TIME, TIME), nn.SiLU(), nn.Linear(TIME, TIME), nn.SiLU()
            )
            side = SIDE // PATCH
            self.places = nn.Parameter(torch.zeros(PLACES, side, side))
            half = TIME // 2
            self.omega = SCALE * LONGEST ** -(torch.arange(half) / (half - 1))

        def forward(self, x, t):
            angle = t[:, None] * self.omega
            c = self.time(torch.cat([angle.sin(), angle.cos()], 1))
            x = pixel_unshuffle(x, PATCH)
            x = torch.cat([x, self.places.expand(len(x), -1, -1, -1)], 1)
            x = self.down(x, c)
            deep = self.narrow(self.deep(max_pool2d(x, 2), c))
            deep = interpolate(deep, scale_factor=2, mode="nearest")
            return pixel_shuffle(self.out(self.up(torch.cat([deep, x], 1), c)), PATCH)

    return Twin()


def _with_our_weights() -> Any:
    """The twin with our first weights; channels come first there."""
    import torch

    _, model, _ = _prepared()
    ours, net = model.denoiser, twin()

    def copy(to, value):
        to.copy_(torch.tensor(np.asarray(value).copy()))

    def dense(layer, own):
        copy(layer.weight, np.asarray(own.weight).T)
        if own.bias is not None:
            copy(layer.bias, own.bias)

    def convolution(layer, own):
        copy(layer.weight, np.asarray(own.weight).transpose(3, 2, 0, 1))
        if own.bias is not None:
            copy(layer.bias, own.bias)

    def twice(layer, parts):
        first, second = [p for p in parts if hasattr(p, "weight")]
        convolution(layer.first, first)
        convolution(layer.second, second)
        dense(layer.shift, next(p.dense for p in parts if hasattr(p, "dense")))

    top = ours.network.layers
    at = next(i for i, layer in enumerate(top) if hasattr(layer, "block"))
    inside = top[at].block.layers
    narrow = max(i for i, layer in enumerate(inside) if hasattr(layer, "weight"))
    with torch.no_grad():
        twice(net.down, top[:at])
        twice(net.deep, inside[:narrow])
        convolution(net.narrow, inside[narrow])
        twice(net.up, top[at + 1 : -1])
        convolution(net.out, top[-1])
        first, second = [p for p in ours.condition.time.layers if hasattr(p, "weight")]
        dense(net.time[0], first)
        dense(net.time[2], second)
        copy(net.places, np.asarray(ours.places).transpose(2, 0, 1))
    return net


def steps_peer(task: Bars) -> Answer:
    import torch

    from likely.generative.diffusion.schedule import NoiseSchedule

    schedule = NoiseSchedule("cosine", 1000)
    signal, noise = (
        torch.tensor(v, dtype=torch.float32) for v in (schedule.signal, schedule.noise)
    )
    X = torch.from_numpy(task.X.transpose(0, 3, 1, 2).copy())
    net, losses = _with_our_weights(), []
    solver = torch.optim.Adam(net.parameters(), RATE, fused=True)
    for rows in _order()[:STEPS]:
        x = X[rows]
        t = torch.randint(1, 1001, (len(x),))
        eps = torch.randn_like(x)
        a, s = (v[t][:, None, None, None] for v in (signal, noise))
        solver.zero_grad()
        said = net(a * x + s * eps, t / 1000)
        loss = ((said - (a * eps - s * x)) ** 2).mean()
        loss.backward()
        solver.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses).numpy()}


def alike(ours: Answer, peer: Answer) -> str | None:
    """Losses of the same rows differ by the noise of times and rows only."""
    gap = float(ours["losses"].mean() / peer["losses"].mean() - 1)
    return None if abs(gap) < 0.05 else f"losses differ by {gap:+.1%}"


CASES = {
    "diffusion, U-Net, a step, PyTorch": Case(
        Bars, steps_ours, steps_peer, alike, at_least=0.85, repeats=5
    )
}
