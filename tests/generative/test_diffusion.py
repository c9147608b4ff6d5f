"""Diffusion models: the process in closed form, the bound, draws, conditions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom, norm

import likely as lk
from likely.core.checks import InputError
from likely.generative.diffusion.bound import (
    DenoisingErrors,
    evidence_bound,
    known_values,
)
from likely.generative.diffusion.denoisers import DenoiserSettings, cut, join
from likely.generative.diffusion.denoising import Diffuser, spread_times
from likely.generative.diffusion.drawing import Way, draw_points
from likely.generative.diffusion.levels import Levels, levels_of
from likely.generative.diffusion.reverse import steps_back
from likely.generative.diffusion.schedule import NoiseSchedule, posterior
from likely.generative.diffusion.targets import Units, noise_of, row_of, target_of
from likely.generative.point_cells import KnownValues, log_mass
from likely.generative.point_rows import learn_rows, row_codes
from likely.objectives import DenoisingLoss
from likely.objectives.rows import Normalisation

SCHEDULE = NoiseSchedule("cosine", 1000)
BRIEF = {"n_steps": 50, "hidden": (16,), "max_iter": 3, "early_stopping": False}


class NormalDenoiser:
    """What is best to say about x_0 ~ N(m, s²) under noise: the conditional mean."""

    def __init__(self, schedule, mean, scale):
        self.schedule, self.mean, self.scale = schedule, mean, scale

    def __call__(self, x, t, c, *, key=None):
        at = jnp.round(t * self.schedule.n_steps).astype(int)
        a, sigma = (
            jnp.asarray(v, x.dtype)[at][:, None]
            for v in (self.schedule.signal, self.schedule.noise)
        )
        gain = a * self.scale**2 / (a**2 * self.scale**2 + sigma**2)
        return self.mean + gain * (x - a * self.mean)


class TwoModes:
    """The best estimate of x_0 for two normal modes, given the mode, or without a condition.

    The condition is (sign of the mode, 1), or zeros where it is hidden.
    """

    def __init__(self, schedule, mean, scale):
        self.schedule, self.mean, self.scale = schedule, mean, scale

    def __call__(self, x, t, c, *, key=None):
        at = jnp.round(t * self.schedule.n_steps).astype(int)
        a, sigma = (
            jnp.asarray(v, x.dtype)[at][:, None]
            for v in (self.schedule.signal, self.schedule.noise)
        )
        variance = a**2 * self.scale**2 + sigma**2

        def of(mean):
            return mean + a * self.scale**2 / variance * (x - a * mean)

        share = jax.nn.sigmoid(2 * a * self.mean * x / variance)
        both = share * of(self.mean) + (1 - share) * of(-self.mean)
        sign = c[:, :1] * self.mean
        return jnp.where(c[:, 1:] > 0, of(sign), both)


class Points:
    """Numbers that are their own points."""

    clip = None

    def points(self, codes):
        return codes

    def log_prob(self, codes, mean, spread, known=None):
        return norm.logpdf(codes, mean, spread).sum(1)


@pytest.fixture
def exact():
    return Diffuser(NormalDenoiser(SCHEDULE, 0.7, 0.4), SCHEDULE, "x0")


# The process --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cosine", "linear"])
def test_the_closed_form_is_the_sum_of_all_steps(kind):
    schedule = NoiseSchedule(kind, 200)
    signal, variance = 1.0, 0.0
    for t, beta in enumerate(schedule.beta, 1):
        signal, variance = np.sqrt(1 - beta) * signal, (1 - beta) * variance + beta
        assert signal == pytest.approx(schedule.signal[t], rel=1e-12)
        assert variance == pytest.approx(schedule.noise[t] ** 2, rel=1e-12)
    assert (np.diff(schedule.beta) >= 0).all()
    assert schedule.alpha_bar[-1] < 1e-3


@pytest.mark.parametrize(("t", "s"), [(1, 0), (2, 1), (500, 499), (1000, 3)])
def test_the_posterior_is_that_of_normal_numbers(t, s):
    """By the joint covariance of (x_s, x_t) given x_0, conditioned on x_t."""
    a, b, variance = posterior(SCHEDULE, t, s)
    ratio = SCHEDULE.signal[t] / SCHEDULE.signal[s]
    vs, vt = SCHEDULE.noise[s] ** 2, SCHEDULE.noise[t] ** 2
    gain = ratio * vs / vt
    assert b == pytest.approx(gain, rel=1e-10, abs=1e-14)
    expected = SCHEDULE.signal[s] - gain * SCHEDULE.signal[t]
    assert a == pytest.approx(expected, rel=1e-7)
    assert variance == pytest.approx(vs - gain * ratio * vs, rel=1e-7, abs=1e-14)


@pytest.mark.parametrize("kind", ["v", "eps", "x0"])
def test_all_targets_say_the_same(kind, rng):
    x0, eps = rng.normal(size=(2, 5, 3))
    a, sigma = 0.6, 0.8
    xt = a * x0 + sigma * eps
    said = target_of(kind, x0, eps, a, sigma)
    assert np.allclose(row_of(kind, said, xt, a, sigma), x0)
    assert np.allclose(noise_of(x0, xt, a, sigma), eps)


def test_of_standard_numbers_the_residual_is_minus_v(rng):
    x0, eps = rng.normal(size=(2, 5, 3))
    a, sigma = 0.6, 0.8
    xt, units = a * x0 + sigma * eps, Units(jnp.zeros(3), jnp.ones(3))
    v = target_of("v", x0, eps, a, sigma)
    assert np.allclose(units.row(-v, xt, a, sigma), x0)


def test_the_linear_estimate_is_the_regression_on_noised_rows(rng):
    """By least squares on many draws; a constant number is known under any noise."""
    n, a, sigma = 200_000, 0.6, 0.8
    x0 = np.stack([2 + 0.5 * rng.normal(size=n), np.full(n, 3.0)], 1)
    xt = a * x0 + sigma * rng.normal(size=x0.shape)
    units = Units.learn(jnp.asarray(x0), jnp.ones(n))
    estimate, c = units.linear(xt, a, sigma)
    slope, start = np.polyfit(xt[:, 0], x0[:, 0], 1)
    assert np.allclose(estimate[:5, 0], start + slope * xt[:5, 0], atol=0.01)
    assert float(c[0, 0]) == pytest.approx(
        float((x0[:, 0] - estimate[:, 0]).std()), rel=0.01
    )
    assert np.allclose(estimate[:, 1], 3.0)
    assert float(c[0, 1]) == pytest.approx(0.0, abs=1e-6)


def test_a_step_back_is_the_one_of_ancestral_draws(rng):
    """x_{t-1} = (x_t - β_t/√(1 - ᾱ_t) ε)/√α_t + σ z, in the notation of DDPM."""
    steps = steps_back(SCHEDULE, 1000, 1.0)
    for place in (0, 400, 990):
        t = int(steps.at[place])
        x, eps = rng.normal(size=2)
        beta = SCHEDULE.beta[t - 1]
        expected = (x - beta / SCHEDULE.noise[t] * eps) / np.sqrt(1 - beta)
        row = row_of("eps", eps, x, SCHEDULE.signal[t], SCHEDULE.noise[t])
        found = steps.signal[place] * row + steps.noise[place] * eps
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
        variance = posterior(SCHEDULE, t, t - 1)[2]
        assert steps.fresh[place] == pytest.approx(np.sqrt(variance))
    assert steps.fresh[-1] == 0  # the last step ends at the estimate


def test_times_of_a_batch_are_spread_evenly(getkey):
    times = np.sort(np.asarray(spread_times(getkey(), 100, 1000)))
    assert times.min() >= 1
    assert times.max() <= 1000
    assert (np.diff(times) == 10).all()


def test_patches_come_together_again(rng):
    x = jnp.asarray(rng.normal(size=(2, 8, 12, 3)))
    assert (join(cut(x, 4), x.shape, 4) == x).all()
    assert cut(x, 4).shape == (2, 6, 48)
    assert (cut(x, 4)[0, 1] == x[0, :4, 4:8].reshape(-1)).all()


@pytest.mark.parametrize(
    ("kind", "sizes", "row", "patch"),
    [
        ("mlp", (8,), (3,), 1),
        ("unet", (4, 8), (6, 7, 2), 2),
        ("transformer", (8, 1, 2), (6, 4, 1), 2),
        ("transformer", (8, 1, 2), (3,), 1),
    ],
)
def test_denoisers_keep_the_shape_of_rows(kind, sizes, row, patch, getkey):
    model = DenoiserSettings(kind, sizes, patch).build(row, 2, key=getkey())
    x = jax.random.normal(getkey(), (3, *row))
    out = model(x, jnp.array([0.1, 0.5, 1.0]), jnp.zeros((3, 2)))
    assert out.shape == x.shape


# What is probable ---------------------------------------------------------------------


def test_the_bound_meets_the_evidence_of_a_normal_distribution(exact, rng):
    """The exact denoiser leaves a gap that only finite steps make."""
    x = 0.7 + 0.4 * rng.normal(size=(400, 1))
    rows = lk.typing.Batch(x, np.zeros((400, 0)), np.ones(400))
    errors = DenoisingErrors.measure(exact, rows, 0)
    bound = evidence_bound(
        exact, Points(), x, np.zeros((400, 0)), errors, n_draws=64, seed=0
    )
    truth = norm.logpdf(x[:, 0], 0.7, 0.4).mean()
    assert bound.mean < truth + 3 * bound.error
    assert bound.mean > truth - 0.05 - 3 * bound.error


def test_draws_of_the_exact_denoiser_are_the_distribution(exact):
    for way in (Way("ddpm", 200, 0.0), Way("ddim", 100, 0.0)):
        x = draw_points([exact], way, (1,), np.zeros((4000, 0)), seed=0, clip=None)
        assert x.mean() == pytest.approx(0.7, abs=0.03)
        assert x.std() == pytest.approx(0.4, abs=0.02)


def test_the_loss_of_the_exact_denoiser_is_the_variance_that_is_left(exact, rng):
    """E(x_0 − E[x_0 | x_t])² = s²σ²/(a²s² + σ²), the mean over all times."""
    n, s2 = 20_000, 0.4**2
    x = jnp.asarray(0.7 + 0.4 * rng.normal(size=(n, 1)), jnp.float32)
    data = lk.typing.Batch(x, jnp.zeros((n, 0)), jnp.ones(n))
    loss = DenoisingLoss(None, Normalisation.of(data))
    a2, sigma2 = SCHEDULE.signal[1:] ** 2, SCHEDULE.noise[1:] ** 2
    expected = (s2 * sigma2 / (a2 * s2 + sigma2)).mean()
    found, _ = loss(exact, data, key=jax.random.key(0))
    assert float(found) == pytest.approx(expected, rel=0.03)
    judged = [float(loss(exact, data)[0]) for _ in range(2)]
    assert judged[0] == judged[1]
    assert judged[0] == pytest.approx(expected, rel=0.03)


def test_guidance_keeps_to_what_is_asked_for():
    """By exact estimates: of modes that are far apart guided draws stay in one, as it is."""
    model = Diffuser(TwoModes(SCHEDULE, 1.0, 0.2), SCHEDULE, "x0")
    given = np.full((2000, 1), -1.0)
    for guidance in (0.0, 2.0):
        way = Way("ddpm", 200, guidance)
        x = draw_points([model], way, (1,), given, seed=0, clip=None)
        assert x.mean() == pytest.approx(-1.0, abs=0.06)
        assert x.std() == pytest.approx(0.2, abs=0.03)
        assert x.max() < 0
    # without a condition shown there are both modes
    row = model.row(jnp.zeros((1, 1)), jnp.array([900]), jnp.zeros((1, 2)))
    assert float(row[0, 0]) == pytest.approx(0.0, abs=1e-6)


class Silent:
    """A denoiser with nothing to add to what each number says by itself."""

    def __call__(self, x, t, c, *, key=None):
        return jnp.zeros_like(x)


def silent_model(rows, schedule=SCHEDULE):
    """Cells, and a model of rows whose numbers say nothing about each other."""
    model = lk.Diffusion()
    codes, w, _ = learn_rows(model, rows, None)
    points = model.cells_.points(codes)
    levels = levels_of(model.cells_, codes, w)
    units = Units.learn(jnp.asarray(points), jnp.asarray(w), levels)
    exact = Diffuser(Silent(), schedule, "residual", units)
    none = np.zeros((len(w), 0))
    errors = DenoisingErrors.measure(exact, lk.typing.Batch(points, none, w), 0)
    return model, exact, errors


def test_numbers_with_known_values_by_themselves(rng):
    """Mean and deviation of x_0 given x_t, by sums over a fine grid of the prior."""
    values, shares, rest = np.array([-1.0, 0.5, 2.0]), [0.2, 0.3, 0.1], 0.4
    parts = (values[None], np.log([shares]), np.log([rest]))
    levels = Levels(*map(jnp.asarray, parts))
    units = Units(jnp.array([0.3]), jnp.array([0.8**2]), levels)
    grid = np.linspace(-6, 6, 40_001)
    prior = rest * norm.pdf(grid, 0.3, 0.8) * (grid[1] - grid[0])
    for t in (5, 100, 600):
        a, sigma = SCHEDULE.signal[t], SCHEDULE.noise[t]
        xt = a * rng.normal(size=(4, 1)) + sigma * rng.normal(size=(4, 1))
        every = np.concatenate([grid, values])
        p = np.concatenate([prior, shares]) * norm.pdf(xt, a * every, sigma)
        p /= p.sum(1, keepdims=True)
        mean = p @ every
        spread = np.sqrt((p * (every - mean[:, None]) ** 2).sum(1))
        wide = np.full((2, 1, 1), [[[a]], [[sigma]]])
        found, c = units.alone(jnp.asarray(xt), *jnp.asarray(wide))
        assert np.allclose(found[:, 0], mean, atol=2e-4)
        assert np.allclose(c[:, 0], spread, atol=2e-4)


def independent_table(rng, n):
    """Columns that say nothing about each other, and the log probability of rows."""
    X = {
        "height": 1.5 + 0.4 * rng.normal(size=n),
        "rooms": rng.binomial(12, 0.4, n).astype(float),
        "town": rng.choice(["Bonn", "Kiel", "Ulm"], n, p=[0.6, 0.3, 0.1]),
        "sold": rng.choice(["no", "yes"], n, p=[0.8, 0.2]),
    }
    truth = norm.logpdf(X["height"], 1.5, 0.4) + binom.logpmf(X["rooms"], 12, 0.4)
    for name, shares in (("town", [0.6, 0.3, 0.1]), ("sold", [0.8, 0.2])):
        truth += np.log(shares)[np.unique(X[name], return_inverse=True)[1]]
    return X, truth


def test_the_bound_meets_the_evidence_of_independent_columns(rng):
    """Numbers by themselves are all there is to know; levels cost nothing extra."""
    X, _ = independent_table(rng, 4000)
    model, exact, errors = silent_model(X)
    new, truth = independent_table(rng, 600)
    codes = row_codes(model, new)
    options = {"n_draws": 32, "seed": 0}
    none = np.zeros((600, 0))
    bound = evidence_bound(exact, model.cells_, codes, none, errors, **options)
    gap = truth.mean() - bound.mean
    assert gap > -3 * bound.error
    # three numbers of one town are not told that they belong together
    assert gap < 0.75 + 3 * bound.error


def test_the_last_step_sums_to_one_over_whole_numbers(rng):
    X = {"rooms": rng.binomial(12, 0.4, 300).astype(float)}
    model, diffuser, _ = silent_model(X, NoiseSchedule("cosine", 10))
    codes = row_codes(model, X)
    every = model.codec_.encode({"rooms": np.arange(-60.0, 80.0)})
    for row in codes[:5]:
        rows = lk.typing.Batch(row[None], np.zeros((1, 0)), np.ones(1))
        known = known_values(diffuser, rows, rng.normal(size=(1, 1)))
        known = KnownValues(
            known.values, *(np.repeat(a, 140, axis=0) for a in known[1:])
        )
        logs = model.cells_.log_prob(every, every, np.ones(1), known)
        slope = model.codec_.log_det(every)
        assert np.exp(logs - slope).sum() == pytest.approx(1.0, abs=1e-9)


def test_a_pixel_that_never_changed_may_change(rng):
    """It costs some nats, not thousands: what noise shows of it is believed."""
    X = rng.integers(0, 256, (300, 3, 3)).astype(np.uint8)
    X[:, 0] = 0
    model, exact, errors = silent_model(X)
    new = X[:50].copy()
    new[:, 0, 0] = 200
    known, changed = (
        evidence_bound(
            exact, model.cells_, row_codes(model, images), np.zeros((50, 0)), errors,
            n_draws=32, seed=0,
        ).mean
        for images in (X[:50], new)
    )  # fmt: skip
    assert 5 < known - changed < 30
    # a row of black, 6 other pixels that are any of 256
    assert known == pytest.approx(-6 * np.log(256), abs=6)


def test_counts_are_modelled_in_units_of_their_spread(rng):
    X = {"size": rng.normal(size=80), "visits": rng.poisson(150, 80).astype(float)}
    model = lk.Diffusion(kinds={"visits": "count"})
    codes, _, _ = learn_rows(model, X, None)
    assert np.abs(model.cells_.points(codes)).max() < 6


def test_the_bound_of_a_row_does_not_depend_on_others(exact, rng):
    x, none = rng.normal(size=(9, 1)), np.zeros((9, 0))
    errors = DenoisingErrors(np.array([1, 1000]), np.log(np.array([[1e-4], [0.16]])))
    options = {"n_draws": 4, "seed": 0}
    whole = evidence_bound(exact, Points(), x, none, errors, **options)
    part = evidence_bound(exact, Points(), x[5:2:-1], none[:3], errors, **options)
    assert np.allclose(whole.values[5:2:-1], part.values, atol=1e-9)
    assert np.allclose(whole.errors[5:2:-1], part.errors, atol=1e-9)


def test_the_mass_between_two_numbers():
    low = np.array([-np.inf, -1.0, 30.0, -40.0, 2.0])
    high = np.array([0.0, 1.0, 31.0, -39.0, np.inf])
    expected = [np.log(0.5), np.log(norm.cdf(1) - norm.cdf(-1)), norm.logsf(30)]
    expected += [norm.logcdf(-39), norm.logsf(2)]
    assert np.allclose(log_mass(low, high), expected, rtol=1e-10)


# The estimator ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_modes():
    """Rows of two normal distributions, and a model of them."""
    rng = np.random.default_rng(0)
    k = rng.integers(2, size=2000)
    X = np.where(k[:, None] == 1, [2.0, 1.0], [-2.0, -1.0])
    X = X + rng.normal(size=(2000, 2)) * [0.5, 0.3]
    settings = {"learning_rate_init": 2e-3, "learning_rate": "cosine", "max_iter": 200}
    model = lk.Diffusion(
        hidden=(64, 64), early_stopping=False, random_state=0, **settings
    )
    return X, k, model.fit(X, given=np.array(["left", "right"])[k])


def mixture_score(x, model, t, means, spread):
    """The gradient of the log density of noised rows of a mixture, in closed form."""
    a, sigma = model.noise_schedule.signal[t], model.noise_schedule.noise[t]
    scale = np.array([c.scale for c in model.codec_.columns])
    centers = a * model.codec_.encode(np.asarray(means, float))
    variance = (a * np.asarray(spread) / scale) ** 2 + sigma**2
    logs = np.stack([-0.5 * ((x - c) ** 2 / variance).sum(1) for c in centers])
    share = np.exp(logs - logsumexp(logs, 0))
    pulls = np.stack([(c - x) / variance for c in centers])
    return (share[:, :, None] * pulls).sum(0)


@pytest.mark.slow
@pytest.mark.parametrize("given", [None, "right"])
@pytest.mark.parametrize("t", [200, 500])
def test_the_score_function_of_a_mixture_is_recovered(two_modes, t, given):
    """Of both modes together, and of one of them by a model with conditions."""
    X, k, conditional = two_modes
    means, model = [[2.0, 1.0], [-2.0, -1.0]], conditional
    rows = X[k == 1][:300]
    if given is None:
        rows, settings = X[:300], conditional.get_params()
        model = lk.Diffusion(**settings).fit(X)
    x = model.noised(rows, t, random_state=1)
    exact = mixture_score(x, model, t, means[: 1 if given else 2], [0.5, 0.3])
    found = model.score_function(x, t, given=given)
    assert np.corrcoef(found.ravel(), exact.ravel())[0, 1] > 0.98
    assert np.abs(found - exact).mean() < 0.15 * np.abs(exact).mean()


def mixed_table(rng, n):
    """Two numbers, a count and a word that depend on one of three modes; log p of rows."""
    k, mean = rng.integers(3, size=n), np.array([[-2.0, -1.0], [0.0, 1.5], [2.0, -1.0]])
    p, q = np.array([0.2, 0.5, 0.8]), np.array([0.9, 0.5, 0.1])
    X = mean[k] + rng.normal(size=(n, 2)) * [0.5, 0.3]
    rooms, sold = rng.binomial(10, p[k]), rng.random(n) < q[k]
    logs = [
        norm.logpdf(X, mean[j], [0.5, 0.3]).sum(1)
        + binom.logpmf(rooms, 10, p[j])
        + np.log(np.where(sold, q[j], 1 - q[j]))
        for j in range(3)
    ]
    columns = {"a": X[:, 0], "b": X[:, 1], "rooms": rooms.astype(float)}
    words = np.where(sold, "yes", "no")
    return columns | {"sold": words}, logsumexp(logs, 0) - np.log(3)


@pytest.mark.slow
def test_the_bound_is_near_the_truth_after_training(rng):
    X, _ = mixed_table(rng, 2000)
    new, truth = mixed_table(rng, 500)
    bound = lk.Diffusion(random_state=0).fit(X).bound(new)
    gap = truth - bound.values
    error = np.hypot(bound.error, gap.std() / np.sqrt(len(gap)))
    assert gap.mean() > -3 * error
    assert gap.mean() < 0.5


@pytest.mark.slow
def test_draws_keep_to_their_condition(two_modes):
    X, k, model = two_modes
    for name, sign in (("left", -1), ("right", 1)):
        drawn = model.sample(500, given=name, random_state=0)
        assert (np.sign(drawn[:, 0]) == sign).mean() > 0.98
        assert np.allclose(drawn.mean(0), [2 * sign, sign], atol=0.2)
    guided = model.sample(200, given="right", guidance=2.0, random_state=0)
    assert (guided[:, 0] > 0).all()


@pytest.mark.slow
def test_noise_and_rows_belong_together(two_modes):
    X, k, model = two_modes
    names = np.array(["left", "right"])[k[:50]]
    Z = model.encode(X[:50], given=names)
    assert Z.shape == (50, 2)
    assert np.abs(model.decode(Z, given=names) - X[:50]).max() < 0.3


def test_tables_with_words_and_whole_numbers(rng):
    n = 60
    X = {
        "length": rng.normal(size=n),
        "rooms": rng.integers(1, 9, n).astype(float),
        "town": rng.choice(["Ulm", "Bonn", "Kiel"], n),
        "sold": rng.choice(["yes", "no"], n),
    }
    model = lk.Diffusion(**BRIEF, random_state=0).fit(X)
    drawn = model.sample(20, random_state=0)
    assert set(drawn) == set(X)
    assert set(drawn["town"]) <= {"Ulm", "Bonn", "Kiel"}
    assert np.isfinite(model.bound(X).values).all()
    assert (drawn["rooms"] == np.round(drawn["rooms"])).all()


def test_images_and_the_way_to_them(rng):
    X = rng.integers(0, 256, (12, 6, 6)).astype(np.uint8)
    settings = BRIEF | {"hidden": (4, 4)}
    model = lk.Diffusion(**settings, random_state=0).fit(X, given=np.arange(12) % 2)
    drawn = model.sample(3, given=1, random_state=0)
    assert drawn.shape == (3, 6, 6)
    assert drawn.dtype == np.uint8
    again = model.sample(3, given=1, random_state=0)
    assert (drawn == again).all()
    path = model.sample_path(2, given=0, n_frames=4, random_state=0)
    assert path.shape == (2, 4, 6, 6, 1)
    found = model.bound(X, given=np.arange(12) % 2, n_draws=4)
    assert np.isfinite(found.values).all()
    assert (found.errors > 0).all()


def test_members_files_and_runs_that_go_on(rng, tmp_path):
    X = rng.normal(size=(40, 2))
    settings = BRIEF | {"n_members": 2, "batch_size": 20, "max_iter": 100}
    model = lk.Diffusion(**settings).fit(X)
    drawn = model.sample(6, random_state=0)
    model.save(tmp_path / "diffusion.likely")
    again = lk.load(tmp_path / "diffusion.likely")
    assert (again.sample(6, random_state=0) == drawn).all()
    assert (again.bound(X[:5]).values == model.bound(X[:5]).values).all()
    place, part = {"checkpoints": tmp_path / "run"}, lk.Diffusion(**settings)
    part.fit(X, **place, callbacks=lambda event: event.step >= 64)
    assert part.n_iter_ == 32
    more = lk.Diffusion(**settings).fit(X, **place, resume=True)
    assert (more.sample(6, random_state=0) == drawn).all()


@pytest.mark.parametrize("target", ["v", "eps", "x0"])
@pytest.mark.slow
def test_every_target_learns_a_normal_distribution(target, rng):
    X = rng.normal(size=(1500, 1)) * 2 + 5
    settings = {"hidden": (64, 64), "learning_rate_init": 2e-3, "max_iter": 150}
    settings |= {"learning_rate": "cosine", "early_stopping": False}
    model = lk.Diffusion(target=target, **settings).fit(X)
    drawn = model.sample(2000, random_state=0)
    assert drawn.mean() == pytest.approx(5, abs=0.3)
    assert drawn.std() == pytest.approx(2, abs=0.25)
    found = model.bound(X[:300])
    truth = norm.logpdf(X[:300, 0], 5, 2).mean()
    assert truth - 0.3 < found.mean < truth + 3 * found.error + 0.02


def test_a_row_of_weight_two_is_the_row_twice_and_of_weight_zero_absent(rng):
    X = rng.normal(size=(30, 2))
    w = np.ones(30)
    w[0] = 0.0
    bad = X.copy()
    bad[0] = np.nan
    one = lk.Diffusion(**BRIEF).fit(bad, sample_weight=w)
    two = lk.Diffusion(**BRIEF).fit(X[1:])
    assert (one.sample(5, random_state=0) == two.sample(5, random_state=0)).all()


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"schedule": "sine"}, "schedule"),
        ({"target": "noise"}, "target"),
        ({"denoiser": "unet"}, "images"),
        ({"n_steps": 1}, "n_steps"),
        ({"denoiser": "transformer", "hidden": (8,)}, "layers"),
    ],
)
def test_settings_that_cannot_be(settings, word, rng):
    with pytest.raises(InputError, match=word):
        lk.Diffusion(**settings).fit(rng.normal(size=(10, 2)))


def test_questions_that_cannot_be_answered(rng):
    X = rng.normal(size=(20, 2))
    model = lk.Diffusion(**BRIEF).fit(X)
    with pytest.raises(InputError, match="n_steps"):
        model.sample(2, n_steps=51)
    with pytest.raises(InputError, match="numbers of noise"):
        model.decode(np.zeros((2, 3)))
    with pytest.raises(InputError, match="last step"):
        model.noised(X, 51)
    X[3, 1] = np.nan
    with pytest.raises(InputError, match="row 3"):
        model.bound(X)
