"""Networks as people write them: backpropagation against the recursion in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.autodiff import trace
from likely.core import InputError, float64

N, D, H, K = 4, 3, 5, 2
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, D)), RNG.normal(size=(N, K))
LABELS = RNG.integers(0, K, N)
W1, b1 = RNG.normal(size=(D, H)), RNG.normal(size=H)
W2, b2 = RNG.normal(size=(H, K)), RNG.normal(size=K)
EVERY = (0, 1, 2, 3)


@pytest.fixture(autouse=True)
def as_people_write():
    """X @ W + b with b ~ (h,), by rank promotion, which the library itself avoids."""
    with jax.numpy_rank_promotion("allow"):
        yield


def logistic(z):
    return 1 / (1 + np.exp(-z))


def softmax(z):
    e = jnp.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


SIGMOID = (logistic, lambda z: logistic(z) * (1 - logistic(z)))
RELU = (lambda z: z * (z > 0), lambda z: 1.0 * (z > 0))
ACTIVATIONS = {  # as written, by hand: σ and σ'
    "tanh": (jnp.tanh, np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "sigmoid": (jax.nn.sigmoid, *SIGMOID),
    "sigmoid as a formula": (lambda z: 1 / (1 + jnp.exp(-z)), *SIGMOID),
    "relu": (jax.nn.relu, *RELU),
    "relu as a maximum": (lambda z: jnp.maximum(0, z), *RELU),
    "relu as a choice": (lambda z: jnp.where(z > 0, z, 0.0), *RELU),
    "relu as a mask": (lambda z: z * (z > 0), *RELU),
    "linear": (lambda z: z, lambda z: z, np.ones_like),
    "softplus": (
        lambda z: jnp.log(1 + jnp.exp(z)),
        lambda z: np.log(1 + np.exp(z)),
        logistic,
    ),
    "leaky": (
        jax.nn.leaky_relu,
        lambda z: np.where(z > 0, z, 0.01 * z),
        lambda z: np.where(z > 0, 1.0, 0.01),
    ),
}
LOSSES = {  # as written, and dL/da
    "half the sum": (lambda a: 0.5 * jnp.sum((a - Y) ** 2), lambda a: a - Y),
    "halved last": (lambda a: jnp.sum((Y - a) ** 2) / 2, lambda a: a - Y),
    "sum": (lambda a: jnp.sum((a - Y) ** 2), lambda a: 2 * (a - Y)),
    "mean": (lambda a: jnp.mean((a - Y) ** 2), lambda a: 2 * (a - Y) / (N * K)),
    "mean over rows": (
        lambda a: jnp.mean(jnp.sum(jnp.square(a - Y), axis=1)),
        lambda a: 2 * (a - Y) / N,
    ),
    "norm": (lambda a: jnp.linalg.norm(a - Y) ** 2, lambda a: 2 * (a - Y)),
}


def by_hand(activation, slope, output_delta):
    """z, a, δ and the gradients of both layers, by the recursion written out."""
    z1 = X @ W1 + b1
    a1 = activation(z1)
    z2 = a1 @ W2 + b2
    delta2 = output_delta(z2)
    delta1 = slope(z1) * (delta2 @ W2.T)
    return (
        {"z": z1, "a": a1, "delta": delta1, "slope": slope(z1)}
        | {"weight_gradient": X.T @ delta1, "bias_gradient": delta1.sum(axis=0)},
        {"z": z2, "delta": delta2}
        | {"weight_gradient": a1.T @ delta2, "bias_gradient": delta2.sum(axis=0)},
    )


def compare(recorded, expected, turned=()):
    back = recorded.backprop()
    assert len(back.layers) == len(expected)
    for layer, quantities in zip(back.layers, expected, strict=True):
        for name, value in quantities.items():
            found = getattr(layer, name)
            found = found.T if name in turned else found
            np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-12)
    return back


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    written, activation, slope = ACTIVATIONS[name]

    def network(W1, b1, W2, b2, X):
        hidden = written(X @ W1 + b1)
        return 0.5 * jnp.sum((written(hidden @ W2 + b2) - Y) ** 2)

    with float64():
        recorded = trace(network, W1, b1, W2, b2, X, argnums=EVERY)
    expected = by_hand(activation, slope, lambda z: slope(z) * (activation(z) - Y))
    back = compare(recorded, expected)
    np.testing.assert_allclose(back[2].a, activation(back[2].z), rtol=1e-9)
    np.testing.assert_allclose(back[2].a_gradient, back[2].a - Y, rtol=1e-9)


def test_an_activation_written_out_is_shown_as_a_formula():
    def network(W, x):
        return jnp.sum((1 / (1 + jnp.exp(-(W @ x))) - Y[0]) ** 2)

    with float64():
        back = trace(network, W1[:, :K].T, X[0]).backprop()
    assert back[1].activation == "1 / (1 + exp(−z))"
    assert back[1].formulas["a"] == "1 / (1 + exp(−z¹))"


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    written, slope = LOSSES[name]

    def network(W1, b1, W2, b2, X):
        a1 = jnp.tanh(X.dot(W1) + b1)
        return written(jax.nn.sigmoid(a1.dot(W2) + b2))

    with float64():
        recorded = trace(network, W1, b1, W2, b2, X, argnums=EVERY)
    _, activation, derivative = ACTIVATIONS["tanh"]
    at_output = lambda z: slope(logistic(z)) * SIGMOID[1](z)  # noqa: E731
    back = compare(recorded, by_hand(activation, derivative, at_output))
    np.testing.assert_allclose(back[2].a_gradient, slope(back[2].a), rtol=1e-9)


CROSS_ENTROPIES = {
    "softmax": lambda z, t: -jnp.sum(t * jnp.log(jax.nn.softmax(z))) / N,
    "softmax as a formula": lambda z, t: -jnp.sum(t * jnp.log(softmax(z))) / N,
    "log softmax": lambda z, t: -jnp.mean(jnp.sum(t * jax.nn.log_softmax(z), axis=1)),
    "of labels": lambda z, t: -jnp.mean(jax.nn.log_softmax(z)[jnp.arange(N), LABELS]),
    "logsumexp": lambda z, t: jnp.mean(
        jax.scipy.special.logsumexp(z, axis=1) - (t * z).sum(axis=1)
    ),
}


@pytest.mark.parametrize("name", CROSS_ENTROPIES)
def test_cross_entropies(name):
    """δ of the output is (p − t)/n, however it is written; a is p where p is computed."""
    target = np.eye(K)[LABELS]

    def network(W1, b1, W2, b2, X):
        return CROSS_ENTROPIES[name](jnp.tanh(X @ W1 + b1) @ W2 + b2, target)

    with float64():
        recorded = trace(network, W1, b1, W2, b2, X, argnums=EVERY)
    _, activation, slope = ACTIVATIONS["tanh"]
    odds = lambda z: np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)  # noqa: E731
    at_output = lambda z: (odds(z) - target) / N  # noqa: E731
    back = compare(recorded, by_hand(activation, slope, at_output))
    if name.startswith("softmax"):
        assert back[2].activation == "softmax"
        np.testing.assert_allclose(back[2].a.sum(axis=1), np.ones(N), rtol=1e-6)


def test_binary_cross_entropy_of_one_neuron():
    t = LABELS * 1.0

    def neuron(w, b, X):
        p = jax.nn.sigmoid(X @ w + b)
        return -jnp.mean(t * jnp.log(p) + (1 - t) * jnp.log(1 - p))

    w = W1[:, 0]
    with float64():
        back = trace(neuron, w, 0.3, X, argnums=(0, 1)).backprop()
    p = logistic(X @ w + 0.3)
    for found, expected in (
        (back[1].a, p),
        (back[1].delta, (p - t) / N),
        (back[1].weight_gradient, X.T @ (p - t) / N),
        (back[1].bias_gradient, np.mean(p - t)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def squared(a, y):
    return 0.5 * jnp.sum((a - y) ** 2)


def rows(p, X, Y):
    return squared(jnp.tanh(X @ p["W1"] + p["b1"]) @ p["W2"] + p["b2"], Y)


def bias_first(p, X, Y):
    return squared(p["b2"] + jnp.tanh(p["b1"] + X @ p["W1"]) @ p["W2"], Y)


def einsums(p, X, Y):
    a = jnp.tanh(jnp.einsum("nd,dh->nh", X, p["W1"]) + p["b1"])
    return squared(jnp.einsum("nd,dh->nh", a, p["W2"]) + p["b2"], Y)


def loop(p, X, Y):
    layers = [(p["W1"], p["b1"]), (p["W2"], p["b2"])]
    a = X
    for W, b in layers[:-1]:
        a = jnp.tanh(a @ W + b)
    return squared(a @ layers[-1][0] + layers[-1][1], Y)


def transposed(p, X, Y):
    return squared(jnp.tanh(X @ p["W1"].T + p["b1"]) @ p["W2"].T + p["b2"], Y)


def one_by_one(p, X, Y):
    def one(x, y):
        return squared(p["W2"] @ jnp.tanh(p["W1"] @ x + p["b1"]) + p["b2"], y)

    return jax.vmap(one)(X, Y).sum()


def columns(p, X, Y):
    a = jnp.tanh(p["W1"] @ X.T + p["b1"][:, None])
    return squared(p["W2"] @ a + p["b2"][:, None], Y.T)


TANH = ACTIVATIONS["tanh"][1:]


@pytest.mark.parametrize("f", [rows, bias_first, einsums, loop])
@pytest.mark.parametrize("argnums", [0, None])
def test_rows(f, argnums):
    p = {"W1": W1, "b1": b1, "W2": W2, "b2": b2}
    with float64():
        recorded = trace(f, p, X, Y, argnums=argnums)
    compare(recorded, by_hand(*TANH, lambda z: z - Y))


@pytest.mark.parametrize(
    ("f", "turned"),
    [
        (transposed, ("weight_gradient",)),
        (one_by_one, ("weight_gradient",)),
        (columns, ("weight_gradient", "z", "a", "delta", "slope")),
    ],
)
@pytest.mark.parametrize("argnums", [0, None])
def test_columns(f, turned, argnums):
    p = {"W1": W1.T, "b1": b1, "W2": W2.T, "b2": b2}
    with float64():
        recorded = trace(f, p, X, Y, argnums=argnums)
    compare(recorded, by_hand(*TANH, lambda z: z - Y), turned)


def test_no_bias_and_bias_as_a_column_of_ones():
    def plain(W1, W2, x, y):
        return squared(jnp.tanh(W2 @ jnp.tanh(W1 @ x)), y)

    def joined(W1, W2, x, y):
        a = jnp.concatenate([jnp.tanh(W1 @ x), jnp.ones(1)])
        return squared(W2 @ a, y)

    x, y = X[0], Y[0]
    a1 = np.tanh(W1.T @ x)
    with float64():
        back = trace(plain, W1.T, W2.T, x, y, argnums=(0, 1)).backprop()
        with_ones = np.c_[W2.T, b2]
        other = trace(joined, W1.T, with_ones, x, y, argnums=(0, 1)).backprop()
    a2 = np.tanh(W2.T @ a1)
    delta2 = (a2 - y) * (1 - a2**2)
    assert back[1].bias is None
    assert back[1].formulas["z"] == "W¹ x"
    np.testing.assert_allclose(back[2].weight_gradient, np.outer(delta2, a1))
    np.testing.assert_allclose(back[1].delta, (1 - a1**2) * (W2 @ delta2))
    np.testing.assert_allclose(other[1].a, a1)
    error = W2.T @ a1 + b2 - y
    np.testing.assert_allclose(
        other[2].weight_gradient, np.outer(error, [*a1, 1.0]), rtol=1e-12
    )


def test_a_bias_that_is_held_constant():
    def f(W, b, x, y):
        return squared(jnp.tanh(W @ x + b), y)

    with float64():
        back = trace(f, W1.T, b1, X[0], np.zeros(H), argnums=0).backprop()
    np.testing.assert_allclose(back[1].z, W1.T @ X[0] + b1)
    assert back[1].bias_gradient is None
    np.testing.assert_array_equal(back[1].bias, b1)


def test_penalties_and_tied_weights_are_said():
    def penalised(W, x, y):
        return squared(W @ x, y) + 0.1 * jnp.sum(W**2)

    with float64():
        back = trace(penalised, W1.T[:K], X[0], Y[0], argnums=0).backprop()
    own = np.outer(back[1].delta, X[0])
    np.testing.assert_allclose(back[1].weight_gradient, own + 0.2 * W1.T[:K])
    assert "its other uses" in back[1].formulas["weight_gradient"]


def test_numpy_inside_says_what_to_do():
    with pytest.raises(InputError, match="jax.numpy"):
        trace(lambda W, x: np.tanh(W @ x).sum(), W1.T, X[0])
