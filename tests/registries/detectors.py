"""Every public detector: how to make it at the cheapest honest setting."""

import likely as lk

SMALL = {"max_iter": 2, "batch_size": 8, "norm": None, "hidden": 8, "n_proposals": 6}
DETECTORS = {
    "YOLO": lambda: lk.YOLODetector((4, 8, 8), max_iter=60, batch_size=8),
    "YOLO with anchors": lambda: lk.YOLODetector(
        (4, 8, 8), anchors=2, max_iter=2, batch_size=8, norm=None
    ),
    "YOLO, squared": lambda: lk.YOLODetector(
        (4, 8, 8), loss="squared", max_iter=2, batch_size=8, norm=None
    ),
    "R-CNN": lambda: lk.RCNNDetector((4, 8), pool=8, **SMALL),
    "Fast R-CNN": lambda: lk.FastRCNNDetector((4, 8), pool=3, **SMALL),
    "Faster R-CNN": lambda: lk.FasterRCNNDetector((4, 8), pool=3, **SMALL),
    "DETR": lambda: lk.DETRDetector(
        (4, 8, 8), size=8, n_heads=2, n_queries=6, n_encoders=1, n_decoders=1,
        max_iter=2, batch_size=8, norm=None,
    ),
}  # fmt: skip
