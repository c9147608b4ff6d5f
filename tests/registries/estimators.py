"""Every estimator that takes a table: one line each."""

import likely as lk

ESTIMATORS = {
    "linear regression": lk.LinearRegression(),
    "ridge": lk.Ridge(),
    "logistic regression": lk.LogisticRegression(),
    "rounded regression": lk.RoundedRegression(),
    "tree of classes": lk.DecisionTreeClassifier(),
    "tree": lk.DecisionTreeRegressor(),
    "boosted classes": lk.GradientBoostingClassifier(n_estimators=5),
    "boosting": lk.GradientBoostingRegressor(n_estimators=5),
    "forest of classes": lk.RandomForestClassifier(n_estimators=5),
    "forest": lk.RandomForestRegressor(n_estimators=5),
    "bagged classes": lk.BaggingClassifier(n_estimators=3),
    "bagging": lk.BaggingRegressor(n_estimators=3),
}

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
DRAWN = "a row of weight 2 is drawn as one row, the row twice as two"
FAILS = {
    name: {WEIGHTS: DRAWN}
    for name in (
        "RandomForestClassifier",
        "RandomForestRegressor",
        "BaggingClassifier",
        "BaggingRegressor",
    )
}
"""The checks that an estimator does not pass, each with its reason."""
