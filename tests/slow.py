"""What runs only with `--slow` (`make test-slow`): long, and near something that is short.

Each line is a pattern of test names. The estimators that are left to the slow run share
their core with one that is not.
"""

import re

ESTIMATORS = (
    "BaggingClassifier", "BaggingRegressor", "Ensemble", "GammaRegressor",
    "HuberRegressor", "LinearSVC.loss=", "NegativeBinomialRegressor",
    "RandomForestClassifier", "RoundedRegression", "SVC.multi_class", "Stacking",
    "ElasticNet", "KNeighborsRegressor", "LADRegressor", "Lasso", "SVR",
    "CNNClassifier", "CNNRegressor", "MLPClassifier", "GradientBoostingClassifier",
    "MLPRegressor", "SplineRegressor",
)  # fmt: skip
NAMES = (
    "bagged classes", "bagging", "ensemble", "gamma regression", "huber regression",
    "linear svc, hinge", "negative binomial regression", "forest of classes",
    "rounded regression", "svc, calibrated", "stacking", "elastic net",
    "nearest neighbours, numbers", "lasso", "least absolute", "svr",
    "images", "network, classes", "boosted classes", "spline regression",
)  # fmt: skip
PATTERNS = (
    rf"laws/test_estimators\.py::test_scikit_learn_contract\[({'|'.join(ESTIMATORS)})",
    rf"laws/test_estimator_laws\.py::\w+\[({'|'.join(NAMES)})",
    r"laws/test_estimator_laws\.py::test_another_process",
    r"inference/test_calibration\.py::test_(intervals|bootstrap|uncertainty|the_program)",
    r"training/test_devices\.py::test_two_processes",
    r"estimators/test_images\.py::test_(kills|members)",
    r"training/test_checkpoints\.py::test_twenty_five_kills",
    r"workbench/test_job\.py::test_a_killed_run",
    r"cli/test_odd_tables\.py::test_many",
    r"estimators/test_tree\.py::test_any_likelihood_is_a_split_score\[(Gamma|Neg)",
    r"estimators/test_boosting\.py::test_any_family_is_boosted\[(neg|gamma)",
    r"estimators/test_glm\.py::test_the_penalty_is_chosen_by_held_out_nats",
    r"test_network_options\.py::test_(without_hidden\w+\[(gamma|neg)|another_arch)",
    r"test_network_options\.py::test_densities\w+\[mixture",
    r"test_network_options\.py::test_categories\w+\[polars",
    r"laws/test_layers\.py::test_derivatives_are_slopes\[(batch norm, images|mlp)",
    r"autodiff/test_models\.py::test_every_model_\w+\[(?!Normal|Categorical|Mixture)",
    r"data/test_fuzz\.py::test_damaged_tables_are_read_or_refused\[[23]",
    r"layers/test_convolution\.py::test_the_plain_ones_are_pytorchs_too",
    r"autodiff/test_programs\.py::test_modes_agree_on_generated_programs\[[34]",
)
SLOW = re.compile("|".join(PATTERNS))
