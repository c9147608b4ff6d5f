"""YOLO in PyTorch, with the same layers, loss, augmentation, images and number of steps.

Its case of `python -m benchmarks detection` is training steps through `fit`'s loop against
eager PyTorch, from the same weights, with the same rows in the same order, without augmentation.
"""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.convolution import mesh_of
from benchmarks.harness import Answer, Case

CHANNELS, DEPTH, BOXES, CLASSES, SIDE, GRID = (16, 32, 64, 128), (1, 2, 2), 2, 10, 64, 8
RATE, BATCH, ROWS, STEPS = 2e-3, 32, 256, 24
COORDINATES, NO_OBJECT, TINY = 5.0, 0.5, 1e-6


class Task:
    """Scenes of shapes, of whose four classes there are ten here: the time is the same."""

    def __init__(self):
        from likely import data
        from likely.vision.detection.targets import packed

        made = data.shape_scenes(ROWS, size=SIDE)
        names, boxes = sorted(set(np.concatenate(made.labels))), []
        codes = [np.searchsorted(names, each) for each in made.labels]
        boxes = [b / SIDE for b in made.boxes]
        X = made.images[..., None].astype(np.float32) / 255
        self.X = (X - X.mean()) / X.std()
        self.y = packed(boxes, codes).astype(np.float32)


@functools.cache
def _first():
    """Our first network."""
    import jax

    from likely.models.images.backbone import Backbone
    from likely.vision.detection.networks.grid import GridArchitecture

    architecture = GridArchitecture(Backbone(CHANNELS, DEPTH), BOXES)
    return architecture.build((SIDE, SIDE, 1), CLASSES, key=jax.random.key(0))


def steps_ours(task: Task) -> Answer:
    import jax
    import jax.numpy as jnp

    from likely.layers.composition.chain import initial_state
    from likely.objectives.rows import Normalisation
    from likely.solvers import Adam
    from likely.solvers.training import Training
    from likely.typing import Batch
    from likely.vision.detection.losses.grid import GridLoss
    from likely.vision.detection.problem import DetectionObjective

    mesh = mesh_of(2)
    data = Batch(jnp.asarray(task.X), jnp.asarray(task.y), jnp.ones(ROWS))
    loss = GridLoss((GRID, GRID))
    objective = DetectionObjective(loss, None, Normalisation.of(data))
    training = Training(Adam(RATE, steps=STEPS, batch_size=BATCH), mesh=mesh)
    model = _first()
    found = training.minimize(
        objective, model, data, key=jax.random.key(1), state=initial_state(model)
    )
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


def steps_peer(task: Task) -> Answer:
    import torch

    X, y = torch.from_numpy(task.X).movedim(-1, 1), torch.from_numpy(task.y)
    net, losses = _with_our_weights(), []
    solver = torch.optim.Adam(net.parameters(), RATE, fused=True)
    for rows in _order()[:STEPS]:
        solver.zero_grad()
        loss = grid_loss(net(X[rows]), y[rows]).mean()
        loss.backward()
        solver.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses).numpy()}


def alike(ours: Answer, peer: Answer) -> str | None:
    """The same losses, but for rounding, which grows from step to step."""
    a, b = ours["losses"], peer["losses"]
    first = float(np.abs(a[:3] - b[:3]).max() / b[:3].mean())
    all_of_them = float(np.abs(a - b).mean() / b.mean())
    if first < 1e-3 and all_of_them < 0.1:
        return None
    return f"losses differ by {first:.1e} at first and by {all_of_them:.1%} on average"


CASES = {
    "YOLO, a step, PyTorch": Case(
        Task, steps_ours, steps_peer, alike, at_least=0.9, repeats=5
    )
}


# The twin -----------------------------------------------------------------------------


def network() -> Any:
    """The same layers in PyTorch, with first weights of the same kind."""
    from torch import nn

    layers, n = [], 1
    for stage, wide in enumerate(CHANNELS):
        for _ in range(1 if stage == 0 else DEPTH[stage - 1]):
            stride = 2 if stage == 0 else 1
            layers += [
                nn.Conv2d(n, wide, 3, stride, 1, bias=False),
                nn.BatchNorm2d(wide),
                nn.ReLU(),
            ]
            n = wide
        if 0 < stage < len(CHANNELS) - 1:
            layers.append(nn.MaxPool2d(2))
    layers.append(nn.Conv2d(n, 5 * BOXES + CLASSES, 1))
    net = nn.Sequential(*layers)
    for layer in net:
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
    nn.init.normal_(net[-1].weight, std=(0.01 / n) ** 0.5)
    nn.init.zeros_(net[-1].bias)
    net[-1].bias.data[4 : 5 * BOXES : 5] = float(np.log(0.02 / 0.98))
    return net


def _with_our_weights() -> Any:
    import torch

    from likely.layers import Convolution

    net = network()
    ours = [each for each in _first().layers.layers if isinstance(each, Convolution)]
    theirs = [each for each in net if isinstance(each, torch.nn.Conv2d)]
    with torch.no_grad():
        for a, b in zip(ours, theirs, strict=True):
            b.weight.copy_(torch.from_numpy(np.array(a.weight)).permute(3, 2, 0, 1))
            if b.bias is not None:
                b.bias.copy_(torch.from_numpy(np.array(a.bias)))
    return net.train()


def cells(out: Any) -> tuple[Any, Any, Any]:
    """Boxes (n, s, b, 4), logits of objects (n, s, b) and of classes (n, s, c)."""
    import torch

    n, _, rows, columns = out.shape
    out = out.movedim(1, -1).reshape(n, rows * columns, -1)
    own = out[..., : 5 * BOXES].reshape(n, rows * columns, BOXES, 5)
    number = torch.arange(rows * columns, device=out.device)
    cell = torch.stack([number % columns, number // columns], -1)[None, :, None]
    grid = torch.tensor([columns, rows], device=out.device)
    centre = (cell + own[..., :2].sigmoid()) / grid
    half = own[..., 2:4].sigmoid() ** 2 / 2
    boxes = torch.cat([centre - half, centre + half], -1)
    return boxes, own[..., 4], out[..., 5 * BOXES :]


def overlaps(a: Any, b: Any) -> tuple[Any, Any]:
    """IoU and GIoU of boxes, row by row."""
    import torch

    def area(c: Any) -> Any:
        return (c[..., 2] - c[..., 0]) * (c[..., 3] - c[..., 1])

    low, high = (
        torch.maximum(a[..., :2], b[..., :2]),
        torch.minimum(a[..., 2:], b[..., 2:]),
    )
    shared = (high - low).clamp(min=0).prod(-1)
    union = area(a) + area(b) - shared
    hull = torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])
    hull = hull.prod(-1)
    iou = shared / union.clamp(min=TINY)
    return iou, iou - (hull - union) / hull.clamp(min=TINY)


def grid_loss(out: Any, y: Any) -> Any:
    """The likelihood of YOLO, for each image."""
    import torch
    from torch.nn.functional import cross_entropy, softplus

    boxes, objects, classes = cells(out)
    true, present = y[..., 1:], y[..., 0] >= 0
    codes = y[..., 0].clamp(min=0).long()
    at = ((true[..., :2] + true[..., 2:]) / 2 * GRID).floor().clamp(0, GRID - 1).long()
    s = at[..., 1] * GRID + at[..., 0]  # (n, m)
    rows = torch.arange(len(y))[:, None]
    own = boxes[rows, s]  # (n, m, b, 4)
    with torch.no_grad():
        iou, _ = overlaps(own, true[:, :, None].expand_as(own))
        best = iou.argmax(-1)
    chosen = boxes[rows, s, best]
    _, giou = overlaps(chosen, true)
    named = cross_entropy(classes[rows, s].movedim(-1, 1), codes, reduction="none")
    found = COORDINATES * (1 - giou) + named + softplus(-objects[rows, s, best])
    taken = torch.zeros_like(objects)
    taken[rows.expand_as(s)[present], s[present], best[present]] = 1
    empty = (softplus(objects) * (1 - taken)).sum((1, 2))
    return (found * present).sum(1) + NO_OBJECT * empty


def augmented(x: Any, y: Any) -> tuple[Any, Any]:
    """Zooms and shifts that leave all boxes inside, brightness and noise, as ours."""
    import torch
    from torch.nn.functional import grid_sample

    n = len(x)
    present = (y[..., 0] >= 0)[..., None]
    low = torch.where(present, y[..., 1:3], 1.0).amin(1)
    high = torch.where(present, y[..., 3:], 0.0).amax(1)
    zoom = torch.exp((2 * torch.rand(n, 1) - 1) * np.log(1.2))
    widest = (high - low).amax(1, keepdim=True).clamp(min=TINY)
    zoom = torch.minimum(zoom, (1 / widest).clamp(min=1.0))
    half = 0.5 / zoom
    least, most = (high - half).clamp(min=0.3), (low + half).clamp(max=0.7)
    nearest = torch.maximum(torch.minimum(torch.tensor(0.5), low + half), high - half)
    drawn = least + torch.rand(n, 2) * (most - least)
    centre = torch.where(least <= most, drawn, nearest)
    u = (torch.arange(SIDE) + 0.5) / SIDE - 0.5
    at = 2 * (centre[:, :, None] + u / zoom[:, :, None]) - 1  # (n, 2, side)
    across = at[:, 0][:, None].expand(n, SIDE, SIDE)
    down = at[:, 1][:, :, None].expand(n, SIDE, SIDE)
    where = torch.stack([across, down], -1)
    x = grid_sample(x, where, padding_mode="zeros", align_corners=False)
    x = x + 0.1 * (2 * torch.rand(n, 1, 1, 1) - 1) + 0.05 * torch.randn_like(x)
    corners = y[..., 1:].reshape(n, -1, 2, 2) - centre[:, None, None]
    moved = (0.5 + corners * zoom[:, None, None]).clamp(0, 1)
    return x, torch.cat([y[..., :1], moved.reshape(n, -1, 4)], -1)


def train_twin(
    given: Any, judged: Callable, epochs: int | None, seed: int
) -> dict[str, Any]:
    """Train the twin as `fit` trains ours: a tenth held out, the best weights kept."""
    import copy

    import torch

    from likely.vision.detection.targets import packed

    torch.manual_seed(seed)
    epochs = 60 if epochs is None else epochs
    X = given.fit.images[:, None].astype(np.float32) / 255
    middle, spread = X.mean(), X.std()
    X = torch.from_numpy((X - middle) / spread)
    targets = packed([b / SIDE for b in given.fit.boxes], given.fit.labels)
    y = torch.from_numpy(targets.astype(np.float32))
    order = torch.randperm(len(X))
    held, rows = order[: len(X) // 10], order[len(X) // 10 :]
    net = network()
    convolutions = [p for p in net.parameters() if p.ndim == 4]
    others = [p for p in net.parameters() if p.ndim != 4]
    solver = torch.optim.Adam(
        [{"params": convolutions, "weight_decay": 1 / len(rows)}, {"params": others}],
        RATE,
    )
    steps = epochs * (len(rows) // BATCH)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(solver, steps)
    begin, cpu = time.perf_counter(), time.process_time()
    best, kept = float("inf"), None
    for _ in range(epochs):
        net.train()
        for part in rows[torch.randperm(len(rows))][: len(rows) // BATCH * BATCH].split(
            BATCH
        ):
            solver.zero_grad()
            x, targets = augmented(X[part], y[part])
            grid_loss(net(x), targets).mean().backward()
            solver.step()
            rate.step()
        net.eval()
        with torch.no_grad():
            loss = float(grid_loss(net(X[held]), y[held]).mean())
        if loss < best:
            best, kept = loss, copy.deepcopy(net.state_dict())
    took = time.perf_counter() - begin, time.process_time() - cpu
    net.load_state_dict(kept)
    net.eval()
    Z = torch.from_numpy(
        (given.test.images[:, None].astype(np.float32) / 255 - middle) / spread
    )
    return {
        **judged(_found(net, Z), given.test),
        "seconds": took[0],
        "cpu": took[1],
        "epochs": epochs,
    }


def _found(net: Any, X: Any) -> list:
    """Detections of the twin, by the same suppression as ours; scores as they come."""
    import torch

    from likely.vision.detection.detections import Detections, selected

    with torch.no_grad():
        boxes, objects, classes = cells(net(X))
        p = objects.sigmoid()[..., None] * classes.softmax(-1)[:, :, None]
    n = len(X)
    boxes = boxes.reshape(n, -1, 4).numpy()
    p = p.reshape(n, -1, CLASSES).numpy()
    results = []
    for b, q in zip(boxes, p, strict=True):
        shares, codes, scores = selected(b[None], q[None], 0.45)
        results.append(Detections(np.clip(shares, 0, 1) * SIDE, codes, scores))
    return results
