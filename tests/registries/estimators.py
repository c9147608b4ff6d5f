"""Every estimator that takes a table: one line each."""

import likely as lk

ESTIMATORS = {
    "linear regression": lk.LinearRegression(),
    "ridge": lk.Ridge(),
    "logistic regression": lk.LogisticRegression(),
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
    "nystroem features": lk.Nystroem(n_components=5),
    "ensemble": lk.Ensemble([lk.SVR(), lk.KNeighborsRegressor(1)], cv=2),
    "stacking": lk.Stacking([lk.GaussianNB(), lk.KNeighborsClassifier(1)], cv=2),
}
