"""Every estimator that takes a table: one line each."""

from sklearn.utils import estimator_checks as checks

import likely as lk

LINES = {
    "image_shape": (-1, 1),
    "pool": 0,
    "activation": "tanh",
    "max_iter": 300,
    "tol": 1e-9,
}
"""The columns of a table as the rows of an image that is one pixel wide."""
ESTIMATORS = {
    "null model": lk.NullRegressor(),
    "null model, classes": lk.NullClassifier(),
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
    "spline regression": lk.SplineRegressor(5),
    "network": lk.MLPRegressor((4,), max_iter=60, alpha=0.1),
    "network, classes": lk.MLPClassifier((4,), max_iter=60, alpha=0.1),
    # few steps: a fit that meets every row has no best scale, and rounding decides
    "images": lk.CNNRegressor((2,), (3,), alpha=1.0, **LINES | {"max_iter": 20}),
    "images, classes": lk.CNNClassifier((2,), (3,), alpha=1.0, **LINES),
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
    "tree of classes": lk.DecisionTreeClassifier(),
    "tree": lk.DecisionTreeRegressor(),
    "boosted classes": lk.GradientBoostingClassifier(n_estimators=5),
    "boosting": lk.GradientBoostingRegressor(n_estimators=5),
    "forest of classes": lk.RandomForestClassifier(n_estimators=5),
    "forest": lk.RandomForestRegressor(n_estimators=5),
    "bagged classes": lk.BaggingClassifier(n_estimators=3),
    "bagging": lk.BaggingRegressor(n_estimators=3),
}
WRAPPERS = {
    "smoothed votes": lk.SmoothedClassifier(lk.KNeighborsClassifier(3), votes=3),
    "logarithm": lk.LogTarget(lk.LinearRegression()),
    "counts around means": lk.CountTarget(lk.LinearRegression(), family="poisson"),
}
"""What makes another estimator say something else: scikit-learn's checks alone."""

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
SPARSE_WEIGHTS = "check_sample_weight_equivalence_on_sparse_data"
DRAWN = "a row of weight 2 is drawn as one row, the row twice as two"
DEALT = "a row of weight 2 is dealt to one random fold, the row twice to two"
FAILS = {
    name: {WEIGHTS: DRAWN, SPARSE_WEIGHTS: DRAWN}
    for name in (
        "RandomForestClassifier",
        "RandomForestRegressor",
        "BaggingClassifier",
        "BaggingRegressor",
    )
} | {"CountTarget": {WEIGHTS: DEALT, SPARSE_WEIGHTS: DEALT}}
"""The checks that an estimator does not pass, each with its reason."""
CHECKS = 60
"""How many checks an estimator gets at least."""
OF_TRANSFORMERS = (
    checks.check_dataframe_column_names_consistency,
    checks.check_global_output_transform_pandas,
    checks.check_global_set_output_transform_polars,
    checks.check_set_output_transform,
    checks.check_set_output_transform_pandas,
    checks.check_set_output_transform_polars,
    checks.check_transformer_get_feature_names_out,
    checks.check_transformer_get_feature_names_out_pandas,
)
"""What scikit-learn asks of its own transformers beside; they have no predictions."""
