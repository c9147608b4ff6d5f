"""Training of networks against PyTorch, eager: one at a time, and many at once.

Both sides start with the same weights and use the same rows in the same order.
"""

import functools

import numpy as np

from benchmarks.harness import Case, close

RATE = 1e-3


@functools.cache
def _devices(count: int) -> None:
    import likely as lk

    lk.tune_host(devices=count)


# One network --------------------------------------------------------------------------


class One:
    """A classifier: its sizes, batch size, initial weights and rows."""

    def __init__(self, sizes: tuple[int, ...], batch: int, n: int, steps: int):
        rng = np.random.default_rng(0)
        self.sizes, self.batch, self.steps = sizes, batch, steps
        self.X = rng.normal(size=(n, sizes[0])).astype(np.float32)
        logits = self.X @ rng.normal(size=(sizes[0], sizes[-1])) / sizes[0] ** 0.5
        self.y = (3 * logits + rng.gumbel(size=logits.shape)).argmax(1)
        self.weights = _weights(rng, sizes)


def _weights(rng, sizes) -> list[np.ndarray]:
    pairs = zip(sizes[:-1], sizes[1:], strict=True)
    return [(rng.normal(size=p) * (2 / p[0]) ** 0.5).astype(np.float32) for p in pairs]


def _order(task: One) -> np.ndarray:
    """The rows of each step, in the order of our loop."""
    import jax
    import jax.numpy as jnp

    from likely.solvers import Minibatches

    batches = Minibatches.of(len(task.y), task.batch)
    key, _ = jax.random.split(jax.random.key(1))
    epochs = range(-(-task.steps // batches.count))
    return np.concatenate([batches.order(key, jnp.asarray(e)) for e in epochs])


def _mlp(task, weights):
    """The model of the library with given weights; `weights` may be traced."""
    import equinox as eqx
    import jax

    from likely.models import mlp

    model = mlp(task.sizes, key=jax.random.key(0))
    dense = lambda m: [layer.weight for layer in m.layers[::2]]  # noqa: E731
    return eqx.tree_at(dense, model, list(weights))


@functools.cache
def _prepared(name: str):
    """The objective, the model and the rows on the device, made once."""
    import jax
    import jax.numpy as jnp

    from likely.families import Categorical
    from likely.objectives import NegativeLogLikelihood
    from likely.typing import Batch

    task = CASES[name].setup()
    ones = np.ones(len(task.y))
    data = Batch(task.X, task.y.astype(np.float32), ones.astype(np.float32))
    data = jax.tree.map(jnp.asarray, data)
    objective = NegativeLogLikelihood.of(Categorical(task.sizes[-1]), data)
    return objective, _mlp(task, map(jnp.asarray, task.weights)), data


def one_ours(name: str):
    def run(task: One):
        import jax

        from likely.solvers import Adam
        from likely.solvers.training import Training

        training = Training(Adam(RATE, steps=task.steps, batch_size=task.batch))
        found = training.minimize(*_prepared(name), key=jax.random.key(1))
        return {"losses": np.asarray(found.trace.loss)[: task.steps]}

    return run


@functools.cache
def _steps(name: str):
    import torch

    return torch.from_numpy(_order(CASES[name].setup()).astype(np.int64))


def one_peer(name: str):
    def run(task: One):
        import torch
        from torch import nn

        order, y = _steps(name), torch.from_numpy(task.y)
        X, losses = torch.from_numpy(task.X), []
        model = _torch_mlp(task.sizes, task.weights)
        solver = torch.optim.Adam(model.parameters(), RATE, fused=True)
        for t in range(task.steps):
            rows = order[t]
            solver.zero_grad()
            loss = nn.functional.cross_entropy(model(X[rows]), y[rows])
            loss.backward()
            solver.step()
            losses.append(loss.detach())
        return {"losses": torch.stack(losses).numpy()}

    return run


def _torch_mlp(sizes, weights):
    import torch
    from torch import nn

    layers = []
    for n_in, n_out, W in zip(sizes[:-1], sizes[1:], weights, strict=True):
        layer = nn.Linear(n_in, n_out)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(W.T.copy()))
            layer.bias.zero_()
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def same_losses(ours, peer) -> str | None:
    """Whether the losses of the first steps agree to rounding, and the mean of the last."""
    gap = np.abs(ours["losses"][:20] - peer["losses"][:20]).max()
    if gap > 1e-4:
        return f"the first losses differ by {gap:.1e}"
    last = [side["losses"][-50:].mean() for side in (ours, peer)]
    gap = abs(last[0] - last[1])
    return None if gap < 0.02 else f"the last losses are {last}"


# Many networks ------------------------------------------------------------------------


class Many:
    """Regressions: m networks, each with rows of its own."""

    def __init__(self, m: int, sizes: tuple[int, ...], n: int, steps: int):
        rng = np.random.default_rng(0)
        self.m, self.sizes, self.steps = m, sizes, steps
        self.X = rng.uniform(-1, 1, (m, n, sizes[0])).astype(np.float32)
        targets = np.sin(6 * self.X.sum(-1, keepdims=True) / sizes[0] ** 0.5)
        self.Y = np.repeat(targets, sizes[-1], axis=2).astype(np.float32)
        self.weights = [_weights(rng, sizes) for _ in range(m)]


class SquaredError:
    """Mean squared error, as an objective; made once, so that it compiles once."""

    def __call__(self, model, batch, *, key=None, state=None):
        eta, state = model(batch.x, w=batch.w, key=key, state=state)
        return ((eta - batch.y) ** 2).mean(), state


SQUARED = SquaredError()


def build(member, shared):
    """A network on the rows and with the initial weights of a member."""
    from likely.solvers import Adam
    from likely.solvers.training import Plan
    from likely.typing import Batch

    X, Y, weights = member
    task, steps = SHAPES[len(weights), X.shape[-1]], shared
    import jax.numpy as jnp

    data = Batch(X, Y, jnp.ones(len(Y)))
    return Plan(Adam(RATE, steps=steps), SQUARED, _mlp(task, weights), data, None)


SHAPES: dict = {}


def many_ours(devices: int):
    def run(task: Many):
        _devices(devices)
        import jax

        from likely.solvers.training import train_members

        SHAPES[len(task.weights[0]), task.sizes[0]] = task
        mesh = None if devices == 1 else jax.make_mesh((devices,), ("members",))
        weights = [np.stack(layer) for layer in zip(*task.weights, strict=True)]
        members, steps = (task.X, task.Y, weights), np.int32(task.steps)
        found = train_members(build, members, steps, mesh=mesh)
        return {"loss": np.asarray(found.loss), "first": found.trace.loss[:, :50]}

    return run


def many_peer(task: Many):
    import torch

    finals, firsts = [], []
    for X, Y, weights in zip(task.X, task.Y, task.weights, strict=True):
        X, Y = torch.from_numpy(X), torch.from_numpy(Y)
        model, losses = _torch_mlp(task.sizes, weights), []
        solver = torch.optim.Adam(model.parameters(), RATE, fused=True)
        for _ in range(task.steps):
            solver.zero_grad()
            loss = ((model(X) - Y) ** 2).mean()
            loss.backward()
            solver.step()
            losses.append(loss.detach())
        with torch.no_grad():
            finals.append(((model(X) - Y) ** 2).mean().numpy())
        firsts.append(torch.stack(losses[:50]).numpy())
    return {"loss": np.array(finals), "first": np.array(firsts)}


def many_agree(ours, peer) -> str | None:
    scaled = {"loss": ours["loss"] / peer["loss"]}, {"loss": np.ones(len(ours["loss"]))}
    return close("first", 1e-3)(ours, peer) or close("loss", 0.05)(*scaled)


SMALL, WIDE = "MLP 20-64-64-10, batch 64", "MLP 784-256-256-10, batch 128"
FIFTY = functools.partial(Many, 50, (1, 50, 50, 1), 100, 500)
TEN = functools.partial(Many, 10, (64, 256, 10), 128, 200)
CASES = {
    SMALL: Case(
        functools.partial(One, (20, 64, 64, 10), 64, 8192, 1280),
        one_ours(SMALL),
        one_peer(SMALL),
        same_losses,
        5,
    ),
    WIDE: Case(
        functools.partial(One, (784, 256, 256, 10), 128, 8192, 640),
        one_ours(WIDE),
        one_peer(WIDE),
        same_losses,
        1.3,
    ),
    "50 networks 1-50-50-1": Case(FIFTY, many_ours(1), many_peer, many_agree, 12, 2),
    "50 networks 1-50-50-1, two host devices": Case(
        FIFTY, many_ours(2), many_peer, many_agree, 25, 2
    ),
    "10 networks 64-256-10": Case(TEN, many_ours(1), many_peer, many_agree, 2.5, 3),
    "10 networks 64-256-10, two host devices": Case(
        TEN, many_ours(2), many_peer, many_agree, 2.5, 3
    ),
}
