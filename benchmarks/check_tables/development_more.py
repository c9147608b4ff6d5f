"""More tables on which the checks were developed, of other makes than the sets before.

They were kept back and run once, with 18 of 20 faults named and 3 false alarms where 2 were
allowed, so they count no more. A fault of each kind but the vaguest is planted in 20 tables, 20
were meant to have none. Three of these had one after all: the spread of petals does grow with
their size (by the test of Breusch and Pagan too), averaged trees are not sure enough (on 20,000
more rows of the generator too), and for some draws a linear model beats a tree. Nothing in the
checks was changed after that run. Real tables come from scikit-learn and statsmodels.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    make_classification,
    make_friedman2,
    make_friedman3,
    make_hastie_10_2,
    make_moons,
    make_sparse_uncorrelated,
)
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import (
    ElasticNet,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import likely as lk
from benchmarks.check_tables.case import Case, Made, fitted, halves


def bundled(name: str) -> pd.DataFrame:
    return getattr(sm.datasets, name).load_pandas().data


def seed_of(rng) -> int:
    return int(rng.integers(2**31))


def voters():
    frame = bundled("anes96").drop(columns=["popul"])
    return frame.drop(columns="vote"), frame["vote"].astype(int).to_numpy()


def loans(rng, n=800):
    """Applications for loans: words, amounts with a tail, missing values."""
    frame = pd.DataFrame(
        {
            "purpose": rng.choice(["car", "house", "study"], n, p=[0.5, 0.3, 0.2]),
            "income": np.exp(rng.normal(8, 0.5, n)),
            "age": rng.integers(20, 70, n),
            "savings": np.where(rng.random(n) < 0.2, np.nan, rng.gamma(1.5, 2, n)),
        }
    )
    eta = np.log(frame["income"]) - 8 + 0.03 * (frame["age"] - 45)
    eta += frame["purpose"].map({"car": 0.0, "house": 0.8, "study": -0.6})
    return frame, eta.to_numpy()


# With a fault ------------------------------------------------------------------------


def decided_amount(rng) -> Made:
    """The amount that was paid out is known only where a loan was granted."""
    frame, eta = loans(rng)
    y = (rng.random(len(eta)) < 1 / (1 + np.exp(-2 * eta))).astype(int)
    frame["paid"] = np.where(y == 1, rng.gamma(3, 1000, len(y)), 0.0)
    model = make_pipeline(lk.preprocess.TableEncoder(), RandomForestClassifier(50))
    return fitted(model, frame, np.where(y == 1, "granted", "refused"))


def sum_of_parts(rng) -> Made:
    """A total whose parts are columns: none tells it alone."""
    X = rng.gamma(2, 1, size=(300, 6))
    return fitted(Ridge(0.1), X, X.sum(1) + 0.01 * rng.normal(size=300))


def pages_twice(rng) -> Made:
    """Some pages of a survey were scanned twice; a random split has them on both sides."""
    frame, y = voters()
    frame, y = frame.iloc[:500], y[:500]
    rows = np.r_[np.arange(500), rng.choice(500, 60, replace=False)]
    rows = rng.permutation(rows)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return halves(frame.iloc[rows].reset_index(drop=True), y[rows], model)


def speakers(rng) -> Made:
    """Twelve recordings of each of forty persons, whose voices differ."""
    g = np.repeat(np.arange(40), 12)
    voice = rng.normal(size=(40, 5))
    X = voice[g] + 0.15 * rng.normal(size=(480, 5))
    age = rng.uniform(20, 80, 40)[g]
    return fitted(ExtraTreesRegressor(50, random_state=0), X, age, groups=g)


def random_walk(rng) -> Made:
    """A random walk by day, predicted from the day."""
    day = np.arange(500)
    y = np.cumsum(rng.normal(size=500)) + rng.normal(size=500)
    X = np.c_[day, day % 7]
    when = np.datetime64("2023-01-01") + day
    return fitted(lk.RandomForestRegressor(n_estimators=50), X, y, time=when)


def new_branch(rng) -> Made:
    """The test rows come from a branch with other purposes and older people."""
    frame, eta = loans(rng, 1000)
    frame["age"] = np.where(np.arange(1000) < 500, frame["age"], frame["age"] + 8)
    later = (np.arange(1000) >= 500) & (rng.random(1000) < 0.5)
    frame.loc[later, "purpose"] = "house"
    y = eta + 0.5 * rng.normal(size=1000)
    model = make_pipeline(lk.preprocess.TableEncoder(), lk.Ridge(1.0))
    return halves(frame, y, model)


def careless_annotator(rng) -> Made:
    X, y = make_moons(600, noise=0.15, random_state=seed_of(rng))
    wrong = rng.random(600) < 0.15
    return fitted(lk.KNeighborsClassifier(15), X, np.where(wrong, 1 - y, y))


def perfect_marker(rng) -> Made:
    """No patient with the marker is healthy: separation by one column of two values."""
    X = rng.normal(size=(200, 3))
    y = rng.random(200) < 1 / (1 + np.exp(-X[:, 0]))
    marker = y & (rng.random(200) < 0.4)
    model = LogisticRegression(C=1e8, max_iter=10_000)
    return fitted(model, np.c_[X, marker], np.where(y, "ill", "healthy"))


def degrees_twice(rng) -> Made:
    """Temperature in Celsius, and in Fahrenheit rounded to a degree."""
    C = rng.normal(15, 8, 250)
    X = pd.DataFrame(
        {
            "celsius": C,
            "fahrenheit": np.round(32 + 1.8 * C),
            "wind": rng.gamma(2, 3, 250),
        }
    )
    y = 2 * C - X["wind"] + 5 * rng.normal(size=250)
    return fitted(LinearRegression(), X, y.to_numpy())


def bursts(rng) -> Made:
    """Calls in an hour that come in bursts."""
    X = rng.uniform(-1, 1, size=(500, 3))
    mean = np.exp(1 + 0.7 * X[:, 0])
    y = rng.poisson(mean * rng.gamma(1.2, 1 / 1.2, 500))
    return fitted(PoissonRegressor(alpha=1e-3), X, y)


def misprints(rng) -> Made:
    """One in fifteen targets has a large error, of either sign."""
    X, y = make_sparse_uncorrelated(400, 6, random_state=seed_of(rng))
    wild = rng.random(400) < 1 / 15
    return fitted(RidgeCV(), X, y + wild * 10 * rng.normal(size=400))


def impatient(rng) -> Made:
    X, y = make_friedman2(400, noise=50, random_state=seed_of(rng))
    model = MLPRegressor(hidden_layer_sizes=(40,), max_iter=15, random_state=0)
    return fitted(make_pipeline(StandardScaler(), model), X, (y - y.mean()) / y.std())


def shallow_grid(rng) -> Made:
    X, y = make_hastie_10_2(500, random_state=seed_of(rng))
    grid = {"C": [1e-3, 3e-3, 1e-2, 3e-2]}
    return fitted(GridSearchCV(SVC(), grid), X, y)


def misplaced_point(rng) -> Made:
    """The decimal point of one input is misplaced."""
    frame = bundled("statecrime").copy()
    frame.loc[frame.index[int(rng.integers(len(frame)))], "poverty"] *= 10
    y = frame["murder"].to_numpy()
    return fitted(lk.LinearRegression(), frame[["poverty", "single", "urban"]], y)


def repeated_evidence(rng) -> Made:
    """A naive Bayes that takes eight echoes of three facts for independent ones."""
    facts = rng.normal(size=(600, 3))
    y = rng.random(600) < 1 / (1 + np.exp(-facts.sum(1)))
    X = np.repeat(facts, 8, axis=1) + 0.2 * rng.normal(size=(600, 24))
    return fitted(GaussianNB(), X, y)


def overfitted_spread(rng) -> Made:
    """A spread estimated from residuals of a nearly saturated fit is too small."""
    X = rng.normal(size=(120, 70))
    y = X[:, 0] + X[:, 1] + rng.normal(size=120)
    other = rng.normal(size=(400, 70))
    truth = other[:, 0] + other[:, 1] + rng.normal(size=400)
    model = lk.Ridge(1e-3).fit(X, y)
    return Made(model, X, y, {"X_test": other, "y_test": truth})


def two_machines(rng) -> Made:
    """One of two machines is four times less precise, which the model does not know."""
    frame = pd.DataFrame(
        {
            "machine": rng.choice(["old", "new"], 600, p=[0.35, 0.65]),
            "speed": rng.uniform(1, 3, 600),
        }
    )
    spread = np.where(frame["machine"] == "old", 1.6, 0.4)
    y = 3 * frame["speed"].to_numpy() + spread * rng.normal(size=600)
    model = make_pipeline(lk.preprocess.TableEncoder(), lk.LinearRegression())
    return fitted(model, frame, y)


def learned_by_heart(rng) -> Made:
    """Nearest neighbours with weights that interpolate, on noise with little signal."""
    X = rng.normal(size=(400, 6))
    y = 0.3 * X[:, 0] + 2 * rng.normal(size=400)
    return fitted(KNeighborsRegressor(3, weights="distance"), X, y)


def boosted_plane(rng) -> Made:
    """Boosted trees where the mean is a plane in twelve columns."""
    X = rng.uniform(-1, 1, size=(400, 12))
    y = X @ np.linspace(-2, 2, 12) + 0.5 * rng.normal(size=400)
    model = GradientBoostingRegressor(n_estimators=40, random_state=0)
    return fitted(model, X, y)


def few_regions(rng) -> Made:
    """A weak trend in the tax of 32 regions, too few to show it."""
    frame = bundled("scotland")
    y = 0.3 * (frame["UNEMPF"] - frame["UNEMPF"].mean()).to_numpy() / 5
    X = frame[["UNEMPF", "ACT", "AGE"]]
    return fitted(Ridge(1.0), X, y + rng.normal(size=len(y)))


FAULTS = (
    Case("decided amount", "LK101", decided_amount),
    Case("sum of parts", "LK102", sum_of_parts),
    Case("pages twice", "LK103", pages_twice),
    Case("speakers", "LK104", speakers),
    Case("random walk", "LK105", random_walk),
    Case("new branch", "LK106", new_branch),
    Case("careless annotator", "LK107", careless_annotator),
    Case("perfect marker", "LK201", perfect_marker),
    Case("degrees twice", "LK202", degrees_twice),
    Case("bursts", "LK203", bursts),
    Case("misprints", "LK204", misprints),
    Case("impatient", "LK205", impatient),
    Case("shallow grid", "LK206", shallow_grid),
    Case("misplaced point", "LK207", misplaced_point),
    Case("repeated evidence", "LK301", repeated_evidence),
    Case("overfitted spread", "LK302", overfitted_spread),
    Case("two machines", "LK303", two_machines),
    Case("learned by heart", "LK304", learned_by_heart),
    Case("boosted plane", "LK401", boosted_plane),
    Case("few regions", "LK402", few_regions),
)


# Without -----------------------------------------------------------------------------


def votes(rng) -> Made:
    return fitted(make_pipeline(StandardScaler(), LogisticRegression()), *voters())


def votes_forest(rng) -> Made:
    X, y = voters()
    return fitted(RandomForestClassifier(200, min_samples_leaf=5, random_state=0), X, y)


def progression(rng) -> Made:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return fitted(ElasticNet(0.1), X / X.std(), y.to_numpy())


def petals(rng) -> Made:
    """The width of a petal from the sepals and its length."""
    X, _ = load_iris(return_X_y=True)
    return fitted(lk.LinearRegression(), X[:, :3], X[:, 3])


def nuclei(rng) -> Made:
    X, y = load_breast_cancer(return_X_y=True)
    return fitted(lk.RandomForestClassifier(n_estimators=100), X[:, :8], y)


def granted(rng) -> Made:
    frame, eta = loans(rng)
    y = np.where(rng.random(len(eta)) < 1 / (1 + np.exp(-1.5 * eta)), "yes", "no")
    model = make_pipeline(
        lk.preprocess.TableEncoder(), lk.LogisticRegression(alpha=1.0)
    )
    return fitted(model, frame, y)


def same_branch(rng) -> Made:
    frame, eta = loans(rng, 1200)
    y = eta + 0.6 * rng.normal(size=1200)
    model = make_pipeline(lk.preprocess.TableEncoder(), RidgeCV())
    return halves(frame, y, model)


def circuit(rng) -> Made:
    X, y = make_friedman2(600, noise=120, random_state=seed_of(rng))
    return fitted(lk.GradientBoostingRegressor(), X, y)


def phase(rng) -> Made:
    X, y = make_friedman3(500, noise=0.2, random_state=seed_of(rng))
    return fitted(BaggingRegressor(n_estimators=100, random_state=0), X, y)


def crescents(rng) -> Made:
    X, y = make_moons(500, noise=0.35, random_state=seed_of(rng))
    return fitted(KNeighborsClassifier(25), X, y)


def informative(rng) -> Made:
    X, y = make_classification(
        900, 8, n_informative=4, n_redundant=0, class_sep=1.0, random_state=seed_of(rng)
    )
    return halves(X, y, ExtraTreesClassifier(200, min_samples_leaf=3, random_state=0))


def process(rng) -> Made:
    x = np.sort(rng.uniform(0, 6, 150))[:, None]
    y = np.sin(2 * x[:, 0]) + 0.3 * rng.normal(size=150)
    return fitted(GaussianProcessRegressor(RBF() + WhiteKernel(), random_state=0), x, y)


def spline(rng) -> Made:
    X = rng.uniform(-2, 2, size=(400, 2))
    y = np.exp(-(X[:, 0] ** 2)) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=400)
    model = make_pipeline(SplineTransformer(), lk.Ridge(0.1))
    return fitted(model, X, y)


def households(rng) -> Made:
    """Persons of households, whose column names them; it does not matter."""
    g = np.repeat(np.arange(120), 3)
    frame = pd.DataFrame(
        {
            "household_id": g,
            "age": rng.uniform(20, 80, 360),
            "size": rng.poisson(3, 360),
        }
    )
    y = 0.05 * frame["age"] - 0.3 * frame["size"] + rng.normal(size=360)
    return fitted(Ridge(), frame, y.to_numpy())


def weeks(rng) -> Made:
    X = rng.normal(size=(420, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=420)
    model = make_pipeline(PolynomialFeatures(2), lk.Ridge(1.0))
    return fitted(model, X, y, time=np.arange(420) // 7)


def polynomial_counts(rng) -> Made:
    X = rng.uniform(-1, 1, size=(600, 2))
    y = rng.poisson(np.exp(0.8 + X[:, 0] - 0.5 * X[:, 1]))
    return halves(X, y, lk.PoissonRegressor())


def wide_lasso(rng) -> Made:
    X = rng.normal(size=(150, 60))
    y = 2 * X[:, 0] - X[:, 1] + X[:, 2] + rng.normal(size=150)
    return fitted(LassoCV(), X, y)


def patient_network(rng) -> Made:
    X = rng.uniform(-2, 2, size=(700, 2))
    y = np.tanh(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=700)
    return fitted(lk.MLPRegressor((24,)), X, y)


def deep_grid(rng) -> Made:
    X, y = make_classification(400, 6, n_informative=3, random_state=seed_of(rng))
    grid = {"min_samples_leaf": [2, 5, 10, 20, 40, 80, 120]}
    model = GridSearchCV(
        DecisionTreeClassifier(random_state=0), grid, scoring="neg_log_loss"
    )
    return fitted(model, X, y)


def robust_positive(rng) -> Made:
    X = rng.uniform(0, 1, size=(500, 3))
    y = rng.gamma(4, np.exp(0.5 + X[:, 0] - X[:, 2]) / 4)
    return halves(X, y, lk.GammaRegressor())


CLEAN = (
    Case("votes", "", votes),
    Case("votes, forest", "", votes_forest),
    Case("progression", "", progression),
    Case("petals", "", petals),
    Case("nuclei", "", nuclei),
    Case("granted", "", granted),
    Case("same branch", "", same_branch),
    Case("circuit", "", circuit),
    Case("phase", "", phase),
    Case("crescents", "", crescents),
    Case("informative", "", informative),
    Case("process", "", process),
    Case("spline", "", spline),
    Case("households", "", households),
    Case("weeks", "", weeks),
    Case("counts with test rows", "", polynomial_counts),
    Case("wide lasso", "", wide_lasso),
    Case("patient network", "", patient_network),
    Case("deep grid", "", deep_grid),
    Case("positive numbers with test rows", "", robust_positive),
)
