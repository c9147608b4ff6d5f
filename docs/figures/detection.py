"""Draw docs/images/detection.svg: scenes of shapes, and what YOLO found in them."""

from pathlib import Path

import matplotlib

import likely as lk
from likely import data, plots

FOLDER = Path(__file__).parents[1] / "images"


def main() -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    settings = {"size": 32, "count": (1, 3), "sides": (8, 14)}
    fit = data.shape_scenes(400, **settings, random_state=0)
    test = data.shape_scenes(8, **settings, random_state=1)
    detector = lk.YOLODetector((8, 16, 32, 64), max_iter=40, batch_size=16)
    detector.fit(fit.images, fit.boxes, fit.labels)
    figure = plots.detections(
        test.images,
        detector.predict(test.images, coverage=0.9),
        true_boxes=test.boxes,
        title="Dashed: what is there; dotted: margins that hold the whole object",
    )
    figure.savefig(FOLDER / "detection.svg", metadata={"Date": None}, dpi=110)


if __name__ == "__main__":
    main()
