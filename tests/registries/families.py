"""Every family: how to make it, an example η, draws, and a rule to integrate over y."""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy import special, stats

from likely import families as f
from likely.core import float64, pad
from likely.typing import Batch

CENTRES = (-0.7, 1.3)  # the means of the mixture of normals


class Rule(NamedTuple):
    """Points and weights: an integral or a sum over y is Σ weight · g(y)."""

    y: np.ndarray
    weight: np.ndarray


class Example(NamedTuple):
    """A family with an example η, a rule to integrate over y, and an oracle."""

    make: Callable[[], f.AbstractFamily]
    eta: tuple[float, ...]
    rule: Callable[[tuple[float, ...], tuple[float, ...]], Rule]
    """The rule for η, with further points at which the integral is split."""
    peer: Callable[[Any], Any] | None = None
    """SciPy's frozen distribution, from θ."""
    bad: Any = np.nan
    """A y outside the support."""
    smooth: bool = True
    """Whether log p has two derivatives in η."""
    kinks: Callable[[Any], tuple[float, ...]] | None = None
    """The points in y at which the density is not smooth."""
    costly: bool = False
    """Whether quantiles take long, so that laws look at fewer of them."""

    def draw(self, n: int, seed: int = 0) -> np.ndarray:
        """Draws of y, at most 256."""
        predictive = f.Predictive(self.make(), np.array([self.eta]))
        return predictive.sample(256, random_state=seed)[:n, 0]


@eqx.filter_jit
def _marginal(family, y, w):
    return family.marginal(y, w)


def marginal(family, y, w=None) -> np.ndarray:
    """The marginal η, with rows padded to 192 so that there is one program."""
    w = np.ones(len(y)) if w is None else w
    batch = pad(Batch(None, np.asarray(y, float), w), 192)
    with float64():
        return np.asarray(_marginal(family, jnp.asarray(batch.y), jnp.asarray(batch.w)))


# Rules --------------------------------------------------------------------------------


def half_line(start: float, sign: float, scale: float) -> Rule:
    """Double-exponential quadrature on the half-line from `start`."""
    t = np.linspace(-4.2, 4.2, 169)
    x = np.exp(np.pi / 2 * np.sinh(t))
    step = (t[1] - t[0]) * np.pi / 2 * np.cosh(t) * x
    return Rule(start + sign * scale * x, scale * step)


def segment(low: float, high: float) -> Rule:
    """The Gauss-Legendre rule between two points."""
    x, weight = np.polynomial.legendre.leggauss(48)
    half = (high - low) / 2
    return Rule(low + half * (x + 1), half * weight)


def joined(rules: list[Rule]) -> Rule:
    """One rule over all parts."""
    return Rule(*map(np.concatenate, zip(*rules, strict=True)))


def line(kinks=lambda eta: ()):
    """The real line, split at η₀, at the kinks of the density and at further points."""

    def rule(eta, breaks=()) -> Rule:
        cuts = np.unique([eta[0], *kinks(eta), *breaks])
        inner = [segment(a, b) for a, b in itertools.pairwise(cuts)]
        ends = [half_line(cuts[0], -1, 1.0), half_line(cuts[-1], 1, 1.0)]
        return joined([*inner, *ends])

    return rule


def positive(eta, breaks=()) -> Rule:
    """The positive half-line; up to the first point b, (0, b] is mapped to a half-line."""
    cuts = np.unique([1.0, *breaks])
    low = half_line(0.0, 1, 1.0)
    folded = cuts[0] / (1 + low.y)
    start = Rule(folded, low.weight * cuts[0] / (1 + low.y) ** 2)
    inner = [segment(a, b) for a, b in itertools.pairwise(cuts)]
    return joined([start, *inner, half_line(cuts[-1], 1, 1.0)])


def from_zero(eta, breaks=()) -> Rule:
    """Zero, which has a probability, and the positive half-line."""
    return joined(
        [Rule(np.zeros(1), np.ones(1)), positive(eta, [b for b in breaks if b > 0])]
    )


def counts(last: int):
    def rule(eta, breaks=()) -> Rule:
        return Rule(np.arange(last + 1.0), np.ones(last + 1))

    return rule


def whole(reach: int):
    """All whole numbers between −reach and reach."""
    y = np.arange(-reach, reach + 1.0)
    return lambda eta, breaks=(): Rule(y, np.ones(len(y)))


def compositions(total: int, classes: int):
    grid = itertools.product(range(total + 1), repeat=classes)
    y = np.array([c for c in grid if sum(c) == total], float)
    return lambda eta, breaks=(): Rule(y, np.ones(len(y)))


def times(first, second):
    """The product of two rules, for two outputs."""

    def rule(eta, breaks=()) -> Rule:
        a, b = first(eta), second(eta)
        y = np.stack(np.meshgrid(a.y, b.y, indexing="ij"), -1).reshape(-1, 2)
        return Rule(y, np.outer(a.weight, b.weight).ravel())

    return rule


def trapezoid(centre: int):
    """Equal steps over ±6, exact for normals; centred at an entry of η."""

    def rule(eta, breaks=()) -> Rule:
        x = np.linspace(-6, 6, 31)
        return Rule(eta[centre] + x, np.full(31, x[1] - x[0]))

    return rule


def huber_kinks(eta) -> tuple[float, float]:
    s = np.exp(eta[1])
    return eta[0] - s, eta[0] + s


def at_centre(eta) -> tuple[float]:
    return (eta[0],)


# The registry -------------------------------------------------------------------------

FAMILIES = {
    "Normal": Example(
        lambda: f.Normal(),
        (0.5, 0.3),
        line(),
        lambda t: stats.norm(t["loc"], t["scale"]),
    ),
    "Normal, fixed scale": Example(
        lambda: f.Normal(2.0),
        (0.5,),
        line(),
        lambda t: stats.norm(t["loc"], 2.0),
    ),
    "Laplace": Example(
        lambda: f.Laplace(),
        (0.5, 0.3),
        line(at_centre),
        lambda t: stats.laplace(t["loc"], t["scale"]),
        smooth=False,
        kinks=at_centre,
    ),
    "Huber": Example(
        lambda: f.Huber(), (0.5, 0.3), line(huber_kinks), kinks=huber_kinks
    ),
    "StudentT": Example(
        lambda: f.StudentT(),
        (0.5, 0.3, 0.9),
        line(),
        lambda t: stats.t(t["df"], t["loc"], t["scale"]),
    ),
    "Bernoulli": Example(
        lambda: f.Bernoulli(),
        (0.4,),
        counts(1),
        lambda t: stats.bernoulli(1 / (1 + np.exp(-t["logits"]))),
        bad=2.0,
    ),
    "Binomial": Example(
        lambda: f.Binomial(7),
        (0.4,),
        counts(7),
        lambda t: stats.binom(7, 1 / (1 + np.exp(-t["logits"]))),
        bad=8.0,
    ),
    "Categorical": Example(
        lambda: f.Categorical(3), (0.1, 0.6, -0.7), counts(2), bad=3.0
    ),
    "CumulativeLogit": Example(
        lambda: f.CumulativeLogit(4), (0.8, 0.3, -0.4), counts(3), bad=4.0
    ),
    "Multinomial": Example(
        lambda: f.Multinomial(4, 3),
        (0.1, 0.6, -0.7),
        compositions(4, 3),
        lambda t: stats.multinomial(4, special.softmax(t["logits"][0])),
        bad=[1.0, 1.0, 1.0],
    ),
    "Geometric": Example(
        lambda: f.Geometric(),
        (-0.2,),
        counts(99),
        lambda t: stats.geom(1 / (1 + np.exp(-t["logits"])), loc=-1),
        bad=-1.0,
    ),
    "NegativeBinomial": Example(
        lambda: f.NegativeBinomial(),
        (1.0, 1.1),
        counts(99),
        lambda t: stats.nbinom(
            t["concentration"], t["concentration"] / (t["concentration"] + t["mean"])
        ),
        bad=0.5,
    ),
    "RoundedNormal": Example(lambda: f.RoundedNormal(), (0.7, 0.4), whole(40), bad=0.5),
    "Poisson": Example(
        lambda: f.Poisson(),
        (1.2,),
        counts(99),
        lambda t: stats.poisson(t["rate"]),
        -1.0,
    ),
    "Exponential": Example(
        lambda: f.Exponential(),
        (0.3,),
        positive,
        lambda t: stats.expon(scale=1 / t["rate"]),
        bad=-0.5,
    ),
    "Gamma": Example(
        lambda: f.Gamma(),
        (0.3, 0.8),
        positive,
        lambda t: stats.gamma(t["concentration"], scale=1 / t["rate"]),
        bad=0.0,
    ),
    "LogNormal": Example(
        lambda: f.LogNormal(),
        (0.3, -0.2),
        positive,
        lambda t: stats.lognorm(t["scale"], scale=np.exp(t["loc"])),
        bad=0.0,
    ),
    "Hurdle": Example(
        lambda: f.Hurdle(f.LogNormal()), (0.7, 0.3, -0.2), from_zero, bad=-0.5
    ),
    "Tweedie": Example(
        lambda: f.Tweedie(1.4), (0.3, 0.2), from_zero, bad=-0.5, costly=True
    ),
    "Weibull": Example(
        lambda: f.Weibull(),
        (0.3, 0.6),
        positive,
        lambda t: stats.weibull_min(t["concentration"], scale=t["scale"]),
        bad=0.0,
    ),
    "Censored Weibull": Example(
        lambda: f.Censored(f.Weibull()),
        (0.3, 0.6),
        positive,
        lambda t: stats.weibull_min(t["concentration"], scale=t["scale"]),
        bad=0.0,
    ),
    "Censored log-normal": Example(
        lambda: f.Censored(f.LogNormal()),
        (0.3, -0.4),
        positive,
        lambda t: stats.lognorm(t["scale"], scale=np.exp(t["loc"])),
        bad=0.0,
    ),
    "Censored exponential": Example(
        lambda: f.Censored(f.Exponential()),
        (0.3,),
        positive,
        lambda t: stats.expon(scale=1 / t["rate"]),
    ),
    "AsymmetricLaplace": Example(
        lambda: f.AsymmetricLaplace(0.3),
        (0.5, 0.3),
        line(at_centre),
        lambda t: stats.laplace_asymmetric(
            np.sqrt(0.3 / 0.7), t["loc"], t["scale"] * 0.5 / np.sqrt(0.3 * 0.7)
        ),
        smooth=False,
        kinks=at_centre,
    ),
    "MultivariateNormal": Example(
        lambda: f.MultivariateNormal(2),
        (0.5, -0.3, -0.2, -0.4, 0.3),
        times(trapezoid(0), trapezoid(1)),
        lambda t: stats.multivariate_normal(
            t["loc"][0], t["scale_tril"][0] @ t["scale_tril"][0].T
        ),
        bad=[0.0, np.inf],
    ),
    "MultivariateNormal, diagonal": Example(
        lambda: f.MultivariateNormal(2, "diagonal"),
        (0.5, -0.3, -0.2, -0.4),
        times(trapezoid(0), trapezoid(1)),
        lambda t: stats.multivariate_normal(t["loc"][0], t["scale_tril"][0] ** 2),
        bad=[np.nan, 0.0],
    ),
    "Product": Example(
        lambda: f.Product(f.Normal(), f.Bernoulli()),
        (0.5, -0.2, 0.7),
        times(trapezoid(0), counts(1)),
        bad=[0.0, 0.5],
    ),
    "Mixture of normals": Example(
        lambda: f.Mixture(f.Normal(), 2),
        (0.3, -0.3, CENTRES[0], -0.4, CENTRES[1], -0.9),
        line(lambda eta: (eta[2], eta[4])),
    ),
    "Mixture of geometrics": Example(
        lambda: f.Mixture(f.Geometric(), 2),
        (0.3, -0.3, 2.0, -2.0),
        counts(300),
        bad=-2.0,
    ),
}
