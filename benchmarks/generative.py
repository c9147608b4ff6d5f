"""Training steps of generative models against the same networks in PyTorch, eager.

Both sides start with the same weights and use the same rows in the same order, so that
their losses agree.
"""

import functools
import math

import numpy as np

from benchmarks.diffusion_twin import CASES as DIFFUSION_CASES
from benchmarks.harness import Answer, Case
from benchmarks.vae_twin import CASES as VAE_CASES

RATE = 1e-3
COLUMNS, ROWS, BATCH, STEPS = 16, 4096, 256, 100
LAYERS, HIDDEN, BINS, BOUND = 6, 128, 8, 5.0
LOG_BOUND = 2.0
EQUAL_STEPS, FIRST_GAP, MEAN_GAP = 20, 0.01, 0.05
"""How alike the losses of both sides are, in nats: each of the first, and the mean."""


# Flows --------------------------------------------------------------------------------


class FlowTask:
    """A flow of coupling layers: the function of its layers, and rows that are curved."""

    def __init__(self, function: str):
        rng = np.random.default_rng(0)
        self.function = function
        X = rng.normal(size=(ROWS, COLUMNS))
        X[:, 1::2] = 0.5 * X[:, ::2] ** 2 + 0.3 * X[:, 1::2]
        self.X = ((X - X.mean(0)) / X.std(0)).astype(np.float32)


@functools.cache
def _flow(function: str):
    """Our flow, in the random start of both sides."""
    import jax

    from likely.models import TableFlow

    settings = TableFlow(
        "coupling", function, LAYERS, hidden=HIDDEN, n_bins=BINS, mixing="permutation"
    )
    return settings.build(COLUMNS, 0, key=jax.random.key(0))


@functools.cache
def _prepared(function: str):
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from likely.models import Flow
    from likely.objectives import DensityLikelihood
    from likely.objectives.rows import Normalisation
    from likely.typing import Batch

    class Rows(eqx.Module):
        flow: Flow

        def log_probs(self, batch, *, key=None):
            return self.flow.log_prob(batch.x)

    task = FlowTask(function)
    ones = np.ones(ROWS, np.float32)
    data = jax.tree.map(jnp.asarray, Batch(task.X, ones[:, None], ones))
    objective = DensityLikelihood(None, Normalisation.of(data))
    return objective, Rows(_flow(function)), data


def flow_ours(task: FlowTask):
    import jax

    from likely.solvers import Adam
    from likely.solvers.training import Training

    training = Training(Adam(RATE, steps=STEPS, batch_size=BATCH))
    found = training.minimize(*_prepared(task.function), key=jax.random.key(1))
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


def _torch_nets(function: str) -> list:
    """The networks of our coupling layers in PyTorch, with the same weights."""
    import torch
    from torch import nn

    found = []
    for part in _flow(function).bijection.parts:
        if not hasattr(part, "conditioner"):
            continue
        layers = []
        for dense in part.conditioner.layers[::2]:
            linear = nn.Linear(*dense.weight.shape)
            with torch.no_grad():
                linear.weight.copy_(torch.tensor(np.asarray(dense.weight).T.copy()))
                linear.bias.copy_(torch.tensor(np.asarray(dense.bias)))
            layers += [linear, nn.ReLU()]
        found.append(nn.Sequential(*layers[:-1]))
    return found


def _orders(function: str) -> list:
    import torch

    parts = _flow(function).bijection.parts
    found = [torch.tensor(p.order) for p in parts if hasattr(p, "order")]
    return [None, *found]


def _affine(b, theta):
    import torch

    scale, shift = theta.view(len(b), 2, -1).unbind(1)
    scale = LOG_BOUND * torch.tanh(scale / LOG_BOUND)
    return b * scale.exp() + shift, scale


def _spline(x, theta):
    """A rational-quadratic spline, in the way it is usually written in PyTorch."""
    import torch
    from torch.nn.functional import pad

    theta = LOG_BOUND * torch.tanh(theta.view(len(x), 3 * BINS - 1, -1) / LOG_BOUND)
    theta = theta.movedim(1, -1)
    w, h = (
        2 * BOUND * t.softmax(-1) for t in theta.split([BINS, BINS, BINS - 1], -1)[:2]
    )
    slopes = pad(theta[..., 2 * BINS :], (1, 1)).exp()
    xs, ys = (pad(t.cumsum(-1), (1, 0)) - BOUND for t in (w, h))
    inside = x.abs() < BOUND
    inner = x.clamp(-BOUND, BOUND)
    k = (torch.searchsorted(xs, inner[..., None].contiguous(), right=True) - 1).clamp(
        0, BINS - 1
    )
    at = lambda t: t.gather(-1, k)[..., 0]  # noqa: E731
    width, height, left = at(w), at(h), at(slopes)
    right = slopes.gather(-1, k + 1)[..., 0]
    s, xi = height / width, ((inner - at(xs)) / width).clamp(0, 1)
    mix = xi * (1 - xi)
    below = s + (right + left - 2 * s) * mix
    y = at(ys) + height * (s * xi**2 + left * mix) / below
    slope = right * xi**2 + 2 * s * mix + left * (1 - xi) ** 2
    log_slope = 2 * (s.log() - below.log()) + slope.log()
    return torch.where(inside, y, x), torch.where(inside, log_slope, 0.0)


def flow_peer(task: FlowTask):
    import torch

    X, order, losses = torch.from_numpy(task.X), _order(), []
    nets, orders = _torch_nets(task.function), _orders(task.function)
    function = _affine if task.function == "affine" else _spline
    parameters = [p for net in nets for p in net.parameters()]
    solver = torch.optim.Adam(parameters, RATE, fused=True)
    kept, constant = COLUMNS // 2, 0.5 * COLUMNS * math.log(2 * math.pi)
    for rows in order[:STEPS]:
        solver.zero_grad()
        z, log_det = X[rows], 0.0
        for net, places in zip(nets, orders, strict=True):
            z = z if places is None else z[:, places]
            a, b = z[:, :kept], z[:, kept:]
            y, log_slope = function(b, net(a))
            z, log_det = torch.cat([a, y], 1), log_det + log_slope.sum(1)
        loss = (0.5 * (z**2).sum(1) + constant - log_det).mean()
        loss.backward()
        solver.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses).numpy()}


def alike(ours: Answer, peer: Answer) -> str | None:
    """The first losses are equal, and the mean of all.

    In between rounding errors grow: Adam divides small gradients by their size, so that
    equal programs in another order of sums differ by some tenths after a hundred steps.
    """
    gaps = ours["losses"] - peer["losses"]
    first, mean = float(np.abs(gaps[:EQUAL_STEPS]).max()), abs(float(gaps.mean()))
    if first < FIRST_GAP and mean < MEAN_GAP:
        return None
    return f"losses differ by {first:.2g} at first, by {mean:.2g} in the mean"


FLOW_CASES = {
    f"flow, {function} coupling layers, PyTorch": Case(
        functools.partial(FlowTask, function),
        flow_ours,
        flow_peer,
        alike,
        at_least=1.0,
        repeats=5,
    )
    for function in ("affine", "spline")
}
CASES = FLOW_CASES | VAE_CASES | DIFFUSION_CASES
