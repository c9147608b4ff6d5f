"""Layers of sequences: PyTorch's values, absent positions, caches, plain loops."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ledger import ROOT

from likely.core import InputError, float64
from likely.layers import (
    MultiHeadAttention,
    Padded,
    Recurrent,
    RelativeBias,
    TokenEmbedding,
    TransformerLayer,
    attention,
    pad_sequences,
    rotate,
    sinusoidal_positions,
)
from likely.layers.recurrent import recurrence
from likely.models import sequence_from_torch

FOLDER = ROOT / "tests" / "golden" / "sequence"
sys.path.insert(0, str(FOLDER))
from cases import CASES, Case  # noqa: E402

TORCH = dict(np.load(FOLDER / "torch.npz"))
SEED = 0


def layer_of(case: Case):
    if case.kind in ("rnn", "lstm", "gru"):
        settings = {"n_layers": case.n_layers, "bidirectional": case.both}
        return Recurrent(case.kind, 3, 4, **settings, key=jax.random.key(SEED))
    if case.kind == "attention":
        return MultiHeadAttention(8, 2, causal=case.causal, key=jax.random.key(SEED))
    return TransformerLayer(
        8,
        2,
        hidden=12,
        cross=case.cross,
        norm_first=case.first,
        causal=case.causal,
        key=jax.random.key(SEED),
    )


def stored(name: str, part: str) -> dict[str, np.ndarray]:
    start = f"{name}/{part}/"
    return {k[len(start) :]: v for k, v in TORCH.items() if k.startswith(start)}


def counted_once(slopes: dict, case: Case) -> dict:
    """PyTorch's second bias has the slopes of the first, but for the last gate of a GRU."""
    for name in [n for n in slopes if n.startswith("bias_hh")]:
        gate = np.arange(len(slopes[name])) * 3 // len(slopes[name])
        slopes[name] = np.where((case.kind == "gru") & (gate == 2), slopes[name], 0)
    return slopes


@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes_are_those_of_torch(name):
    case = CASES[name]
    X, out, seen, dX = (TORCH[f"{name}/{part}"] for part in ("X", "out", "seen", "dX"))
    present = np.arange(X.shape[1])[None] < TORCH["lengths"][:, None]
    garbage = np.where(present[..., None], X, np.nan)
    with float64():
        layer = sequence_from_torch(layer_of(case), stored(name, "weights"))
        options = {"context": jnp.asarray(TORCH["context"])} if case.cross else {}
        total, (found, slopes) = _run(layer, garbage, present, seen, options)
        expected = counted_once(stored(name, "slopes"), case)
        expected = sequence_from_torch(layer, expected)
    np.testing.assert_allclose(found, out, atol=1e-12)
    np.testing.assert_allclose(
        np.where(present[..., None], np.asarray(slopes[1]) - dX, 0), 0, atol=1e-12
    )
    for a, b in zip(jax.tree.leaves(slopes[0]), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-11)


@eqx.filter_jit
def _run(layer, X, present, seen, options):
    def total(pair):
        layer, X = pair
        Y = layer(Padded(X, jnp.asarray(present)), **options)[0].clean
        return (Y * seen).sum(), Y

    (value, Y), slopes = eqx.filter_value_and_grad(total, has_aux=True)(
        (layer, jnp.asarray(X))
    )
    return value, (Y, slopes)


@eqx.filter_jit
def outputs(layer, X):
    return layer(X)[0]


LAYERS = {
    "lstm": lambda: Recurrent(
        "lstm", 4, 3, n_layers=2, bidirectional=True, key=jax.random.key(SEED)
    ),
    "gru": lambda: Recurrent("gru", 4, 3, bidirectional=True, key=jax.random.key(SEED)),
    "attention": lambda: MultiHeadAttention(
        4, 2, rotary=True, reach=2, key=jax.random.key(SEED)
    ),
    "transformer": lambda: TransformerLayer(4, 2, hidden=5, key=jax.random.key(SEED)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_padded_row_is_the_row_alone(name, rng):
    layer = LAYERS[name]()
    rows = [rng.normal(size=(t, 4)).astype(np.float32) for t in (5, 1, 3)]
    padded = pad_sequences(rows, 6)
    dirty = np.where(padded.present[..., None], padded.values, np.inf)
    given = Padded(jnp.asarray(dirty), jnp.asarray(padded.present))
    together = outputs(layer, given).values
    for row, found in zip(rows, together, strict=True):
        alone = outputs(layer, jnp.asarray(row[None]))[0]
        np.testing.assert_allclose(found[: len(row)], alone, atol=1e-6)


@pytest.mark.parametrize("kind", ["rnn", "relu", "lstm", "gru"])
def test_the_derivative_by_hand_is_that_of_the_loop(kind, rng):
    with float64():
        layer = Recurrent(kind, 2, 3, key=jax.random.key(SEED))
        one = layer.layers[0][0]
        X = jnp.asarray(rng.normal(size=(5, 2, 2)))
        mask = jnp.asarray(rng.uniform(size=(5, 2, 1)) < 0.7, float)
        start = tuple(jnp.asarray(rng.normal(size=(2, 3))) for _ in one.start(2))
        factor = jnp.asarray(rng.normal(size=(5, 2, 3)))

        def total(function, one, start):
            Z = X @ one.weight + one.bias[None, None]
            own = None if one.own_bias is None else jnp.pad(one.own_bias, (6, 0))
            H, end = function(kind, Z, one.recurrent, own, start, mask)
            return (H * factor).sum() + sum((e**2).sum() for e in end)

        both = [
            eqx.filter_grad(lambda args, f=f: total(f, *args))((one, start))
            for f in (recurrence.recurrence, recurrence.plain_recurrence)
        ]
    for a, b in zip(*map(jax.tree.leaves, both), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_a_sequence_can_be_read_in_parts(rng):
    layer = Recurrent("lstm", 2, 3, n_layers=2, key=jax.random.key(SEED))
    X = jnp.asarray(rng.normal(size=(4, 6, 2)), jnp.float32)
    whole = layer.states(X)
    first = layer.states(X[:, :2])
    second = layer.states(X[:, 2:], first.last)
    joined = jnp.concatenate([first.outputs, second.outputs], 1)
    np.testing.assert_allclose(joined, whole.outputs, atol=1e-6)
    np.testing.assert_allclose(second.last[1][1], whole.last[1][1], atol=1e-6)


def test_truncated_gradients_end_at_the_cut(rng):
    X = jnp.asarray(rng.normal(size=(1, 6, 2)), jnp.float32)
    layer = Recurrent("rnn", 2, 3, truncate=2, key=jax.random.key(SEED))
    slopes = jax.grad(lambda X: layer(X)[0][:, -1].sum())(X)
    assert (slopes[:, :4] == 0).all()
    assert (slopes[:, 4:] != 0).any()
    full = Recurrent("rnn", 2, 3, key=jax.random.key(SEED))
    np.testing.assert_allclose(layer(X)[0], full(X)[0], atol=1e-6)


@pytest.mark.parametrize("window", [None, 2])
def test_cached_positions_are_those_of_the_whole(window, rng):
    settings = {"rotary": True, "reach": 3, "n_key_heads": 2, "window": window}
    layer = TransformerLayer(
        8, 4, hidden=6, causal=True, key=jax.random.key(SEED), **settings
    )
    X = jnp.asarray(rng.normal(size=(2, 6, 8)), jnp.float32)
    cache, parts = layer.attention.cache(2, 9), []
    for first, last in ((0, 3), (3, 4), (4, 6)):
        Y, cache = eqx.filter_jit(layer.extend)(X[:, first:last], cache)
        parts.append(Y)
    assert int(cache.length) == 6
    np.testing.assert_allclose(np.concatenate(parts, 1), outputs(layer, X), atol=1e-5)


def plain_attention(q, k, v, allowed):
    """One query at a time."""
    out = np.zeros((*q.shape[:3], v.shape[-1]))
    for n, t, h in np.ndindex(*q.shape[:3]):
        g = h * k.shape[2] // q.shape[2]
        seen = np.flatnonzero(allowed[n, t])
        if len(seen):
            s = np.exp(k[n, seen, g] @ q[n, t, h] / np.sqrt(q.shape[-1]))
            out[n, t, h] = s / s.sum() @ v[n, seen, g]
    return out


def test_masks_are_those_of_a_plain_loop(rng):
    q, k, v = (rng.normal(size=(2, t, h, 3)) for t, h in ((4, 4), (6, 2), (6, 2)))
    mask = rng.uniform(size=(2, 4, 6)) < 0.6
    mask[0, 0] = False  # a query that may look at nothing
    ahead = np.arange(6)[None] - np.arange(2, 6)[:, None]
    allowed = {
        (False, None): mask,
        (True, None): mask & (ahead <= 0),
        (True, 2): mask & (ahead <= 0) & (ahead >= -2),
        (False, 1): mask & (np.abs(ahead) <= 1),
    }
    compiled = eqx.filter_jit(attention)
    for (causal, window), expected in allowed.items():
        found = compiled(
            *map(jnp.asarray, (q, k, v)),
            mask=jnp.asarray(mask)[:, None], causal=causal, window=window,
        )  # fmt: skip
        np.testing.assert_allclose(found, plain_attention(q, k, v, expected), atol=1e-5)


def test_weights_of_attention_are_probabilities_of_what_may_be_seen(rng):
    layer = MultiHeadAttention(4, 2, causal=True, key=jax.random.key(SEED))
    W = layer.weights(jnp.asarray(rng.normal(size=(1, 5, 4)), jnp.float32))
    np.testing.assert_allclose(W.sum(-1), 1, rtol=1e-5)
    assert (np.triu(np.asarray(W[0, 0]), 1) == 0).all()


def test_rotations_depend_on_distances_alone(rng):
    q, k = (jnp.asarray(rng.normal(size=(1, 1, 1, 8)), jnp.float32) for _ in range(2))

    def score(i, j):
        return float((rotate(q, jnp.array([i])) * rotate(k, jnp.array([j]))).sum())

    assert score(3, 1) == pytest.approx(score(12, 10), rel=1e-4)
    assert score(3, 1) != pytest.approx(score(3, 2), rel=1e-2)


def test_sinusoids():
    P = sinusoidal_positions(50, 6)
    np.testing.assert_allclose(P[:, 0], np.sin(np.arange(50)))
    np.testing.assert_allclose(P[7, 5], np.cos(7 * 10_000 ** (-4 / 6)))
    near, far = P[10] @ P[11], P[10] @ P[25]
    assert near > far


def test_relative_bias_clips_far_distances():
    bias = RelativeBias(2, 2)
    bias = eqx.tree_at(lambda b: b.weight, bias, jnp.arange(10.0).reshape(2, 5))
    found = bias(jnp.arange(4), jnp.arange(4))[0, 0]
    np.testing.assert_array_equal(found[0], [2, 3, 4, 4])
    np.testing.assert_array_equal(found[3], [0, 0, 1, 2])


def test_tied_embedding_is_the_matrix_and_its_transpose():
    embedding = TokenEmbedding(5, 3, key=jax.random.key(SEED))
    H = embedding.of(jnp.array([[1, 4, 9]]))
    np.testing.assert_array_equal(H[0, 2], embedding.weight[4])
    np.testing.assert_allclose(embedding.logits(H), H @ embedding.weight.T)


def test_wrong_sizes_are_told():
    with pytest.raises(InputError, match="kind is 'elman'; give one of rnn"):
        Recurrent("elman", 2, 3, key=jax.random.key(SEED))
    with pytest.raises(InputError, match="multiple of the heads"):
        MultiHeadAttention(6, 4, key=jax.random.key(SEED))
    with pytest.raises(InputError, match=r"takes \(rows, positions, 2\)"):
        Recurrent("gru", 2, 3, key=jax.random.key(SEED))(jnp.zeros((4, 2)))
    with pytest.raises(InputError, match="sequence 1 is empty"):
        pad_sequences([[1, 2], []])
    with pytest.raises(InputError, match="has 3 positions; at most 2 fit"):
        pad_sequences([[1, 2, 3]], 2)
    with pytest.raises(InputError, match="give it a context"):
        TransformerLayer(4, 2, cross=True, key=jax.random.key(SEED))(
            jnp.zeros((1, 2, 4))
        )
    with pytest.raises(InputError, match="the mask has shape"):
        MultiHeadAttention(4, 2, key=jax.random.key(SEED))(
            jnp.zeros((1, 3, 4)), mask=np.ones((2, 2))
        )
    with pytest.raises(InputError, match="has no 'weight_ih_l0'"):
        sequence_from_torch(
            Recurrent("lstm", 2, 3, key=jax.random.key(SEED)),
            {"bias_ih_l0": np.zeros(12), "bias_hh_l0": np.zeros(12)},
        )
