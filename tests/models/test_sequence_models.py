"""Models of sequences: public sizes and weights, absent positions, causality, generation."""

import itertools
import math
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from ledger import ROOT

from likely.core import InputError
from likely.layers import Dense, Padded, pad_sequences, sinusoidal_positions
from likely.models import (
    BERT,
    EncoderDecoder,
    RecurrentNetwork,
    Transformer,
    VisionTransformer,
    beam_search,
    bert,
    generate,
    gpt2,
    next_token_log_probs,
    sequence_from_torch,
    stream,
    token_log_probs,
    vit,
)
from likely.models.sequence.generation import read, write
from likely.solvers.settings import WEIGHT_NAMES

FOLDER = ROOT / "tests" / "golden" / "sequence"
TORCH = dict(np.load(FOLDER / "models.npz"))
V, CONTEXT = 5, 12

PUBLIC = {
    "gpt2 small": (gpt2, "small", 124_439_808),
    "gpt2 medium": (gpt2, "medium", 354_823_168),
    "gpt2 large": (gpt2, "large", 774_030_080),
    "gpt2 xl": (gpt2, "xl", 1_557_611_200),
    "bert base": (bert, "base", 109_482_240),
    "bert large": (bert, "large", 335_141_888),
    "vit tiny": (vit, "tiny", 5_717_416),
    "vit small": (vit, "small", 22_050_664),
    "vit base": (vit, "base", 86_567_656),
    "vit large": (vit, "large", 304_326_632),
}


def quick(names, *chosen: str) -> list:
    """Names for the quick tests and, of those that are much like them, for the slow ones."""
    slow = pytest.mark.slow
    return [n if n in chosen else pytest.param(n, marks=slow) for n in names]


def is_number(leaf) -> bool:
    return jnp.issubdtype(getattr(leaf, "dtype", int), jnp.inexact)


def n_parameters(make) -> int:
    """Counted without making them."""
    model = eqx.filter_eval_shape(make, jax.random.key(0))
    leaves = jax.tree.leaves(eqx.filter(model, is_number))
    return sum(math.prod(a.shape) for a in leaves)


@pytest.mark.parametrize("name", quick(PUBLIC, "gpt2 small", "bert base", "vit tiny"))
def test_parameters_are_as_many_as_published(name):
    make, size, published = PUBLIC[name]
    assert n_parameters(lambda key: make(size, key=key)) == published


def tiny(name: str):
    """A model of the sizes of the reference in PyTorch."""
    if name == "gpt2":
        return decoder(11, context=8, activate=jax.nn.gelu)
    if name == "bert":
        inner = Transformer(
            11, 8, 2, 2, context=8, n_types=2, n_out=0, norm_first=False,
            embedding_norm=True, epsilon=1e-12, key=jax.random.key(0),
        )  # fmt: skip
        return BERT(inner, Dense(8, 8, key=jax.random.key(0)))
    return VisionTransformer((8, 12, 3), 5, 8, 2, 2, patch=4, key=jax.random.key(0))


def decoder(vocabulary: int = V, **settings):
    settings = {"context": CONTEXT, "kind": "decoder", **settings}
    return Transformer(vocabulary, 8, 2, 2, **settings, key=jax.random.key(0))


def stored(name: str) -> dict[str, np.ndarray]:
    start = f"{name}/weights/"
    return {k[len(start) :]: v for k, v in TORCH.items() if k.startswith(start)}


@eqx.filter_jit
def eta_of(model, X):
    return model(X)[0]


@pytest.mark.parametrize("name", ["gpt2", "bert", "vision"])
def test_weights_from_torch_give_its_outputs(name):
    model = sequence_from_torch(tiny(name), stored(name))
    found = eta_of(model, jnp.asarray(TORCH[f"{name}/X"]))
    np.testing.assert_allclose(found, TORCH[f"{name}/out"], atol=1e-4)
    with pytest.raises(InputError, match="the state dict"):
        sequence_from_torch(tiny(name), dict(list(stored(name).items())[3:]))


MODELS = {
    "encoder": lambda: Transformer(
        None, 8, 1, 2, context=8, n_in=3, n_out=2, positions="relative",
        key=jax.random.key(0),
    ),
    "encoder of tokens": lambda: Transformer(
        V, 8, 1, 2, context=8, positions="sinusoidal", key=jax.random.key(0)
    ),
    "encoder, norm last, gated, a set": lambda: Transformer(
        None, 8, 1, 2, context=8, n_in=3, n_out=2, positions=None, norm_first=False,
        norm="rms", gated=True, key=jax.random.key(0),
    ),
    "lstm, last": lambda: RecurrentNetwork(
        None, 4, n_in=3, n_out=2, bidirectional=True, key=jax.random.key(0)
    ),
    "gru, mean": lambda: RecurrentNetwork(
        None, 4, kind="gru", n_in=3, n_out=2, output="mean", key=jax.random.key(0)
    ),
    "rnn of tokens, each": lambda: RecurrentNetwork(
        V, 4, kind="rnn", output="each", key=jax.random.key(0)
    ),
}  # fmt: skip


@eqx.filter_jit
def eta_and_slopes(model, X, present, factor):
    def total(model):
        eta = model(Padded(X, present))[0]
        each = eta.ndim == 3
        return (jnp.where(present[..., None], eta, 0) if each else eta).sum(), eta

    (_, eta), slopes = eqx.filter_value_and_grad(total, has_aux=True)(model)
    return eta, slopes


@pytest.mark.parametrize(
    "name", quick(MODELS, "encoder", "encoder of tokens", "lstm, last")
)
def test_garbage_in_absent_positions_changes_nothing(name, rng):
    model = MODELS[name]()
    tokens = model.vocabulary is not None
    lengths = np.array([6, 2, 4, 0])  # the last row is wholly absent
    present = jnp.asarray(np.arange(6)[None] < lengths[:, None])
    clean = rng.integers(0, V, (4, 6)) if tokens else rng.normal(size=(4, 6, 3))
    here = present if tokens else present[..., None]
    rubbish = -(10**6) if tokens else np.nan
    found = [
        eta_and_slopes(model, jnp.where(here, clean, other), present, None)
        for other in (0, rubbish)
    ]
    each = found[0][0].ndim == 3
    (a, da), (b, db) = [
        (np.asarray(eta)[np.asarray(present)] if each else eta, slopes)
        for eta, slopes in found
    ]
    np.testing.assert_array_equal(a, b)
    assert np.isfinite(a).all()
    for x, y in zip(jax.tree.leaves(da), jax.tree.leaves(db), strict=True):
        np.testing.assert_array_equal(x, y)
        assert np.isfinite(x).all()
    alone = eta_of(model, jnp.asarray(clean)[1:2, :2])
    together = found[1][0][1:2, :2] if each else found[1][0][1:2]
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("pool", quick(["class", "mean"], "class"))
def test_garbage_in_absent_patches_changes_nothing(pool, rng):
    images = jnp.asarray(rng.normal(size=(2, 4, 6, 1)), jnp.float32)
    key = jax.random.key(0)
    model = VisionTransformer((4, 6, 1), 3, 8, 1, 2, patch=2, pool=pool, key=key)
    patches = model.cut(images)
    np.testing.assert_array_equal(patches[0, 1].reshape(2, 2), images[0, :2, 2:4, 0])
    all_there = eta_of(model, Padded(patches, jnp.ones((2, 6), bool)))
    np.testing.assert_allclose(all_there, eta_of(model, images), atol=1e-6)
    present = jnp.asarray(rng.uniform(size=(2, 6)) < 0.5)
    a, b = (
        eta_of(model, Padded(jnp.where(present[..., None], patches, x), present))
        for x in (0, np.nan)
    )
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - all_there).max() > 1e-4


def test_a_later_token_changes_nothing_before(rng):
    model = decoder(positions="rotary", n_key_heads=1)
    X = rng.integers(0, V, (2, 6))
    other = X.copy()
    other[:, 4:] = (X[:, 4:] + 1) % V
    a, b = eta_of(model, X), eta_of(model, other)
    np.testing.assert_array_equal(a[:, :4], b[:, :4])
    assert (a[:, 4:] != b[:, 4:]).any()


def test_initial_weights_are_those_of_gpt2():
    model = Transformer(32, 32, 4, 2, context=32, key=jax.random.key(0))
    first = model.layers[0]
    assert np.std(first.attention.query.weight) == pytest.approx(0.02, rel=0.1)
    adding = (first.attention.out.weight, first.mlp.layers[-1].weight)
    assert np.std(adding[0]) == pytest.approx(0.02 / 8**0.5, rel=0.1)
    assert np.std(adding[1]) == pytest.approx(0.02 / 8**0.5, rel=0.1)
    assert np.abs(first.mlp.layers[0].bias).max() == 0


def test_positions_are_added_to_tokens():
    learned = decoder(context=8)
    X = np.array([[3, 0, 3]])
    E, P = np.asarray(learned.embedding.weight), np.asarray(learned.positions.weight)
    np.testing.assert_allclose(learned._embed(X, 0)[0], E[X[0]] + P[:3], rtol=1e-6)
    np.testing.assert_allclose(learned._embed(X, 4)[0], E[X[0]] + P[4:7], rtol=1e-6)
    waves = decoder(context=8, positions="sinusoidal")
    expected = E[X[0]] * 8**0.5 + sinusoidal_positions(8, 8)[:3]
    np.testing.assert_allclose(waves._embed(X, 0)[0], expected, rtol=1e-5, atol=1e-6)


def test_a_recurrent_network_is_a_plain_loop(rng):
    each = RecurrentNetwork(
        None, 4, kind="rnn", n_in=3, n_out=2, output="each", key=jax.random.key(0)
    )
    X, h, expected = rng.normal(size=(2, 3, 3)).astype(np.float32), np.zeros((2, 4)), []
    one = jax.tree.map(np.asarray, each.recurrent.layers[0][0])
    A, c = np.asarray(each.output.weight), np.asarray(each.output.bias)
    for t in range(3):
        h = np.tanh(X[:, t] @ one.weight + h @ one.recurrent + one.bias)
        expected.append(h @ A + c)
    found = eta_of(each, jnp.asarray(X))
    np.testing.assert_allclose(found, np.stack(expected, 1), atol=1e-5)


def test_only_matrices_decay():
    """The leaves that weight decay and priors are for are those with two axes."""
    makers = [*MODELS.values(), lambda: tiny("bert"), lambda: tiny("vision")]
    for make in makers:
        model = eqx.filter(eqx.filter_eval_shape(make), is_number)
        for path, leaf in jax.tree_util.tree_leaves_with_path(model):
            assert (path[-1].name in WEIGHT_NAMES) == (leaf.ndim == 2), path


def test_a_decoder_reads_what_an_encoder_made(rng):
    model = EncoderDecoder(V, 4, 8, 1, 2, context=8, key=jax.random.key(0))
    sources = [[1, 2, 3], [4]]
    padded = pad_sequences(sources, 5)
    dirty = Padded(np.where(padded.present, padded.values, 77), padded.present)
    target = rng.integers(0, 4, (2, 3))
    eta = eta_of(model, (dirty, target))
    alone = eta_of(model, (np.array([[4]]), target[1:]))
    np.testing.assert_allclose(eta[1:], alone, atol=1e-5)
    other = Padded(np.where(padded.present, 0, 77), padded.present)
    assert np.abs(eta_of(model, (other, target)) - eta).max() > 1e-6


@pytest.mark.slow
def test_a_decoder_writes_what_it_reads(rng):
    model = EncoderDecoder(V, 4, 8, 1, 2, context=8, key=jax.random.key(0))
    source, target = rng.integers(0, V, (2, 5)), rng.integers(0, 4, (2, 1))
    encoded = eqx.filter_jit(model.encode)(source)
    greedy = generate(model.decoder, target, 2, temperature=0, encoded=encoded)
    prompt = np.concatenate([target, greedy], 1)
    again = np.asarray(eta_of(model, (source, prompt)))[:, :-1].argmax(2)
    np.testing.assert_array_equal(greedy, again)


# Generation ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def writer():
    """A decoder with an opinion: untrained ones repeat the last token."""
    key = jax.random.key(0)
    model = Transformer(
        V, 8, 1, 2, context=CONTEXT, kind="decoder", positions="rotary", key=key
    )
    noise = jax.random.normal(jax.random.key(1), (8, V))
    output = Dense(8, V, key=jax.random.key(2))
    output = eqx.tree_at(lambda d: d.weight, output, noise)
    return eqx.tree_at(
        lambda m: (m.output, m.layers[0].attention.out.weight),
        model,
        (output, 0.5 * jax.random.normal(jax.random.key(3), (8, 8))),
        is_leaf=lambda a: a is None,
    )


PROMPTS = [[1, 2, 3], [4], [0, 1, 2, 3, 4, 1, 2, 3]]


def uncached(model, prompt: list[int], n: int, choose) -> list[int]:
    """Everything again for each token; the older half goes when the context is full."""
    seen, out = list(prompt), []
    for i in range(n):
        if len(seen) > CONTEXT:
            seen = seen[-(CONTEXT // 2) :]
        row = np.zeros((1, CONTEXT), int)
        row[0, : len(seen)] = seen
        out.append(int(choose(eta_of(model, row)[0, len(seen) - 1], i)))
        seen.append(out[-1])
    return out


def test_cached_generation_is_uncached_generation(writer):
    n = 2 * CONTEXT  # beyond the context
    found = generate(writer, PROMPTS, n, temperature=0)
    assert len(set(found[0])) > 1
    for row, prompt in zip(found, PROMPTS, strict=True):
        assert row.tolist() == uncached(writer, prompt, n, lambda e, i: e.argmax())
    same = np.array(PROMPTS[2])[None]
    assert (generate(writer, same, n, temperature=0) == found[2:]).all()


def test_samples_of_a_row_do_not_depend_on_other_rows_or_chunks(writer):
    settings = {"temperature": 0.7, "top_k": 3, "top_p": 0.9}
    found = generate(writer, PROMPTS, 20, key=jax.random.key(5), **settings)
    alone = generate(writer, PROMPTS[:1], 20, key=jax.random.key(5), **settings)
    assert (found[:1] == alone).all()
    parts = stream(writer, PROMPTS, 20, chunk=3, key=jax.random.key(5), **settings)
    parts = list(parts)
    assert max(p.shape[1] for p in parts) == 3
    np.testing.assert_array_equal(np.concatenate(parts, 1), found)

    other = generate(writer, PROMPTS, 20, key=jax.random.key(6), **settings)
    assert (other != found).any()


@pytest.mark.slow
def test_samples_are_drawn_from_the_distribution_of_the_next_token(writer):
    def draw(eta, i):
        log_p = next_token_log_probs(eta[None], 0.7, 3, 0.9)[0]
        own = jax.random.fold_in(jax.random.fold_in(jax.random.key(5), 0), i)
        return jax.random.categorical(own, log_p)

    settings = {"temperature": 0.7, "top_k": 3, "top_p": 0.9, "key": jax.random.key(5)}
    found = generate(writer, PROMPTS[:1], 20, **settings)
    assert found[0].tolist() == uncached(writer, PROMPTS[0], 20, draw)


def test_another_length_compiles_nothing(writer):
    def sizes():
        return read._cached._cache_size(), write._cached._cache_size()

    generate(writer, PROMPTS[:1], 12, temperature=0.5, top_k=2, key=jax.random.key(0))
    before = sizes()
    other = [[1, 2, 3, 4, 1]]
    generate(writer, other, 10, temperature=2.0, top_p=0.5, key=jax.random.key(1))
    assert sizes() == before


def test_the_end_is_repeated(writer):
    found = generate(writer, PROMPTS, 20, temperature=0)
    end = int(found[0, 4])
    stopped = generate(writer, PROMPTS, 20, temperature=0, end=end)
    for row, old in zip(stopped, found, strict=True):
        first = next((i for i, token in enumerate(old) if token == end), 20)
        np.testing.assert_array_equal(row[: first + 1], old[: first + 1])
        assert (row[first:] == end).all()


def test_next_token_distribution():
    eta = jnp.log(jnp.array([[0.1, 0.4, 0.3, 0.2]]))

    def p(**settings):
        return np.exp(next_token_log_probs(eta, **settings))[0]

    np.testing.assert_allclose(p(), [0.1, 0.4, 0.3, 0.2], rtol=1e-5)
    squares = np.array([0.01, 0.16, 0.09, 0.04]) / 0.3
    np.testing.assert_allclose(p(temperature=0.5), squares, rtol=1e-5)
    np.testing.assert_allclose(p(top_k=2), [0, 4 / 7, 3 / 7, 0], rtol=1e-5)
    np.testing.assert_allclose(p(top_p=0.6), [0, 4 / 7, 3 / 7, 0], rtol=1e-5)
    np.testing.assert_allclose(p(top_p=0.2), [0, 1, 0, 0], rtol=1e-5)
    ties = next_token_log_probs(jnp.zeros((1, 3)), 1.0, 1)
    np.testing.assert_array_equal(np.exp(ties)[0], [1, 0, 0])


def log_probs(model, prompt, continuations) -> np.ndarray:
    """The log-probability of each continuation, everything computed again."""
    rows = np.zeros((25, CONTEXT), int)
    whole = np.array([[*prompt, *one] for one in continuations])
    rows[: len(whole), : whole.shape[1]] = whole
    log_p = scipy.special.log_softmax(eta_of(model, rows), axis=2)
    t, n = len(prompt), whole.shape[1] - len(prompt)
    steps = [log_p[np.arange(25), t + i - 1, rows[:, t + i]] for i in range(n)]
    return np.sum(steps, 0)[: len(whole)]


def test_wide_beams_find_the_most_probable_of_all(writer):
    every = np.array(list(itertools.product(range(V), repeat=2)))
    beams = beam_search(writer, PROMPTS, 2, n_beams=V)
    for i, prompt in enumerate(PROMPTS):
        log_p = log_probs(writer, prompt, every)
        np.testing.assert_array_equal(beams.tokens[i, 0], every[log_p.argmax()])
        np.testing.assert_allclose(beams.log_prob[i, 0], log_p.max(), rtol=1e-4)
        assert (np.diff(beams.log_prob[i]) <= 0).all()


@pytest.mark.slow
def test_one_beam_is_greedy_and_beams_that_ended_stay(writer):
    greedy = beam_search(writer, PROMPTS, 4, n_beams=1)
    expected = generate(writer, PROMPTS, 4, temperature=0)
    np.testing.assert_array_equal(greedy.tokens[:, 0], expected)
    end = 2
    beams = beam_search(writer, PROMPTS, 4, n_beams=3, end=end)
    for tokens, log_prob, prompt in zip(*beams, PROMPTS, strict=True):
        for row, total in zip(tokens, log_prob, strict=True):
            length = list(row).index(end) + 1 if end in row else 4
            assert (row[length:] == end).all()
            log_p = log_probs(writer, prompt, [row[:length]])[0]
            np.testing.assert_allclose(total, log_p, rtol=1e-4)


def test_probabilities_of_all_sequences_sum_to_one(writer):
    every = np.array(list(itertools.product([0], *[range(V)] * 3)))
    present = np.arange(5)[None] < np.full((len(every), 1), 4)
    rows = Padded(np.pad(every, ((0, 0), (0, 1)), constant_values=99), present)
    log_p = np.asarray(eqx.filter_jit(token_log_probs)(writer, rows))
    assert np.exp(log_p.sum(1)).sum() == pytest.approx(1, rel=1e-5)
    assert (log_p[:, 3] == 0).all()


def test_wrong_inputs_are_told(writer):
    tokens = np.zeros((1, 3), int)
    wrong = {
        "there are 5 tokens, 0 to 4": lambda: writer(tokens + 5),
        "row 0 has the token -1 at position 2": lambda: writer(np.array([[0, 1, -1]])),
        "13 positions, the context of this model is 12": lambda: writer(
            np.zeros((1, 13), int)
        ),
        "sequences are empty": lambda: writer(np.zeros((1, 0), int)),
        "takes tokens of shape": lambda: writer(np.zeros(3, int)),
        "tokens are of type float": lambda: writer(np.zeros((1, 3))),
        "prompt 0 has 13 tokens": lambda: generate(
            writer, [[0] * 13], 1, temperature=0
        ),
        "prompts have shape": lambda: generate(
            writer, np.zeros((1, 0), int), 1, temperature=0
        ),
        r"prompts have shape \(3,\)": lambda: generate(
            writer, [1, 2, 3], 1, temperature=0
        ),
        r"prompts have shape \(0,\)": lambda: generate(writer, [], 1, temperature=0),
        "sequence 1 is empty": lambda: generate(writer, [[1], []], 1, temperature=0),
        "n_tokens is 0": lambda: generate(writer, tokens, 0, temperature=0),
        "needs a random key": lambda: generate(writer, tokens, 1),
        "top_p is 1.5": lambda: generate(writer, tokens, 1, top_p=1.5, temperature=0),
        "top_k is 0": lambda: generate(writer, tokens, 1, top_k=0, temperature=0),
        "temperature is -1": lambda: generate(writer, tokens, 1, temperature=-1),
        "do not fit the context": lambda: beam_search(writer, tokens, 11),
        "kind is 'both'": lambda: decoder(kind="both"),
        "positions is 'sin'": lambda: decoder(positions="sin"),
        "give one of them": lambda: decoder(n_in=3),
        "needs the entries of": lambda: decoder(None, n_in=3),
        "whole numbers from 1 on": lambda: decoder(0),
        "cannot go on from a cache": lambda: decoder(kind="encoder").extend(
            tokens, decoder().cache(1)
        ),
        "room for 4; 3 more do not fit": lambda: writer.extend(
            tokens, eqx.tree_at(lambda c: c[0].length, writer.cache(1, 4), 2)
        ),
        "has no types": lambda: writer(tokens, types=tokens),
        "the type 2 at position 0": lambda: tiny("bert")(tokens, types=tokens + 2),
        "not look at an encoded source": lambda: writer(
            tokens, encoded=np.zeros((1, 2, 8))
        ),
        "multiple of the patch": lambda: VisionTransformer(
            (5, 4, 1), 2, 8, 1, 2, patch=2, key=jax.random.key(0)
        ),
        "output is 'first'": lambda: RecurrentNetwork(
            V, 4, output="first", key=jax.random.key(0)
        ),
        "takes numbers of shape": lambda: MODELS["lstm, last"]()(np.zeros((2, 3, 4))),
        "this model is for": lambda: tiny("vision")(np.zeros((1, 8, 8, 3))),
    }
    for message, call in wrong.items():
        with pytest.raises(InputError, match=message):
            call()


SHARED_ROWS = """
import equinox as eqx, jax, jax.numpy as jnp, likely
likely.tune_host(devices=2)
from likely.models import RecurrentNetwork, Transformer

automatic = (jax.sharding.AxisType.Auto,)
mesh = jax.make_mesh((2,), ("rows",), axis_types=automatic)
by_rows = jax.NamedSharding(mesh, jax.P("rows"))
X = jax.device_put(jnp.zeros((4, 3, 3)), by_rows)
for model in (
    RecurrentNetwork(None, 4, kind="gru", n_in=3, n_out=2, key=jax.random.key(0)),
    Transformer(None, 8, 1, 2, context=4, n_in=3, n_out=2, key=jax.random.key(0)),
):
    phi, rest = eqx.partition(model, eqx.is_inexact_array)
    phi = jax.device_put(phi, jax.NamedSharding(mesh, jax.P()))
    loss = lambda phi, X, rest=rest: (eqx.combine(phi, rest)(X)[0] ** 2).sum()
    program = jax.jit(jax.grad(loss)).lower(phi, X).compile().as_text()
    assert "all-reduce(" in program, "the gradients are summed"
    assert "all-gather(" not in program, type(model).__name__
"""


@pytest.mark.slow
def test_devices_that_share_rows_exchange_gradients_only():
    run = subprocess.run(
        [sys.executable, "-c", SHARED_ROWS], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
