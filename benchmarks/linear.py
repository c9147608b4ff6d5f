"""Linear models with statistics: fits, summaries, softmax on digits, cost by n and d."""

import time
from functools import partial

import numpy as np

from benchmarks.harness import Case, close
from benchmarks.spine import regression


def ols_ours(data):
    import likely as lk

    return {"coef": lk.LinearRegression().fit(*data).coef_}


def ols_peer(data):
    from sklearn.linear_model import LinearRegression

    return {"coef": LinearRegression().fit(*data).coef_}


def summary_ours(data):
    import likely as lk

    found = lk.LinearRegression().fit(*data).summary()
    return {"errors": found.standard_errors, "text": np.array(len(str(found)))}


def summary_peer(data):
    import statsmodels.api as sm

    X, y = data
    found = sm.OLS(y, sm.add_constant(X)).fit()
    return {"errors": found.bse, "text": np.array(len(str(found.summary())))}


def digits():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16, y


def softmax_ours(data):
    import likely as lk

    model = lk.LogisticRegression(1.0, tol=1e-6).fit(*data)
    return {"p": model.predict_proba(data[0])}


def softmax_peer(data):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, tol=1e-6, max_iter=1000).fit(*data)
    return {"p": model.predict_proba(data[0])}


CASES = {
    "OLS, n=100,000, d=100": Case(
        partial(regression, 100_000, 100), ols_ours, ols_peer, close("coef", 1e-8), 1.5
    ),
    "OLS with summary(), n=100,000, d=100": Case(
        partial(regression, 100_000, 100),
        summary_ours,
        summary_peer,
        close("errors", 1e-10),
        3,
        3,
    ),
    "softmax on digits": Case(digits, softmax_ours, softmax_peer, close("p", 1e-3), 1),
    **{
        f"OLS with summary(), n={n:,}, d={d}": Case(
            partial(regression, n, d),
            summary_ours,
            summary_peer,
            close("errors", 1e-10),
            0,
            3,
        )
        for n, d in (
            (1_000, 20),
            (10_000, 20),
            (100_000, 20),
            (20_000, 10),
            (20_000, 50),
            (20_000, 200),
        )
    },
}


def main() -> None:
    """The same without processes of their own: rough, quick."""
    for name, case in CASES.items():
        data = case.setup()
        case.ours(data), case.peer(data)
        start = time.perf_counter()
        ours = case.ours(data)
        middle = time.perf_counter()
        peer = case.peer(data)
        end = time.perf_counter()
        ratio = (end - middle) / (middle - start)
        print(f"{name}: {middle - start:.4g} s, {ratio:.2f}x", case.verify(ours, peer))


if __name__ == "__main__":
    main()
