"""Make torchvision.npz: overlap, suppression and regions by torchvision.

python tests/golden/vision/make_torchvision.py        (needs torch and torchvision)
"""

from pathlib import Path

import numpy as np
import torch
from cases import NMS_THRESHOLDS, SCALE, boxes, feature_map, scored
from torchvision.ops import (
    batched_nms,
    box_iou,
    generalized_box_iou,
    nms,
    roi_align,
    roi_pool,
)


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def overlaps() -> dict[str, np.ndarray]:
    a, b = tensor(boxes(0, 40)), tensor(boxes(1, 30))
    return {"iou": box_iou(a, b).numpy(), "giou": generalized_box_iou(a, b).numpy()}


def suppressed() -> dict[str, np.ndarray]:
    table, scores, labels = (tensor(a) for a in scored(2, 400))
    found = {}
    for threshold in NMS_THRESHOLDS:
        found[f"nms {threshold}"] = nms(table, scores, threshold).numpy()
        kept = batched_nms(table, scores, labels, threshold)
        found[f"batched {threshold}"] = kept.numpy()
    return found


def regions() -> dict[str, np.ndarray]:
    features, boxes = feature_map()
    planes = tensor(features.transpose(0, 3, 1, 2)).requires_grad_(True)
    rois = list(tensor(boxes))
    found = {}
    for aligned in (True, False):
        out = roi_align(planes, rois, (3, 2), SCALE, 2, aligned)
        (slopes,) = torch.autograd.grad((out**2).sum(), planes)
        found[f"align {aligned}"] = out.detach().numpy()
        found[f"slopes {aligned}"] = slopes.numpy()
    found["pool"] = roi_pool(planes, rois, (3, 2), SCALE).detach().numpy()
    return found


if __name__ == "__main__":
    arrays = overlaps() | suppressed() | regions()
    np.savez_compressed(Path(__file__).with_name("torchvision.npz"), **arrays)
    print(f"{len(arrays)} arrays")
