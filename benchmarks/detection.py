"""Detectors of digits on clutter: mean average precision, calibration and time.

    python -m benchmarks.detection --digits FOLDER [--only yolo faster fast rcnn detr hog twin]
        [--epochs N] [--set NAME=VALUE ...] [--train 2000] [--test 500] [--seed 0]
        [--devices 1] [--out runs/detection.json]

makes scenes of 64 by 64 pixels with 1 to 5 digits of 10 to 24 pixels, from the test digits of
MNIST in the folder (its idx files); no digit is in scenes of both the fit and the test. It
prints mAP at IoU 0.5 with its error, the calibration error of all detections and of those
with a score of at least 0.05, and seconds, on the clock and of the processors. "hog" is the
baseline: histograms of oriented gradients of sliding windows and a linear model; "twin" is
YOLO in PyTorch with the same layers, loss, augmentation, images and number of steps. With
`--devices 2` two cores share each batch.

    python -m benchmarks detection

measures a training step of YOLO against the same network in PyTorch.
"""

import argparse
import ast
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.convolution import mesh_of
from benchmarks.detection_twin import CASES as CASES

KINDS = ("yolo", "faster", "fast", "rcnn", "detr", "hog", "twin")
SLOW = {"detr": {"batch_size": 64, "max_iter": 400, "n_iter_no_change": 100}}
"""Settings that need an accelerator."""


class Scenes(NamedTuple):
    fit: Any
    test: Any


def scenes(folder: Path, train: int, test: int, seed: int) -> Scenes:
    from likely import data

    images, labels = (
        data.read_idx(next(iter(sorted(folder.glob(pattern)))))
        for pattern in ("*t10k-images*", "*t10k-labels*")
    )
    cut = 8 * len(images) // 10
    return Scenes(
        data.digit_scenes(images[:cut], labels[:cut], train, random_state=2 * seed + 1),
        data.digit_scenes(images[cut:], labels[cut:], test, random_state=2 * seed + 2),
    )


def detector(kind: str, changes: dict[str, Any], seed: int) -> Any:
    import likely as lk

    classes = {
        "yolo": lk.YOLODetector,
        "faster": lk.FasterRCNNDetector,
        "fast": lk.FastRCNNDetector,
        "rcnn": lk.RCNNDetector,
        "detr": lk.DETRDetector,
    }
    return classes[kind](**{"random_state": seed, **SLOW.get(kind, {}), **changes})


def judged(found: list, test: Any) -> dict[str, Any]:
    """mAP and calibration errors of detections."""
    from likely.evaluate import event_error
    from likely.vision.boxes import mean_average_precision
    from likely.vision.detection.calibration import partners
    from likely.vision.detection.detections import as_lists

    precision = mean_average_precision(
        test.boxes, test.labels, **as_lists(found), iou_thresholds=0.5
    )
    right, p = [], []
    for each, boxes, labels in zip(found, test.boxes, test.labels, strict=True):
        right.append(partners(each.boxes, each.labels, each.scores, boxes, labels) >= 0)
        p.append(each.scores)
    right, p = np.concatenate(right), np.concatenate(p)
    errors = {
        f"ece_from_{least}": float(event_error(right[p >= least], p[p >= least]).value)
        for least in (0.0, 0.05)
        if (p >= least).any()
    }
    return {"mAP": precision.mean, "error": precision.std_error, **errors}


def run_ours(
    kind: str, given: Scenes, changes: dict[str, Any], seed: int, mesh: Any
) -> dict[str, Any]:
    model = detector(kind, changes, seed)
    begin, cpu = time.perf_counter(), time.process_time()
    model.fit(given.fit.images, given.fit.boxes, given.fit.labels, mesh=mesh)
    took = time.perf_counter() - begin, time.process_time() - cpu
    found = model.predict(given.test.images, min_score=0.0)
    return {
        **judged(found, given.test),
        "seconds": took[0],
        "cpu": took[1],
        "epochs": int(model.n_iter_),
        "parameters": model.n_parameters_,
        "status": model.status_,
    }


def run_hog(given: Scenes) -> dict[str, Any]:
    from benchmarks.detection_hog import HOGBaseline

    begin, cpu = time.perf_counter(), time.process_time()
    model = HOGBaseline().fit(given.fit)
    took = time.perf_counter() - begin, time.process_time() - cpu
    return {
        **judged(model.predict(given.test.images), given.test),
        "seconds": took[0],
        "cpu": took[1],
    }


def run_twin(given: Scenes, epochs: int | None, seed: int) -> dict[str, Any]:
    from benchmarks.detection_twin import train_twin

    return train_twin(given, judged, epochs, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digits", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=KINDS, default=("yolo", "hog"))
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--set", nargs="*", default=(), help="NAME=VALUE of a detector")
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--test", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/detection.json"))
    options = parser.parse_args()
    from likely import tune_host

    tune_host()
    mesh = mesh_of(options.devices)
    given = scenes(options.digits, options.train, options.test, options.seed)
    results = {}
    for kind in options.only:
        if kind == "hog":
            found = run_hog(given)
        elif kind == "twin":
            found = run_twin(given, options.epochs, options.seed)
        else:
            found = run_ours(kind, given, _changes(options), options.seed, mesh)
        results[kind] = found
        shown = (
            f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}"
            for k, v in found.items()
        )
        print(f"{kind:8s}", ", ".join(shown), flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(results, indent=2) + "\n")


def _changes(options: Any) -> dict[str, Any]:
    pairs = (each.partition("=") for each in options.set)
    found = {name: ast.literal_eval(value) for name, _, value in pairs}
    return found if options.epochs is None else {"max_iter": options.epochs, **found}


if __name__ == "__main__":
    main()
