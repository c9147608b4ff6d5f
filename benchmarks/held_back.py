"""Rows cut off before a run: is the saved model as good as histogram boosting, and does it cover?

    python -m benchmarks.held_back TABLE SPLIT [--effort normal]      one line of JSON
    python -m benchmarks.held_back --summary FILE [FILE ...]          a table of these lines

Three tenths of the rows, or of the groups, are cut off. `likely fit` sees the others; its
saved model and scikit-learn's histogram boosting, with its default settings and native
categories, predict those cut off. Classes are compared by log loss and numbers by squared
error, row by row; "worse" is a mean difference of more than two standard errors. Coverage
is that of the intervals or sets of 90 %.

The tables of statsmodels are real; the generated ones look like house prices, wages by
occupation, claims with many zeros, test scores of pupils in schools, and visits of patients
in clinics.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

SHARE = 0.3
"""The share of the rows, or of the groups, that is cut off."""


class Held(NamedTuple):
    """A table, its target, and perhaps the groups that are cut off as a whole."""

    frame: pd.DataFrame
    target: str
    groups: str = ""


def survey(name: str) -> pd.DataFrame:
    import statsmodels.api as sm

    return getattr(sm.datasets, name).load_pandas().data


def affairs() -> Held:
    frame = survey("fair")
    kinds = {
        1: "student",
        2: "farming",
        3: "office",
        4: "teaching",
        5: "managing",
        6: "expert",
    }
    for name in ("occupation", "occupation_husb"):
        frame[name] = frame[name].map(kinds)
    return Held(frame, "affairs")


def marriage() -> Held:
    words = {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"}
    frame = survey("fair").drop(columns="affairs")
    return Held(frame.assign(rating=frame.pop("rate_marriage").map(words)), "rating")


def visits() -> Held:
    return Held(survey("randhie"), "mdvis")


def scores() -> Held:
    frame = survey("star98")
    above, below = frame.pop("NABOVE"), frame.pop("NBELOW")
    return Held(frame.assign(share=above / (above + below)), "share")


def vote() -> Held:
    return Held(survey("anes96").drop(columns="logpopul"), "vote")


def party() -> Held:
    names = [
        "strong left",
        "left",
        "near left",
        "middle",
        "near right",
        "right",
        "strong right",
    ]
    frame = survey("anes96").drop(columns="logpopul")
    return Held(frame.assign(party=[names[int(p)] for p in frame.pop("PID")]), "party")


def travel() -> Held:
    frame = survey("modechoice")
    frame["mode"] = frame["mode"].map({1: "air", 2: "train", 3: "bus", 4: "car"})
    return Held(frame, "choice", "individual")


def food() -> Held:
    return Held(survey("engel"), "foodexp")


def cards() -> Held:
    return Held(survey("ccard"), "AVGEXP")


def births() -> Held:
    frame = survey("fertility").dropna(subset=["2000"])
    columns = ["1960", "1965", "1970", "1975", "1980", "1985"]
    return Held(frame[columns].assign(births=frame["2000"]), "births")


def sunspots() -> Held:
    y = survey("sunspots")["SUNACTIVITY"].to_numpy()
    lags = {f"{j} years ago": y[11 - j : -j] for j in (1, 2, 3, 9, 11)}
    return Held(pd.DataFrame({**lags, "activity": y[11:]}), "activity")


def investment() -> Held:
    return Held(survey("grunfeld"), "invest")


def inflation() -> Held:
    frame = survey("macrodata")
    growth = np.log(frame[["realgdp", "realcons", "realinv", "m1", "cpi"]]).diff() * 100
    growth[["tbilrate", "unemp"]] = frame[["tbilrate", "unemp"]].shift()
    return Held(growth.assign(infl=frame["infl"]).iloc[1:], "infl")


def prices() -> Held:
    """House prices that depend on the place, on incomes, and are cut at a maximum."""
    rng, n = np.random.default_rng(101), 5000
    east, north = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    income = np.exp(0.4 * rng.normal(size=n) + 0.3 * np.cos(3 * east))
    age, rooms = rng.integers(1, 52, n), np.maximum(1, rng.normal(5, 1.2, n))
    near = np.exp(-4 * np.hypot(east + 0.4, north - 0.3))
    log = 0.7 * np.log(income) + 1.2 * near + 0.1 * np.sin(5 * north) + 0.004 * age
    price = np.minimum(np.exp(12 + log + 0.22 * rng.standard_t(5, n)), 600_000)
    frame = pd.DataFrame({"east": east, "north": north, "income": income, "age": age})
    return Held(frame.assign(rooms=rooms, price=np.round(price, -2)), "price")


def wages() -> Held:
    """Wages by 142 occupations at 1,700 rows."""
    rng, n = np.random.default_rng(102), 1700
    job = np.minimum(rng.geometric(0.025, n) - 1, 141)
    worth = 0.35 * rng.normal(size=142)
    years, hours = rng.uniform(0, 40, n), rng.normal(38, 6, n)
    log = 2.5 + worth[job] + 0.04 * years - 0.0007 * years**2 + 0.3 * rng.normal(size=n)
    jobs = [f"occupation {j}" for j in job]
    columns = {"job": jobs, "years": years, "hours": hours, "wage": np.exp(log)}
    return Held(pd.DataFrame(columns), "wage")


def claims() -> Held:
    """Claims: most are zero, the others heavy-tailed."""
    rng, n = np.random.default_rng(103), 4000
    age, power = rng.integers(18, 85, n), rng.gamma(4, 25, n)
    region = rng.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.2, 0.1])
    eta = -1.4 + 0.9 * (age < 26) + 0.006 * power - 0.5 * (region == "west")
    size = np.exp(6.5 + 0.004 * power + 1.3 * rng.normal(size=n))
    claim = np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), np.round(size, 2), 0.0)
    frame = pd.DataFrame({"age": age, "power": power, "region": region})
    return Held(frame.assign(claim=claim), "claim")


def schools() -> Held:
    """Scores of pupils; whole schools are cut off."""
    rng, groups, each = np.random.default_rng(104), 90, 15
    school = np.repeat(np.arange(groups), each)
    level, slope = 6 * rng.normal(size=groups), 4 + 2 * rng.normal(size=groups)
    size = rng.integers(100, 900, groups)
    home = rng.normal(size=len(school))
    score = 60 + level[school] + slope[school] * home + 0.004 * size[school]
    score = score + 6 * rng.normal(size=len(school))
    columns = {"school": [f"school {s}" for s in school], "size": size[school]}
    return Held(
        pd.DataFrame({**columns, "home": home, "score": score}), "score", "school"
    )


def clinics() -> Held:
    """Counts of visits; whole clinics are cut off."""
    rng, groups = np.random.default_rng(105), 70
    clinic = np.repeat(np.arange(groups), rng.integers(8, 30, groups))
    n, level = len(clinic), 0.6 * rng.normal(size=groups)
    age, ill = rng.uniform(20, 90, n), rng.random(n) < 0.3
    rate = np.exp(0.5 + level[clinic] + 0.01 * age + 0.7 * ill) * rng.gamma(3, 1 / 3, n)
    columns = {"clinic": [f"clinic {c}" for c in clinic], "age": age, "ill": ill}
    return Held(
        pd.DataFrame({**columns, "visits": rng.poisson(rate)}), "visits", "clinic"
    )


def flowers() -> Held:
    """Four classes with curved borders, and two columns of words."""
    rng, n = np.random.default_rng(106), 2500
    X = rng.normal(size=(n, 6))
    colour = rng.choice(["red", "blue", "white", "pink", "violet"], n)
    f = np.stack(
        [X[:, 0] ** 2, X[:, 1] * X[:, 2] + 1, 2 * (colour == "blue"), 1 + X[:, 3]]
    )
    kind = np.array(["rose", "tulip", "iris", "lily"])[
        (f + rng.gumbel(size=f.shape)).argmax(0)
    ]
    frame = pd.DataFrame(X, columns=pd.Index([f"x{j}" for j in range(6)]))
    return Held(frame.assign(colour=colour, kind=kind), "kind")


TABLES: dict[str, Callable[[], Held]] = {
    f.__name__: f
    for f in (
        visits, affairs, marriage, prices, flowers, claims, wages, schools, clinics, party,
        vote, travel, scores, food, births, sunspots, investment, inflation, cards,
    )
}  # fmt: skip


def cut(held: Held, split: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows that are seen, and those that are cut off."""
    frame, rng = held.frame.reset_index(drop=True), np.random.default_rng([split, 77])
    units = frame[held.groups].to_numpy() if held.groups else np.arange(len(frame))
    names = rng.permutation(np.unique(units))
    off = np.isin(units, names[: max(1, round(SHARE * len(names)))])
    return frame[~off], frame[off]


def peer(held: Held, seen: pd.DataFrame, new: pd.DataFrame, classes) -> np.ndarray:
    """Means, or probabilities of these classes, by scikit-learn's histogram boosting."""
    from sklearn import ensemble

    inputs = [c for c in seen.columns if c not in (held.target, held.groups)]
    X, X_new = seen[inputs].copy(), new[inputs].copy()
    for name in inputs:
        if not pd.api.types.is_numeric_dtype(X[name]):
            X[name] = X[name].astype("category")
            X_new[name] = pd.Categorical(X_new[name], X[name].cat.categories)
            if len(X[name].cat.categories) > 255:
                X[name], X_new[name] = X[name].cat.codes, X_new[name].cat.codes
    y = seen[held.target]
    if classes is None:
        model = ensemble.HistGradientBoostingRegressor(random_state=0)
        return model.fit(X, y).predict(X_new)
    y = y.map({label: i for i, label in enumerate(classes)})
    model = ensemble.HistGradientBoostingClassifier(random_state=0)
    found = np.full((len(X_new), len(classes)), 1e-12)
    model.fit(X, y)
    found[:, model.classes_.astype(int)] = model.predict_proba(X_new)
    return found


def compared(name: str, split: int, effort: str) -> dict:
    """One run on the rows that are seen, and what it says about those cut off."""
    from likely import workbench
    from likely.core.host import tune_host

    tune_host()
    held = TABLES[name]()
    seen, new = cut(held, split)
    start, spent = time.perf_counter(), time.process_time()
    result = workbench.run(
        seen, held.target, effort=effort, seed=split, groups=held.groups
    )
    wall, spent = time.perf_counter() - start, time.process_time() - spent
    model, inputs = result.model, new.drop(columns=held.target)
    truth = new[held.target].to_numpy()
    if model.target.is_class:
        classes = [_label(label, truth) for label in model.target.classes]
        column = np.array([classes.index(y) for y in truth])
        rows = np.arange(len(truth))
        p = model.predict_proba(inputs)
        ours = -np.log(np.clip(p[rows, column], 1e-12, None))
        q = peer(held, seen, new, classes)
        theirs = -np.log(np.clip(q[rows, column], 1e-12, None))
        inside = model.predict_set(inputs)[rows, column]
        size = model.predict_set(inputs).sum(1).mean()
    else:
        ours = (model.predict(inputs) - truth) ** 2
        theirs = (peer(held, seen, new, None) - truth) ** 2
        low, high = model.predict_interval(inputs)
        inside, size = (low <= truth) & (truth <= high), np.mean(high - low)
    gap = ours - theirs
    report = result.report
    return {
        "table": name, "split": split, "rows": len(seen), "new": len(new),
        "kind": model.target.kind, "family": model.target.family,
        "winner": report.winner.name,
        "ours": float(ours.mean()), "theirs": float(theirs.mean()),
        "gap": float(gap.mean()), "variance": float(gap.var(ddof=1)),
        "inside": int(inside.sum()), "size": float(size),
        "stated": report.winner.coverage, "better_mean": report.winner.better_mean,
        "wall": wall, "processor": spent,
        "ladder": {row.name: row.nats for row in report.ladder},
    }  # fmt: skip


def _label(label: str, truth: np.ndarray):
    """A class as it stands in the frame."""
    return next((y for y in truth if str(y) == label), None) or _number(label, truth)


def _number(label: str, truth: np.ndarray):
    words = {"yes": 1, "no": 0, "true": 1, "false": 0}
    try:
        return type(truth[0])(words.get(label.lower(), label))
    except ValueError:
        return label


def summary(lines: list[dict]) -> None:
    """Print a row for each table: the mean over splits."""
    print(f"{'table':12}{'kind':12} ours (winner) against histogram boosting")
    for name in TABLES:
        found = [line for line in lines if line["table"] == name]
        if not found:
            continue
        gap = np.mean([line["gap"] for line in found])
        error = np.sqrt(sum(f["variance"] / f["new"] for f in found)) / len(found)
        verdict = (
            "worse" if gap > 2 * error else "better" if gap < -2 * error else "equal"
        )
        ours, theirs = (np.mean([f[key] for f in found]) for key in ("ours", "theirs"))
        if found[0]["kind"] not in ("binary", "classes", "ordinal"):
            ours, theirs = ours**0.5, theirs**0.5
        covered = sum(f["inside"] for f in found) / sum(f["new"] for f in found)
        winners = ",".join(sorted({f["winner"] for f in found}))
        wall, spent = (max(f[key] for f in found) for key in ("wall", "processor"))
        print(
            f"{name:12}{found[0]['kind']:12} {ours:10.4g} {theirs:10.4g} "
            f"{gap / max(error, 1e-300):+5.1f} errors {verdict:7} "
            f"covers {100 * covered:4.1f} % of {sum(f['new'] for f in found):6} "
            f"{wall:4.0f} s {spent:4.0f} s processor  {winners}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.held_back")
    parser.add_argument("table", nargs="?")
    parser.add_argument("split", nargs="?", type=int, default=0)
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--summary", nargs="+")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.summary:
        text = "".join(Path(path).read_text("utf-8") for path in options.summary)
        summary([json.loads(line) for line in text.splitlines() if line[:1] == "{"])
        return
    names = [options.table] if options.table else list(TABLES)
    for name in names:
        print(json.dumps(compared(name, options.split, options.effort)), flush=True)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
