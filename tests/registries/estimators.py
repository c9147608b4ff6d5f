"""Every public estimator, at its cheapest honest settings: one entry each.

`kind` says what an estimator learns: "numbers", "positive" or "nonnegative" numbers, "counts"
or "classes" from the columns of a table. Those without targets learn "columns" (a
transformer), the "density" of rows or their "clusters"; see `registries/latent.py`. Those of
kind "images" and "tags" (sequences with a label for each position) take no table, so that
scikit-learn's checks that fit a table leave them out; nor do the one that continues a
"series", the one of "tokens" and those that turn "texts" into tokens. "text classes", "text
numbers" and "word labels" are learned from texts.

An entry that is `slow`, with the reason, runs with `--slow` only (`make test-slow`).
"""

from importlib.util import find_spec
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from registries.entry import SPARSE_WEIGHTS, WEIGHTS, Entry
from registries.generative import GENERATIVE
from registries.latent import LATENT
from sklearn.utils import estimator_checks as checks

import likely as lk
from likely.layers import Chain


def parameters(names, slow=()) -> list:
    """Names of entries to parametrize a test with; the slow ones are marked.

    Args:
        names: of entries.
        slow: more names that are slow for this test.
    """
    return [
        pytest.param(name, marks=pytest.mark.slow)
        if name in slow or ESTIMATORS[name].slow
        else name
        for name in names
    ]


DRAWN = dict.fromkeys(
    (WEIGHTS, SPARSE_WEIGHTS),
    "a row of weight 2 is drawn as one row, the row twice as two",
)
ASSIGNED = dict.fromkeys(
    (WEIGHTS, SPARSE_WEIGHTS),
    "a row of weight 2 is assigned to one random fold, the row twice to two",
)
UNLABELLED = {"check_classifiers_classes": "-1 is a row without a label, no class"}
SETTLED = {"alpha": 1.0, "max_iter": 300, "tol": 1e-9}
COLUMN = {  # the columns of a table as the rows of an image that is one pixel wide
    "image_shape": (-1, 1),
    "activation": "tanh",
    **SETTLED,
}
BRIEF = {"solver": "adam", "learning_rate_init": 0.05, "max_iter": 60}
TRAINED_ALIKE = "it is compiled and trained as the other networks of sequences are"
FROM_TEXTS = ("text classes", "text numbers", "word labels")
"""What is learned from texts."""
NOT_TABLES = ("images", "tags", "series", "tokens", "texts", *FROM_TEXTS)
"""Kinds whose rows are not those of a table."""
ESTIMATORS = {
    "null model": Entry(lk.NullRegressor, "numbers"),
    "null model, classes": Entry(lk.NullClassifier, "classes"),
    "linear regression": Entry(lk.LinearRegression, "numbers"),
    "ridge": Entry(lk.Ridge, "numbers"),
    "lasso": Entry(lambda: lk.Lasso(0.1), "numbers"),
    "elastic net": Entry(lambda: lk.ElasticNet(0.1), "numbers"),
    "huber regression": Entry(lk.HuberRegressor, "numbers"),
    "least absolute deviations": Entry(lk.LADRegressor, "numbers"),
    "quantile regression": Entry(lambda: lk.QuantileRegressor(quantile=0.3), "numbers"),
    "poisson regression": Entry(lk.PoissonRegressor, "counts"),
    "negative binomial regression": Entry(
        lambda: lk.NegativeBinomialRegressor(max_iter=25), "counts"
    ),
    "gamma regression": Entry(lk.GammaRegressor, "positive"),
    "tweedie regression": Entry(
        lambda: lk.TweedieRegressor(power=1.5),
        "nonnegative",
        slow="its density is a sum of a hundred terms",
    ),
    "logistic regression": Entry(lk.LogisticRegression, "classes"),
    "ordinal regression": Entry(lk.OrdinalRegression, "classes"),
    "survival regression": Entry(lk.SurvivalRegression, "positive"),
    "perceptron": Entry(lk.Perceptron, "classes", distribution=False),
    "spline regression": Entry(lambda: lk.SplineRegressor(5), "numbers"),
    "network": Entry(
        lambda: lk.MLPRegressor((2,), max_iter=20, alpha=0.1), "numbers", brief=BRIEF
    ),
    "network, classes": Entry(
        lambda: lk.MLPClassifier((2,), max_iter=60, alpha=0.1), "classes"
    ),
    # few steps: a fit that meets every row has no best scale, and rounding decides
    "convolutional network": Entry(
        lambda: lk.CNNRegressor((2,), (), pool=0, **COLUMN | {"max_iter": 20}),
        "numbers",
        brief=BRIEF,
    ),
    "convolutional network, classes": Entry(
        lambda: lk.CNNClassifier((2,), (), pool=0, **COLUMN), "classes", brief=BRIEF
    ),
    "residual network": Entry(
        lambda: lk.ResNetClassifier((2,), norm=None, **COLUMN), "classes", brief=BRIEF
    ),
    "segmentation": Entry(lambda: lk.UNetSegmenter((2,), max_iter=2), "images"),
    "sequence network": Entry(
        lambda: lk.SequenceRegressor("rnn", 6, solver="lbfgs", alpha=1.0, max_iter=30),
        "numbers",
        slow=TRAINED_ALIKE,
    ),
    "sequence network, classes": Entry(
        lambda: lk.SequenceClassifier("rnn", 2, solver="lbfgs", alpha=3.0, max_iter=20),
        "classes",
        brief=BRIEF,
    ),
    "network of tags": Entry(
        lambda: lk.SequenceTagger("rnn", 2, max_iter=2), "tags", slow=TRAINED_ALIKE
    ),
    "forecast": Entry(lambda: lk.Forecaster(3, architecture="linear"), "series"),
    "language model": Entry(lambda: lk.LanguageModel(1, 1, 4, max_iter=2), "tokens"),
    "characters as tokens": Entry(lk.CharacterTokenizer, "texts"),
    "words as tokens": Entry(lk.WordTokenizer, "texts"),
    "bytes as tokens": Entry(lk.ByteTokenizer, "texts"),
    "byte pairs as tokens": Entry(lambda: lk.BytePairTokenizer(300), "texts"),
    "word vectors": Entry(lambda: lk.WordVectors(4, method="pmi"), "texts"),
    "masked language model": Entry(
        lambda: lk.MaskedLanguageModel(1, 1, 4, max_iter=2), "texts"
    ),
    "text to text": Entry(lambda: lk.Seq2Seq(1, 1, 4, max_iter=2), "texts"),
    "counts of words": Entry(lk.CountVectorizer, "texts"),
    "tf-idf of words": Entry(lk.TfidfVectorizer, "texts"),
    "classes of texts": Entry(lambda: lk.TextClassifier("linear"), "text classes"),
    "numbers of texts": Entry(lambda: lk.TextRegressor("linear"), "text numbers"),
    "labels of words": Entry(lambda: lk.TextTagger("linear"), "word labels"),
    "network of texts": Entry(
        lambda: lk.TextClassifier("rnn", 2, max_iter=2),
        "text classes",
        slow=TRAINED_ALIKE,
    ),
    "network of words": Entry(
        lambda: lk.TextTagger("rnn", 2, max_iter=2), "word labels", slow=TRAINED_ALIKE
    ),
    "vision transformer network": Entry(
        lambda: lk.VisionTransformerClassifier(
            4, 1, n_heads=1, image_shape=(-1, 1), alpha=3.0, max_iter=20
        ),
        "classes",
        slow=TRAINED_ALIKE,
    ),
    "rounded regression": Entry(lk.RoundedRegression, "classes"),
    "linear svc": Entry(lk.LinearSVC, "classes", distribution=False),
    "linear svc, hinge": Entry(
        lambda: lk.LinearSVC(loss="hinge"), "classes", distribution=False
    ),
    "svc": Entry(lk.SVC, "classes", distribution=False),
    "svc, calibrated, one against the rest": Entry(
        lambda: lk.SVC(probability=True, multi_class="ovr"), "classes"
    ),
    "svr": Entry(lk.SVR, "numbers", distribution=False),
    "nearest neighbours, classes": Entry(lambda: lk.KNeighborsClassifier(3), "classes"),
    "nearest neighbours, numbers": Entry(lambda: lk.KNeighborsRegressor(3), "numbers"),
    "gaussian naive bayes": Entry(lk.GaussianNB, "classes"),
    "nystroem features": Entry(lambda: lk.Nystroem(n_components=5), "columns"),
    "frozen features": Entry(  # of a network that takes any number of columns
        lambda: lk.FrozenFeatures(Chain(jnp.tanh, jnp.tanh)), "columns"
    ),
    "autoencoder features": Entry(
        lambda: lk.AutoencoderFeatures(2, (3,), max_iter=20),
        "columns",
        fails=dict.fromkeys(
            (WEIGHTS, SPARSE_WEIGHTS), "it is trained in float32: equal up to rounding"
        ),
    ),
    "masked pretraining": Entry(
        lambda: lk.MaskedPretraining(lk.MLPRegressor((3,)), max_iter=5),
        "columns",
        slow="it is compiled and trained as autoencoder features are",
        fails=ASSIGNED,
    ),
    "ensemble": Entry(
        lambda: lk.Ensemble([lk.SVR(), lk.KNeighborsRegressor(1)], cv=2), "numbers"
    ),
    "stacking": Entry(
        lambda: lk.Stacking([lk.GaussianNB(), lk.KNeighborsClassifier(1)], cv=2),
        "classes",
    ),
    "recalibrated classes": Entry(
        lambda: lk.RecalibratedClassifier(lk.GaussianNB(), cv=2), "classes"
    ),
    "recalibrated classes, isotonic": Entry(
        lambda: lk.RecalibratedClassifier(lk.GaussianNB(), method="isotonic", cv=2),
        "classes",
        slow="it is fitted as the one by a temperature is",
    ),
    "recalibrated numbers": Entry(
        lambda: lk.RecalibratedRegressor(lk.SVR(), cv=2),
        "numbers",
        slow="every fit evaluates its distribution about thirty times",
    ),
    "recalibrated numbers, by quantiles": Entry(
        lambda: lk.RecalibratedRegressor(lk.Ridge(), method="quantile", cv=2),
        "numbers",
        slow="it is fitted as the one by a scale is",
    ),
    "conformal sets": Entry(
        lambda: lk.ConformalClassifier(lk.GaussianNB(), cv=2),
        "classes",
        slow="it wraps a classifier as recalibrated classes do",
        conformal=True,
    ),
    "conformal sets, adaptive, all folds": Entry(
        lambda: lk.ConformalClassifier(
            lk.GaussianNB(), method="adaptive", cross=True, cv=2
        ),
        "classes",
        slow="it is fitted as the one by a threshold is",
        conformal=True,
    ),
    "conformal intervals": Entry(
        lambda: lk.ConformalRegressor(lk.Ridge(), cv=2), "numbers", conformal=True
    ),
    "conformal intervals, each row left out": Entry(
        lambda: lk.ConformalRegressor(lk.Ridge(), method="jackknife+"),
        "numbers",
        slow="it is fitted as the one by a split is",
        conformal=True,
    ),
    "grid search": Entry(
        lambda: lk.GridSearch(lk.Ridge(), {"alpha": [0.1, 1.0]}, cv=2), "numbers"
    ),
    "random search": Entry(
        lambda: lk.RandomSearch(
            lk.GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, n_iter=2, cv=2
        ),
        "classes",
    ),
    "successive halving": Entry(
        lambda: lk.SuccessiveHalving(
            lk.KNeighborsRegressor(), {"n_neighbors": [1, 2]}, factor=2, cv=2
        ),
        "numbers",
    ),
    "tree of classes": Entry(lk.DecisionTreeClassifier, "classes"),
    "tree": Entry(lk.DecisionTreeRegressor, "numbers"),
    "boosted classes": Entry(
        lambda: lk.GradientBoostingClassifier(n_estimators=5), "classes"
    ),
    "boosting": Entry(lambda: lk.GradientBoostingRegressor(n_estimators=5), "numbers"),
    "forest of classes": Entry(
        lambda: lk.RandomForestClassifier(n_estimators=5), "classes", fails=DRAWN
    ),
    "forest": Entry(
        lambda: lk.RandomForestRegressor(n_estimators=5), "numbers", fails=DRAWN
    ),
    "bagged classes": Entry(
        lambda: lk.BaggingClassifier(n_estimators=3), "classes", fails=DRAWN
    ),
    "bagging": Entry(
        lambda: lk.BaggingRegressor(n_estimators=3), "numbers", fails=DRAWN
    ),
    "smoothed votes": Entry(
        lambda: lk.SmoothedClassifier(lk.KNeighborsClassifier(3), votes=3), "classes"
    ),
    "pseudo-labels": Entry(
        lambda: lk.PseudoLabels(lk.GaussianNB()),
        "classes",
        fails=UNLABELLED
        | {
            "check_non_transformer_estimators_n_iter": (
                "where all rows have a label there are no rounds"
            )
        },
    ),
    "consistency training of a network": Entry(
        lambda: lk.ConsistencyTraining(
            lk.MLPClassifier((2,), max_iter=60, alpha=0.1), random_state=0
        ),
        "classes",
        fails=UNLABELLED,
    ),
    "hurdle": Entry(
        lambda: lk.HurdleTarget(lk.NullClassifier(), lk.GammaRegressor(0.1)),
        "nonnegative",
    ),
    "bounded means": Entry(
        lambda: lk.BoundedTarget(lk.GammaRegressor(0.1)), "positive"
    ),
    "logarithm": Entry(lambda: lk.LogTarget(lk.LinearRegression()), "positive"),
    "counts around means": Entry(
        lambda: lk.CountTarget(lk.LinearRegression(), family="poisson"),
        "counts",
        fails=ASSIGNED,
    ),
} | LATENT
ESTIMATORS |= GENERATIVE
UNINSTALLED: set[type] = set()
"""Classes that fit with a package of an extra alone, where that is not installed."""
if find_spec("optuna") is None:
    UNINSTALLED.add(lk.OptunaSearch)
else:
    ESTIMATORS["search by Optuna"] = Entry(
        lambda: lk.OptunaSearch(lk.Ridge(), {"alpha": [0.1, 1.0]}, n_iter=2, cv=2),
        "numbers",
        slow="it differs from a random search in who proposes",
    )
ROWS, COLUMNS = 60, 4
"""The shape of all data of the laws but one: 60 rows are padded to 64."""


def rows_for(name: str, n: int = ROWS, d: int = COLUMNS) -> tuple[Any, Any]:
    """Rows with a signal, and targets of the kind that the estimator learns."""
    rng, kind = np.random.default_rng(0), ESTIMATORS[name].kind
    if kind == "images":
        X = rng.normal(size=(8, 4, 4, 1))
        return X, (X[..., 0] > 0).astype(int)
    if kind == "tags":
        X = rng.normal(size=(8, 4, 2))
        return X, (X[..., 0] > 0).astype(int)
    if kind == "tokens":
        return rng.integers(0, 5, (8, 6)), None
    if kind == "texts":
        texts = ["a b c", "b a", "c c a b", "a", "b c a b", "c", "a a b", "b"]
        return texts, texts[::-1]
    if kind in FROM_TEXTS:
        return _texts_for(rng, kind, n)
    X = rng.normal(size=(n, d))
    X = np.abs(X) if kind == "nonnegative columns" else X
    signal = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n)
    if kind == "classes":
        return X, np.digitize(signal, [-0.7, 0.7])
    if kind == "counts":
        return X, 1.0 + rng.poisson(np.exp(0.5 * signal + 1))
    if kind == "nonnegative":
        return X, np.where(signal > -0.5, np.exp(0.5 * signal), 0.0)
    return X, np.exp(0.5 * signal) if kind == "positive" else signal


def _texts_for(rng: Any, kind: str, n: int) -> tuple[Any, Any]:
    """Texts of five words, and what follows from how many of them are "good"."""
    words = rng.choice(["good", "bad", "old", "dog", "Ulm"], (n, 5))
    if kind == "word labels":
        return words, np.where(words == "Ulm", "B-LOC", "O")
    good = (words == "good").sum(1) + 0.5 * rng.normal(size=n)
    X = np.array([" ".join(row) for row in words], object)
    return X, good if kind == "text numbers" else np.digitize(good, [0.7, 1.5])


MIN_CHECKS = 60
"""How many checks an estimator of tables gets at least."""
MIN_CHECKS_WITHOUT_TARGETS = 45
"""How many a density gets, or a transformer without weights: there is less to ask."""
MIN_CHECKS_WITHOUT_TRANSFORM = 40
"""How many an estimator gets that neither predicts nor transforms new rows."""
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
OF_IMAGES = (
    checks.check_do_not_raise_errors_in_init_or_set_params,
    checks.check_estimator_repr,
    checks.check_estimator_tags_renamed,
    checks.check_get_params_invariance,
    checks.check_mixin_order,
    checks.check_no_attributes_set_in_init,
    checks.check_parameters_default_constructible,
    checks.check_set_params,
    checks.check_valid_tag_types,
)
"""What scikit-learn asks of every estimator without fitting it to a table."""
