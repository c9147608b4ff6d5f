"""Losses of detectors beside plain loops over boxes, and the parts they are made of."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.special import expit, log_softmax, softmax

from likely.models import Backbone
from likely.typing import Batch
from likely.vision.boxes import encode, giou, iou, nms
from likely.vision.detection.losses.assignment import assign
from likely.vision.detection.losses.detr import SetLoss
from likely.vision.detection.losses.grid import GridLoss
from likely.vision.detection.losses.regions import RegionLoss, smooth_l1
from likely.vision.detection.networks.grid import Cells, GridNetwork
from likely.vision.detection.networks.proposals import (
    ProposalChoice,
    Proposals,
    WindowProposals,
    anchor_boxes,
)
from likely.vision.detection.networks.regions import (
    SPREAD,
    RegionArchitecture,
    Regions,
)
from likely.vision.detection.networks.suppression import best_apart, kept
from likely.vision.detection.targets import Objects, packed, unpacked

GRID, CLASSES = (3, 4), 3


def some_boxes(rng, *shape, least=0.05):
    low = rng.uniform(0, 0.7, (*shape, 2))
    return np.concatenate([low, low + rng.uniform(least, 0.3, (*shape, 2))], -1)


def some_targets(rng, n=5, most=3):
    counts = rng.integers(0, most + 1, n)
    boxes = [some_boxes(rng, k) for k in counts]
    return packed(boxes, [rng.integers(0, CLASSES, k) for k in counts])


def some_cells(rng, n, b):
    s = GRID[0] * GRID[1]
    return Cells(
        some_boxes(rng, n, s, b),
        rng.normal(size=(n, s, b)),
        rng.normal(size=(n, s, 1, CLASSES)),
        rng.normal(size=(n, s, b, 4)),
    )


class FixedCells:
    """A network that says the same of everything."""

    anchors = ()

    def __init__(self, cells):
        self.cells = cells

    def __call__(self, X, **options):
        return jax.tree.map(jnp.asarray, self.cells), None


def grid_oracle(kind, cells, targets):
    """The formula of YOLO, box by box."""
    losses = []
    for image, rows in enumerate(targets):
        loss, taken = 0.0, set()
        for code, *box in rows[rows[:, 0] >= 0]:
            box = np.array(box)
            x, y = (box[:2] + box[2:]) / 2 * [GRID[1], GRID[0]]
            s = int(y) * GRID[1] + int(x)
            overlap = [iou(box[None], b[None])[0, 0] for b in cells.boxes[image, s]]
            k = int(np.argmax(overlap))
            taken.add((s, k))
            own, logits = cells.boxes[image, s, k], cells.classes[image, s, 0]
            o = cells.objects[image, s, k]
            if kind == "squared":
                centre = ((own[:2] + own[2:]) / 2 - (box[:2] + box[2:]) / 2) * GRID[
                    ::-1
                ]
                root = np.sqrt(own[2:] - own[:2]) - np.sqrt(box[2:] - box[:2])
                loss += 5 * ((centre**2).sum() + (root**2).sum())
                loss += (expit(o) - overlap[k]) ** 2
                loss += ((softmax(logits) - np.eye(CLASSES)[int(code)]) ** 2).sum()
            else:
                loss += 5 * (1 - giou(own[None], box[None])[0, 0])
                loss += -log_softmax(logits)[int(code)] - np.log(expit(o))
        for s, k in np.ndindex(cells.objects.shape[1:]):
            if (s, k) not in taken:
                p = expit(cells.objects[image, s, k])
                loss += 0.5 * (p**2 if kind == "squared" else -np.log1p(-p))
        losses.append(loss)
    return np.array(losses)


@pytest.mark.parametrize("kind", ["likelihood", "squared"])
def test_the_loss_of_yolo_is_that_of_a_loop_over_boxes(kind):
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        cells, targets = some_cells(rng, 6, 2), some_targets(rng, 6)
        batch = Batch(jnp.zeros((6, 1, 1, 1)), jnp.asarray(targets), jnp.ones(6))
        found = jax.jit(lambda b: GridLoss(GRID, kind)(FixedCells(cells), b)[0])(batch)
    np.testing.assert_allclose(found, grid_oracle(kind, cells, targets), rtol=1e-6)


def test_an_object_belongs_to_the_anchor_of_its_shape():
    rng = np.random.default_rng(1)
    tall, flat = (0.1, 0.3), (0.3, 0.1)
    network = GridNetwork(None, CLASSES, 2, (tall, flat))
    boxes = np.array([[[0.2, 0.2, 0.32, 0.48], [0.5, 0.5, 0.83, 0.6]]])
    own = Cells(*(a[:, :2] for a in some_cells(rng, 1, 2)))
    objects = Objects(jnp.asarray(boxes), None, None)
    found = GridLoss(GRID).responsible(network, jax.tree.map(jnp.asarray, own), objects)
    np.testing.assert_array_equal(found, [[[1, 0], [0, 1]]])


@pytest.mark.parametrize("anchors", [(), ((0.2, 0.1), (0.1, 0.4))])
def test_boxes_of_cells_are_centred_near_their_cell(anchors):
    network = GridNetwork(None, CLASSES, 2, anchors)
    t = jnp.zeros((1, 12, 2, 4))
    boxes = np.asarray(network._boxes(t, *GRID))
    centre = (boxes[..., :2] + boxes[..., 2:]) / 2 * [GRID[1], GRID[0]]
    i, j = np.divmod(np.arange(12), GRID[1])
    expected = np.stack([j, i], -1) + 0.5
    np.testing.assert_allclose(centre[0, :, 0], expected, rtol=1e-5)
    side = (boxes[..., 2:] - boxes[..., :2])[0, 0]
    np.testing.assert_allclose(side, anchors or np.full((2, 2), 0.25), rtol=1e-5)


# Regions ------------------------------------------------------------------------------


class FixedRegions:
    """A network with given proposals, which says the same of all images."""

    def __init__(self, proposals, out):
        self.proposals, self.out = proposals, out

    def propose(self, X, **options):
        return self.proposals, None, None

    def regions(self, F, boxes, **options):
        return self.out, None


def test_smooth_l1_is_half_a_square_and_then_straight():
    x = jnp.array([[[0.5, -0.5, 0.0, 0.0], [2.0, -3.0, 1.0, 0.0]]])
    np.testing.assert_allclose(smooth_l1(x), [[0.25, 1.5 + 2.5 + 0.5]])


def test_the_loss_of_regions_is_that_of_a_loop():
    rng = np.random.default_rng(2)
    n, r, m = 4, 6, 4
    targets = some_targets(rng, n)
    true = unpacked(targets)
    near = true.boxes[:, :3] + rng.normal(size=(n, 3, 4)) * 0.01
    proposals = np.concatenate([near, some_boxes(rng, n, r - 3)], 1)
    logits = rng.normal(size=(n, r + m, CLASSES + 1))
    offsets = rng.normal(size=(n, r + m, CLASSES, 4))
    with jax.enable_x64(True):
        net = FixedRegions(
            Proposals(jnp.asarray(proposals)),
            Regions(jnp.asarray(logits), jnp.asarray(offsets)),
        )
        batch = Batch(jnp.zeros((n, 1, 1, 1)), jnp.asarray(targets), jnp.ones(n))
        found = jax.jit(lambda b: RegionLoss()(net, b)[0])(batch)
    for image in range(n):
        here = true.present[image] > 0
        boxes = np.concatenate([proposals[image], true.boxes[image]])
        valid = np.concatenate([np.ones(r, bool), here])
        table = np.where(here[None], iou(boxes, true.boxes[image]), 0)
        which, positive = table.argmax(1), valid & (table.max(1) >= 0.5)
        logs, loss = log_softmax(logits[image], axis=-1), 0.0
        for i in np.flatnonzero(positive):
            code = true.codes[image, which[i]]
            v = encode(true.boxes[image, which[i]][None], boxes[i][None])[0] / SPREAD
            x = np.abs(offsets[image, i, code] - v)
            far = np.where(x < 1, x**2 / 2, x - 0.5).sum()
            several = (positive & (which == which[i])).sum()
            loss += (-logs[i, code + 1] + far) / several
        negative = valid & ~positive
        loss += -logs[negative, 0].sum() / np.sqrt(max(negative.sum(), 1))
        np.testing.assert_allclose(found[image], loss, rtol=1e-6)


def test_proposals_are_learned_by_anchors_that_overlap_objects():
    """At the best logits and offsets the loss of anchors is zero, and nowhere below."""
    anchors = anchor_boxes((4, 4), ((0.25, 0.25), (0.4, 0.2)), jnp.float32)
    box = np.array([[0.26, 0.25, 0.5, 0.5]])
    objects = unpacked(jnp.asarray(packed([box], [np.array([1])]), jnp.float32))
    overlap = np.asarray(iou(np.asarray(anchors, float), box))[:, 0]
    positive = overlap >= 0.5
    assert positive.sum() >= 1
    assert not positive.all()
    offsets = encode(
        jnp.broadcast_to(jnp.asarray(box, jnp.float32), anchors.shape), anchors
    )
    logits = jnp.where(jnp.asarray(positive), 50.0, -50.0)[None]
    perfect = Proposals(None, anchors, logits, offsets[None])
    loss = jax.jit(RegionLoss().proposal_loss)
    assert float(loss(perfect, objects)[0]) < 1e-6
    blind = perfect._replace(logits=jnp.zeros_like(logits))
    known = positive | (overlap < 0.3)
    expected = np.log(2) * (1 + (known & ~positive).sum())
    assert float(loss(blind, objects)[0]) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_suppression_in_a_program_is_that_on_the_host(seed):
    rng = np.random.default_rng(seed)
    boxes, scores = some_boxes(rng, 40, least=0.2), rng.uniform(size=40)
    order = np.argsort(-scores)
    mask = np.asarray(kept(jnp.asarray(boxes[order])[None], 0.4))[0]
    expected = nms(boxes, scores, iou_threshold=0.4)
    np.testing.assert_array_equal(order[mask], expected)
    top = best_apart(
        jnp.asarray(boxes)[None], jnp.asarray(scores)[None], first=40,
        count=len(expected), threshold=0.4,
    )  # fmt: skip
    np.testing.assert_allclose(top[0], boxes[expected], rtol=1e-6)


def test_windows_are_proposed_where_something_is():
    X = np.zeros((2, 32, 32, 1), np.float32)
    X[0, 4:14, 6:16], X[1, 18:28, 12:22] = 1.0, 1.0
    true = np.array([[6, 4, 16, 14], [12, 18, 22, 28]]) / 32
    windows = WindowProposals(((0.3, 0.3), (0.15, 0.15)), 4, ProposalChoice(16, 4))
    found = jax.jit(lambda X: windows(X, None).boxes)(jnp.asarray(X))
    found = np.asarray(found, float)
    for boxes, box in zip(found, true, strict=True):
        assert iou(boxes, box[None]).max() >= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["crops", "map", "proposals"])
def test_networks_of_regions_make_boxes_inside_of_the_image(kind):
    settings = RegionArchitecture(
        Backbone((2, 4), 1), ((0.3, 0.3),), kind, 4, 8, 8 if kind == "crops" else 3, 8
    )
    network = settings.build((16, 16, 1), CLASSES, key=jax.random.key(0))
    X = jax.random.normal(jax.random.key(1), (2, 16, 16, 1))
    detect = eqx.filter_jit(lambda model, X: model.detect(X, model.initial_state()))
    boxes, probs = detect(network, X)
    assert boxes.shape == (2, 4 * CLASSES, 4)
    assert probs.shape == (2, 12, CLASSES)
    assert float(boxes.min()) >= 0
    assert float(boxes.max()) <= 1
    assert float(probs.reshape(2, 4, -1).sum(-1).max()) < 1


# Sets ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 3), (4, 9), (8, 20)])
def test_the_assignment_in_a_program_is_that_of_scipy(m, n):
    rng = np.random.default_rng(m)
    cost = rng.normal(size=(25, m, n)).astype(np.float32)
    found = np.asarray(jax.jit(assign)(jnp.asarray(cost)))
    for table, columns in zip(cost, found, strict=True):
        rows, best = linear_sum_assignment(table)
        assert len(set(columns.tolist())) == m
        total = table[np.arange(m), columns].sum()
        assert total == pytest.approx(table[rows, best].sum(), abs=1e-5)


def set_case(seed=0, n=4, q=7):
    rng = np.random.default_rng(seed)
    targets = some_targets(rng, n)
    low, high = np.split(some_boxes(rng, n, q), 2, -1)
    boxes = np.concatenate([(low + high) / 2, high - low], -1)
    return rng.normal(size=(n, q, CLASSES + 1)), boxes, targets


def test_the_loss_of_sets_is_that_of_the_best_of_all_assignments():
    logits, boxes, targets = set_case()
    with jax.enable_x64(True):
        set_loss = jax.jit(lambda *a: SetLoss().set_loss(*a[:2], unpacked(a[2])))
        found = set_loss(*map(jnp.asarray, (logits, boxes, targets)))
    for image, rows in enumerate(targets):
        rows = rows[rows[:, 0] >= 0]
        logs = log_softmax(logits[image], axis=-1)
        centre, size = boxes[image, :, :2], boxes[image, :, 2:]
        corners = np.concatenate([centre - size / 2, centre + size / 2], -1)
        code, true = rows[:, 0].astype(int), rows[:, 1:]
        wide = np.concatenate(
            [(true[:, :2] + true[:, 2:]) / 2, true[:, 2:] - true[:, :2]], 1
        )
        l1 = np.abs(wide[:, None] - boxes[image][None]).sum(-1)
        overlap = giou(true, corners) if len(true) else np.zeros((0, 7))
        cost = -np.exp(logs[:, code].T) + 5 * l1 - 2 * overlap
        i, j = linear_sum_assignment(cost)
        loss = -logs[j, code[i]].sum() + (5 * l1 + 2 * (1 - overlap))[i, j].sum()
        loss += -0.1 * np.delete(logs[:, -1], j).sum()
        np.testing.assert_allclose(found[image], loss, rtol=1e-6)


def test_the_loss_of_sets_knows_no_order():
    logits, boxes, targets = (jnp.asarray(a, jnp.float32) for a in set_case(3))
    set_loss = jax.jit(lambda *a: SetLoss().set_loss(*a[:2], unpacked(a[2])))
    loss = set_loss(logits, boxes, targets)
    order = jnp.array([3, 1, 6, 0, 2, 5, 4])
    queries = set_loss(logits[:, order], boxes[:, order], targets)
    objects = set_loss(logits, boxes, targets[:, ::-1])
    np.testing.assert_allclose(queries, loss, rtol=1e-5)
    np.testing.assert_allclose(objects, loss, rtol=1e-5)
