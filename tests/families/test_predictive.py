"""`Predictive`: NumPy on both sides, whatever the scope and the thread."""

import threading

import jax
import numpy as np
import pytest

from likely.core import InputError, float64
from likely.families import (
    Bernoulli,
    Categorical,
    Exponentiated,
    Gamma,
    Mixed,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    Predictive,
    Product,
    Stretched,
)

CASES = {
    "normal": (Normal(), (0.1, 0.2)),
    "gamma": (Gamma(), (0.1, 0.2)),
    "classes": (Categorical(3), (0.1, 0.2, -0.5)),
    "joint": (MultivariateNormal(2), (0.1, 0.2, 0.3, 0.4, 0.5)),
    "product": (Product(Normal(), Bernoulli()), (0.1, 0.2, 0.3)),
    "mixture": (Mixture(Normal()), (0.0, 0.3, -1.0, 0.1, 1.0, 0.2)),
}


@pytest.fixture(params=CASES)
def predictive(request):
    family, eta = CASES[request.param]
    return Predictive(family, np.tile(eta, (5, 1)))


def answers(predictive):
    y = np.ones(predictive.family.n_outputs) if predictive.family.multivariate else 1.0
    return [
        predictive.mean,
        predictive.std,
        predictive.mode,
        predictive.log_prob(y),
        predictive.cdf(y),
        predictive.quantile(0.3),
        *predictive.interval(0.8),
        predictive.sample(200, random_state=0),
        *predictive.theta.values(),
    ]


def test_answers_are_double_in_any_scope_and_thread(predictive):
    here = answers(predictive)
    there = []
    thread = threading.Thread(target=lambda: there.extend(answers(predictive)))
    thread.start()
    thread.join()
    with float64():
        inside = answers(predictive)
    for a, b, c in zip(here, there, inside, strict=True):
        assert type(a) is np.ndarray
        assert a.dtype in (np.float64, np.int64)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    assert not jax.config.jax_enable_x64


def test_shapes(predictive):
    family = predictive.family
    shape = (5, family.n_outputs) if family.multivariate else (5,)
    low, high = predictive.interval(0.8)
    assert predictive.sample(200, random_state=0).shape == (200, *shape)
    assert predictive.mode.shape == low.shape == high.shape == shape
    assert (low <= high).all()
    assert predictive.log_prob(np.ones(shape)).shape == (5,)
    assert predictive.cdf(np.ones(shape)).shape == shape
    np.testing.assert_allclose(predictive.quantile([0.1, 0.9])[..., 0], low)
    assert len(predictive) == 5


def test_rows_in_the_same_size_class_compile_nothing(predictive, caplog):
    first = answers(predictive)
    more = Predictive(predictive.family, np.tile(predictive.eta[:1], (9, 1)))
    with jax.log_compiles(True):
        again = answers(more)
        assert not [r for r in caplog.records if "Compiling" in r.getMessage()]
        jax.jit(lambda x: 7 * x)(np.ones(3))
        assert [r for r in caplog.records if "Compiling" in r.getMessage()]
    np.testing.assert_array_equal(first[0], again[0][:5])


def test_a_longer_sample_begins_with_the_shorter_one():
    predictive = Predictive(*_rows("product", 5))
    short = predictive.sample(3, random_state=7)
    np.testing.assert_array_equal(short, predictive.sample(200, random_state=7)[:3])
    assert (short != predictive.sample(3, random_state=8)).any()


def test_labels_come_back():
    two = Predictive(Bernoulli(), np.array([[-1.0], [2.0]]), classes=["no", "yes"])
    assert two.mode.tolist() == ["no", "yes"]
    assert two.quantile(0.9).tolist() == ["yes", "yes"]
    assert set(two.sample(50, random_state=0).ravel()) == {"no", "yes"}
    np.testing.assert_allclose(two.probs.sum(1), 1)
    np.testing.assert_array_equal(two.mean, two.probs)
    np.testing.assert_allclose(np.exp(two.log_prob("yes")), two.probs[:, 1])
    np.testing.assert_allclose(two.cdf("no"), two.probs[:, 0])
    np.testing.assert_allclose(two.std[:, 0] ** 2, two.probs.prod(1))


def test_labels_may_be_in_any_order():
    eta = np.array([[0.0, 1.0, 2.0]])
    three = Predictive(Categorical(3), eta, classes=np.array([30, 10, 20]))
    assert three.mode[0] == 20
    np.testing.assert_allclose(np.exp(three.log_prob(30)), three.probs[:, 0])


def test_argmax_or_distribution():
    """The deterministic prediction is the mode; for a normal it is the mean."""
    normal = Predictive(*CASES["normal"][:1], np.array([CASES["normal"][1]]))
    np.testing.assert_array_equal(normal.mode, normal.mean)
    classes = Predictive(Categorical(3), np.array([[0.1, 0.2, -0.5]]))
    assert classes.mode[0] == np.argmax(classes.probs[0])


def test_impossible_values_have_no_probability():
    gamma = Predictive(*_rows("gamma", 4))
    values = gamma.log_prob([1.0, -1.0, 0.0, np.nan])
    assert np.isfinite(values[0])
    assert values[1] == values[2] == -np.inf
    assert np.isnan(values[3])
    np.testing.assert_array_equal(
        gamma.cdf([-1.0, 0.0, np.nan, np.inf]), [0, 0, np.nan, 1]
    )
    product = Predictive(*_rows("product", 2))
    assert np.isneginf(product.log_prob([[0.0, 1.0], [0.0, 0.5]])).tolist() == [
        False,
        True,
    ]


# Rows, levels, moments and densities ------------------------------------------------------


def apart(n=5):
    """Distributions of every kind whose n rows differ."""
    eta = np.random.default_rng(0).normal(size=(n, 6))
    plain = {
        name: Predictive(family, eta[:, : family.n_eta])
        for name, (family, _) in CASES.items()
    }
    normal, labels = plain["normal"], np.array(["a", "b", "c"])
    return plain | {
        "labels": Predictive(Categorical(3), eta[:, :3], labels),
        "counts": Predictive(Poisson(), eta[:, :1]),
        "mixed": Mixed([normal, plain["mixture"]], np.array([0.4, 0.6])),
        "mixed counts": Mixed(
            [Predictive(Poisson(), eta[:, j : j + 1]) for j in (0, 1)], np.full(2, 0.5)
        ),
        "mixed labels": Mixed(
            [Predictive(Categorical(3), eta[:, j : j + 3], labels) for j in (0, 3)],
            np.full(2, 0.5),
        ),
        "exponentiated": Exponentiated(normal),
        "stretched": Stretched(normal, 1.5),
    }


@pytest.mark.parametrize("name", apart())
def test_chosen_rows_answer_as_all_rows_do(name):
    dist = apart()[name]
    for index in (-1, slice(None, None, -2), [2, 0], np.arange(5) > 2):
        places = np.atleast_1d(np.arange(5)[index])
        part = dist[index]
        assert type(part) is type(dist)
        assert len(part) == len(places)
        for what in ("mean", "std", "var", "median"):
            same = map(_comparable, (getattr(part, what), getattr(dist, what)[places]))
            np.testing.assert_allclose(*same, rtol=1e-11)
    assert [len(one) for one in dist] == [1] * 5


def _comparable(values):
    """Numbers as they are, labels as their letters' numbers."""
    values = np.asarray(values)
    return np.vectorize(ord)(values) if values.dtype.kind == "U" else values


def test_rows_that_are_not_there_get_a_sentence():
    dist = apart()["normal"]
    for index, error, words in (
        (5, IndexError, "there is no row 5; there are 5 rows"),
        ([0, -6], IndexError, "no row -6"),
        ([True, False], InputError, r"the mask has shape \(2,\); give shape \(5,\)"),
        ((0, 1), InputError, "has one axis"),
        (1.5, InputError, "by a number, slice, mask or list, not 1.5"),
        ("first", InputError, "not 'first'"),
    ):
        with pytest.raises(error, match=words):
            dist[index]


@pytest.mark.parametrize("name", apart())
def test_levels_are_a_new_last_axis(name):
    """Also where there are as many levels as rows."""
    dist = apart()[name]
    for levels in ([0.1, 0.9], [0.1, 0.3, 0.5, 0.6, 0.9])[
        : 1 if "mixed" in name else 2
    ]:
        found = dist.quantile(levels)
        assert found.shape == (*dist.quantile(0.5).shape, len(levels))
        for j, level in enumerate(levels):
            same = map(_comparable, (found[..., j], dist.quantile(level)))
            np.testing.assert_allclose(*same, rtol=1e-11)
    own = np.linspace(0.1, 0.9, 5)
    each = dist.quantile(own[:, None])[..., 0]
    for i, level in enumerate(own):
        same = map(_comparable, (each[i], dist.quantile(level)[i]))
        np.testing.assert_allclose(*same, rtol=1e-11)
    with pytest.raises(InputError, match=r"q has shape \(3, 2\); give one level"):
        dist.quantile(np.full((3, 2), 0.5))


def test_moments_densities_and_probabilities():
    dists = apart()
    for dist in dists.values():
        np.testing.assert_allclose(dist.var, dist.std**2)
        np.testing.assert_array_equal(
            *map(_comparable, (dist.median, dist.quantile(0.5)))
        )
    for name in ("normal", "gamma", "mixture", "mixed", "exponentiated", "stretched"):
        dist = dists[name]
        np.testing.assert_array_equal(dist.pdf(1.2), np.exp(dist.log_prob(1.2)))
        with pytest.raises(
            InputError, match="no single value has a probability; use pdf"
        ):
            dist.pmf(1.2)
    for name, y in (
        ("counts", 2),
        ("mixed counts", 2),
        ("classes", 1),
        ("labels", "b"),
    ):
        dist = dists[name]
        np.testing.assert_array_equal(dist.pmf(y), np.exp(dist.log_prob(y)))
        with pytest.raises(InputError, match="with a probability; use pmf"):
            dist.pdf(y)
    np.testing.assert_allclose(dists["joint"].pdf([0.0, 1.0]).shape, (5,))
    outputs = Mixed([dists["joint"], dists["product"]], np.full(2, 0.5))
    for dist in (dists["product"], outputs):
        with pytest.raises(InputError, match="others probabilities; use log_prob"):
            dist.pdf([0.0, 1.0])
    with pytest.raises(AttributeError, match="several outputs has no formula"):
        _ = outputs.mode
    assert outputs[1:].quantile([0.1, 0.9]).shape == (4, 2, 2)


def test_the_variance_of_a_mixture_far_from_zero():
    """A difference of squares would be 0 or negative."""
    parts = [Predictive(Normal(1.0), np.full((1, 1), m)) for m in (1e9, 1e9 + 2)]
    np.testing.assert_allclose(Mixed(parts, np.full(2, 0.5)).var, 2.0)


def test_modes_of_mixtures_of_numbers():
    a, b = (
        Predictive(Normal(s), np.array([[m], [m]])) for m, s in ((0.0, 1.0), (3.0, 0.5))
    )
    mixed = Mixed([a, b], np.array([0.5, 0.5]))
    y = np.linspace(2.9, 3.0, 200_001)
    density = np.exp(-(y**2) / 2) + 2 * np.exp(-2 * (y - 3) ** 2)
    np.testing.assert_allclose(mixed.mode, y[np.argmax(density)], atol=1e-6)
    counts = Mixed(
        [Predictive(Poisson(), np.log([[m]])) for m in (3.5, 8.2)], np.array([0.3, 0.7])
    )
    k = np.arange(40)
    assert counts.mode[0] == k[np.argmax([counts.pmf(i)[0] for i in k])]
    log_normal = Exponentiated(Predictive(Normal(0.7), np.array([[1.0]])))
    np.testing.assert_allclose(log_normal.mode, np.exp(1 - 0.49))
    log_mixed = Exponentiated(Mixed([a, a], np.full(2, 0.5)))
    np.testing.assert_allclose(log_mixed.mode, np.exp(-1.0), rtol=1e-5)
    np.testing.assert_allclose(Stretched(a, 3.0).mode, 0.0)


def _rows(name, n):
    family, eta = CASES[name]
    return family, np.tile(eta, (n, 1))


def test_errors_are_sentences():
    normal = Predictive(*_rows("normal", 3))
    with pytest.raises(InputError, match="between 0 and 1; it is a probability"):
        normal.quantile(1.2)
    with pytest.raises(InputError, match="coverage is 95; give a number from 0 to 1"):
        normal.interval(95)
    with pytest.raises(
        InputError, match=r"shape \(2,\); give one number, or shape \(3,\)"
    ):
        normal.log_prob([1.0, 2.0])
    with pytest.raises(InputError, match=r"give 2 numbers, or shape \(3, 2\)"):
        Predictive(*_rows("joint", 3)).log_prob([1.0, 2.0, 3.0])
    with pytest.raises(AttributeError, match="Normal has no classes"):
        _ = normal.probs
    with pytest.raises(InputError, match=r"not among \['no', 'yes'\]"):
        Predictive(Bernoulli(), np.zeros((1, 1)), classes=["no", "yes"]).log_prob(
            "maybe"
        )
    with pytest.raises(
        InputError, match=r"Normal needs 2 entries for each row: \(n, 2\)"
    ):
        Predictive(Normal(), np.zeros((3, 1)))


def test_representations():
    normal = Predictive(*_rows("normal", 7))
    assert repr(normal) == "Predictive(Normal, n=7)"
    page = normal._repr_html_()
    assert page.count("<tr>") == 6
    assert "2 more rows" in page
    assert "1.2214" in page
