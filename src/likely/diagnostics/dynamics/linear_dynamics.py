"""The training of linear networks: closed form, gradient flow and the training loop."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from likely import recipe
from likely.base.settings import above_zero, at_least
from likely.core.checks import InputError, check_batch
from likely.core.precision import float64
from likely.diagnostics.dynamics import closed_form
from likely.diagnostics.dynamics.flow import gradient_flow
from likely.diagnostics.dynamics.linear_network import (
    TOLERANCE,
    LinearNetwork,
    check_balanced,
)
from likely.diagnostics.dynamics.modes import (
    Moments,
    one_layer_modes,
    two_layer_modes,
)
from likely.diagnostics.dynamics.report import LinearDynamics
from likely.diagnostics.implicit.modified_loss import ModifiedLoss
from likely.diagnostics.landscape.sources import loss_surface
from likely.families import Normal, Product
from likely.solvers import Constant, GradientDescent
from likely.solvers.flat import MAX_TRACE_LENGTH, flatten
from likely.typing import Batch

SHOWN_POINTS = 120
"""Times at which the curves are compared."""


def linear_dynamics(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    rate: float | int = 0.01,
    n_steps: int = 1000,
) -> LinearDynamics:
    r"""Train a linear network by gradient descent, beside its closed form and gradient flow.

    The loss is $E\lVert y - Ax\rVert^2$, over rows.

    Args:
        model: one layer (`models.Linear`, `models.mlp((d, k), ...)`), for any inputs; or two dense
            layers without activation, balanced (see `balanced`), for white inputs, whose second
            moments are a multiple of I (`PCA(whiten=True)`), and with biases of 0 for inputs and
            outputs of mean 0.
        X: (n, d) inputs.
        y: (n,) or (n, k) targets.
        sample_weight: how often each row counts.
        rate: the learning rate η.
        n_steps: of training, at most 4096.
    """
    rate = above_zero("rate", rate)
    steps = at_least("n_steps", n_steps, 2, whole=True)
    if steps > MAX_TRACE_LENGTH:
        raise InputError(f"n_steps is {steps}; give at most {MAX_TRACE_LENGTH}.")
    network = LinearNetwork.of(model)
    data = _rows(X, y, sample_weight, network)
    two = len(network.layers) == 2
    moments = Moments.of(data, bias=not two and bool(network.biases))
    if two:
        _check_two(network, data, moments)
    _check_rate(moments, rate, network)
    at = np.unique(np.linspace(0, steps, SHOWN_POINTS).round().astype(int))
    family = Product(*[Normal(scale=np.sqrt(0.5))] * data.y.shape[1])
    times = rate * at
    trained, *flows = _paths(network, data, family, (rate, steps), at)
    if two:
        modes = two_layer_modes(network, moments, times)
        flow, modified = map(modes.of, flows)
        gap = modified - flow
    else:
        first = np.column_stack([network.matrices[0], *network.biases])
        modes = one_layer_modes(first, moments, times)
        best, inputs = moments.best, moments.inputs
        exact = closed_form.one_layer_steps(first, best, inputs, rate, at)
        flow, gap = modes.of(flows[0]), modes.of(exact - modes.closed)
    return LinearDynamics(
        len(network.layers),
        rate,
        times,
        modes.strengths,
        modes.speeds,
        modes.of(modes.closed),
        flow,
        modes.of(trained),
        gap,
        modes.alone,
    )


def _rows(X: Any, y: Any, w: Any, network: LinearNetwork) -> Batch:
    """The rows, with y as a matrix."""
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    data = check_batch(Batch(X, y[:, None] if y.ndim == 1 else y, w))
    d, k = network.matrices[0].shape[1], network.matrices[-1].shape[0]
    if data.x.ndim != 2 or data.x.shape[1] != d or data.y.shape[1:] != (k,):
        raise InputError(
            f"X has shape {data.x.shape} and y {data.y.shape}; the network goes from {d} inputs "
            f"to {k} outputs."
        )
    return data


def _check_two(network: LinearNetwork, data: Batch, moments: Moments) -> None:
    """Refuse what the closed form of two layers does not suppose."""
    c = moments.scale
    gap = np.abs(moments.inputs - c * np.eye(len(moments.inputs))).max()
    if gap > TOLERANCE * c:
        raise InputError(
            f"the inputs are not white: their second moments differ from {c:.3g}·I by {gap:.2g}. "
            "The closed form of two layers supposes white inputs: use PCA(whiten=True) first."
        )
    check_balanced(*network.matrices)
    w = data.w / data.w.sum()
    means = [
        float(np.abs(w @ np.where(data.w[:, None] > 0, a, 0)).max())
        for a in (data.x, data.y)
    ]
    moved = max((float(np.abs(b).max()) for b in network.biases), default=0.0)
    if network.biases and (max(means) > TOLERANCE or moved > 0):
        raise InputError(
            "the network has biases, which stay 0 only if they begin there and if inputs and "
            f"targets have mean 0 (their largest means are {means[0]:.2g} and {means[1]:.2g}); "
            "subtract the means."
        )


def _check_rate(moments: Moments, rate: float, network: LinearNetwork) -> None:
    """Refuse a rate beyond the limit 2/L, at the solution or at the start."""
    top = 2 * np.linalg.eigvalsh(moments.inputs)[-1]
    if len(network.layers) == 2:
        sizes = [np.linalg.norm(M, 2) ** 2 for M in network.matrices]
        top = top * max(2 * np.linalg.norm(moments.best, 2), sum(sizes))
    if rate * top >= 2:
        raise InputError(
            f"rate is {rate:g}, beyond the limit 2/L = {2 / top:.3g} of this loss: training would "
            "diverge while the flow does not."
        )


def _paths(
    network: LinearNetwork, data: Batch, family: Any, run: tuple, at: Any
) -> tuple:
    """A at each step: of training, of the flow and, of two layers, of the modified flow."""
    rate, steps = run
    surface = loss_surface(network.model, data.x, data.y, data.w, family=family)
    losses = [surface, ModifiedLoss(surface, rate)][: len(network.layers)]
    flows = [gradient_flow(loss, surface.center, rate * at) for loss in losses]
    with float64():
        fitted = recipe.fit(
            family,
            network.model,
            data,
            solver=GradientDescent(Constant(rate), steps=steps, path=True),
            key=jax.random.key(0),
        )
        rebuild = flatten(surface.model)[1]
        trees = [
            jax.tree.map(np.asarray, eqx.filter_vmap(rebuild)(flow)) for flow in flows
        ]
    path: Any = jax.tree.map(lambda a: np.asarray(a)[at], fitted.solution.trace.model)
    return tuple(_matrix(tree, network) for tree in (path, *trees))


def _matrix(path: Any, network: LinearNetwork) -> np.ndarray:
    """A at each step; of one layer with a bias, the bias as its last column."""
    A, (layer, *others) = network.product(path), LinearNetwork.of_path(path)
    if others or layer.bias is None:
        return A
    return np.concatenate([A, np.asarray(layer.bias)[:, :, None]], axis=2)
