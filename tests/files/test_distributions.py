"""Distributions of scipy.stats in files: by name, with numbers, and nothing else."""

import numpy as np
import pytest
from scipy import stats

from likely.files import FileError, frozen_distributions, load, save
from likely.files.walk import Loading


def test_distributions_come_back(tmp_path):
    given = [stats.loguniform(1e-3, b=10.0), stats.randint(2, 9), stats.norm()]
    save(given, tmp_path / "d.likely")
    for a, b in zip(given, load(tmp_path / "d.likely"), strict=True):
        np.testing.assert_array_equal(
            a.rvs(5, random_state=0), b.rvs(5, random_state=0)
        )


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"name": "os", "args": [], "kwds": {"dict": []}}, "does not have"),
        ({"name": "_continuous_distns", "args": [], "kwds": {"dict": []}}, "not have"),
        ({"name": "ttest_1samp", "args": [], "kwds": {"dict": []}}, "does not have"),
        ({"name": ["norm"], "args": [], "kwds": {"dict": []}}, "does not have"),
        ({"name": "norm", "args": ["a"], "kwds": {"dict": []}}, "no numbers"),
        ({"name": "norm", "args": [1, 2, 3, 4], "kwds": {"dict": []}}, "other parameters"),
        ({"name": "norm"}, "not a distribution"),
    ],
)  # fmt: skip
def test_nothing_else_does(node, message):
    from likely.files.model import KINDS

    kind = frozen_distributions.KINDS["distribution"]
    with pytest.raises(FileError, match=message):
        kind.decode(node, Loading(KINDS, {}))
