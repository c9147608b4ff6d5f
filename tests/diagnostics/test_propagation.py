"""Variances through depth against closed forms, and what activations of a network do."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import likely as lk
from likely.core import InputError
from likely.diagnostics import saturation, variance_propagation
from likely.diagnostics.expressivity.assembly import assembled
from likely.diagnostics.propagation.moments import ActivationMoments
from likely.layers import activation


def test_moments_of_activations():
    """ReLU: v/2 and ½; identity: v and 1; leaky: (1 + a²)/2 of both; sin in closed form."""
    v = np.array([0.3, 1.0, 4.0])
    found = {
        a: ActivationMoments(activation(a, 1))(v) for a in ("relu", "identity", "sin")
    }
    np.testing.assert_allclose(found["relu"][0], v / 2, rtol=1e-6)
    np.testing.assert_allclose(found["relu"][1], 0.5, rtol=1e-3)
    np.testing.assert_allclose(found["identity"], [v, np.ones(3)], rtol=1e-8)
    np.testing.assert_allclose(found["sin"][0], (1 - np.exp(-2 * v)) / 2, rtol=1e-8)
    np.testing.assert_allclose(found["sin"][1], (1 + np.exp(-2 * v)) / 2, rtol=1e-8)
    leaky = ActivationMoments(activation(("leaky_relu", 0.2), 1))(v)
    np.testing.assert_allclose(leaky[0], v * (1 + 0.04) / 2, rtol=1e-6)


@settings(max_examples=5)
@given(
    st.lists(st.sampled_from([20, 40]), min_size=2, max_size=4),
    st.sampled_from(["he", "xavier"]),
    st.sampled_from(["relu", "identity"]),
    st.integers(0, 1000),
)
def test_relu_networks_of_any_widths_have_the_predicted_variances(
    hidden, init, kind, seed
):
    found = variance_propagation(
        hidden, init=init, activation=kind, n_in=20, n_draws=100, random_state=seed
    )
    assert found.deviation < 5
    z = np.abs(found.gradient_measured - found.gradient_predicted)[:-1]
    assert (z < 5 * found.gradient_error[:-1]).all()


def test_half_of_the_variance_passes_a_relu_layer():
    """var(f') = ½ D σ² var(f): with σ² = 1/D half of it, with 2/D all, with 4/D twice."""
    for factor, expected in ((1.0, 0.5), (2.0, 1.0), (4.0, 2.0)):
        found = variance_propagation(
            (50,) * 10, init=("gaussian", factor / 50), n_draws=3
        )
        assert found.factor == pytest.approx(expected, rel=1e-6)
        assert found.gradient_factor == pytest.approx(expected, rel=0.01)
        assert found.critical == pytest.approx(2, rel=1e-6)
        assert ("kept" in found.verdict) == (factor == 2)
    assert len(found.plot().axes) == 1


@pytest.mark.slow  # wide networks, many draws
def test_inputs_of_any_size_and_uniform_weights(rng):
    X = 3 * rng.normal(size=(20, 30))
    found = variance_propagation((30, 30), init="uniform", X=X, n_draws=100)
    assert found.predicted[0] == pytest.approx((X**2).mean() / 3 + 1 / 90)
    assert found.deviation < 5
    wide = variance_propagation(
        (300, 300), activation="tanh", init="xavier", n_draws=60
    )
    np.testing.assert_allclose(wide.measured[:2], wide.predicted[:2], rtol=0.05)


def sigmoid_network(scale: float):
    rng = np.random.default_rng(0)
    sizes = (3, 20, 20, 1)
    weights = [
        (scale * rng.normal(size=(a, b)), np.zeros(b))
        for a, b in zip(sizes, sizes[1:], strict=False)
    ]
    return assembled(weights, "sigmoid")[1]


def test_large_weights_saturate_sigmoids_and_the_report_says_so(rng):
    X = rng.normal(size=(100, 3))
    calm, steep = (saturation(sigmoid_network(s), X) for s in (0.3, 10.0))
    assert calm.rows[0].saturated.value == 0
    assert steep.rows[0].saturated.value > 0.5
    assert "saturated" in steep.verdict
    # not centred: every output is positive
    assert calm.rows[0].one_sided.value == 1
    assert calm.rows[0].centre.value > 0.9
    assert "one side of 0" in calm.verdict
    assert calm.rows[0].slope == pytest.approx(0.25, rel=0.05)
    assert len(steep.plot().axes) == 1


def test_shares_are_those_of_the_formula(rng):
    """A sigmoid's slope is below a twentieth of ¼ beyond |s| = 4.357."""
    s = rng.normal(size=(500, 1)) * 4
    model = assembled([([[1.0]], [0.0]), ([[1.0]], [0.0])], "sigmoid")[1]
    found = saturation(model, s).rows[0]
    edge = np.log((1 + np.sqrt(1 - 0.05)) / (1 - np.sqrt(1 - 0.05)))
    share = (np.abs(s) > edge).mean()
    assert found.saturated.value == pytest.approx(share, abs=0.005)
    error = np.sqrt(share * (1 - share) / 499)
    assert found.saturated.error == pytest.approx(error, rel=0.02)
    w = np.r_[np.full(100, 2.0), np.ones(200), np.zeros(200)]
    twice = np.r_[s[:100], s[:300]]
    weighted, repeated = saturation(model, s, w), saturation(model, twice)
    assert weighted.rows[0].saturated == pytest.approx(repeated.rows[0].saturated)


def test_dead_units_and_models_without_activations(rng):
    X = rng.uniform(size=(30, 2))
    model = assembled(
        [([[1.0, -1.0], [1.0, -1.0]], [0.0, 0.0]), ([[1.0], [1.0]], [0.0])]
    )[1]
    found = saturation(model, X)
    assert found.rows[0].dead == 0.5
    assert "dead" in found.verdict
    linear = assembled([([[1.0], [1.0]], [0.0])])[1]
    with pytest.raises(InputError, match="no activations"):
        saturation(linear, X)
    with pytest.raises(InputError, match="hidden is empty"):
        variance_propagation(())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fitted_networks(rng):
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    model = lk.MLPRegressor(
        (8, 8), "tanh", norm="batch", solver="adam", max_iter=3
    ).fit(X, y)
    found = saturation(model, X)
    assert [row.kind for row in found.rows] == ["tanh", "tanh"]
    assert "to a degree that matters" in found.verdict
    images = rng.random((20, 8, 8, 1))
    cnn = lk.CNNClassifier(max_iter=1).fit(images, rng.integers(2, size=20))
    assert len(saturation(cnn, images).rows) >= 2
    assert jax.numpy.ones(1).dtype == np.float32


def test_gradients_into_a_unit_have_one_sign_after_sigmoids(rng):
    """The gradient of the weight from i to j is δⱼ aᵢ: positive outputs tie them together."""
    X = rng.normal(size=(40, 3))
    model = sigmoid_network(1.0)
    found = saturation(model, X)
    with lk.core.precision.float64():
        model = jax.tree.map(jax.numpy.asarray, model)

        def gradient(x):
            loss = lambda m: m(x[None])[0].sum()  # noqa: E731
            return jax.grad(loss)(model).layers[2].weight

        G = np.asarray(jax.vmap(gradient)(jax.numpy.asarray(X)))
    same = np.abs(np.sign(G).sum(1)) == G.shape[1]
    assert same.all()
    assert found.rows[0].one_sided.value == 1


def test_settings_and_fitted_networks_say_what_the_formulas_need():
    settings = lk.models.MLP((30, 30), "tanh", init="xavier")
    a = variance_propagation(settings, n_draws=3)
    b = variance_propagation((30, 30), activation="tanh", init="xavier", n_draws=3)
    np.testing.assert_array_equal(a.predicted, b.predicted)
    np.testing.assert_array_equal(a.measured, b.measured)
    for options, message in (
        ({"norm": "batch"}, 'norm="batch": the formulas assume'),
        ({"residual": True, "dropout": 0.1}, "residual=True and dropout=0.1"),
    ):
        with pytest.raises(InputError, match=message):
            variance_propagation(lk.models.MLP((5,), **options))
    with pytest.raises(InputError, match="is no perceptron"):
        variance_propagation(lk.models.CNN())
    still = variance_propagation((5, 5), init="zero", n_draws=3)
    assert still.deviation == 0
