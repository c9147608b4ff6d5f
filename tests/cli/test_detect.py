"""`likely fit images/ --boxes FILE`: what is refused, and a whole run with its report."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from likely import data
from likely.cli.main import app
from likely.vision import Detections
from likely.workbench.detection.cases import cases_of, measured
from likely.workbench.detection.page import page
from likely.workbench.detection.pictures import picture


@pytest.fixture
def folder(tmp_path):
    """Files of scenes, one of them damaged and one box without area."""
    scenes = data.shape_scenes(12, size=16, count=(1, 2), sides=(6, 9), random_state=0)
    (tmp_path / "images").mkdir()
    images, annotations = [], []
    for i, image in enumerate(scenes.images):
        Image.fromarray(image).save(tmp_path / "images" / f"{i}.png")
        images.append({"id": i, "file_name": f"{i}.png"})
        for (x0, y0, x1, y1), label in zip(
            scenes.boxes[i], scenes.labels[i], strict=True
        ):
            box = [x0, y0, x1 - x0, y1 - y0]
            annotations.append({"image_id": i, "bbox": box, "category_id": str(label)})
    annotations.append({"image_id": 0, "bbox": [1, 1, 0, 3], "category_id": "disc"})
    (tmp_path / "images" / "3.png").write_bytes(b"no image")
    content = {"images": images, "annotations": annotations}
    (tmp_path / "boxes.json").write_text(json.dumps(content))
    return tmp_path


def fit(folder, *options):
    command = ["fit", str(folder / "images"), "--boxes", str(folder / "boxes.json")]
    out = ["--out", str(folder / "out")]
    return CliRunner().invoke(app, [*command, *out, *options])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--target", "price"), "--boxes trains a detector, so --target cannot"),
        (("--effort", "slow"), "effort is 'slow'"),
        (("--boxes", "gone.json"), "'gone.json': does not exist"),
    ],
)
def test_what_is_wrong_is_a_sentence(folder, options, sentence):
    refused = fit(folder, *options)
    assert refused.exit_code == 2
    assert sentence in refused.stderr
    assert not (folder / "out").exists()


def test_images_are_a_folder(folder):
    (folder / "images").rename(folder / "other")
    refused = fit(folder)
    assert refused.exit_code == 2
    assert "is no folder" in refused.stderr


def found_and_missed():
    """Two images: one with its object found, one with it missed and a false detection."""
    box = np.array([[2.0, 2.0, 8.0, 8.0]])
    test = data.AnnotatedImages(
        np.zeros((2, 16, 16), np.uint8), [box, box], [np.array(["a"])] * 2, ("x", "y")
    )
    right = Detections(box, np.array(["a"]), np.array([0.9]))
    wrong = Detections(box + 7, np.array(["a"]), np.array([0.8]))
    return test, [right, wrong]


def test_cases_are_sorted_from_best_to_worst():
    test, found = found_and_missed()
    best, worst = cases_of(test, found)
    assert (best.name, best.found, best.missed, best.false, best.quality) == (
        "x", 1, 0, 0, 1.0,
    )  # fmt: skip
    assert (worst.name, worst.found, worst.missed, worst.false) == ("y", 0, 1, 1)
    numbers = measured(test, found, 0)
    assert numbers["map50"] == pytest.approx(0.505, abs=0.01)
    assert numbers["calibration_error"] == pytest.approx(0.45, abs=0.01)


def test_the_report_is_one_page_without_scripts():
    test, found = found_and_missed()
    cases = cases_of(test, found)
    shown = [
        (c, picture(test.images[c.number], found[c.number], test.boxes[c.number], 0.5))
        for c in cases
    ]
    report = {
        "data": "<images>", "classes": ["a"], "counts": {"a": 3}, "fit": 2, "test": 2,
        "objects": 4, "epochs": 1, "seed": 0, "measured": measured(test, found, 0),
        "notes": ["3.png <is> damaged"], "command": "likely fit",
    }  # fmt: skip
    html = page(report, shown[:1], shown[1:])
    assert "<script" not in html
    assert "&lt;images&gt;" in html
    assert "3.png &lt;is&gt; damaged" in html
    assert html.count("data:image/png;base64,") == 2
    assert "1 missed, 1 false" in html


@pytest.mark.slow
def test_a_run_writes_a_model_and_a_report(folder):
    done = fit(folder, "--effort", "quick", "--json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["fit"] + report["test"] == 11
    assert any("3.png" in note for note in report["notes"])
    assert any("has no area" in note for note in report["notes"])
    out = folder / "out"
    assert {"model.likely", "report.html", "report.json"} <= {
        p.name for p in out.iterdir()
    }
    assert not (out / "work").exists()
    assert "3.png" in (out / "report.html").read_text()
    again = fit(folder, "--effort", "quick")
    assert "is not empty" in again.stderr
