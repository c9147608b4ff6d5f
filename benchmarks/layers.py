"""Training steps of networks from `models.mlp` alone, against PyTorch: no loop around them.

Each run is 100 steps of Adam on batches of the same rows from the same weights. The first
20 losses have to agree; after that the rounding of either side has grown too far.
"""

from itertools import pairwise

import numpy as np

from benchmarks.harness import Answer, Case

STEPS = 100


class Job:
    """Rows, first weights, and each side's program, made when it is first run."""

    def __init__(self, sizes: tuple[int, ...], size: int, norm: str | None):
        rng = np.random.default_rng(0)
        self.sizes, self.norm = sizes, norm
        self.X = rng.normal(size=(STEPS, size, sizes[0])).astype(np.float32)
        self.y = rng.integers(0, sizes[-1], (STEPS, size))
        self.weights = [
            (rng.normal(size=pair) * (2 / pair[0]) ** 0.5).astype(np.float32)
            for pair in pairwise(sizes)
        ]
        self.program = None

    def ours(self):
        """One compiled scan over the steps."""
        import equinox as eqx
        import jax
        import jax.numpy as jnp
        import optax

        from likely.layers import Dense, initial_state
        from likely.models import mlp

        model = mlp(self.sizes, norm=self.norm, key=jax.random.key(0))
        dense = [i for i, layer in enumerate(model.layers) if isinstance(layer, Dense)]
        model = eqx.tree_at(
            lambda m: [m.layers[i].weight for i in dense],
            model,
            [jnp.asarray(w) for w in self.weights],
        )
        params, static = eqx.partition(model, eqx.is_inexact_array)
        adam, key = optax.adam(1e-3), jax.random.key(1)

        def loss(params, state, X, y):
            model = eqx.combine(params, static)
            eta, state = model(X, w=jnp.ones(len(y)), key=key, state=state)
            nats = optax.softmax_cross_entropy_with_integer_labels(eta, y)
            return nats.mean(), state

        def step(carry, batch):
            params, moments, state = carry
            (value, state), g = jax.value_and_grad(loss, has_aux=True)(
                params, state, *batch
            )
            change, moments = adam.update(g, moments, params)
            return (optax.apply_updates(params, change), moments, state), value

        def run(X, y):
            start = (params, adam.init(params), initial_state(model))
            return jax.lax.scan(step, start, (X, y))[1]

        X, y = jnp.asarray(self.X), jnp.asarray(self.y)
        compiled = jax.jit(run)
        return lambda: np.asarray(compiled(X, y))

    def peer(self):
        """The usual loop of PyTorch."""
        import torch
        from torch import nn

        X, y = torch.tensor(self.X), torch.tensor(self.y)
        norms = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}

        def network():
            layers = []
            for weight in self.weights:
                dense = nn.Linear(*weight.shape)
                with torch.no_grad():
                    dense.weight.copy_(torch.tensor(weight.T))
                    dense.bias.zero_()
                norm = [norms[self.norm](weight.shape[1])] if self.norm else []
                layers += [dense, *norm, nn.ReLU()]
            return nn.Sequential(*layers[: -2 if self.norm else -1])

        def run():
            net = network()
            adam = torch.optim.Adam(net.parameters(), 1e-3)
            losses = []
            for rows, labels in zip(X, y, strict=True):
                adam.zero_grad()
                value = nn.functional.cross_entropy(net(rows), labels)
                value.backward()
                adam.step()
                losses.append(value.detach())
            return torch.stack(losses).numpy()

        return run


def side(name: str):
    def run(job: Job) -> Answer:
        job.program = job.program or getattr(job, name)()
        return {"losses": job.program()}

    return run


def verify(ours: Answer, peer: Answer) -> str | None:
    gap = np.abs(ours["losses"] - peer["losses"])[:20].max()
    return None if gap < 1e-3 else f"losses differ by {gap:.2g}"


def case(sizes: tuple[int, ...], size: int, norm: str | None) -> Case:
    return Case(
        lambda: Job(sizes, size, norm), side("ours"), side("peer"), verify, 1.0, 9
    )


SMALL, LARGE = (20, 64, 64, 10), (784, 256, 256, 10)
CASES = {
    f"100 Adam steps, {'-'.join(map(str, sizes))}, batch {size}, {norm or 'no'} norm": case(
        sizes, size, norm
    )
    for sizes, size in ((SMALL, 64), (LARGE, 128))
    for norm in (None, "batch", "layer")
}
