"""Every estimator at its defaults beside scikit-learn's, on ten tables.

`python -m benchmarks.defaults [splits]` fits both to three quarters of each table and
prints, for the other quarter, RMSE of numbers, log loss and accuracy of classes: ours,
then scikit-learn's, means over splits. Scikit-learn's probabilities are cut off at 1e-15,
as its own `log_loss` does. `--docs` writes the tables into docs/defaults.md.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn import (
    datasets,
    ensemble as ensembles,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    tree,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likely as lk

PAGE = Path(__file__).parents[1] / "docs" / "defaults.md"


def line(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 10))
    return X, X[:, 0] + rng.normal(size=500)


def steps(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(500, 5))
    return X, np.floor(4 * X[:, 0]) + (X[:, 1] > 0.5) + 0.3 * rng.normal(size=500)


def heteroscedastic(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(500, 2))
    return X, np.sin(2 * X[:, 0]) + np.exp(X[:, 1] - 1) * rng.normal(size=500)


NUMBERS = {
    "diabetes": lambda _: datasets.load_diabetes(return_X_y=True),
    "friedman1": lambda seed: datasets.make_friedman1(500, random_state=seed),
    "line": line,
    "steps": steps,
    "heteroscedastic": heteroscedastic,
}
CLASSES = {
    "iris": lambda _: datasets.load_iris(return_X_y=True),
    "wine": lambda _: datasets.load_wine(return_X_y=True),
    "breast cancer": lambda _: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda _: datasets.load_digits(return_X_y=True),
    "moons": lambda seed: datasets.make_moons(500, noise=0.3, random_state=seed),
}
REGRESSORS = {
    "LinearRegression": linear_model.LinearRegression,
    "Ridge": linear_model.Ridge,
    "HuberRegressor": lambda: linear_model.HuberRegressor(max_iter=1000),
    "DecisionTreeRegressor": tree.DecisionTreeRegressor,
    "RandomForestRegressor": ensembles.RandomForestRegressor,
    "GradientBoostingRegressor": ensembles.HistGradientBoostingRegressor,
    "KNeighborsRegressor": neighbors.KNeighborsRegressor,
    "MLPRegressor": neural_network.MLPRegressor,
}
CLASSIFIERS = {
    "LogisticRegression": linear_model.LogisticRegression,
    "GaussianNB": naive_bayes.GaussianNB,
    "DecisionTreeClassifier": tree.DecisionTreeClassifier,
    "RandomForestClassifier": ensembles.RandomForestClassifier,
    "GradientBoostingClassifier": ensembles.HistGradientBoostingClassifier,
    "KNeighborsClassifier": neighbors.KNeighborsClassifier,
    "MLPClassifier": neural_network.MLPClassifier,
}
SCALED = ("MLP", "LogisticRegression", "HuberRegressor")
"""Those of scikit-learn that are given scaled columns, since they need them."""


def quarters(X, y, seed):
    order = np.random.default_rng(seed).permutation(len(y))
    cut = 3 * len(y) // 4
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def seeded(model, seed):
    has = "random_state" in model.get_params()
    return model.set_params(random_state=seed) if has else model


def pair(name: str, peer, seed: int):
    """Our estimator and scikit-learn's, each at its defaults."""
    model = seeded(peer(), seed)
    if name.startswith(SCALED):
        model = make_pipeline(StandardScaler(), model)
    return seeded(getattr(lk, name)(), seed), model


def scores(model, classes: bool, X, y) -> tuple[float, ...]:
    """RMSE; or log loss and accuracy."""
    if not classes:
        return (float(np.sqrt(np.mean((y - model.predict(X)) ** 2))),)
    true = model.predict_proba(X)[np.arange(len(y)), y]
    nats = -np.log(np.clip(true, 1e-15, 1.0)).mean()
    return float(nats), float(np.mean(model.predict(X) == y))


def compare(tables, estimators, classes: bool, splits: int) -> dict[str, dict]:
    """(2, scores) means of each estimator on each table: ours, scikit-learn's."""
    found: dict[str, dict] = {name: {} for name in estimators}
    for title, make in tables.items():
        for name, peer in estimators.items():
            both = []
            for seed in range(splits):
                X, y, X_new, y_new = quarters(*make(seed), seed)
                both.append(
                    [
                        scores(model.fit(X, y), classes, X_new, y_new)
                        for model in pair(name, peer, seed)
                    ]
                )
            found[name][title] = np.mean(both, axis=0)
        print(title, flush=True)
    return found


def table(found: dict[str, dict], score: int) -> str:
    """A table of ours and, behind a stroke, scikit-learn's."""
    titles = list(next(iter(found.values())))
    lines = [f"| default | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    for name, row in found.items():
        cells = [f"{row[t][0, score]:.3g} / {row[t][1, score]:.3g}" for t in titles]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    warnings.simplefilter("ignore")
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    splits = int(numbers[0]) if numbers else 3
    regression = compare(NUMBERS, REGRESSORS, False, splits)
    classes = compare(CLASSES, CLASSIFIERS, True, splits)
    tables = [table(regression, 0), table(classes, 0), table(classes, 1)]
    print("\n".join(tables))
    if "--docs" in sys.argv:
        text = PAGE.read_text(encoding="utf-8")
        parts = text.split("<!-- table -->\n")
        for i, lines in enumerate(tables):
            before, _, after = parts[i + 1].partition("\n\n")
            parts[i + 1] = f"{lines}\n{after}"
        PAGE.write_text("<!-- table -->\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
