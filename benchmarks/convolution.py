"""Convolutional networks against PyTorch: whole training steps through `fit`'s loop.

Both sides begin with the same weights and see the same rows in the same order. The peer
is PyTorch, eager, as it comes; beside it stands PyTorch with its weights and images in
`channels_last`, which suits its library better. Ours sees the CPU as two devices that share
each batch, one a core; as one device it is measured beside.
"""

import functools

import numpy as np

from benchmarks.harness import Answer, Case

RATE, BATCH, BATCHES = 1e-3, 64, 8


class Job:
    """A network: its rows, its first weights, its loss."""

    def __init__(self, name: str, shape: tuple[int, ...], n_out: int, steps: int):
        rng = np.random.default_rng(0)
        n = BATCH * BATCHES
        self.name, self.shape, self.n_out, self.steps = name, shape, n_out, steps
        self.X = rng.normal(size=(n, *shape)).astype(np.float32)
        places = shape[:2] if name == "U-Net" else ()
        self.y = rng.integers(0, n_out, (n, *places))

    @functools.cached_property
    def model(self):
        """The library's network with its first weights."""
        import jax

        from likely.models import CNN, UNet, lenet, resnet8

        settings = {
            "small CNN": CNN((32, 64), hidden=(128,)),
            "LeNet": lenet(),
            "ResNet-8": resnet8(),
            "U-Net": UNet((16, 32, 64)),
        }
        return settings[self.name].build(self.shape, self.n_out, key=jax.random.key(0))

    @functools.cached_property
    def prepared(self):
        """The objective, the model and the rows, made once."""
        import jax
        import jax.numpy as jnp

        from likely.families import Categorical
        from likely.objectives import NegativeLogLikelihood, PositionLikelihood
        from likely.typing import Batch

        ones = np.ones(len(self.y), np.float32)
        data = Batch(self.X, self.y.astype(np.float32), ones)
        data = jax.tree.map(jnp.asarray, data)
        kind = PositionLikelihood if self.y.ndim > 1 else NegativeLogLikelihood
        return kind.of(Categorical(self.n_out), data), self.model, data

    @functools.cached_property
    def order(self) -> np.ndarray:
        """The rows of each step, as our loop deals them."""
        import jax
        import jax.numpy as jnp

        from likely.solvers import Minibatches

        batches = Minibatches.of(len(self.y), BATCH)
        key, _ = jax.random.split(jax.random.key(1))
        epochs = range(-(-self.steps // batches.count))
        return np.concatenate([batches.order(key, jnp.asarray(e)) for e in epochs])

    def network(self, channels_last: bool):
        """PyTorch's network with the same first weights."""
        import torch

        from likely.models import to_torch

        net = NETWORKS[self.name](self.shape[-1], self.n_out)
        names = [n for n in net.state_dict() if n.endswith((".weight", ".bias"))]
        values = [
            v for layer in to_torch(self.model, self.shape) for v in layer.values()
        ]
        weights = {n: torch.tensor(v) for n, v in zip(names, values, strict=True)}
        net.load_state_dict(weights, strict=False)
        form = torch.channels_last if channels_last else torch.contiguous_format
        return net.to(memory_format=form)


def ours(devices: int):
    """Our side, on the CPU as one device or as several that share each batch."""

    def run(job: Job) -> Answer:
        mesh = mesh_of(devices)
        import jax

        from likely.layers import initial_state
        from likely.solvers import Adam
        from likely.solvers.training import Training

        training = Training(Adam(RATE, steps=job.steps, batch_size=BATCH), mesh=mesh)
        state = initial_state(job.model)
        found = training.minimize(*job.prepared, key=jax.random.key(1), state=state)
        return {"losses": np.asarray(found.trace.loss)[: job.steps]}

    return run


@functools.cache
def mesh_of(devices: int):
    """The CPU as so many devices, one for each core; called before JAX computes."""
    if devices == 1:
        return None
    import jax

    import likely as lk

    lk.tune_host(devices=devices)
    return jax.make_mesh((devices,), ("rows",))


def peer(channels_last: bool):
    def run(job: Job) -> Answer:
        import torch
        from torch.nn.functional import cross_entropy

        net = job.network(channels_last)
        form = torch.channels_last if channels_last else torch.contiguous_format
        X = torch.from_numpy(np.moveaxis(job.X, -1, 1).copy())
        X, y = X.to(memory_format=form), torch.from_numpy(job.y)
        order = torch.from_numpy(job.order.astype(np.int64))
        adam = torch.optim.Adam(net.parameters(), RATE, fused=True)
        losses = []
        for rows in order[: job.steps]:
            adam.zero_grad()
            loss = cross_entropy(net(X[rows]), y[rows])
            loss.backward()
            adam.step()
            losses.append(loss.detach())
        return {"losses": torch.stack(losses).numpy()}

    return run


def same_losses(ours: Answer, peer: Answer) -> str | None:
    """The first ten; then the rounding of either side has grown."""
    gap = float(np.abs(ours["losses"] - peer["losses"])[:10].max())
    return None if gap < 2e-3 else f"losses differ by {gap:.2g}"


# PyTorch's networks -------------------------------------------------------------------


def small_cnn(channels: int, n_out: int):
    from torch import nn

    return nn.Sequential(
        *(nn.Conv2d(channels, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, n_out)),
    )


def lenet(channels: int, n_out: int):
    from torch import nn

    return nn.Sequential(
        *(nn.Conv2d(channels, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten()),
        *(nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh()),
        nn.Linear(84, n_out),
    )


def resnet(channels: int, n_out: int, widths=(16, 32, 64), blocks: int = 1):
    from torch import nn

    class Block(nn.Module):
        def __init__(self, n_in, n_out, stride):
            super().__init__()
            first = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
            last = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
            self.f = nn.Sequential(
                *(nn.BatchNorm2d(n_in), nn.ReLU(), first),
                *(nn.BatchNorm2d(n_out), nn.ReLU(), last),
            )
            same = n_in == n_out and stride == 1
            self.s = None if same else nn.Conv2d(n_in, n_out, 1, stride, bias=False)

        def forward(self, x):
            return self.f(x) + (x if self.s is None else self.s(x))

    layers, width = [nn.Conv2d(channels, widths[0], 3, 1, 1, bias=False)], widths[0]
    for stage, wide in enumerate(widths):
        for number in range(blocks):
            layers.append(Block(width, wide, 2 if stage and not number else 1))
            width = wide
    pool = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, n_out))
    return nn.Sequential(*layers, nn.BatchNorm2d(width), nn.ReLU(), *pool)


def unet(channels: int, n_out: int, widths=(16, 32, 64)):
    import torch
    from torch import nn

    def twice(n_in, n_out):
        return nn.Sequential(
            *(nn.Conv2d(n_in, n_out, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(n_out, n_out, 3, padding=1), nn.ReLU()),
        )

    class Level(nn.Module):
        def __init__(self, n_in, width, *below):
            super().__init__()
            self.down, self.inside = twice(n_in, width), None
            if below:
                self.inside = nn.Sequential(
                    nn.MaxPool2d(2),
                    Level(width, *below),
                    nn.ConvTranspose2d(below[0], width, 2, 2),
                )
                self.up = twice(2 * width, width)

        def forward(self, x):
            x = self.down(x)
            if self.inside is None:
                return x
            return self.up(torch.cat([self.inside(x), x], 1))

    return nn.Sequential(Level(channels, *widths), nn.Conv2d(widths[0], n_out, 1))


NETWORKS = {"small CNN": small_cnn, "LeNet": lenet, "ResNet-8": resnet, "U-Net": unet}
SIZES = {
    "small CNN": ((28, 28, 1), 10, 40, 1.3),
    "LeNet": ((28, 28, 1), 10, 160, 1.0),
    "ResNet-8": ((32, 32, 3), 10, 16, 0.9),
    "U-Net": ((32, 32, 1), 4, 16, 0.9),
}


def _case(name: str, devices: int, channels_last: bool) -> Case:
    shape, n_out, steps, asked = SIZES[name]
    make = functools.partial(Job, name, shape, n_out, steps)
    judged = devices == 2 and not channels_last
    asked, repeats = (asked, 9) if judged else (0, 3)
    return Case(make, ours(devices), peer(channels_last), same_losses, asked, repeats)


KINDS = {"": (2, False), ", channels_last": (2, True), ", one device": (1, False)}
CASES = {
    f"{name} {shape[0]}x{shape[1]}{words}": _case(name, *kind)
    for name, (shape, *_) in SIZES.items()
    for words, kind in KINDS.items()
}
