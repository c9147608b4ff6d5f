"""Make coco.npz: average precision of the scenes by pycocotools.

python tests/golden/vision/make_coco.py        (needs pycocotools alone)
"""

from pathlib import Path

import numpy as np
from cases import scenes
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def sides(box: np.ndarray) -> list[float]:
    x1, y1, x2, y2 = (float(value) for value in box)
    return [x1, y1, x2 - x1, y2 - y1]


def annotations(case: dict[str, list]) -> list[dict]:
    found = []
    for i, boxes in enumerate(case["true_boxes"]):
        for box, kind, crowd in zip(
            boxes, case["true_labels"][i], case["ignored"][i], strict=True
        ):
            b = sides(box)
            found.append({"id": len(found) + 1, "image_id": i, "bbox": b})
            found[-1] |= {"category_id": int(kind), "iscrowd": int(crowd)}
            found[-1] |= {"area": b[2] * b[3]}
    return found


def detections(case: dict[str, list]) -> list[dict]:
    return [
        {
            "image_id": i,
            "category_id": int(case["labels"][i][j]),
            "bbox": sides(box),
            "score": float(case["scores"][i][j]),
        }
        for i, boxes in enumerate(case["boxes"])
        for j, box in enumerate(boxes)
    ]


if __name__ == "__main__":
    case = scenes()
    truth = COCO()
    truth.dataset = {
        "images": [{"id": i} for i in range(len(case["boxes"]))],
        "annotations": annotations(case),
        "categories": [{"id": k} for k in range(3)],
    }
    truth.createIndex()
    judged = COCOeval(truth, truth.loadRes(detections(case)), "bbox")
    judged.evaluate()
    judged.accumulate()
    judged.summarize()
    precision = judged.eval["precision"][..., -1]  # (t, r, c, areas), 100 detections
    means = precision.mean((0, 1, 2))
    path = Path(__file__).with_name("coco.npz")
    np.savez_compressed(path, curves=precision[..., 0].transpose(0, 2, 1), means=means)
