"""Histograms of oriented gradients against scikit-image (tests/golden/vision)."""

import numpy as np
import pytest
from ledger import ROOT

import likely as lk
from likely.core.checks import InputError

GOLDEN = np.load(ROOT / "tests" / "golden" / "vision" / "hog.npz")
CASES = {
    "default": {},
    "small cells": {"pixels_per_cell": (4, 6), "cells_per_block": (2, 1)},
    "L1": {"block_norm": "L1", "orientations": 7},
    "L1-sqrt": {"block_norm": "L1-sqrt", "pixels_per_cell": (5, 5)},
    "L2": {"block_norm": "L2", "cells_per_block": (1, 1), "orientations": 12},
}


@pytest.mark.parametrize("image", ["grey", "colours"])
@pytest.mark.parametrize("name", CASES)
def test_equal_to_scikit_image(name, image):
    expected = GOLDEN[f"{image} {name}"]
    got = lk.hog(GOLDEN[image], **CASES[name])
    np.testing.assert_allclose(got, expected, atol=1e-6)
    whole = lk.hog(GOLDEN[image], feature_vector=False, **CASES[name])
    np.testing.assert_array_equal(whole.ravel(), got)


def test_an_edge_votes_for_its_gradient():
    """Brightness that rises along x has its gradients in the first direction."""
    ramp = np.tile(np.arange(16.0), (16, 1))
    cells = lk.hog_cells(ramp, orientations=4)
    assert (cells[..., 0] > 0).all()
    assert (cells[..., 1:] == 0).all()
    assert (lk.hog_cells(ramp.T, orientations=4)[..., 2] > 0).all()  # 90 of 180 degrees
    assert (lk.hog(np.zeros((24, 24))) == 0).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lk.hog(np.zeros((20, 40))), "2 by 5 cells, too few for a block"),
        (lambda: lk.hog(np.zeros((4, 40))), "less than a cell of 8 by 8"),
        (lambda: lk.hog(np.zeros((40, 40)), block_norm="L3"), "block_norm is 'L3'"),
        (lambda: lk.hog(np.zeros((40, 40)), orientations=0), "orientations is 0"),
        (lambda: lk.hog(np.zeros((40, 40)), pixels_per_cell=0), "pixels_per_cell is 0"),
    ],
)
def test_errors_are_sentences(call, words):
    with pytest.raises(InputError, match=words):
        call()
