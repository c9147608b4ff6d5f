"""Make hog.npz: histograms of oriented gradients by scikit-image, of a part of a photograph.

python tests/golden/vision/make_hog.py        (needs scikit-image)
"""

from pathlib import Path

import numpy as np
from skimage import data
from skimage.feature import hog

CASES = {
    "default": {},
    "small cells": {"pixels_per_cell": (4, 6), "cells_per_block": (2, 1)},
    "L1": {"block_norm": "L1", "orientations": 7},
    "L1-sqrt": {"block_norm": "L1-sqrt", "pixels_per_cell": (5, 5)},
    "L2": {"block_norm": "L2", "cells_per_block": (1, 1), "orientations": 12},
}

if __name__ == "__main__":
    colours = np.ascontiguousarray(data.astronaut()[100:141, 200:246])
    grey = colours.mean(2) / 255
    arrays = {"colours": colours, "grey": grey}
    for name, settings in CASES.items():
        arrays[f"grey {name}"] = hog(grey, **settings).astype(np.float32)
        colour = hog(colours, channel_axis=2, **settings)
        arrays[f"colours {name}"] = colour.astype(np.float32)
    np.savez_compressed(Path(__file__).with_name("hog.npz"), **arrays)
