from . import boxes as boxes
from .detection.augmentation import BoxAugmentation as BoxAugmentation
from .detection.detections import Detections as Detections
from .detection.detr import DETRDetector as DETRDetector
from .detection.regions import (
    FasterRCNNDetector as FasterRCNNDetector,
    FastRCNNDetector as FastRCNNDetector,
    RCNNDetector as RCNNDetector,
)
from .detection.yolo import YOLODetector as YOLODetector
from .features.cascade import HaarCascade as HaarCascade
from .features.cascade_fit import haar_cascade as haar_cascade
from .features.haar import (
    HaarFeatures as HaarFeatures,
    haar_features as haar_features,
)
from .features.hog import hog as hog, hog_cells as hog_cells
from .features.homography import (
    Homography as Homography,
    find_homography as find_homography,
)
from .features.integral import box_sums as box_sums, integral_image as integral_image
from .features.keypoints import Keypoints as Keypoints
from .features.matches import match_keypoints as match_keypoints
from .features.sift import sift as sift
from .features.surf import surf as surf
