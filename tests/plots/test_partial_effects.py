"""The picture of partial effects draws the effects and their bands."""

import numpy as np
import pytest

import likely as lk
from likely import plots
from likely.core import InputError


def test_effects_with_bands(rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] - 2 * X[:, 1] + rng.normal(size=40)
    model = lk.LinearRegression().fit(X, y)
    effects = {f"x{j}": lk.partial_effect(model, X, j) for j in (0, 1)}
    figure = plots.partial_effects(effects, {"x1": X[:, 1]}, label="y")
    first, second = figure.axes
    np.testing.assert_allclose(first.lines[1].get_ydata(), effects["x0"].effect)
    band = second.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(effects["x1"].low.min())
    assert band[:, 1].max() == pytest.approx(effects["x1"].high.max())
    np.testing.assert_allclose(second.lines[-1].get_xdata(), X[:, 1])
    assert first.get_ylim() == second.get_ylim()
    assert (first.get_xlabel(), first.get_ylabel()) == ("x0", "y")


def test_nothing_to_draw_is_said():
    with pytest.raises(InputError, match="effects is empty"):
        plots.partial_effects({})
