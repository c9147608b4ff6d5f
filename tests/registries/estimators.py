"""Every estimator that takes a table: one line each."""

import likely as lk

ESTIMATORS = {
    "linear regression": lk.LinearRegression(),
    "ridge": lk.Ridge(),
    "lasso": lk.Lasso(0.1),
    "elastic net": lk.ElasticNet(0.1),
    "huber regression": lk.HuberRegressor(),
    "least absolute deviations": lk.LADRegressor(),
    "poisson regression": lk.PoissonRegressor(),
    "negative binomial regression": lk.NegativeBinomialRegressor(),
    "gamma regression": lk.GammaRegressor(),
    "logistic regression": lk.LogisticRegression(),
    "perceptron": lk.Perceptron(),
    "network": lk.MLPRegressor((4,), max_iter=60, alpha=0.1),
    "network, classes": lk.MLPClassifier((4,), max_iter=60, alpha=0.1),
    "rounded regression": lk.RoundedRegression(),
}
