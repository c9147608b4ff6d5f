"""The picture of a margin shows what was fitted."""

import numpy as np
import pytest

import likely as lk
from likely import plots
from likely.core import InputError

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2)) + np.repeat([[-1.0, 0.0], [1.0, 0.0]], 20, axis=0)
Y = np.repeat(["a", "b"], 20)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_support_vectors_are_ringed_and_slack_ends_on_the_margin(kernel, tmp_path):
    model = lk.SVC(kernel=kernel).fit(X, Y)
    drawn = plots.margin(model, X, Y, title="Two clouds")
    (ax,) = drawn.axes
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["a", "b", f"{len(model.support_)} support vectors"]
    lines = [line for line in ax.lines if len(line.get_xdata()) == 2]
    ends = np.array([[line.get_xdata()[1], line.get_ydata()[1]] for line in lines])
    inside = int((model.slack_ > 1e-6).sum())
    assert 0 < len(lines) <= inside
    np.testing.assert_allclose(np.abs(model.decision_function(ends)), 1, atol=1e-2)
    drawn.savefig(tmp_path / "margin.png")


def test_a_hard_margin_has_no_slack():
    side = np.where(X[:, 0] + 0.6 * X[:, 1] > 0, 1, -1)
    apart = X + 0.5 * side[:, None] * [1.0, 0.6]
    model = lk.SVC(kernel="linear", C=float("inf")).fit(apart, side)
    (ax,) = plots.margin(model, apart, side).axes
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[-1] == f"{len(model.support_)} support vectors"
    on_margin = np.abs(model.decision_function(apart[model.support_]))
    np.testing.assert_allclose(on_margin, 1, atol=1e-6)
    assert not [line for line in ax.lines if len(line.get_xdata()) == 2]


def test_a_plane_without_support_vectors_is_drawn_too():
    model = lk.LinearSVC(loss="hinge").fit(X, Y)
    assert plots.margin(model, X, Y, slack=False).axes


def test_what_cannot_be_drawn_is_said():
    three = rng.normal(size=(20, 3))
    with pytest.raises(InputError, match="two columns"):
        plots.margin(lk.SVC().fit(three, Y[10:30]), three, Y[10:30])
    labels = np.arange(40) % 3
    with pytest.raises(InputError, match="3 classes"):
        plots.margin(lk.SVC().fit(X, labels), X, labels)
