"""Attention seen from inside: maps, scaling, order, induction, ablation; plain loops."""

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

import likely as lk
from likely import diagnostics, plots
from likely.core import InputError
from likely.layers import (
    Chain,
    MixedPrecision,
    MultiHeadAttention,
    Padded,
    Residual,
    TransformerLayer,
    attention,
)
from likely.models import EncoderDecoder, Transformer, VisionTransformer
from likely.models.sequence.transformer import POSITIONS
from likely.objectives.next_token import NextTokenLikelihood
from likely.solvers import AdamW, Constant
from likely.typing import Batch

TOKENS = np.random.default_rng(0).integers(7, size=(3, 6)).astype(np.int32)
PRESENT = np.arange(6)[None] < np.array([[6], [4], [1]])


def key(seed=0):
    return jax.random.key(seed)


def filled(build, scale=0.4):
    """A model with all its numbers drawn by NumPy, which compiles nothing."""
    rng = np.random.default_rng(1)
    return jax.tree.map(
        lambda a: (
            jnp.asarray(scale * rng.normal(size=a.shape), a.dtype)
            if isinstance(a, jax.ShapeDtypeStruct)
            else a
        ),
        eqx.filter_eval_shape(build),
    )


def build_decoder(n_layers=2, **settings):
    return Transformer(
        7, 8, n_layers, 2, kind="decoder", context=12, hidden=8, activate="relu", **settings,
        key=key(),
    )  # fmt: skip


@pytest.fixture(scope="module")
def decoder():
    """Two layers of two heads, without biases."""
    return filled(lambda: build_decoder(bias=False))


# plain loops -----------------------------------------------------------------------


def dense(X, layer):
    bias = 0 if layer.bias is None else np.asarray(layer.bias, float)
    return X @ np.asarray(layer.weight, float) + bias


def normed(H, layer):
    centred = H - H.mean(-1, keepdims=True)
    Z = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return Z * np.asarray(layer.scale) + np.asarray(layer.shift)


def plain_attention(layer, X, source=None):
    """Maps and outputs of one sequence, by loops over heads and positions."""
    source = X if source is None else source
    q, (k, v) = dense(X, layer.query), np.split(dense(source, layer.key_value), 2, 1)
    size = q.shape[1] // layer.n_heads
    A, mixed = np.zeros((layer.n_heads, len(X), len(source))), np.zeros_like(q)
    for h in range(layer.n_heads):
        own = slice(h * size, (h + 1) * size)
        for t in range(len(X)):
            seen = range(t + 1 if layer.causal else len(source))
            p = softmax([q[t, own] @ k[s, own] / np.sqrt(size) for s in seen])
            A[h, t, list(seen)] = p
            mixed[t, own] = sum(p[s] * v[s, own] for s in seen)
    return A, dense(mixed, layer.out)


def plain_decoder(model, X, at=None, replace=np.zeros_like):
    """Maps and states of sequences; the outputs of the block `at` go through a function."""
    H = np.asarray(model.embedding.weight, float)[X]
    H = H + np.asarray(model.positions.weight)[None, : X.shape[1]]
    maps = []
    for i, layer in enumerate(model.layers):
        found = [plain_attention(layer.attention, normed(h, layer.norms[0])) for h in H]
        maps.append([A for A, _ in found])
        added = np.array([Y for _, Y in found])
        H = H + (replace(added) if at == (i, "attention") else added)
        first, _, last = layer.mlp.layers
        added = dense(np.maximum(dense(normed(H, layer.norms[1]), first), 0), last)
        H = H + (replace(added) if at == (i, "mlp") else added)
    return np.array(maps), normed(H, model.norm)


# maps ------------------------------------------------------------------------------


def test_maps_are_those_of_a_plain_loop(decoder):
    maps = diagnostics.attention_maps(decoder, TOKENS)
    assert maps.shape == (2, 3, 2, 6, 6)
    np.testing.assert_allclose(maps, plain_decoder(decoder, TOKENS)[0], atol=1e-5)


def test_rollout_is_a_product_of_mixtures(decoder):
    maps = diagnostics.attention_maps(decoder, TOKENS)
    rollout = diagnostics.attention_rollout(maps)
    for i in range(3):
        first, second = ((A[i].mean(0) + np.eye(6)) / 2 for A in maps)
        np.testing.assert_allclose(rollout[i], second @ first, atol=1e-6)
    np.testing.assert_allclose(rollout.sum(-1), 1, atol=1e-12)
    with pytest.raises(InputError, match="self-attention"):
        diagnostics.attention_rollout(maps[..., :3])


def test_absent_positions_neither_look_nor_are_seen(decoder):
    garbage = Padded(np.where(PRESENT, TOKENS, 99), PRESENT)
    maps = diagnostics.attention_maps(decoder, garbage)
    listed = [row[there] for row, there in zip(TOKENS, PRESENT, strict=True)]
    np.testing.assert_array_equal(maps, diagnostics.attention_maps(decoder, listed))
    alone, _ = plain_decoder(decoder, TOKENS[1:2, :4])
    np.testing.assert_allclose(maps[:, 1, :, :4, :4], alone[:, 0], atol=1e-5)
    sums = np.broadcast_to(PRESENT[None, :, None], maps.shape[:4])
    np.testing.assert_allclose(maps.sum(-1), sums, atol=1e-6)
    assert not maps.swapaxes(3, 4)[~sums].any()
    rollout = diagnostics.attention_rollout(maps)
    np.testing.assert_allclose(rollout.sum(-1), PRESENT, atol=1e-6)


class Fitted:
    """The part of a fitted network estimator that shows its model."""

    def __init__(self, model):
        self.model = model

    def unpack(self, X, member=0):
        return self.model, None, np.asarray(X) - 1


def test_maps_of_a_fitted_estimator(decoder):
    known = diagnostics.attention_maps(decoder, TOKENS)
    fitted = Fitted(decoder)
    np.testing.assert_array_equal(diagnostics.attention_maps(fitted, TOKENS + 1), known)


class Reading(eqx.Module):
    """A layer that looks at a context."""

    layer: TransformerLayer
    context: jax.Array

    def __call__(self, X, *, state=None):
        return self.layer(X, context=self.context, state=state)


@pytest.mark.parametrize("first", [True, False])
def test_maps_of_cross_attention(first):
    layer = filled(
        lambda: TransformerLayer(
            4, 2, cross=True, norm_first=first, hidden=4, key=key()
        )
    )
    X, context = np.random.default_rng(2).normal(size=(2, 1, 5, 4)).astype(np.float32)
    X = X[:, :3]
    model = Reading(layer, jnp.asarray(context))
    found = diagnostics.attention_maps(model, X, cross=True)
    looking = normed(X[0], layer.norms[0]) if first else X[0]
    H = X[0] + plain_attention(layer.attention, looking)[1]
    asking = normed(H, layer.norms[1 if first else 0])
    known, _ = plain_attention(layer.cross, asking, context[0])
    np.testing.assert_allclose(found[0, 0], known, atol=1e-5)


@pytest.mark.slow
def test_models_of_every_kind_show_their_maps():
    """Half precision, shared keys, norms after the sums, images, estimators."""
    options = {"n_key_heads": 1, "norm_first": False, "positions": "relative"}
    model = filled(lambda: build_decoder(gated=True, norm="rms", **options))
    exact = diagnostics.attention_maps(model, TOKENS)
    half = diagnostics.attention_maps(MixedPrecision(model, "bfloat16"), TOKENS)
    assert half.dtype == np.float32
    np.testing.assert_allclose(half.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(half, exact, atol=0.05)
    found = diagnostics.ablation(model, score, mean_over=TOKENS)
    assert [row.block for row in found.rows] == 2 * ["attention", "mlp"]
    images = filled(
        lambda: VisionTransformer(
            (8, 8, 1), 3, patch=4, size=8, n_layers=1, n_heads=2, key=key()
        )
    )
    maps = diagnostics.attention_maps(images, np.ones((2, 8, 8, 1), np.float32))
    np.testing.assert_allclose(maps.sum(-1), 1, atol=1e-5)
    rows = [["a", "b"], ["b", "c", "a"], ["c", "c"], ["a"]] * 3
    tagger = lk.SequenceClassifier(
        architecture="transformer", size=8, n_layers=1, n_heads=2, max_iter=2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tagger.fit(rows, ["a" in row for row in rows])
    maps = diagnostics.attention_maps(tagger, rows[:2])
    whole = [[1, 1, 0], [1, 1, 1]]
    np.testing.assert_allclose(maps[0, :, 0, :3].sum(-1), whole, atol=1e-6)


@pytest.mark.slow
def test_an_encoder_and_its_decoder():
    both = filled(lambda: EncoderDecoder(7, 7, 4, 1, 2, context=8, key=key()))
    maps = diagnostics.attention_maps(both, (TOKENS, TOKENS[:, :4]))
    assert maps.shape == (1, 3, 2, 4, 4)
    maps = diagnostics.attention_maps(both, (TOKENS, TOKENS[:, :4]), cross=True)
    assert maps.shape == (1, 3, 2, 4, 6)
    assert diagnostics.attention_maps(both.encoder, TOKENS).shape == (1, 3, 2, 6, 6)


def test_wrong_inputs_are_sentences(decoder):
    with pytest.raises(InputError, match="has no attention"):
        diagnostics.attention_maps(Chain(jnp.tanh), np.zeros((1, 2, 3)))
    with pytest.raises(InputError, match="no layer of the model has cross-attention"):
        diagnostics.attention_maps(decoder, TOKENS, cross=True)
    with pytest.raises(InputError, match="row 0 has the token 99 at position 0"):
        diagnostics.attention_maps(decoder, np.full((1, 3), 99))
    with pytest.raises(InputError, match="at least 2"):
        diagnostics.permutation_equivariance(decoder, TOKENS[:, :1], key=key())
    with pytest.raises(InputError, match="give some of attention"):
        diagnostics.ablation(decoder, lambda m: 0.0, blocks=["norm"])
    with pytest.raises(InputError, match="no block of the kinds cross"):
        diagnostics.ablation(decoder, lambda m: 0.0, blocks=["cross"])
    with pytest.raises(InputError, match="give the vocabulary"):
        diagnostics.induction_test(decoder.layers[0], key=key())
    with pytest.raises(InputError, match="give positive ones"):
        diagnostics.scaling_study((0, 4), key=key())


# the factor 1/√d -------------------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    return diagnostics.scaling_study((1, 4, 16, 64, 256), draws=100, key=key(3))


def test_the_variance_of_scores_is_the_size_of_a_head(study):
    np.testing.assert_array_equal(study.law, study.sizes)
    assert (np.abs(study.plain.variance - study.law) < 4 * study.plain.error).all()
    assert (np.abs(study.scaled.variance - 1) < 4 * study.scaled.error).all()
    assert (study.plain.error[1:] < 0.15 * study.law[1:]).all()


def test_softmax_saturates_without_the_factor(study):
    plain, scaled = study.plain, study.scaled
    assert (np.diff(plain.entropy) < 0).all()
    assert plain.entropy[-1] < 0.5 < 3 < scaled.entropy[-1]
    assert plain.largest[-1] > 0.85 > 0.15 > scaled.largest[-1]
    # log s − v/2 for the entropy of a softmax of scores of a small variance v
    np.testing.assert_allclose(scaled.entropy[2:], np.log(64) - 0.5, atol=0.1)
    assert plain.gradient[-1] < 0.5 * plain.gradient[1:-1].max()
    assert np.ptp(scaled.gradient[2:]) < 0.05
    assert "64 keys" in str(study)
    assert len(plots.scaling_study(study).axes) == 4


def test_the_study_is_that_of_a_plain_loop(study):
    entries = np.asarray(jax.random.normal(key(3), (100, 65, 256)), float)
    q, k = entries[:, 0], entries[:, 1:]
    for saturation, scale in ((study.plain, 1.0), (study.scaled, 0.25)):
        rows = []
        for i in range(100):
            scores = np.array([q[i, :16] @ k[i, s, :16] * scale for s in range(64)])
            p = softmax(scores)
            size = np.linalg.norm(np.diag(p) - np.outer(p, p))
            rows.append(((scores**2).mean(), -(p @ np.log(p)), p.max(), size))
        variance, error, *rest = (float(a[2]) for a in saturation)  # d = 16
        np.testing.assert_allclose([variance, *rest], np.mean(rows, 0), rtol=1e-4)
        known = np.std(rows, 0, ddof=1)[0] / 10
        np.testing.assert_allclose(error, known, rtol=1e-4)


# the order of positions --------------------------------------------------------------


def test_each_kind_of_positions_breaks_the_symmetry():
    found = diagnostics.position_study(6, 8, draws=2, key=key())
    assert found.tests["none"].equivariant
    assert found.tests["none"].error < 1e-5
    for name in ("sinusoidal", "learned", "rotary", "relative", "causal"):
        assert not found.tests[name].equivariant, name
        assert found.tests[name].error > 0.01, name
    assert "none        does not know the order" in str(found)


def order_test(model, X):
    return diagnostics.permutation_equivariance(model, X, draws=2, key=key())


def test_a_model_without_positions_is_equivariant():
    sets = filled(lambda: Transformer(7, 8, 1, 2, positions=None, hidden=8, key=key()))
    found = order_test(sets, Padded(TOKENS, PRESENT))
    assert found.equivariant
    assert found.errors.shape == (2,)
    with pytest.raises(InputError, match="an output for each position"):
        order_test(Chain(lambda H: H.mean(1)), np.ones((2, 3, 4), np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_models_with_positions_know_the_order(kind, positions):
    model = filled(
        lambda: Transformer(7, 8, 2, 2, kind=kind, positions=positions, key=key())
    )
    expected = kind == "encoder" and positions is None
    assert order_test(model, TOKENS).equivariant == expected


# induction -------------------------------------------------------------------------


class Copying(eqx.Module):
    """Two layers of attention with weights by hand: what followed this token before?

    A position is [token | place | token before | answer]. Layer 0 looks one place back and
    notes the token there; layer 1 looks for positions whose token before is this one, and
    notes their token as the answer.
    """

    layers: tuple
    vocabulary: int = eqx.field(static=True)
    places: int = eqx.field(static=True)

    def __init__(self, vocabulary, places):
        size = 3 * vocabulary + places
        token, place = np.arange(vocabulary), vocabulary + np.arange(places)
        before, answer = vocabulary + places + token, 2 * vocabulary + places + token
        back = _head(place[1:], place[:-1], token, before, size)
        copy = _head(token, before, token, answer, size)
        self.layers = (Residual(back), Residual(copy))
        self.vocabulary, self.places = vocabulary, places

    def __call__(self, X, *, state=None):
        places = jnp.broadcast_to(jnp.eye(self.places)[None], (*X.shape, self.places))
        tokens = jax.nn.one_hot(X, self.vocabulary)
        empty = jnp.zeros((*X.shape, 2 * self.vocabulary))
        H = jnp.concatenate([tokens, places, empty], -1)
        for layer in self.layers:
            H, _ = layer(H)
        return 20 * H[..., -self.vocabulary :], state


def _head(asks, offers, reads, writes, size):
    """A head whose queries and keys are some entries, and that copies others."""
    Q, K, V, out = np.zeros((4, size, size))
    Q[asks, np.arange(len(asks))] = 200
    K[offers, np.arange(len(offers))] = 1
    V[reads, np.arange(len(reads))] = out[np.arange(len(reads)), writes] = 1
    layer = filled(
        lambda: MultiHeadAttention(size, 1, causal=True, bias=False, key=key())
    )
    return eqx.tree_at(
        lambda a: (a.query.weight, a.key_value.weight, a.out.weight),
        layer,
        tuple(jnp.asarray(W, jnp.float32) for W in (Q, np.hstack([K, V]), out)),
    )


def test_a_model_made_for_copying_has_an_induction_head():
    found = diagnostics.induction_test(Copying(12, 16), length=8, rows=4, key=key())
    assert found.best == (1, 0)
    # the first position has none before it and notes itself: 7 of 8 tokens, and a half
    np.testing.assert_allclose(found.prefix_matching[1, 0], 7.5 / 8, atol=1e-6)
    np.testing.assert_allclose(found.previous[0, 0], 1, atol=1e-6)
    assert found.chance == pytest.approx(np.mean([1 / (i + 1) for i in range(8, 16)]))
    assert found.second < 0.2 < np.log(12) - 0.1 < found.first
    assert found.copying == found.first - found.second > 2
    assert "layer 1, head 0" in str(found)


class Begun:
    """A fitted language model, which reads a symbol for the beginning first."""

    vocabulary_ = 12

    def unpack(self, X, member=0):
        return Copying(13, 17), None, np.pad(X, ((0, 0), (1, 0)), constant_values=12)


@pytest.mark.slow
def test_a_symbol_for_the_beginning_is_left_out():
    found = diagnostics.induction_test(Begun(), length=8, rows=4, key=key())
    np.testing.assert_allclose(found.prefix_matching[1, 0], 1, atol=1e-6)
    assert found.second < 0.1


@pytest.mark.slow
def test_a_new_model_has_none():
    """Small weights look everywhere equally, and predict all tokens equally."""
    quiet = filled(lambda: build_decoder(1), 0.01)
    found = diagnostics.induction_test(quiet, length=6, rows=4, key=key(5))
    np.testing.assert_allclose(found.prefix_matching, found.chance, atol=0.01)
    np.testing.assert_allclose([found.first, found.second], found.uniform, atol=0.1)
    encoder = filled(lambda: Transformer(7, 4, 1, 1, hidden=4, context=12, key=key()))
    with pytest.raises(InputError, match="give a causal one"):
        diagnostics.induction_test(encoder, length=6, rows=4, key=key())


@pytest.mark.slow
def test_training_on_repeated_tokens_makes_an_induction_head(rng):
    tokens = rng.permuted(np.tile(np.arange(16), (8192, 1)), axis=1)
    period = rng.integers(5, 13, size=(8192, 1))
    data = np.take_along_axis(tokens, np.arange(24)[None] % period, 1)
    data = jnp.asarray(data, jnp.int32)
    model = Transformer(
        16, 32, 2, 2, kind="decoder", context=24, positions="relative", hidden=64,
        init="xavier", key=key(),
    )  # fmt: skip
    solver = AdamW(Constant(5e-3), steps=800, batch_size=64)
    batch = Batch(data[:, :-1], data[:, 1:], jnp.ones(len(data)))
    fit = solver.minimize(NextTokenLikelihood(23.0), model, batch, key=key(1))
    found = diagnostics.induction_test(fit.model, length=12, key=key(2))
    assert found.best[0] == 1  # it needs a layer before it
    assert found.prefix_matching[1].max() > 0.8
    assert found.second < 0.1 < 2.6 < found.first
    few = Batch(*(a[:64] for a in batch))
    lost = diagnostics.ablation(
        fit.model, lambda m: NextTokenLikelihood(23.0)(m, few)[0], blocks=["head"]
    )
    rise = {(row.layer, row.head): row.rise for row in lost.rows}
    others = [
        r for (layer, head), r in rise.items() if layer == 1 and head != found.best[1]
    ]
    assert rise[found.best] > 2 * max(others)


# ablation --------------------------------------------------------------------------


@eqx.filter_jit
def score(model):
    """Some number of what the model makes of the tokens."""
    return (model.states(jnp.asarray(TOKENS)) ** 2)[..., :3].mean()


def mean_output(Y):
    return np.broadcast_to(Y.mean((0, 1)), Y.shape)


@pytest.mark.parametrize("replace", [np.zeros_like, mean_output])
def test_ablation_is_the_model_without_the_block(decoder, replace):
    rows = Padded(TOKENS, PRESENT | True) if replace is mean_output else None
    found = diagnostics.ablation(decoder, score, mean_over=rows)
    blocks = [(row.layer, row.block) for row in found.rows]
    assert blocks == [(i, b) for i in range(2) for b in ("attention", "mlp")]
    for row, at in zip(found.rows, blocks, strict=True):
        _, H = plain_decoder(decoder, TOKENS, at, replace)
        assert row.value == pytest.approx((H[..., :3] ** 2).mean(), rel=1e-4), row.name
        assert row.rise == pytest.approx(row.value - found.whole)


def test_ablation_of_heads(decoder):
    found = diagnostics.ablation(decoder, score, blocks=["head"])
    assert [row.name for row in found.rows][:2] == ["layer 0 head 0", "layer 0 head 1"]
    for row in found.rows:
        W = np.array(decoder.layers[row.layer].attention.key_value.weight)
        first = 8 + 4 * (row.head or 0)
        W[:, first : first + 4] = 0  # values of zero
        gone = eqx.tree_at(
            lambda m, i=row.layer: m.layers[i].attention.key_value.weight, decoder, W
        )
        _, H = plain_decoder(gone, TOKENS)
        assert row.value == pytest.approx((H[..., :3] ** 2).mean(), rel=1e-4)
    assert len(str(found).splitlines()) == 5
    (ax,) = plots.ablation(found).axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [row.name for row in found.rows]


def test_means_leave_out_absent_positions(decoder):
    def found(rows):
        return diagnostics.ablation(
            decoder, score, mean_over=rows, blocks=["mlp", "head"]
        )

    one, other = (Padded(np.where(PRESENT, TOKENS, x), PRESENT) for x in (1, 99))
    everything = Padded(TOKENS, PRESENT | True)
    assert found(one) == found(other) != found(everything)


def test_a_bias_is_part_of_its_block():
    """It goes with the block, not with a single head, and a mean contains it."""
    X = jnp.ones((1, 3, 4))
    layer = filled(
        lambda: TransformerLayer(4, 2, gated=True, hidden=4, norm="rms", key=key())
    )
    out = layer.attention.out
    out = eqx.tree_at(lambda d: d.weight, out, jnp.zeros((4, 4)))
    layer = eqx.tree_at(lambda a: a.attention.out, layer, out)
    run = eqx.filter_jit(lambda m: (m(X)[0] ** 2).sum())
    zero = diagnostics.ablation(layer, run, blocks=["attention", "head"])
    assert [row.rise != 0 for row in zero.rows] == [True, False, False]
    # all positions are equal, so that the mean of a block is the block
    mean = diagnostics.ablation(layer, run, blocks=["attention", "mlp"], mean_over=X)
    np.testing.assert_allclose([row.rise for row in mean.rows], 0, atol=1e-4)


# pictures --------------------------------------------------------------------------


def test_pictures_of_maps(decoder):
    maps = diagnostics.attention_maps(decoder, TOKENS)
    drawn = plots.attention_maps(maps, row=1, tokens=list("abcdef"), title="two by two")
    assert len(drawn.axes) == 5  # 2 layers, 2 heads, the colour bar
    shown = np.asarray(drawn.axes[3].images[0].get_array())
    np.testing.assert_allclose(shown, maps[1, 1, 1])
    assert len(plots.attention_maps(diagnostics.attention_rollout(maps)).axes) == 2
    with pytest.raises(InputError, match="none of row 3"):
        plots.attention_maps(maps, row=3)
    with pytest.raises(InputError, match="4 axes"):
        plots.attention_maps(maps[0])


# misprints -------------------------------------------------------------------------


def test_weights_sum_to_one_for_each_position_that_looks(rng):
    """For each output the weights of all inputs sum to 1, not the other way round.

    The queries come from the outputs' positions and the keys from the inputs'. With tokens
    as columns, V softmax(KᵀQ/√d) needs the softmax over axis 0, with rows,
    softmax(QKᵀ/√d)V over axis 1; over the wrong axis the results differ.
    """
    q, k, v = rng.normal(size=(3, 4, 4)).astype(np.float32)
    stacked = [jnp.asarray(a[None, :, None]) for a in (q, k, np.hstack([v, np.eye(4)]))]
    found = np.asarray(eqx.filter_jit(attention)(*stacked))[0, :, 0]
    ours, A = found[:, :4], found[:, 4:]
    np.testing.assert_allclose(A.sum(1), 1, atol=1e-6)
    assert np.abs(A.sum(0) - 1).max() > 0.1
    rows = softmax(q @ k.T / 2, axis=1) @ v
    columns = v.T @ softmax(k @ q.T / 2, axis=0)
    np.testing.assert_allclose(ours, rows, atol=1e-6)
    np.testing.assert_allclose(columns.T, rows, atol=1e-6)
    assert np.abs(softmax(q @ k.T / 2, axis=0) @ v - rows).max() > 0.1
