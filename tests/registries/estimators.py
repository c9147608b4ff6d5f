"""Every estimator that takes a table: one line each."""

import likely as lk

ESTIMATORS = {
    "linear regression": lk.LinearRegression(),
    "ridge": lk.Ridge(),
    "logistic regression": lk.LogisticRegression(),
    "rounded regression": lk.RoundedRegression(),
}
