"""Every estimator that takes a table: one line each."""

import likely as lk

ESTIMATORS = {
    "linear regression": lk.LinearRegression(),
    "ridge": lk.Ridge(),
    "logistic regression": lk.LogisticRegression(),
    "network": lk.MLPRegressor((4,), max_iter=60, alpha=0.1),
    "network, classes": lk.MLPClassifier((4,), max_iter=60, alpha=0.1),
    "rounded regression": lk.RoundedRegression(),
}
