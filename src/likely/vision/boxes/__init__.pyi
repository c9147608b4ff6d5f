from .anchor_grid import anchors as anchors
from .average_precision import (
    MeanAveragePrecision as MeanAveragePrecision,
    mean_average_precision as mean_average_precision,
)
from .coding import decode as decode, encode as encode
from .formats import area as area, clip as clip, convert as convert
from .matching import match as match
from .overlap import giou as giou, iou as iou
from .region_features import roi_align as roi_align, roi_pool as roi_pool
from .suppression import nms as nms, soft_nms as soft_nms
