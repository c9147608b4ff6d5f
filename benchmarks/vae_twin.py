"""A convolutional variational autoencoder of digits against its twin in PyTorch.

As cases of `benchmarks.generative`: training steps through `fit`'s loop against eager
PyTorch, from the same weights, with the same rows in the same order; the noise of codes is
each side's own.

    python -m benchmarks.vae_twin [--seeds 5] [--first 0] [--epochs 30] [--data FOLDER]

trains both on 8,000 digits of black and white pixels, each from first weights of its own kind, for
the same number of epochs, and judges 2,000 others by their evidence lower bound and the
importance-weighted bound of 64 draws, in nats.
"""

import argparse
import functools
import time
from typing import Any

import numpy as np

from benchmarks.harness import Answer, Case

CODE, HIDDEN, CHANNELS, SIDE = 16, 256, (32, 64), 28
RATE, BATCH, ROWS, STEPS = 1e-3, 128, 1024, 40
SMALL = (SIDE // 4, SIDE // 4, CHANNELS[-1])
DRAWS = 64


# Training steps -----------------------------------------------------------------------


class Bars:
    """Images of black and white pixels: a bar at any angle, with some noise."""

    def __init__(self):
        rng = np.random.default_rng(0)
        angle, at = rng.uniform(0, np.pi, ROWS), rng.uniform(-5, 5, ROWS)
        x, y = np.meshgrid(*[np.arange(SIDE) - SIDE / 2 + 0.5] * 2)
        far = np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y
        bar = np.abs(far - at[:, None, None]) < 2
        flip = rng.random(bar.shape) < 0.02
        self.X = (bar ^ flip).astype(np.float32)


@functools.cache
def _prepared():
    """Our objective, model and rows."""
    import jax
    import jax.numpy as jnp

    import likely as lk
    from likely.base.training.unsupervised import pack
    from likely.generative.autoencoders.codings import learn_coding
    from likely.objectives.rows import Normalisation

    vae = lk.VAE(CODE, (HIDDEN,), channels=CHANNELS)
    vae.coding_, rows = learn_coding(
        vae, Bars().X, None, family="auto", shape=None, kinds=None
    )
    variational = vae._variational(mask=False)
    batch = pack(rows.values, rows.w, mask=False)
    data = jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), batch)
    model = variational.build(data, jax.random.key(0))
    return variational.objective(None, Normalisation.of(data)), model, data


def steps_ours(task: Bars) -> Answer:
    import jax

    from likely.solvers import Adam
    from likely.solvers.training import Training

    training = Training(Adam(RATE, steps=STEPS, batch_size=BATCH))
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


def steps_peer(task: Bars) -> Answer:
    import torch

    X, net = torch.from_numpy(task.X)[:, None], _with_our_weights()
    solver = torch.optim.Adam(net.parameters(), RATE, fused=True)
    losses = []
    for rows in _order()[:STEPS]:
        solver.zero_grad()
        loss = -net.elbo(X[rows]).mean()
        loss.backward()
        solver.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses).numpy()}


def alike(ours: Answer, peer: Answer) -> str | None:
    """Losses of the same rows differ by the noise of codes only."""
    gap = float(np.abs(ours["losses"] - peer["losses"]).mean() / peer["losses"].mean())
    return None if gap < 0.02 else f"losses differ by {gap:.1%}"


CASES = {
    "VAE, convolutional, a step, PyTorch": Case(
        Bars, steps_ours, steps_peer, alike, at_least=1.0, repeats=5
    )
}


# The twin -----------------------------------------------------------------------------


def twin(*, shortcuts: bool) -> Any:
    """The same networks in PyTorch, with its own first weights."""
    import torch
    from torch import nn
    from torch.nn.functional import binary_cross_entropy_with_logits

    a, b = CHANNELS
    size = int(np.prod(SMALL))

    class Twin(nn.Module):
        def __init__(self):
            super().__init__()
            self.front = nn.Sequential(
                nn.Conv2d(1, a, 4, 2, 1), nn.ReLU(), nn.Conv2d(a, b, 4, 2, 1),
                nn.ReLU(), nn.Flatten(), nn.Linear(size, HIDDEN), nn.ReLU(),
                nn.Linear(HIDDEN, 2 * CODE),
            )  # fmt: skip
            self.back = nn.Sequential(
                nn.Linear(CODE, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, size),
                nn.Unflatten(1, (b, *SMALL[:2])), nn.ReLU(),
                nn.ConvTranspose2d(b, a, 4, 2, 1), nn.ReLU(),
                nn.ConvTranspose2d(a, 1, 4, 2, 1),
            )  # fmt: skip
            self.start = nn.Parameter(torch.zeros(SIDE * SIDE))
            self.into = nn.Linear(SIDE * SIDE, 2 * CODE) if shortcuts else None
            self.out = nn.Linear(CODE, SIDE * SIDE, bias=False) if shortcuts else None

        def posterior(self, X):
            found = self.front(X)
            found = found if self.into is None else found + self.into(X.flatten(1))
            mean, log_scale = found.chunk(2, 1)
            return mean, log_scale.clamp(-12, 6)

        def log_likelihood(self, X, z):
            out = self.back(z).flatten(1) + self.start
            out = out if self.out is None else out + self.out(z)
            X = X.flatten(1)
            return -binary_cross_entropy_with_logits(out, X, reduction="none").sum(1)

        def elbo(self, X):
            mean, log_scale = self.posterior(X)
            z = mean + log_scale.exp() * torch.randn_like(mean)
            squares = (2 * log_scale).exp() + mean**2
            divergence = 0.5 * (squares - 1 - 2 * log_scale).sum(1)
            return self.log_likelihood(X, z) - divergence

        def importance(self, X, draws):
            mean, log_scale = self.posterior(X)
            logs = []
            for _ in range(draws):
                noise = torch.randn_like(mean)
                z = mean + log_scale.exp() * noise
                prior = 0.5 * (noise**2 - z**2).sum(1) + log_scale.sum(1)
                logs.append(self.log_likelihood(X, z) + prior)
            return torch.stack(logs).logsumexp(0) - np.log(draws)

    return Twin()


def _with_our_weights() -> Any:
    """The twin with our first weights; channels come first there."""
    import torch

    _, model, _ = _prepared()
    net = twin(shortcuts=True)

    def dense(layer, own, rows=False, columns=False):
        weight = np.asarray(own.weight)  # (in, out)
        bias = None if own.bias is None else np.asarray(own.bias)
        if rows:
            cube = weight.reshape(*SMALL, -1).transpose(2, 0, 1, 3)
            weight = cube.reshape(weight.shape)
        if columns:
            cube = weight.reshape(-1, *SMALL).transpose(0, 3, 1, 2)
            weight = cube.reshape(weight.shape)
            bias = bias.reshape(SMALL).transpose(2, 0, 1).ravel()
        layer.weight.copy_(torch.tensor(weight.T.copy()))
        if bias is not None:
            layer.bias.copy_(torch.tensor(bias.copy()))

    def convolution(layer, own):
        weight = np.asarray(
            own.weight
        )  # (h, w, in, out), of transposed ones (.., out, in)
        layer.weight.copy_(torch.tensor(weight.transpose(3, 2, 0, 1).copy()))
        layer.bias.copy_(torch.tensor(np.asarray(own.bias).copy()))

    def weighted(chain):
        return [layer for layer in chain.layers if hasattr(layer, "weight")]

    encoder, decoder = model.encoder, model.decoder
    with torch.no_grad():
        first, second = weighted(encoder.front)
        convolution(net.front[0], first)
        convolution(net.front[2], second)
        hidden, code = weighted(encoder.dense)
        dense(net.front[5], hidden, rows=True)
        dense(net.front[7], code)
        up, wide = weighted(decoder.dense)
        dense(net.back[0], up)
        dense(net.back[2], wide, columns=True)
        for number, own in zip((5, 7), weighted(decoder.back), strict=True):
            convolution(net.back[number], own)
        dense(net.into, encoder.linear)
        dense(net.out, decoder.linear)
        net.start.copy_(torch.tensor(np.asarray(model.start)))
    return net


# Held-out digits ----------------------------------------------------------------------


def ours_on_digits(
    learn: np.ndarray, other: np.ndarray, epochs: int, seed: int
) -> dict:
    import likely as lk

    start = time.perf_counter()
    model = lk.VAE(
        CODE, (HIDDEN,), channels=CHANNELS, max_iter=epochs, early_stopping=False,
        learning_rate_init=RATE, batch_size=BATCH, random_state=seed,
    ).fit(learn)  # fmt: skip
    took = time.perf_counter() - start
    found = model.bound(other, n_draws=DRAWS).mean
    return {"elbo": model.elbo(other, n_draws=8).mean(), "bound": found, "s": took}


def twin_on_digits(
    learn: np.ndarray, other: np.ndarray, epochs: int, seed: int
) -> dict:
    import torch

    torch.manual_seed(seed)
    start, net = time.perf_counter(), twin(shortcuts=False)
    X, rest = (torch.tensor(a[:, None], dtype=torch.float32) for a in (learn, other))
    solver = torch.optim.Adam(net.parameters(), RATE, fused=True)
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(BATCH):
            solver.zero_grad()
            (-net.elbo(X[rows]).mean()).backward()
            solver.step()
    took = time.perf_counter() - start
    with torch.no_grad():
        elbo = float(torch.stack([net.elbo(rest) for _ in range(8)]).mean())
        parts = [net.importance(part, DRAWS) for part in rest.split(500)]
    return {"elbo": elbo, "bound": float(torch.cat(parts).mean()), "s": took}


def main() -> None:
    from likely import data

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--data", default=None, help="the folder of the digits")
    options = parser.parse_args()
    X = np.asarray(data.mnist("test", path=options.data).X).reshape(-1, SIDE, SIDE)
    X = (X > 127).astype(float)
    learn, other = X[: options.rows], X[8000:]
    rows = []
    for seed in range(options.first, options.first + options.seeds):
        pair = [f(learn, other, options.epochs, seed)
                for f in (ours_on_digits, twin_on_digits)]  # fmt: skip
        rows.append(pair)
        for name, found in zip(("likely", "PyTorch"), pair, strict=True):
            numbers = "  ".join(f"{k} {v:.2f}" for k, v in found.items())
            print(f"seed {seed}  {name:8} {numbers}", flush=True)
    for name in ("elbo", "bound"):
        gain = np.array([a[name] - b[name] for a, b in rows])
        error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else np.nan
        print(f"{name}: ours - PyTorch = {gain.mean():+.2f} ± {error:.2f} nats")


if __name__ == "__main__":
    main()
