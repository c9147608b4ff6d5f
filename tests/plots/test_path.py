"""Figures of solvers show their runs, and errors name what is missing."""

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure

from likely import plots
from likely.core import InputError
from likely.solvers import Adam, BlockCoordinate, GradientDescent
from likely.solvers.function import minimize


def bowl(x):
    return x[0] ** 2 + 4 * x[1] ** 2


def of_two(blocks):
    return bowl(jnp.stack(blocks))


def run(solver, start=(2.0, 1.0)):
    return minimize(bowl, np.array(start), solver=solver)


def test_paths_of_several_solvers():
    runs = {
        "plain": run(GradientDescent(0.1, steps=20, path=True)),
        "adam": run(Adam(0.1, steps=30, path=True)),
    }
    figure = plots.path(runs, bowl, minimum=(0, 0), labels=("a", "b"), title="A bowl")
    assert isinstance(figure, Figure)
    (ax,) = figure.axes
    lines = [line for line in ax.lines if len(line.get_xdata()) > 2]
    np.testing.assert_allclose(lines[0].get_xdata(), 2 * 0.8 ** np.arange(21))
    assert len(lines[1].get_xdata()) == 31
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["plain, 20 steps", "adam, 30 steps", "minimum"]
    assert (ax.get_xlabel(), ax.get_title(loc="left")) == ("a", "A bowl")
    assert ax.get_xlim()[0] < 0 < 2 < ax.get_xlim()[1]


def test_one_run_without_a_landscape(tmp_path):
    figure = plots.path(run(GradientDescent(0.1, steps=5, path=True)))
    figure.savefig(tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 1000
    assert figure.axes[0].get_legend() is None


def test_parameters_in_several_arrays():
    solver = BlockCoordinate(path=True)
    found = minimize(of_two, (np.array(2.0), np.array(1.0)), solver=solver)
    (ax,) = plots.path(found, of_two).axes
    np.testing.assert_allclose(ax.lines[0].get_xdata()[0], 2.0)


def test_a_path_that_flies_away_keeps_the_picture():
    runs = {
        "good": run(GradientDescent(0.1, steps=60, path=True)),
        "bad": run(GradientDescent(0.26, steps=40, path=True)),
    }
    (ax,) = plots.path(runs, bowl).axes
    assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()


def test_what_is_missing_is_said():
    with pytest.raises(InputError, match="path=True"):
        plots.path(run(Adam(steps=2)))
    three = minimize(lambda x: x @ x, np.ones(3), solver=Adam(steps=2, path=True))
    with pytest.raises(InputError, match="has 3 parameters"):
        plots.path(three)


def test_traces_of_loss_gradient_and_step():
    runs = {
        "plain": run(GradientDescent(0.1, steps=20)),
        "adam": run(Adam(0.1, steps=30)),
    }
    figure = plots.trace(runs)
    loss, gradient, step = figure.axes
    np.testing.assert_allclose(loss.lines[0].get_ydata()[0], 8.0)
    np.testing.assert_allclose(gradient.lines[0].get_ydata()[0], 8.0)
    np.testing.assert_allclose(step.lines[1].get_ydata(), 0.1)
    assert loss.get_yscale() == "log"
    assert len(loss.lines[1].get_xdata()) == 31
