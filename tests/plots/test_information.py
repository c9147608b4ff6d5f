"""Pictures of information and analysis: what they show is what was found."""

import numpy as np
import pytest

from likely import analysis, information as info, plots
from likely.core.checks import InputError


def test_projections(tmp_path):
    y = np.linspace(-5, 5, 50)
    density = np.exp(-0.5 * y**2) / np.sqrt(2 * np.pi)
    one = info.NearestGaussian(0.0, 1.0, 0.0)
    other = info.NearestGaussian(1.0, 2.0, 0.3)
    found = info.Projections(one, one, [one, other], y, density)
    figure = plots.kl_projections(found)
    figure.savefig(tmp_path / "projections.png")
    left, right = figure.axes
    np.testing.assert_allclose(left.lines[0].get_ydata(), density)
    assert len(right.lines) == 2
    assert "0.300 nats" in right.get_legend().get_texts()[2].get_text()


def test_huffman_tree(tmp_path):
    p = {"a": 0.5, "b": 0.25, "c": 0.25}
    figure = plots.huffman_tree(info.huffman_code(p), p)
    figure.savefig(tmp_path / "tree.png")
    (ax,) = figure.axes
    assert len(ax.lines) == 4  # two inner nodes with two branches each
    texts = [text.get_text() for text in ax.texts]
    assert texts[-3:] == ["a\n0.5", "b\n0.25", "c\n0.25"]
    assert sorted(texts[:4]) == ["0", "0", "1", "1"]
    assert len(plots.huffman_tree(info.huffman_code([1.0])).axes[0].lines) == 0


def well(x):
    return (x[0] ** 2 - 1) ** 2


@pytest.mark.parametrize(
    ("by", "label"),
    [
        ("definition", "chord between x and y"),
        ("gradient", "tangent at x"),
        ("hessian", "curvature -4 at x"),
    ],
)
def test_witnesses(by, label, tmp_path):
    verdict = analysis.convexity(well, -1.2, 1.2, by=by, n=100)
    figure = plots.convexity_witness(well, verdict)
    figure.savefig(tmp_path / "witness.png")
    (ax,) = figure.axes
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[1] == label
    w = verdict.witness
    if by == "definition":
        bottom, top = np.asarray(ax.lines[2].get_ydata())
        np.testing.assert_allclose(top - bottom, -w["gap"], rtol=1e-5)


def test_a_verdict_without_a_witness_is_not_drawn():
    verdict = analysis.convexity(lambda x: x[0] ** 2, -1, 1, n=50)
    with pytest.raises(InputError, match="no witness to draw"):
        plots.convexity_witness(well, verdict)


def test_bernstein(tmp_path):
    found = [analysis.BernsteinPolynomial(lambda x: x**2, n) for n in (2, 8)]
    errors = [1 / 8, 1 / 32]
    figure = plots.bernstein(lambda x: x**2, found, errors)
    figure.savefig(tmp_path / "bernstein.png")
    left, right = figure.axes
    assert [line.get_label() for line in left.lines] == ["f", "degree 2", "degree 8"]
    np.testing.assert_allclose(right.lines[0].get_ydata(), errors)


def test_fitted_counts():
    (ax,) = plots.fitted_counts([0.5, 0.5], [0.6, 0.4], names=("a", "b")).axes
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, [0.5, 0.5, 0.6, 0.4])
