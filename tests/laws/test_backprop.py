"""Every formula that backpropagation prints holds for the numbers beside it.

The formulas are parsed and evaluated on the values and adjoints of the trace, for chains of
layers and for graphs that branch: residuals, attention, gates, shared weights.
"""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.autodiff import trace
from likely.core import float64

N = 3
"""All matrices are square: a wrong order or transpose is a wrong number, not an error."""
rng = np.random.default_rng(0)
A, B, C, D, X, U = rng.normal(size=(6, N, N)) / 2
b, c = rng.normal(size=(2, N))


def attention(q, k, v):
    e = jnp.exp(q @ k.T)
    return (e / e.sum(1, keepdims=True)) @ v


def reshaped_before_the_bias(W, b, x):
    return jnp.sum(jnp.tanh((x @ W).reshape(N * N) + b) ** 2)


def recurrent(W, V, x):
    h = jnp.tanh(x @ W)
    for _ in range(2):
        h = jnp.tanh(h @ V + x @ W)
    return jnp.sum(h**2)


def gate_of_itself(W, V, x):
    z = x @ W
    return jnp.sum(z * (jnp.tanh(z) @ V))


def sums(f):
    """The network with the loss Σ r²."""

    @functools.wraps(f)
    def loss(*args):
        return jnp.sum(f(*args) ** 2)

    return loss


PROGRAMS = {
    "chain": (sums(lambda W, b, V, x: jnp.tanh(x @ W + b[None]) @ V), A, b, B, X),
    "columns": (sums(lambda W, V, x: V @ jnp.tanh(W @ x)), A, B, X),
    "one example": (sums(lambda W, b, V, x: V @ jnp.tanh(W @ x + b)), A, b, B, c),
    "one row": (sums(lambda W, V, x: jnp.tanh(x @ W) @ V), A, B, c),
    "one neuron": (lambda w, x: jnp.tanh(w @ x) ** 2, b, c),
    "linear": (sums(lambda W, V, x: x @ W @ V), A, B, X),
    "weights transposed": (sums(lambda W, V, x: jnp.tanh(x @ W.T) @ V.T), A, B, X),
    "input transposed": (sums(lambda W, V, x: jnp.tanh(x.T @ W).T @ V), A, B, X),
    "einsum": (
        sums(lambda W, V, x: jnp.einsum("oi,ni->no", W, jnp.tanh(x @ V))),
        A,
        B,
        X,
    ),
    "vmap": (
        sums(lambda W, b, x: jax.vmap(lambda r: jnp.tanh(W @ r + b))(x)),
        A,
        b,
        X,
    ),
    "stacked": (sums(lambda W, V, x: jnp.tanh(x @ W) @ V), A, B, np.stack([X, U])),
    "product of branches": (
        sums(lambda W, V, P, x: ((x @ W) * (x @ V)) @ P),
        A,
        B,
        C,
        X,
    ),
    "gate": (
        sums(lambda W, V, P, x: (jax.nn.sigmoid(x @ W) * jnp.tanh(x @ V)) @ P),
        A,
        B,
        C,
        X,
    ),
    "residual": (sums(lambda W, V, x: (x + jnp.tanh(x @ W)) @ V), A, B, X),
    "two residuals": (
        sums(lambda W, V, x: (h := x + jnp.tanh(x @ W)) + jnp.tanh(h @ V)),
        A,
        B,
        X,
    ),
    "attention": (
        sums(lambda q, k, v, o, x: attention(x @ q, x @ k, x @ v) @ o),
        A,
        B,
        C,
        D,
        X,
    ),
    "attention, values first": (
        sums(
            lambda wv, wk, wq, wo, x: (
                (v := x @ wv) is not None
                and (k := x @ wk) is not None
                and attention(x @ wq, k, v) @ wo
            )
        ),
        A,
        B,
        C,
        D,
        X,
    ),
    "shared weights": (sums(lambda W, x: jnp.tanh(jnp.tanh(x @ W) @ W)), A, X),
    "tied autoencoder": (sums(lambda W, x: jnp.tanh(x @ W) @ W.T), A, X),
    "square of a matrix": (sums(lambda W, x: W @ W @ x), A, X),
    "recurrent": (recurrent, A, B, X),
    "two inputs": (
        sums(lambda W, V, P, x, u: jnp.tanh(x @ W + u @ V) @ P),
        A,
        B,
        C,
        X,
        U,
    ),
    "concatenation": (
        sums(lambda W, V, P, x: jnp.concatenate([x @ W, jnp.tanh(x @ V)]) @ P),
        A,
        B,
        C,
        X,
    ),
    "two heads": (
        lambda W, V, P, x: (
            jnp.sum((h := jnp.tanh(x @ W)) @ V) + jnp.sum(jnp.sin(h @ P))
        ),
        A,
        B,
        C,
        X,
    ),
    "shared bias": (
        sums(lambda W, V, b, x: jnp.tanh(jnp.tanh(x @ W + b[None]) @ V + b[None])),
        A,
        B,
        b,
        X,
    ),
    "gate of itself": (gate_of_itself, A, B, X),
    "odd activations": (
        sums(lambda W, V, x: ((-(x @ W)) ** 3 / (1 - jnp.tanh(-x @ W))) @ V),
        A,
        B,
        X,
    ),
    "penalty": (lambda W, x: jnp.sum((x @ W) ** 2) + jnp.sum(W**2), A, X),
    "bilinear": (lambda W, x: x @ W @ x, A, c),
    "reshaped before the bias": (reshaped_before_the_bias, A, np.ravel(B), X),
}
WORDS = (
    " the ",
    "through the Jacobian",
    "computed from",
    "rearranged",
    "joined",
    "entries of",
)
"""What a text says where it is not a formula."""
FUNCTIONS = {
    "tanh": np.tanh,
    "exp": np.exp,
    "sin": np.sin,
    "σ": lambda t: 1 / (1 + np.exp(-t)),
}


class Turned:
    """A vector that is transposed: its product with another is the outer product."""

    def __init__(self, vector):
        self.vector = vector


class Parser:
    """A calculator for the formulas of layers."""

    def __init__(self, text, values):
        names = sorted([*values, *FUNCTIONS], key=len, reverse=True)
        pattern = "|".join([*map(re.escape, names), r"\d+\.?\d*", r"\S"])
        self.tokens, self.values = [*re.findall(pattern, text), ""], values

    def take(self, *wanted):
        if self.tokens[0] in wanted:
            return self.tokens.pop(0)
        return None

    def total(self):
        value = -self.term() if self.take("−") else self.term()
        while sign := self.take("+", "−"):
            other = self.term()
            value = value + other if sign == "+" else value - other
        return value

    def term(self):
        value = self.product()
        while sign := self.take("·", "⊙", "/", "@"):
            other = self.product()
            if sign == "@":
                value = value @ other
            else:
                value = value / other if sign == "/" else value * other
        return value

    def product(self):
        value = self.power()
        while self.tokens[0] not in ("", *"+−·⊙/@),"):
            value = times(value, self.power())
        assert not isinstance(value, Turned)
        return value

    def power(self):
        value = self.atom()
        while sign := self.take("ᵀ", "²", "^"):
            if sign == "ᵀ":
                value = (
                    Turned(value) if np.ndim(value) < 2 else np.swapaxes(value, -1, -2)
                )
            else:
                value = value ** (2 if sign == "²" else self.atom())
        return value

    def atom(self):
        token = self.tokens.pop(0)
        if token == "(":
            value = self.total()
            assert self.tokens.pop(0) == ")"
            return value
        if token in self.values:
            return self.values[token]
        return FUNCTIONS[token](self.atom()) if token in FUNCTIONS else float(token)


def times(a, b):
    """A B, in which a vector times a transposed one is a matrix."""
    if isinstance(a, Turned) or isinstance(b, Turned):
        a, b = (v.vector if isinstance(v, Turned) else v for v in (a, b))
        return np.multiply.outer(a, b)
    if np.ndim(a) > 2 and np.ndim(b) > 2:  # over all rows
        return a.swapaxes(-1, -2).reshape(-1, N).T @ b.reshape(-1, N)
    return a * b if np.ndim(a) == 0 else a @ b


def letters(recorded, back):
    """The value of every name that a formula may use."""
    adjoints = recorded.reverse().adjoints
    found = {recorded.names[i]: v for i, v in recorded.values.items()}
    found |= {recorded.adjoint_name(i): adjoints[i] for i in adjoints}
    found.setdefault("x", back[1].a_in)
    shown = {
        "W": "weight", "b": "bias", "z": "z", "a": "a", "δ": "delta",
        "∂L/∂a": "a_gradient", "∂L/∂W": "weight_gradient",
    }  # fmt: skip
    for k, layer in enumerate(back.layers, 1):
        j = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(k))
        found |= {f"{sign}{j}": getattr(layer, name) for sign, name in shown.items()}
        found |= {f"σ'(z{j})": layer.slope}
    return found


@functools.cache
def recorded_and_back(name):
    with float64():
        recorded = trace(*PROGRAMS[name])
        return recorded, recorded.backprop()


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_formula_of_backpropagation_holds(name):
    recorded, back = recorded_and_back(name)
    values, checked = letters(recorded, back), 0
    for layer in back.layers:
        for quantity, text in layer.formulas.items():
            found = getattr(layer, quantity)
            text = re.sub(r", (since|the same weights).*", "", text)
            summed = text.endswith(", summed over examples")
            formula = text.removesuffix(", summed over examples")
            if not formula or any(word in f" {formula}" for word in WORDS):
                continue
            expected = Parser(formula, values).total()
            if summed and np.ndim(expected) > np.ndim(found):
                axes = tuple(range(np.ndim(expected) - np.ndim(found)))
                expected = expected.sum(axes)
            near = {"rtol": 1e-9, "atol": 1e-12, "err_msg": f"{quantity} = {text}"}
            np.testing.assert_allclose(expected, found, **near)
            checked += 1
    assert checked >= 2 * len(back.layers)


def test_what_is_said_in_words_where_a_graph_branches():
    """Other uses are named, and only where there are some."""
    texts = {name: str(recorded_and_back(name)[1]) for name in PROGRAMS}
    rest = "the part of its other uses"
    assert {n for n in texts if rest in texts[n]} == {
        "shared bias",
        "penalty",
        "gate of itself",
        "bilinear",
    }
    assert "z²        x W²" in texts["product of branches"]
    assert "xᵀ δ¹ + (a¹)ᵀ δ²" in texts["shared weights"]
