"""Pictures of how a model does: reliability, ROC, residuals, history."""

import numpy as np
import pytest

from likely import evaluate, plots
from likely.core.checks import InputError
from likely.families import Bernoulli, Normal, Poisson, Predictive


def test_reliability_of_two_models(rng, tmp_path):
    p = rng.uniform(size=400)
    happened = rng.random(400) < p
    found = {
        "right": evaluate.reliability_of_events(happened, p),
        "sure": evaluate.reliability_of_events(happened, p**0.3),
    }
    figure = plots.reliability(found)
    figure.savefig(tmp_path / "reliability.png")
    top, shares = figure.axes
    texts = [text.get_text() for text in top.get_legend().get_texts()]
    assert texts == [
        f"{name}: calibration error {one.expected_error:.3f}"
        for name, one in found.items()
    ]
    assert len(shares.patches) == sum(len(one.weight) for one in found.values())
    assert len(plots.reliability(found["right"]).axes) == 2
    with pytest.raises(InputError, match="found is empty"):
        plots.reliability({})


def test_roc_curves(rng):
    y = rng.integers(2, size=100)
    curve = evaluate.roc_curve(y, y + rng.normal(size=100))
    (ax,) = plots.roc({"a": curve, "b": curve}).axes
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [f"{name}: area {curve.area:.3f}" for name in "ab"]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), curve.true_positive_rate)
    assert len(plots.roc(curve).axes[0].collections) == 1  # one curve: its area
    with pytest.raises(InputError, match="curves is empty"):
        plots.roc({})


def test_residuals_of_a_right_and_of_a_narrow_model(rng, tmp_path):
    mean = rng.normal(size=300)
    y = mean + rng.normal(size=300)
    for scale, inside in ((1.0, True), (0.4, False)):
        dist = Predictive(Normal(scale), mean[:, None])
        figure = plots.residuals(dist, y, label="price")
        left, middle, right = figure.axes
        np.testing.assert_allclose(left.lines[1].get_ydata(), y - mean)
        expected, scores = (np.asarray(v) for v in middle.lines[1].get_data())
        known = np.clip(np.sort((y - mean) / scale), -7, 7)  # F(y) is 0 or 1 beyond
        np.testing.assert_allclose(np.clip(scores, -7, 7), known, atol=1e-2)
        assert (np.abs(scores - expected)[20:-20].max() < 0.3) == inside
        bars = np.array([bar.get_height() for bar in right.patches[:20]])
        np.testing.assert_allclose(bars.mean(), 1)
        assert (max(bars[0], bars[-1]) < 2) == inside
    figure.savefig(tmp_path / "residuals.png")
    assert left.get_xlabel() == "predicted mean of price"


def test_residuals_of_counts_and_of_few_rows():
    dist = Predictive(Poisson(), np.log([[2.0], [5.0], [30.0]]))
    figure = plots.residuals(dist, [0, 5, 1000])
    scores = figure.axes[1].lines[1].get_ydata()
    assert np.isfinite(scores).all()
    classes = Predictive(Bernoulli(), np.zeros((2, 1)), classes=["no", "yes"])
    with pytest.raises(InputError, match="one number in each"):
        plots.residuals(classes, [0.0, 1.0])
    with pytest.raises(InputError, match=r"y has shape \(2,\)"):
        plots.residuals(dist, [1.0, 2.0])


def test_history_of_members_and_of_one_run(rng, tmp_path):
    losses = 1 + np.exp(-np.arange(300) / 50) + 0.01 * rng.normal(size=(3, 300))
    looks = np.array([2.0, 1.2, 1.4])
    run = {"loss": losses, "rate": np.full((3, 300), 0.1), "validation": looks}
    figure = plots.history(run)
    figure.savefig(tmp_path / "history.png")
    loss, rate = figure.axes
    texts = [text.get_text() for text in loss.get_legend().get_texts()]
    assert texts == ["training", "validation", "lowest, 1.2"]
    np.testing.assert_allclose(rate.lines[-1].get_ydata(), 0.1)
    (ax,) = plots.history({"loss": [3.0, 2.0, 1.5]}).axes
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [3.0, 2.0, 1.5])


def test_history_of_an_estimator_and_what_has_none():
    class Fitted:
        history_ = {"loss": np.array([1.0, 0.5])}

    assert plots.history(Fitted()).axes[0].get_ylabel() == "loss, nats"
    with pytest.raises(InputError, match="has no history_ with a loss"):
        plots.history(object())
    with pytest.raises(InputError, match="no loss that is a finite number"):
        plots.history({"loss": [np.nan]})


def test_costs_over_thresholds_and_probabilities(rng, tmp_path):
    p = rng.beta(1, 4, size=300)
    y = (rng.random(300) < p).astype(int)
    curve = evaluate.cost_curve(y, p, [[0, 10], [1, 0]])
    (ax,) = plots.cost_curve({"a": curve, "b": curve}).axes
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[0] == f"a: lowest {curve.cost.min():.3g} at {curve.best:.2g}"
    figure = plots.decision_costs([[0, 10], [1, 0]])
    figure.savefig(tmp_path / "costs.png")
    _, ax = figure.axes
    assert [t.get_text() for t in ax.texts] == [f" {1 / 11:.4g}"]
    more = plots.decision_costs(
        [[0, 10], [1, 0], [0.5, 2]], actions=["no", "yes", "ask"]
    )
    assert len(more.axes[1].texts) == 2
    with pytest.raises(InputError, match="curves is empty"):
        plots.cost_curve({})


def test_bands_of_intervals(rng):
    x, y = rng.normal(size=(2, 50))
    ends = {"narrow": (y * 0 - 0.1, y * 0 + 0.1), "wide": (y - 1, y + 1)}
    figure = plots.interval_bands(x, ends, y)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[1] == "wide\nmean width 2, covers 100.0%"
    with pytest.raises(InputError, match="intervals is empty"):
        plots.interval_bands(x, {})
