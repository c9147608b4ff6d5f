"""Do 90 % intervals cover 90 % of new rows? A simulation with a known truth.

`python -m benchmarks.coverage [NAME ...] [--fits 20] [--docs]` prints a table in Markdown,
one row for each regressor at its defaults (all of them, or those named), one column for each
number of rows n and of columns d < n; `--docs` writes these rows into `docs/intervals.md`.
X is standard normal, the signal x·b + ½ has
the variance 1, and y is drawn from the distribution that the model assumes; models that
assume none get normal errors of variance 1. A cell is the share of new rows whose y
lies in `predict_interval(X, 0.9)`, averaged over fits; of counts the ends count in part, so
that an interval of the right quantiles covers 90 % in spite of the steps.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

CELLS = (
    (30, 2),
    (30, 20),
    (100, 2),
    (100, 20),
    (100, 50),
    (500, 2),
    (500, 20),
    (500, 50),
)
PAGE = Path(__file__).parents[1] / "docs" / "intervals.md"
RULE = "|---" * (len(CELLS) + 1) + "|"
NEW = 200
"""New rows for each fit."""
SHAPE, TAU, EPSILON = 2.0, 0.3, 1.35


class Case(NamedTuple):
    make: Callable[[], Any]
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]


def normal(rng, eta):
    return eta + rng.normal(size=len(eta))


def positive(rng, eta):
    return np.exp(0.5 * normal(rng, eta))


def laplace(rng, eta):
    return eta + rng.laplace(size=len(eta))


def asymmetric(tau):
    """Exponential on both sides of eta, a share tau below it."""

    def draw(rng, eta):
        below = rng.uniform(size=len(eta)) < tau
        size = rng.exponential(size=len(eta)) / 2
        return eta + np.where(below, -size / (1 - tau), size / tau)

    return draw


def huber(rng, eta):
    from likely.families import Huber, Predictive

    family = Huber(1.0, delta=EPSILON)
    return Predictive(family, eta[:, None]).sample(random_state=rng.integers(2**31))[0]


def poisson(rng, eta):
    return rng.poisson(np.exp(0.5 * eta + 1)).astype(float)


def negative_binomial(rng, eta):
    mean = np.exp(0.5 * eta + 1)
    return rng.poisson(mean * rng.gamma(SHAPE, 1 / SHAPE, len(eta))).astype(float)


def gamma(rng, eta):
    return np.exp(0.5 * eta) * rng.gamma(SHAPE, 1 / SHAPE, len(eta))


def cases() -> dict[str, Case]:
    import likely as lk

    return {
        "LinearRegression()": Case(lk.LinearRegression, normal),
        "Ridge()": Case(lk.Ridge, normal),
        'Ridge("cv")': Case(lambda: lk.Ridge("cv"), normal),
        "Lasso()": Case(lk.Lasso, normal),
        "Lasso(0.1)": Case(lambda: lk.Lasso(0.1), normal),
        'Lasso("cv")': Case(lambda: lk.Lasso("cv"), normal),
        "ElasticNet()": Case(lk.ElasticNet, normal),
        "ElasticNet(0.1)": Case(lambda: lk.ElasticNet(0.1), normal),
        "HuberRegressor()": Case(lk.HuberRegressor, huber),
        "LADRegressor()": Case(lk.LADRegressor, laplace),
        "QuantileRegressor()": Case(lk.QuantileRegressor, laplace),
        "QuantileRegressor(quantile=0.3)": Case(
            lambda: lk.QuantileRegressor(quantile=TAU), asymmetric(TAU)
        ),
        "PoissonRegressor()": Case(lk.PoissonRegressor, poisson),
        "NegativeBinomialRegressor()": Case(
            lk.NegativeBinomialRegressor, negative_binomial
        ),
        "GammaRegressor()": Case(lk.GammaRegressor, gamma),
        "LogTarget(LinearRegression())": Case(
            lambda: lk.LogTarget(lk.LinearRegression()), positive
        ),
        "SplineRegressor()": Case(lk.SplineRegressor, normal),
        "NullRegressor()": Case(lk.NullRegressor, normal),
        "KNeighborsRegressor()": Case(lk.KNeighborsRegressor, normal),
        "SVR(probability=True)": Case(lambda: lk.SVR(probability=True), normal),
        "DecisionTreeRegressor()": Case(lk.DecisionTreeRegressor, normal),
        "RandomForestRegressor()": Case(lk.RandomForestRegressor, normal),
        "GradientBoostingRegressor()": Case(lk.GradientBoostingRegressor, normal),
        "BaggingRegressor()": Case(lk.BaggingRegressor, normal),
        "MLPRegressor()": Case(lk.MLPRegressor, normal),
    }


def rows(rng, draw, n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X and y of n rows and of new ones, from one truth."""
    X = rng.normal(size=(n + NEW, d))
    b = rng.normal(size=d)
    eta = X @ (b / np.linalg.norm(b)) + 0.5
    return X, draw(rng, eta), eta


def covered(model: Any, X: np.ndarray, y: np.ndarray, coverage: float = 0.9) -> float:
    """The share of rows inside; of counts, as much of an end as the level cuts off."""
    dist = model.predict_dist(X)
    tail = (1 - coverage) / 2
    if not dist.discrete:
        low, high = dist.interval(coverage)
        return float(np.mean((low <= y) & (y <= high)))
    above = dist.cdf(y)
    below = np.where(y > 0, dist.cdf(np.maximum(y - 1, 0)), 0.0)
    inside = np.minimum(above, 1 - tail) - np.maximum(below, tail)
    return float(np.mean(np.clip(inside, 0, None) / np.maximum(above - below, 1e-300)))


def coverage(case: Case, n: int, d: int, fits: int, seed: int = 0) -> np.ndarray:
    """(fits,) shares of new rows that lie in the intervals of one fit."""
    shares = []
    for number in range(fits):
        rng = np.random.default_rng([seed, n, d, number])
        X, y, _ = rows(rng, case.draw, n, d)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = case.make().fit(X[:n], y[:n])
            shares.append(covered(model, X[n:], y[n:]))
    return np.array(shares)


def main() -> None:
    known = cases()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage")
    parser.add_argument("names", nargs="*", help="parts of names of regressors")
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--docs", action="store_true", help=f"write to {PAGE}")
    options = parser.parse_args()
    asked = [part.lower() for part in options.names]
    chosen = [n for n in known if not asked or any(p in n.lower() for p in asked)]
    heads = [f"{n} × {d}" for n, d in CELLS]
    print("| regressor | " + " | ".join(heads) + " |")
    print(RULE)
    for name in chosen:
        found = [coverage(known[name], n, d, options.fits).mean() for n, d in CELLS]
        cells = " | ".join(f"{100 * share:.0f}" for share in found)
        line = f"| `{name}` | {cells} |"
        print(line, flush=True)
        if options.docs:
            replace_row(PAGE, name, line, list(known))


def replace_row(page: Path, name: str, line: str, order: list[str]) -> None:
    """Put a row of the table where it belongs, in the place of an earlier one."""
    lines = page.read_text().splitlines()
    names = {f"| `{n}` |": i for i, n in enumerate(order)}
    own = [i for i, text in enumerate(lines) if text[: text.find("|", 2) + 1] in names]
    table = {names[lines[i][: lines[i].find("|", 2) + 1]]: lines[i] for i in own}
    table[order.index(name)] = line
    first = own[0] if own else next(i for i, t in enumerate(lines) if t == RULE) + 1
    lines[first : first + len(own)] = [table[i] for i in sorted(table)]
    page.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
