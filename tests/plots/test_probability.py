"""Pictures of tables and of limits."""

import numpy as np
import pytest

from likely import plots
from likely.core.checks import InputError
from likely.families import Bernoulli, Exponential
from likely.probability import Table, central_limit, running_mean


@pytest.fixture
def table(rng) -> Table:
    return Table(rng.dirichlet(np.ones(12)).reshape(2, 3, 2), ["x", "y", "z"])


def test_areas_of_a_mosaic_are_probabilities(table, tmp_path):
    two = table.marginal("x", "y")
    figure = plots.mosaic(two, title="Two variables")
    (ax,) = figure.axes
    areas = np.array([p.get_width() * p.get_height() for p in ax.patches]).reshape(2, 3)
    np.testing.assert_allclose(areas / areas.sum(), two.values, rtol=0.06)
    widths = np.array([p.get_width() for p in ax.patches]).reshape(2, 3)
    np.testing.assert_allclose(
        widths[:, 0] / widths[:, 0].sum(), two.marginal("x").values
    )
    figure.savefig(tmp_path / "mosaic.png")
    three = plots.mosaic(table).axes[0]
    assert len(three.patches) == 12
    texts = [text.get_text() for text in three.get_legend().get_texts()]
    assert texts == ["z=0", "z=1"]
    assert len(plots.mosaic(Table([1.0, 0.0], "x")).axes[0].patches) == 1
    with pytest.raises(InputError, match="one to 4"):
        plots.mosaic(Table(np.full((2,) * 5, 1 / 32), list("abcde")))


def test_heat_map_has_margins(table, tmp_path):
    two = table.marginal("x", "y")
    figure = plots.table_heat_map(two)
    main, top, side = figure.axes
    np.testing.assert_allclose(main.images[0].get_array(), two.values)
    np.testing.assert_allclose([b.get_height() for b in top.patches], two.values.sum(0))
    np.testing.assert_allclose([b.get_width() for b in side.patches], two.values.sum(1))
    assert len(main.texts) == 6
    figure.savefig(tmp_path / "heat.png")
    with pytest.raises(InputError, match="a heat map shows two"):
        plots.table_heat_map(table)


def test_running_means(tmp_path):
    found = running_mean(Exponential(), 200, paths=3, rate=1.0)
    figure = plots.running_mean(found)
    (ax,) = figure.axes
    assert len(ax.lines) == 4
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), found.paths[0])
    assert (
        ax.get_legend().get_texts()[1].get_text().startswith("central limit, about 95%")
    )
    figure.savefig(tmp_path / "means.png")


def test_central_limit_panels(tmp_path):
    found = central_limit(Exponential(), (1, 4, 30, 100), rate=1.0)
    figure = plots.central_limit(found)
    assert len(figure.axes) == 4
    np.testing.assert_array_equal(figure.axes[-1].lines[1].get_ydata(), found.distance)
    assert figure.axes[0].get_xlabel().startswith("n = 1: distance 0.16")
    figure.savefig(tmp_path / "limit.png")
    coin = plots.central_limit(central_limit(Bernoulli(), 3, probs=0.5))
    assert len(coin.axes) == 2
