"""Convolution, pooling and upsampling agree with PyTorch, however they are computed."""

import importlib.util
from functools import cache
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import signal

from likely.core import InputError, float64
from likely.layers import (
    Convolution,
    GroupNorm,
    Pooling,
    TransposedConvolution,
    Unpooling,
    Upsampling,
    output_size,
)
from likely.layers.composition.chain import Pointwise
from likely.layers.convolution import (
    convolution,
    correlation,
    correlation_cpu,
    transposed,
)
from likely.layers.convolution.pooling import max_pool, plain_max_pool
from likely.layers.convolution.sliding import (
    SlidingWindow,
    plain_correlate,
    plain_filter_gradient,
    plain_transposed,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "convolution"
spec = importlib.util.spec_from_file_location("cases", GOLDEN / "cases.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)
TORCH = dict(np.load(GOLDEN / "torch.npz"))
LAYERS = {"convolution": Convolution, "transposed": TransposedConvolution}
FILTERED = [
    *(("convolution", name) for name in cases.CONVOLUTIONS),
    *(("transposed", name) for name in cases.TRANSPOSED),
]
POOLED = [
    *(("pool", name) for name in cases.POOLS),
    *(("upsampling", name) for name in cases.UPSAMPLINGS),
]


def case_of(kind: str, name: str) -> dict:
    table = {
        "convolution": cases.CONVOLUTIONS,
        "transposed": cases.TRANSPOSED,
        "pool": cases.POOLS,
        "upsampling": cases.UPSAMPLINGS,
    }
    return table[kind][name]


def layer_of(kind: str, name: str):
    case = dict(case_of(kind, name))
    axes = len(case.pop("positions"))
    if kind in LAYERS:
        return LAYERS[kind](**case, axes=axes, key=jax.random.key(0))
    case.pop("tied", None)
    return (Pooling if kind == "pool" else Upsampling)(**case, axes=axes)


def measured(layer, X) -> dict:
    """The output, and the gradients of its product with a fixed pattern."""

    def total(layer, X):
        y, _ = layer(X)
        return (y * jnp.asarray(cases.seen(y.shape))).sum(), y

    slopes, y = jax.grad(total, argnums=(0, 1), has_aux=True)(layer, X)
    found = {"value": y, "dX": slopes[1]}
    for name in ("weight", "bias", "scale", "shift"):
        slope = getattr(slopes[0], name, None)
        if eqx.is_array(slope):
            found[f"d{name}"] = slope
    return found


@cache
def answers(implementation: str) -> dict:
    """Values and gradients of all cases, computed in one program."""
    with float64():
        inputs = {}
        for kind, name in FILTERED:
            made = cases.filters(kind, name, case_of(kind, name))
            parts = [made[n] for n in ("weight", "bias") if n in made]
            layer, count = layer_of(kind, name), len(parts)
            layer = eqx.tree_at(
                lambda one, count=count: [one.weight, one.bias][:count],
                layer,
                [jnp.asarray(p) for p in parts],
            )
            inputs[kind, name] = layer, jnp.asarray(made["X"])
        for kind, name in POOLED:
            X = cases.images(kind, name, case_of(kind, name))
            inputs[kind, name] = layer_of(kind, name), jnp.asarray(X)
        with pytest.MonkeyPatch.context() as patch:
            if implementation == "plain":
                patch.setattr(convolution, "correlate", plain_correlate)
                patch.setattr(transposed, "correlate_transposed", plain_transposed)
            run = eqx.filter_jit(lambda all: {k: measured(*v) for k, v in all.items()})
            return jax.tree.map(np.asarray, run(inputs))


@pytest.mark.parametrize(("kind", "name"), FILTERED + POOLED)
def test_values_and_gradients_are_pytorchs(kind, name):
    check("chosen", kind, name)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), FILTERED)
def test_the_plain_ones_are_pytorchs_too(kind, name):
    check("plain", kind, name)


def check(implementation: str, kind: str, name: str) -> None:
    found = answers(implementation)[kind, name]
    names = {n for n in TORCH if n.startswith(f"{kind}: {name}.")}
    assert names == {f"{kind}: {name}.{part}" for part in found}
    for part, value in found.items():
        golden = TORCH[f"{kind}: {name}.{part}"]
        np.testing.assert_allclose(value, golden, rtol=1e-5, atol=1e-5, err_msg=part)


@pytest.mark.parametrize("name", cases.TRANSPOSED)
def test_transposed_convolution_is_the_adjoint(name, rng):
    """⟨A x, u⟩ = ⟨x, C u⟩ with the convolution of the same filters and settings."""
    with float64():
        case = cases.TRANSPOSED[name]
        made = cases.filters("transposed", name, case)
        x, f = jnp.asarray(made["X"]), jnp.asarray(made["weight"])
        layer = layer_of("transposed", name)
        size = layer.positions(x.shape[1:-1])
        u = jnp.asarray(rng.normal(size=(len(x), *size, case["n_out"])))
        window = SlidingWindow(
            size, layer.size, layer.stride, layer.pads, layer.dilation, layer.groups
        )
        one = x.ndim == 3
        spread = correlation.correlate_transposed(*convolution.as_images(x, f, window))
        seen = correlation.correlate(*convolution.as_images(u, f, window))
        back, forth = (spread[:, :, 0], seen[:, :, 0]) if one else (spread, seen)
        np.testing.assert_allclose((back * u).sum(), (x * forth).sum(), rtol=1e-12)


@pytest.mark.parametrize(
    ("inputs", "size", "stride", "pads"),
    [
        ((14, 14), (4, 4), (2, 2), ((1, 1), (1, 1))),
        ((15, 13), (4, 2), (2, 1), ((1, 0), (0, 2))),
        ((11, 9), (6, 4), (3, 2), ((0, 0), (3, 1))),
        ((13, 12), (4, 4), (2, 4), ((2, 3), (0, 0))),  # some positions in no window
    ],
)
def test_phases_of_a_stride_are_channels_of_one_convolution(
    inputs, size, stride, pads, rng
):
    """Filters of several strides, with as many channels as make it worth while."""
    with float64():
        window = SlidingWindow(inputs, size, stride, pads, (1, 1), 1)
        f = jnp.asarray(rng.normal(size=(*size, 40, 3)))
        y = jnp.asarray(rng.normal(size=(2, *window.output_size, 3)))
        assert correlation_cpu._has_phases(window)
        found = correlation_cpu._phases_as_channels(y, f, window)
        np.testing.assert_allclose(found, plain_transposed(y, f, window), atol=1e-12)
        np.testing.assert_allclose(
            correlation_cpu.correlate_transposed(y, f, window), found, atol=1e-12
        )


def test_the_three_maps_are_each_others_derivatives(rng):
    """Second derivatives and forward mode agree with the plain versions."""
    with float64():
        window = SlidingWindow((6, 5), (3, 2), (2, 1), ((1, 1), (0, 1)), (1, 2), 2)
        x, f = (jnp.asarray(rng.normal(size=s)) for s in ((2, 6, 5, 4), (3, 2, 2, 6)))
        y = correlation.correlate(x, f, window)
        np.testing.assert_allclose(y, plain_correlate(x, f, window), atol=1e-12)
        pairs = (
            (correlation.correlate_transposed, plain_transposed, (y, f)),
            (correlation.filter_gradient, plain_filter_gradient, (x, y)),
        )
        for fast, plain, args in pairs:
            np.testing.assert_allclose(
                fast(*args, window), plain(*args, window), atol=1e-11
            )

        def curvature(run):
            loss = lambda x, f: (run(x, f, window) ** 3).sum()  # noqa: E731
            push = lambda x, f: jax.jvp(jax.grad(loss, (0, 1)), (x, f), (x, f))  # noqa: E731
            return jax.jit(push)(x, f)[1]

        for a, b in zip(
            curvature(correlation.correlate), curvature(plain_correlate), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("window", "channels"),
    [
        (SlidingWindow((5, 6), (3, 3), (1, 1), ((1, 1), (1, 1))), (4, 3)),
        (SlidingWindow((4, 5), (2, 4), (1, 1), ((1, 0), (0, 3))), (16, 5)),
        (SlidingWindow((4, 6), (3, 2), (1, 1), ((2, 0), (1, 0))), (20, 2)),
        (SlidingWindow((6, 7), (3, 3), (1, 1), ((0, 0), (0, 0))), (18, 16)),
    ],
)
def test_narrow_filters_are_the_plain_ones(window, channels, rng):
    """Two outputs as one, and the filter gradient with the roles exchanged."""
    with float64():
        x = jnp.asarray(rng.normal(size=(2, *window.input_size, channels[0])))
        f = jnp.asarray(rng.normal(size=(*window.size, *channels)))
        y = jnp.asarray(rng.normal(size=(2, *window.output_size, channels[1])))
        triples = (
            (correlation.correlate, plain_correlate, (x, f)),
            (correlation.correlate_transposed, plain_transposed, (y, f)),
            (correlation.filter_gradient, plain_filter_gradient, (x, y)),
        )
        for fast, plain, args in triples:
            np.testing.assert_allclose(
                fast(*args, window), plain(*args, window), atol=1e-11
            )


def test_true_convolution_is_scipys(rng):
    with float64():
        X, f = rng.normal(size=(7, 6)), rng.normal(size=(3, 3))
        layer = Convolution(1, 1, 3, flipped=True, bias=False, key=jax.random.key(0))
        layer = eqx.tree_at(lambda c: c.weight, layer, jnp.asarray(f)[:, :, None, None])
        found = layer(jnp.asarray(X)[None, :, :, None])[0][0, :, :, 0]
        np.testing.assert_allclose(found, signal.convolve2d(X, f, "same"), atol=1e-12)


def test_the_worked_example_of_flipping():
    """x = 1 2 3 4, w = (1, 0, −1): −2, −2 as a correlation, 2, 2 as a convolution."""
    x = jnp.array([1.0, 2.0, 3.0, 4.0])[None, :, None]
    for flipped, expected in ((False, -2.0), (True, 2.0)):
        layer = Convolution(
            *(1, 1, 3), axes=1, padding="valid", flipped=flipped, key=jax.random.key(0)
        )
        w = jnp.array([1.0, 0.0, -1.0])[:, None, None]
        layer = eqx.tree_at(lambda c: c.weight, layer, w)
        np.testing.assert_array_equal(layer(x)[0][0, :, 0], [expected, expected])


def test_an_edge_filter_finds_vertical_edges():
    image = np.zeros((5, 6), np.float32)
    image[:, 3:] = 1
    layer = Convolution(1, 1, 3, padding="valid", key=jax.random.key(0))
    f = jnp.array([[-1.0, 0, 1]] * 3)[:, :, None, None]
    layer = eqx.tree_at(lambda c: c.weight, layer, f)
    found = layer(jnp.asarray(image)[None, :, :, None])[0][0, :, :, 0]
    np.testing.assert_array_equal(found, [[0, 3, 3, 0]] * 3)


@pytest.mark.parametrize(
    ("width", "size", "settings", "expected"),
    [
        (227, 11, {"stride": 4}, 55),
        (55, 3, {"stride": 2}, 27),
        (10, 5, {}, 6),
        (9, 3, {}, 7),
        (7, 3, {"padding": 1, "stride": 2}, 4),
        (32, 3, {"padding": "same", "stride": 2}, 16),
        (9, 3, {"dilation": 3}, 3),
    ],
)
def test_output_sizes(width, size, settings, expected):
    """The worked numbers among them: (227 − 11)/4 + 1, (55 − 3)/2 + 1, 10x9 with 5x3."""
    assert output_size(width, size, **settings) == expected
    names = {"stride": 1, "padding": "valid", "dilation": 1} | settings
    layer = Convolution(1, 1, size, axes=1, **names, key=jax.random.key(0))
    found = jax.eval_shape(layer, jax.ShapeDtypeStruct((1, width, 1), "float32"))[0]
    assert found.shape == (1, expected, 1)


def test_parameter_counts_of_the_notes():
    sizes = {(3, 16, 3): 448, (3, 1, 5): 76, (3, 96, 11): 34_944}
    for size, expected in sizes.items():
        layer = Convolution(*size, key=jax.random.key(0))
        assert layer.weight.size + layer.bias.size == expected


def test_max_pooling_is_the_plain_one_in_any_mode(rng):
    window = SlidingWindow((5, 6), (3, 2), (2, 2), ((1, 1), (0, 1)))
    X = jnp.asarray(rng.normal(size=(2, 5, 6, 3)), jnp.float32)
    np.testing.assert_array_equal(max_pool(X, window), plain_max_pool(X, window))
    slopes = [
        jax.grad(lambda X, f=f: (f(X, window) ** 2).sum())(X)
        for f in (max_pool, plain_max_pool)
    ]
    np.testing.assert_allclose(*slopes, rtol=1e-6)
    assert np.isnan(max_pool(X.at[0, 0, 0, 0].set(jnp.nan), window)[0, 0, 0, 0])


def test_max_unpooling_puts_values_back():
    X = jnp.asarray(cases.rng_of("unpool", "2").normal(size=(2, 4, 6, 3)), jnp.float32)
    found, _ = Unpooling(Pointwise(jax.nn.identity), Pooling(2))(X)
    np.testing.assert_allclose(found, TORCH["unpool.value"], rtol=1e-6)


def test_group_norm_is_pytorchs():
    with float64():
        X = cases.rng_of("group", "norm").normal(size=(2, 3, 4, 6))
        scale, shift = (cases.rng_of("group", n).normal(size=6) for n in "ab")
        norm = eqx.tree_at(
            lambda g: (g.scale, g.shift),
            GroupNorm(6, 3),
            (jnp.asarray(scale), jnp.asarray(shift)),
        )
        for part, value in measured(norm, jnp.asarray(X)).items():
            golden = TORCH[f"group norm.{part}"]
            np.testing.assert_allclose(value, golden, rtol=1e-5, atol=1e-5)


def test_a_convolution_is_equivariant(rng):
    """With cyclic edges a shifted image gives a shifted map."""
    X = jnp.asarray(rng.normal(size=(1, 6, 6, 2)), jnp.float32)
    layer = Convolution(2, 3, edges="cyclic", key=jax.random.key(0))
    shifted = layer(jnp.roll(X, (2, 3), (1, 2)))[0]
    np.testing.assert_allclose(
        shifted, jnp.roll(layer(X)[0], (2, 3), (1, 2)), rtol=1e-5, atol=1e-5
    )


def fresh() -> jax.Array:
    return jax.random.key(0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Convolution(3, 4, key=fresh())(jnp.ones((2, 3, 8, 8))), "moveaxis"),
        (
            lambda: Convolution(1, 4, key=fresh())(jnp.ones((2, 8, 8))),
            "X\\[..., None\\]",
        ),
        (
            lambda: Convolution(1, 4, 5, padding="valid", key=fresh())(
                jnp.ones((2, 4, 9, 1))
            ),
            "does not fit",
        ),
        (lambda: Convolution(3, 4, groups=2, key=fresh()), "divides both"),
        (lambda: Convolution(3, 4, padding="full", key=fresh()), '"same", "valid"'),
        (lambda: Convolution(3, 4, padding=-1, key=fresh()), "at least 0"),
        (lambda: Convolution(3, 4, edges="mirror", key=fresh()), "reflected"),
        (lambda: Convolution(3, 4, stride=0, key=fresh()), "stride is 0"),
        (lambda: Convolution(3, 4, axes=3, key=fresh()), "1 for sequences"),
        (
            lambda: Convolution(1, 1, 9, edges="reflected", key=fresh())(
                jnp.ones((1, 4, 4, 1))
            ),
            "at most 3",
        ),
        (
            lambda: TransposedConvolution(3, 4, padding=0, extra=2, key=fresh()),
            "extra is 2",
        ),
        (lambda: Pooling(2, padding=2), "less than its size"),
        (lambda: Pooling(kind="median"), "max, min, mean"),
        (lambda: Upsampling(kind="cubic"), "bilinear"),
        (lambda: GroupNorm(6, 4), "divides the channels"),
    ],
)
def test_errors_are_sentences(make, words):
    with pytest.raises(InputError, match=words):
        make()
