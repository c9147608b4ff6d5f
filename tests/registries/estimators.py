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
    "linear svc": lk.LinearSVC(),
    "linear svc, hinge": lk.LinearSVC(loss="hinge"),
    "svc": lk.SVC(),
    "svc, calibrated, one against the rest": lk.SVC(
        probability=True, multi_class="ovr"
    ),
    "svr": lk.SVR(),
    "nearest neighbours, classes": lk.KNeighborsClassifier(3),
    "nearest neighbours, numbers": lk.KNeighborsRegressor(3),
    "gaussian naive bayes": lk.GaussianNB(),
    "ensemble": lk.Ensemble([lk.SVR(), lk.KNeighborsRegressor(1)], cv=2),
    "stacking": lk.Stacking([lk.GaussianNB(), lk.KNeighborsClassifier(1)], cv=2),
}
