"""Detectors: one face for all, learning, calibration, files and resumed runs."""

import numpy as np
import pytest
from registries.detectors import DETECTORS
from registries.estimators import OF_IMAGES
from scipy.special import expit
from sklearn.base import clone

import likely as lk
from likely import data
from likely.core import InputError
from likely.evaluate import event_error
from likely.vision.boxes import iou, mean_average_precision
from likely.vision.detection.calibration import (
    DetectionCalibration,
    calibrate,
    partners,
)
from likely.vision.detection.detections import as_lists, selected


@pytest.fixture(scope="module")
def scenes():
    return data.shape_scenes(24, size=16, count=(0, 2), sides=(6, 9), random_state=0)


@pytest.fixture(scope="module")
def model(scenes):
    made = DETECTORS["YOLO"]()
    return made.fit(scenes.images, scenes.boxes, scenes.labels)


@pytest.mark.parametrize("name", DETECTORS)
def test_the_contract_of_estimators(name):
    for check in OF_IMAGES:
        check(type(DETECTORS[name]()).__name__, DETECTORS[name]())


def test_detections_are_boxes_labels_and_scores(model, scenes):
    found = model.predict(scenes.images, min_score=0.0, coverage=0.8)
    assert len(found) == len(scenes)
    for each in found:
        k = len(each)
        assert each.boxes.shape == each.margins.shape == (k, 4)
        assert each.labels.shape == each.scores.shape == (k,)
        assert (each.boxes >= 0).all()
        assert (each.boxes <= 16).all()
        assert (np.diff(each.scores) <= 0).all()
        assert ((each.scores > 0) & (each.scores < 1)).all()
        assert set(each.labels) <= set(model.classes_)
        assert (each.outer[:, :2] <= each.boxes[:, :2]).all()
    some = model.predict(scenes.images, min_score=0.3)
    assert all((each.scores >= 0.3).all() for each in some)


def test_the_score_is_mean_average_precision(model, scenes):
    found = as_lists(model.predict(scenes.images, min_score=0.0))
    expected = mean_average_precision(
        scenes.boxes, scenes.labels, **found, iou_thresholds=0.5
    )
    result = model.evaluate(scenes.images, scenes.boxes, scenes.labels)
    assert model.score(scenes.images, scenes.boxes, scenes.labels) == expected.mean
    assert result.mean == expected.mean
    assert result.std_error > 0


def test_a_saved_detector_says_the_same(model, scenes, tmp_path):
    model.save(tmp_path / "detector.likely")
    again = lk.load(tmp_path / "detector.likely")
    for a, b in zip(
        model.predict(scenes.images, min_score=0.0),
        again.predict(scenes.images, min_score=0.0),
        strict=True,
    ):
        np.testing.assert_array_equal(a.boxes, b.boxes)
        np.testing.assert_array_equal(a.scores, b.scores)
        np.testing.assert_array_equal(a.labels, b.labels)


def test_images_of_weight_zero_are_absent(scenes):
    """Garbage in an image of weight 0 changes nothing, and the same fit gives the same."""
    images = scenes.images.astype(float) / 255
    w = np.ones(24)
    w[:4] = 0.0
    wild = images.copy()
    wild[:4] = 1e30
    first, second = (
        clone(DETECTORS["YOLO"]()).fit(X, scenes.boxes, scenes.labels, w).loss_
        for X in (images, wild)
    )
    assert first == second


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_to_the_same_weights(scenes, tmp_path, model):
    def stop(event):
        return event.step >= 3

    given = scenes.images, scenes.boxes, scenes.labels
    DETECTORS["YOLO"]().fit(*given, checkpoints=tmp_path, callbacks=stop)
    again = DETECTORS["YOLO"]().fit(*given, checkpoints=tmp_path, resume=True)
    np.testing.assert_array_equal(again.history_["loss"], model.history_["loss"])


def test_images_of_another_size_are_resized_where_that_was_asked_for(scenes):
    made = DETECTORS["YOLO"]().set_params(image_size=16)
    wide = [np.repeat(image, 2, 1) for image in scenes.images]
    boxes = [b * [2, 1, 2, 1] for b in scenes.boxes]
    made.fit(wide, boxes, scenes.labels)
    assert made.canvas_.shape == (16, 16, 1)
    found = made.predict([np.ones((40, 10)), np.ones((5, 5))], min_score=0.0)
    assert (found[0].boxes <= [10, 40, 10, 40]).all()
    assert (found[1].boxes <= 5).all()


WRONG = {
    "boxes of other images": (
        lambda x, b, y: (x, b[1:], y),
        "24 images and boxes of 23",
    ),
    "a label too few": (
        lambda x, b, y: (x, b, [each[1:] for each in y]),
        r"image \d+ has \d boxes and \d labels",
    ),
    "no area": (
        lambda x, b, y: (x, [np.array([[1, 1, 1, 4]])] * 24, [["a"]] * 24),
        "box 0 of image 0.*has no area",
    ),
    "outside": (
        lambda x, b, y: (x, [np.array([[1, 1, 40, 4]])] * 24, [["a"]] * 24),
        "box 0 of image 0.*reaches outside.*16 by 16 pixels",
    ),
    "no boxes": (
        lambda x, b, y: (x, [np.zeros((0, 4))] * 24, [[]] * 24),
        "no image has a box",
    ),
    "an empty image": (
        lambda x, b, y: ([np.zeros((0, 4)), *x[1:]], b, y),
        r"image 0 has shape \(0, 4\)",
    ),
    "missing pixels": (
        lambda x, b, y: (np.where(x == x.max(), np.nan, x), b, y),
        r"image \d+ has pixels that are NaN",
    ),
    "different sizes": (
        lambda x, b, y: ([np.zeros((20, 20)), *x[1:]], b, y),
        "different sizes.*image_size=",
    ),
    "flat rows": (lambda x, b, y: (x.reshape(24, -1), b, y), "give .n, h, w."),
    "texts and numbers": (
        lambda x, b, y: (
            x,
            [np.array([[1, 1, 4, 4]])] * 24,
            [["a"], [1], *[["a"]] * 22],
        ),
        "texts in some images and numbers in others",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_a_sentence(name, scenes):
    change, sentence = WRONG[name]
    given = change(scenes.images, list(scenes.boxes), list(scenes.labels))
    with pytest.raises(InputError, match=sentence):
        DETECTORS["YOLO"]().fit(*given)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"loss": "cubic"}, "loss is 'cubic'"),
        ({"channels": (4,)}, "at least two stages"),
        ({"depth": (1, 2, 3)}, "depth is"),
        ({"augment": "much"}, "augment is 'much'"),
        ({"anchors": 0}, "anchors is 0"),
    ],
)
def test_settings_are_checked(settings, sentence, scenes):
    with pytest.raises(InputError, match=sentence):
        clone(DETECTORS["YOLO"]()).set_params(**settings).fit(
            scenes.images, scenes.boxes, scenes.labels
        )


def test_a_set_needs_a_query_for_each_object(scenes):
    with pytest.raises(InputError, match="give more queries than objects"):
        lk.DETRDetector(n_queries=3).fit(scenes.images, scenes.boxes, scenes.labels)


def test_new_images_have_the_channels_and_labels_of_the_fit(model, scenes):
    with pytest.raises(InputError, match="3 channels"):
        model.predict(np.zeros((1, 16, 16, 3)))
    with pytest.raises(InputError, match="more than the images of the fit"):
        model.predict(np.zeros((1, 40, 16)))


# Calibration --------------------------------------------------------------------------


def test_calibrated_scores_are_frequencies():
    """Probabilities that were distorted by a known map come back."""
    rng = np.random.default_rng(0)
    detections, objects, truth = [], [], []
    for _ in range(400):
        p = rng.uniform(0.02, 0.98, 6)
        boxes = np.arange(6)[:, None] * 10 + np.array([[0.0, 0.0, 5.0, 5.0]])
        right = rng.uniform(size=6) < p
        said = expit(2 * np.log(p / (1 - p)) + 1)
        detections.append((boxes, np.zeros(6, int), said))
        objects.append((boxes[right], np.zeros(right.sum(), int)))
        truth.append(right)
    found = calibrate(detections, objects)
    assert found.slope == pytest.approx(0.5, abs=0.05)
    assert found.offset == pytest.approx(-0.5, abs=0.1)
    scores = np.concatenate([found.scores(p) for _, _, p in detections])
    assert event_error(np.concatenate(truth), scores).value < 0.03


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_margins_hold_new_objects_as_often_as_asked(coverage):
    """Boxes with random errors: the true box is inside with the probability asked for."""
    rng = np.random.default_rng(1)

    def draw(n):
        true = np.tile([20.0, 20.0, 40.0, 30.0], (n, 1))
        return true, true + rng.normal(size=(n, 4)) * [1.0, 0.5, 1.0, 0.5]

    true, boxes = draw(400)
    one = np.zeros(1, int)
    calibration = calibrate(
        [(b[None], one, np.array([0.5])) for b in boxes], [(t[None], one) for t in true]
    )
    true, boxes = draw(4000)
    margins = calibration.margins(boxes, coverage)
    outer = boxes + margins * [-1, -1, 1, 1]
    inside = (outer[:, :2] <= true[:, :2]).all(1) & (outer[:, 2:] >= true[:, 2:]).all(1)
    assert inside.mean() == pytest.approx(coverage, abs=0.06)


def test_margins_without_held_out_images_are_infinite():
    calibration = DetectionCalibration(1.0, 0.0, np.zeros(0))
    assert np.isinf(calibration.margins(np.array([[0.0, 0.0, 1.0, 1.0]]), 0.9)).all()


def test_an_object_is_found_once():
    boxes = np.array([[0, 0, 10, 10], [1, 0, 10, 10], [20, 0, 30, 10.0]])
    true, names = np.array([[0, 0, 10, 10.0]]), np.zeros(1, int)
    codes, probs = np.zeros(3, int), np.array([0.6, 0.9, 0.8])
    np.testing.assert_array_equal(
        partners(boxes, codes, probs, true, names), [-1, 0, -1]
    )
    other = np.array([1, 1, 1])
    np.testing.assert_array_equal(partners(boxes, other, probs, true, names), [-1] * 3)


def test_the_probability_of_a_detection_is_the_mean_over_members():
    box, far = [0.1, 0.1, 0.3, 0.3], [0.6, 0.6, 0.9, 0.9]
    near = [0.1, 0.1, 0.31, 0.3]
    boxes = np.array([[box, far], [near, far]])
    probs = np.array([[[0.8, 0.0], [0.0, 0.6]], [[0.4, 0.0], [0.0, 0.0]]])
    found, codes, p = selected(boxes, probs, 0.5)
    np.testing.assert_allclose(p, [0.6, 0.3])
    np.testing.assert_array_equal(codes, [0, 1])
    np.testing.assert_allclose(found, [box, far])


# Learning -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in DETECTORS if n != "DETR"])
def test_detectors_learn_what_is_where(name):
    made = data.shape_scenes(300, size=32, count=(1, 3), sides=(8, 14), random_state=0)
    test = data.shape_scenes(100, size=32, count=(1, 3), sides=(8, 14), random_state=1)
    detector = type(DETECTORS[name]())(max_iter=40, batch_size=16)
    own = {k: getattr(DETECTORS[name](), k) for k in ("anchors", "loss")
           if hasattr(detector, k)}  # fmt: skip
    detector.set_params(**own)
    if "R-CNN" in name:
        detector.set_params(n_proposals=24, anchors=3)
    detector.fit(made.images, made.boxes, made.labels)
    result = detector.evaluate(test.images, test.boxes, test.labels)
    assert result.mean > (0.6 if name in ("R-CNN", "Fast R-CNN") else 0.8), result
    for each in detector.predict(test.images, coverage=0.9):
        assert np.isfinite(each.outer).all()


@pytest.mark.slow
def test_a_transformer_learns_what_is_where():
    sizes = {"size": 16, "count": (1, 1), "sides": (7, 10)}
    made = data.shape_scenes(300, **sizes, random_state=0)
    detector = lk.DETRDetector(
        (8, 16, 32), 1, n_queries=4, size=32, n_encoders=1, n_decoders=2,
        max_iter=120, learning_rate_init=2e-3,
    )  # fmt: skip
    detector.fit(made.images, made.boxes, made.labels)
    test = data.shape_scenes(100, **sizes, random_state=1)
    assert detector.score(test.images, test.boxes, test.labels) > 0.5
    overlaps = [
        iou(each.boxes[:1], true).max()
        for each, true in zip(
            detector.predict(test.images, min_score=0.0), test.boxes, strict=True
        )
    ]
    assert np.mean(overlaps) > 0.6
