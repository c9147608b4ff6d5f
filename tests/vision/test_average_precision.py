"""Mean average precision against pycocotools, plain definitions, and the law of weights."""

import importlib.util

import numpy as np
import pytest
from ledger import ROOT

from likely.core.checks import InputError
from likely.vision import boxes
from likely.vision.boxes import mean_average_precision

FOLDER = ROOT / "tests" / "golden" / "vision"
spec = importlib.util.spec_from_file_location("vision_cases", FOLDER / "cases.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)
SCENES = cases.scenes()
AREAS = ((0, 1e10), (0, 32**2), (32**2, 96**2), (96**2, 1e10))


@pytest.mark.parametrize("number", range(4))
def test_equal_to_pycocotools(number):
    golden = np.load(FOLDER / "coco.npz")
    got = mean_average_precision(**SCENES, area_range=AREAS[number], n_resamples=3)
    assert got.mean == pytest.approx(golden["means"][number], abs=1e-12)
    if number == 0:
        np.testing.assert_allclose(got.curves, golden["curves"], atol=1e-12)
        np.testing.assert_allclose(got.table, golden["curves"].mean(2), atol=1e-12)


def voc_by_definition(case, kind, threshold):
    """Area under the falling precision of one class, point by point."""
    rows, objects = [], 0
    for i in range(len(case["boxes"])):
        truth = case["true_boxes"][i][case["true_labels"][i] == kind]
        objects += len(truth)
        mine = np.flatnonzero(case["labels"][i] == kind)
        for j in mine:
            near = boxes.iou(case["boxes"][i][[j]], truth)[0]
            g = int(near.argmax()) if len(near) else -1
            found = g if g >= 0 and near[g] >= threshold else -1
            rows.append((-case["scores"][i][j], i, found))
    taken, hits = set(), []
    for _, i, g in sorted(rows):
        hits.append(g >= 0 and (i, g) not in taken)
        taken.add((i, g))
    true = np.cumsum(hits)
    precision, recall = true / np.arange(1, len(true) + 1), true / objects
    levels = np.unique(recall[recall > 0])
    best = [precision[recall >= r].max() for r in levels]
    area = np.diff(levels, prepend=0) @ best
    points = [max(precision[recall >= r], default=0) for r in np.linspace(0, 1, 11)]
    return area, np.mean(points)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
def test_voc_by_definition(threshold):
    case = {k: v for k, v in SCENES.items() if k != "ignored"}
    expected = np.array([voc_by_definition(case, k, threshold) for k in range(3)])
    for column, protocol in enumerate(("voc", "voc2007")):
        got = mean_average_precision(
            **case, protocol=protocol, iou_thresholds=threshold, n_resamples=2
        )
        np.testing.assert_allclose(got.table[0], expected[:, column], atol=1e-9)


def test_difficult_objects_of_voc_do_not_count():
    truth, flags = [[[0, 0, 10, 10], [20, 0, 30, 10]]], [[False, True]]
    found = [[[20, 0, 30, 10], [0, 0, 10, 10]]]
    for ignored, expected in ((flags, 1.0), (None, 1.0)):
        got = mean_average_precision(
            truth,
            [[1, 1]],
            found,
            [[1, 1]],
            [[0.9, 0.8]],
            protocol="voc",
            ignored=ignored,
        )
        assert got.mean == pytest.approx(expected)
    twice = [[[20, 0, 30, 10], [20, 0, 30, 10], [0, 0, 10, 10]]]
    args = truth, [[1, 1]], twice, [[1, 1, 1]], [[0.9, 0.85, 0.8]]
    got = mean_average_precision(*args, protocol="voc", ignored=flags)
    assert got.mean == pytest.approx(1.0)
    got = mean_average_precision(*args, protocol="voc")
    assert got.mean == pytest.approx(0.5 + 0.5 * 2 / 3)


def test_weights_are_copies_and_absent_images_say_nothing():
    w = np.random.default_rng(0).integers(0, 3, 40)
    copies = {k: [v[i] for i in np.repeat(np.arange(40), w)] for k, v in SCENES.items()}
    broken = {k: list(v) for k, v in SCENES.items()}
    for i in np.flatnonzero(w == 0):
        broken["boxes"][i] = broken["boxes"][i] * 0
    for protocol in ("coco", "voc"):
        weighted = mean_average_precision(
            **broken, protocol=protocol, sample_weight=w, n_resamples=2
        )
        plain = mean_average_precision(**copies, protocol=protocol, n_resamples=2)
        np.testing.assert_allclose(weighted.table, plain.table, atol=1e-12)


def test_the_error_is_that_of_new_images():
    """The bootstrap's standard error against the spread over fresh sets of scenes."""
    few = {"iou_thresholds": 0.5, "n_resamples": 100}
    fits = [mean_average_precision(**cases.scenes(s, 40), **few) for s in range(20)]
    spread = np.std([f.mean for f in fits], ddof=1)
    assert np.mean([f.std_error for f in fits]) == pytest.approx(spread, rel=0.4)
    low, high = fits[0].interval(0.9)
    assert low < fits[0].mean < high


def test_perfect_empty_and_missed():
    one = [[[0, 0, 5, 5]]], [["cat"]]
    perfect = mean_average_precision(*one, *one, [[1.0]])
    assert perfect.mean == pytest.approx(1.0)
    assert perfect.by_class == {"cat": 1.0}
    assert perfect.by_threshold[0.75] == 1.0
    assert str(perfect) == "mAP 1.000 ± 0.000 (1 classes)"
    none = [[]], [[]], [[]]
    assert mean_average_precision(*one, *none).mean == 0.0
    assert np.isnan(mean_average_precision([[]], [[]], *none).mean)
    assert np.isnan(mean_average_precision([[]], [[]], *one, [[1.0]]).mean)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"true_labels": [[]]},
            "true boxes of 1 images and true labels|true_labels of image",
        ),
        ({"boxes": [[], []]}, "boxes of 2, labels of 1"),
        ({"scores": [[1.0, 2.0]]}, "scores has shape"),
        ({"boxes": [[[3, 0, 1, 1]]]}, "boxes of image 0 has a box of negative size"),
        ({"protocol": "cocoa"}, "did you mean 'coco'"),
        ({"iou_thresholds": 0}, "iou_thresholds is 0"),
        ({"sample_weight": [0]}, "sum to zero"),
        ({"ignored": []}, "ignored flags of 0"),
        ({"true_boxes": [[], []], "true_labels": [[], []]}, "objects of 2 images"),
    ],
)
def test_errors_are_sentences(change, words):
    case = {"true_boxes": [[[0, 0, 1, 1]]], "true_labels": [[1]]}
    case |= {"boxes": [[[0, 0, 1, 1]]], "labels": [[1]], "scores": [[1.0]]}
    with pytest.raises(InputError, match=words):
        mean_average_precision(**case | change)
