"""Pictures of factors show what was fitted."""

import numpy as np
import pytest

import likely as lk
from likely import plots
from likely.core import InputError

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(60, 5))


def test_a_biplot_has_a_point_for_each_row_and_an_arrow_for_each_column(tmp_path):
    model = lk.PCA(2).fit(X)
    groups = np.repeat(["a", "b"], 30)
    drawn = plots.biplot(
        model.transform(X),
        model.components_.T,
        groups=groups,
        shares=model.explained_variance_ratio_,
        column_names=list("vwxyz"),
    )
    (ax,) = drawn.axes
    points = np.concatenate([c.get_offsets() for c in ax.collections[:2]])
    np.testing.assert_allclose(points, model.transform(X))
    assert {t.get_text() for t in ax.texts} >= set("vwxyz")
    assert f"{model.explained_variance_ratio_[0]:.0%}" in ax.get_xlabel()
    drawn.savefig(tmp_path / "biplot.png")
    with pytest.raises(InputError, match="two components"):
        plots.biplot(X[:, :1], np.ones((5, 1)))


def test_a_scree_plot_has_bars_errors_and_nats(tmp_path):
    model = lk.PCA("nats", n_bootstrap=5).fit(X)
    drawn = plots.scree(model)
    left, right = drawn.axes
    heights = [bar.get_height() for bar in left.patches]
    np.testing.assert_allclose(heights, model.explained_variance_ratio_)
    np.testing.assert_allclose(
        right.lines[0].get_ydata(), -model.held_out_nats_.differences
    )
    drawn.savefig(tmp_path / "scree.png")
    with pytest.raises(InputError, match="neither"):
        plots.scree(lk.FastICA(2))


def test_components_are_images():
    drawn = plots.component_grid(
        lk.PCA(3).fit(np.tile(X, 2)[:, :6]).components_, (2, 3)
    )
    assert len(drawn.axes) == 3
    assert drawn.axes[0].images[0].get_array().shape == (2, 3)
    with pytest.raises(InputError, match="not images"):
        plots.component_grid(np.ones((2, 5)), (2, 3))
