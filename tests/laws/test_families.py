"""What holds for every family: probability, calculus, samples, weights, precision."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registries.families import FAMILIES, Rule, marginal
from scipy import stats

from likely import recipe
from likely.core import InputError, float64
from likely.families import Predictive, Product
from likely.models import Linear
from likely.solvers import LBFGS
from likely.typing import Batch

RANKS = np.array([1e-9, 0.001, 0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.8, 0.95, 0.999])
ROWS = 1024  # few shapes: one program for each family and precision
EXTREMES = np.array([0, 0.7, 3, 10, 19, 21, 40, 300, 3e3, 1e4])


NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if example.costly else name
    for name, example in FAMILIES.items()
]


@pytest.fixture(params=NAMES, scope="module")  # family by family: programs stay warm
def example(request):
    return FAMILIES[request.param]


@eqx.filter_jit
def look(family, eta, y):
    """log p of each row, and its gradient in η."""

    def total(eta):
        log_p = family.log_prob(eta, y)
        return log_p.sum(), log_p

    (_, log_p), score = jax.value_and_grad(total, has_aux=True)(eta)
    return log_p, score


def looked(example, eta, y, dtype=np.float64):
    """`look` at one shape: rows are padded with repeats."""
    place = np.arange(max(ROWS, len(y))) % len(y)
    eta = np.broadcast_to(np.asarray(eta, dtype), (len(y), len(example.eta)))
    with jax.enable_x64(dtype == np.float64):
        rows = jnp.asarray(eta[place]), jnp.asarray(np.asarray(y, dtype)[place])
        return tuple(np.asarray(a)[: len(y)] for a in look(example.make(), *rows))


def at_example(example, rows: int) -> Predictive:
    return Predictive(example.make(), np.tile(np.asarray(example.eta), (rows, 1)))


def points(example) -> np.ndarray:
    """Values of y from tail to tail."""
    return quantiles(at_example(example, len(RANKS)), RANKS)


def quantiles(rows: Predictive, levels) -> np.ndarray:
    """The quantile of each row at its own level, of every output."""
    levels = np.asarray(levels)
    if levels.ndim == 2:  # one level for each output
        columns = [
            rows.quantile(column[:, None])[:, j, 0] for j, column in enumerate(levels.T)
        ]
        return np.stack(columns, axis=1)
    return rows.quantile(levels[:, None])[..., 0]


# Probability --------------------------------------------------------------------------


def test_probabilities_sum_to_one(example):
    rule = example.rule(example.eta, ())
    p = np.exp(looked(example, example.eta, rule.y)[0])
    np.testing.assert_allclose(rule.weight @ p, 1, rtol=1e-9)


def test_expected_score_is_zero(example):
    rule = example.rule(example.eta, ())
    log_p, score = looked(example, example.eta, rule.y)
    np.testing.assert_allclose((rule.weight * np.exp(log_p)) @ score, 0, atol=1e-8)


def test_fisher_information_is_the_covariance_of_the_score(example):
    """−∂ E[score(η')] / ∂η' at η' = η, which needs no second derivative of log p."""
    eta, h = np.array(example.eta), 1e-4 if example.smooth else 1e-6
    rule = example.rule(example.eta, ())
    log_p, score = looked(example, eta, rule.y)
    covariance = (score.T * (rule.weight * np.exp(log_p))) @ score

    def expected_score(moved):
        # broken at the kinks of the score and, for its jumps, of the density
        rule = joined_rule(example, moved, eta)
        log_p, _ = looked(example, eta, rule.y)
        _, score = looked(example, moved, rule.y)
        return (rule.weight * np.exp(log_p)) @ score

    steps = h * np.eye(len(eta))
    slopes = [
        (expected_score(eta + s) - expected_score(eta - s)) / (2 * h) for s in steps
    ]
    np.testing.assert_allclose(-np.array(slopes), covariance, atol=2e-6)


def joined_rule(example, moved, eta) -> Rule:
    kinks = () if example.kinks is None else example.kinks(eta)
    return example.rule(tuple(moved), tuple(kinks))


def test_mean_and_variance_are_the_integrals(example):
    predictive = at_example(example, 1)
    rule = example.rule(example.eta, ())
    y = rule.y
    if np.shape(predictive.mean) != (1, *y.shape[1:]):  # classes: one-hot
        y = np.eye(predictive.mean.shape[1])[y.astype(int)]
    p = rule.weight * np.exp(looked(example, example.eta, rule.y)[0])
    mean = p @ y
    np.testing.assert_allclose(predictive.mean[0], mean, rtol=1e-7)
    np.testing.assert_allclose(predictive.std[0] ** 2, p @ (y - mean) ** 2, rtol=1e-6)


def test_mode_is_the_highest_point(example):
    mode = at_example(example, 1).mode
    rule = example.rule(example.eta, ())
    at_mode, _ = looked(example, example.eta, mode)
    log_p, _ = looked(example, example.eta, rule.y)
    assert at_mode[0] >= log_p.max() - 1e-12


def whole(family) -> np.ndarray:
    """Which outputs are whole numbers."""
    members = getattr(family, "families", [family] * family.n_outputs)
    return np.array([member.discrete for member in members])


def steps(family, y) -> np.ndarray:
    """Where the cdf has a step: at whole numbers, at a zero that has a probability."""
    return np.broadcast_to(whole(family) | (family.zeros & (y == 0)), y.shape)


def test_cdf_is_the_integral_of_the_density(example):
    family = example.make()
    if family.multivariate and not family.discrete:
        pytest.skip("the rule has no place for a jump")
    t = points(example)[1:-1]
    rule = example.rule(example.eta, tuple(np.unique(t)))
    p = rule.weight * np.exp(looked(example, example.eta, rule.y)[0])
    for shift in (0.0, 0.5) if family.discrete else (0.0,):
        below = rule.y[None] <= (t + shift)[:, None]
        integral = np.tensordot(p, below, (0, 1))
        cdf = at_example(example, len(t)).cdf(t + shift)
        np.testing.assert_allclose(cdf, integral, rtol=1e-8)


def test_quantile_and_cdf_are_inverse(example):
    y, rows = points(example), at_example(example, len(RANKS))
    assert (np.diff(y, axis=0) >= 0).all()
    np.testing.assert_allclose(quantiles(rows, rows.cdf(y)), y, rtol=1e-6)
    jumps = steps(rows.family, y)
    ranks = RANKS[:, None] if y.ndim == 2 else RANKS
    cdf, before = rows.cdf(y), rows.cdf(y - 1)
    assert (before < ranks)[jumps].all()
    assert (cdf >= ranks * (1 - 1e-12))[jumps].all()
    np.testing.assert_allclose((cdf / ranks)[~jumps], 1, rtol=1e-9)


def test_cdf_and_quantile_at_the_ends(example):
    rows = at_example(example, 2)
    ends = np.array([-np.inf, np.inf])
    if rows.family.multivariate:
        ends = np.tile(ends[:, None], rows.family.n_outputs)
    zero_one = ends > 0
    np.testing.assert_array_equal(rows.cdf(ends), zero_one)
    low, high = quantiles(rows, [0.0, 1.0])
    np.testing.assert_array_equal(rows.cdf(np.stack([low - 1, high])), zero_one)


def test_samples_follow_the_cdf(example):
    """Chi-squared over the cells between some quantiles, for each output."""
    draws = at_example(example, 16).sample(256, random_state=1)
    draws = draws.reshape(256 * 16, -1)
    edges = quantiles(at_example(example, 7), np.linspace(0.125, 0.875, 7))
    below = at_example(example, 7).cdf(edges).reshape(7, -1)
    for j, column in enumerate(draws.T):
        cells, first = np.unique(edges.reshape(7, -1)[:, j], return_index=True)
        expected = np.diff(below[first, j], prepend=0, append=1) * len(column)
        observed = np.bincount(np.searchsorted(cells, column), minlength=len(cells) + 1)
        assert (observed[expected < 1e-9] == 0).all()
        keep = expected > 1e-9
        chi2 = np.sum((observed - expected)[keep] ** 2 / expected[keep])
        assert stats.chi2.sf(chi2, max(keep.sum() - 1, 1)) > 1e-3


# Peers --------------------------------------------------------------------------------


def peer_of(example, theta):
    if example.peer is None:
        pytest.skip("SciPy has no such distribution")
    return example.peer(theta)


def test_density_is_scipys(example):
    rows = at_example(example, 1)
    peer = peer_of(example, rows.theta)
    y = example.rule(example.eta, ()).y
    y = y[np.abs(y) < 700][::7] if y.ndim == 1 else y[::7]  # SciPy may underflow
    log = peer.logpmf if example.make().discrete else peer.logpdf
    np.testing.assert_allclose(
        looked(example, example.eta, y)[0], log(y), rtol=1e-9, atol=1e-9
    )


def test_cdf_quantile_and_moments_are_scipys(example):
    rows = at_example(example, len(RANKS))
    if rows.family.multivariate:
        pytest.skip("SciPy has no cdf of each output")
    peer = peer_of(example, {k: v[0] for k, v in rows.theta.items()})
    y = peer.ppf(RANKS)
    np.testing.assert_allclose(quantiles(rows, RANKS), y, rtol=1e-9)
    np.testing.assert_allclose(rows.cdf(y), peer.cdf(y), rtol=1e-9)
    np.testing.assert_allclose(rows.mean[0], peer.mean())
    np.testing.assert_allclose(rows.std[0], peer.std())


# Links, marginals, weights ------------------------------------------------------------


@eqx.filter_jit
def there_and_back(family, eta):
    theta = family.theta(eta)
    return theta, family.theta(family.eta(**theta))


def test_link_round_trip(example):
    family, eta = example.make(), np.array(example.eta)
    with float64():
        theta, back = there_and_back(family, jnp.asarray(eta)[None])
    for name in theta:
        np.testing.assert_allclose(back[name], theta[name], rtol=1e-12, atol=1e-12)


def twice(y):
    """The same rows in two ways: with weights 0 to 3, and each that often."""
    n, rng = len(y), np.random.default_rng(2)
    x, w = rng.normal(size=(n, 1)), rng.integers(0, 4, size=n).astype(float)
    often = np.repeat(np.arange(n), w.astype(int))

    def padded(place, w):
        absent = 2 * n - len(place)
        place = np.concatenate([place, np.full(absent, place[0])])
        return Batch(x[place], y[place], np.concatenate([w, np.zeros(absent)]))

    return padded(np.arange(n), w), padded(often, np.ones(len(often)))


def test_marginal_is_the_optimum(example):
    batch, _ = twice(example.draw(96) * 1.0)
    eta = marginal(example.make(), batch.y, batch.w)
    assert eta.shape == (example.make().n_eta,)
    log_p, score = looked(example, eta, batch.y)
    assert batch.w @ log_p > batch.w @ looked(example, example.eta, batch.y)[0]
    # at a kink (a median that is a row) the slope is between those on either side
    slack = np.abs(score).max() / batch.w.sum() if not example.smooth else 0.0
    np.testing.assert_allclose(
        batch.w @ score / batch.w.sum(), 0, atol=1e-7 + 3 * slack
    )


def test_weight_two_is_the_row_twice_for_the_marginal(example):
    weighted, repeated = twice(example.draw(96) * 1.0)
    etas = [marginal(example.make(), b.y, b.w) for b in (weighted, repeated)]
    np.testing.assert_allclose(*etas, rtol=1e-12, atol=1e-12)


# Every scalar family goes through one fit, as outputs of a product: one program.
SCALARS = [e for e in FAMILIES.values() if not e.make().multivariate]
FITS = {
    "all scalar families": (
        lambda: Product(*(e.make() for e in SCALARS)),
        np.concatenate([e.eta for e in SCALARS]),
        lambda n: np.stack([e.draw(n) for e in SCALARS], -1),
    ),
    **{
        name: (example.make, np.array(example.eta), example.draw)
        for name, example in FAMILIES.items()
        if name in ("Multinomial", "MultivariateNormal")
    },
}


def fitted(name, batch):
    make, eta, _ = FITS[name]
    with float64():
        start = Linear(jnp.zeros((1, len(eta))), jnp.asarray(eta))
        solver, key = LBFGS(max_steps=8), jax.random.key(0)
        fit = recipe.fit(make(), start, batch, solver=solver, key=key)
        return np.asarray(fit.model.coefficients)


@pytest.mark.parametrize("name", FITS)
def test_weight_two_is_the_row_twice_for_a_fit(name):
    weighted, repeated = twice(FITS[name][2](96) * 1.0)
    a, b = fitted(name, weighted), fitted(name, repeated)
    assert np.abs(a - np.vstack([0 * a[:1], FITS[name][1]])).max(0).min() > 1e-3
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("garbage", [np.nan, 1e300])
@pytest.mark.parametrize("name", FITS)
def test_garbage_in_absent_rows_changes_nothing(name, garbage):
    clean, _ = twice(FITS[name][2](96) * 1.0)
    absent = clean.w == 0
    x, y = clean.x.copy(), clean.y.copy()
    x[absent], y[absent] = garbage, garbage
    spoiled = fitted(name, Batch(x, y, clean.w))
    np.testing.assert_array_equal(fitted(name, clean), spoiled)


# Precision and errors -----------------------------------------------------------------


def swept(example, sizes, n=768):
    """η with entries of all sizes and signs, and y among which are the ends."""
    rng = np.random.default_rng(3)
    shape = (n, len(example.eta))
    eta = rng.choice(sizes, size=shape) * rng.choice([-1, 1], size=shape)
    y = example.draw(64)
    return eta, y[rng.integers(0, 64, size=n)]


def test_loss_and_gradient_are_finite_in_float32(example):
    eta, y = swept(example, EXTREMES)
    log_p, score = looked(example, eta, y, np.float32)
    assert log_p.dtype == np.float32
    assert np.isfinite(log_p).all()
    assert np.isfinite(score).all()


def test_float32_agrees_with_float64(example):
    eta, y = swept(example, EXTREMES[:3])
    y = np.asarray(y, np.float32)
    single, double = looked(example, eta, y, np.float32), looked(example, eta, y)
    for a, b in zip(single, double, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-3)


# Far out: extreme y and η ---------------------------------------------------------------

LARGEST = {np.float64: 1e300, np.float32: 1e30}
BLOCK = 16  # rows for which the programs of other laws are compiled


def line_to(largest) -> np.ndarray:
    """Numbers of all sizes, from −largest over 0 to largest."""
    sizes = np.geomspace(1 / largest, largest, 28)
    return np.sort(np.concatenate([-sizes, [-1.0, 0.0, 1.0, 2.0, 1e3, 1e7], sizes]))


def moderate(example, n, seed=4) -> np.ndarray:
    """η whose first entry is as large as the logarithm of 10⁷."""
    eta = np.random.default_rng(seed).uniform(-3, 3, size=(n, len(example.eta)))
    eta[:, 0] *= 16 / 3
    return eta


@pytest.mark.parametrize("dtype", LARGEST)
def test_loss_and_gradient_are_finite_at_extreme_y(example, dtype):
    family = example.make()
    eta, y = swept(example, EXTREMES)
    rng, line = np.random.default_rng(5), line_to(LARGEST[dtype])
    far = line[rng.integers(len(line), size=y.shape)].astype(dtype).astype(float)
    outside = family.outside(far)
    y = np.where(outside[:, None] if y.ndim == 2 else outside, y, far)
    for answer in looked(example, eta, y, dtype):
        assert np.isfinite(answer).all()


def test_float32_log_prob_is_that_of_float64_for_large_parameters(example):
    family, levels = example.make(), np.array([1e-6, 0.01, 0.3, 0.5, 0.7, 0.99])
    blocks = 1 if example.costly else 8
    eta = moderate(example, blocks * BLOCK).astype(np.float32)
    if family.multivariate:
        y = example.draw(blocks * BLOCK) * 1.0
    else:
        parts = [Predictive(family, part) for part in np.split(eta, blocks)]
        ranks = levels[np.arange(BLOCK) % len(levels)]
        y = np.concatenate([quantiles(part, ranks) for part in parts])
        y = np.clip(y, 1e-37 if family.outside(np.zeros(1))[0] else -1e37, 1e37)
    y = y.astype(np.float32)
    single, _ = looked(example, eta, y, np.float32)
    double, _ = looked(example, eta, y)
    kept = np.abs(double) < 1e30
    tolerance = {"rtol": 1e-4, "atol": 1e-3}
    np.testing.assert_allclose(single[kept], double[kept], **tolerance)


def test_cdf_rises_from_zero_to_one_without_gaps(example):
    family = example.make()
    line = np.concatenate([line_to(1e300), np.full(2, np.inf)])
    y = np.repeat(line[:, None], family.n_outputs, 1) if family.multivariate else line
    for eta in moderate(example, 4):
        cdf = np.concatenate(
            [
                Predictive(family, np.tile(eta, (BLOCK, 1))).cdf(part)
                for part in np.split(y, len(y) // BLOCK)
            ]
        )
        assert ((cdf >= 0) & (cdf <= 1)).all()  # and none is NaN
        assert (np.diff(cdf, axis=0) >= -1e-14).all()
        assert (cdf[-1] == 1).all()


def test_quantile_and_cdf_are_inverse_for_large_parameters(example):
    levels = np.resize([1e-6, 0.01, 0.3, 0.5, 0.7, 0.99], BLOCK)
    rows = Predictive(example.make(), moderate(example, BLOCK))
    y = quantiles(rows, levels)
    cdf, before = rows.cdf(y), rows.cdf(y - 1)
    jumps = steps(rows.family, y)
    levels = levels[:, None] if y.ndim == 2 else levels
    assert (cdf >= levels * (1 - 1e-9))[jumps].all()
    assert (before < levels * (1 + 1e-9))[jumps].all()
    np.testing.assert_allclose((cdf / levels)[~jumps], 1, rtol=1e-9)


def test_bad_y_gets_a_sentence(example):
    family, y = example.make(), np.array(example.draw(6), float)
    family.check(y)
    y[3] = example.bad
    with pytest.raises(InputError, match=r"in row 3, but \w+ needs .+\. \w.+\."):
        family.check(y)
    family.check(y, np.array([1.0, 1, 1, 0, 1, 1]))
    with pytest.raises(InputError, match="has shape .* needs shape"):
        family.check(y[:, None])
