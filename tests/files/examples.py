"""Something of every class that files hold, made when it is asked for.

What is fitted takes seconds to compile, so it stands apart; the rest is put together.
"""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from registries.estimators import ESTIMATORS as PUBLIC
from registries.families import FAMILIES
from registries.latent import LATENT
from scipy import stats
from sklearn import model_selection
from sklearn.pipeline import Pipeline

import likely as lk
from likely import (
    evaluate,
    families,
    inference,
    layers,
    models,
    objectives,
    preprocess,
    solvers,
)
from likely.base.given import Given
from likely.base.training.members import Patience
from likely.base.training.regimes import Regime
from likely.base.training.unsupervised import UnscaledRows
from likely.core.linalg import LeastSquaresFit, Regression
from likely.core.moments import Moments
from likely.core.precision import to_numpy
from likely.data.dataset import Dataset
from likely.data.schema import Schema
from likely.estimators.images.vision_transformer import PatchNetwork
from likely.estimators.linear.dispersed import DispersedLearner
from likely.estimators.linear.formulas.formula import Formula
from likely.estimators.linear.glm import LinearLearner, SharedLearner
from likely.estimators.linear.inference.spread import Spread
from likely.estimators.linear.lasso import ElasticNetLearner
from likely.estimators.linear.logistic import FirthLearner
from likely.estimators.linear.normal import NormalLinear, NormalLinearLearner
from likely.estimators.linear.perceptron import PerceptronLearner
from likely.estimators.linear.quantile import AbsoluteLearner
from likely.estimators.linear.rounded import RoundedLearner
from likely.estimators.linear.spline import SplineFit, SplineLearner, penalties
from likely.estimators.linear.standardised import Standardisation, StandardisedLearner
from likely.estimators.sequence.network import SequenceNetwork
from likely.evaluate.splits import Folds, Split
from likely.generative.autoencoders.codings import ArrayCoding, TableCoding
from likely.generative.autoencoders.networks import (
    Cropped,
    Decoder,
    DenseCoder,
    Encoder,
    Shaped,
)
from likely.generative.autoencoders.variational import LatentModel
from likely.generative.autoregressive.any_order import MaskedTable
from likely.generative.autoregressive.block_transformer import BlockTransformer
from likely.generative.autoregressive.columns import CodedColumns
from likely.generative.autoregressive.linear_conditionals import LinearConditionals
from likely.generative.autoregressive.masked_density import ColumnStart, MaskedDensity
from likely.generative.autoregressive.pixel_cells import PixelCells
from likely.generative.diffusion.bound import DenoisingErrors
from likely.generative.diffusion.denoisers import DenoiserSettings
from likely.generative.diffusion.denoising import Diffuser
from likely.generative.diffusion.levels import Levels
from likely.generative.diffusion.targets import Units
from likely.generative.flows.image_model import PixelFlow
from likely.generative.flows.mixed_table import MixedTableFlow
from likely.generative.gan.collapse import Regions
from likely.generative.gan.players import Critic, PointHead, RowGenerator
from likely.generative.pixels import PixelCode
from likely.generative.point_cells import ImageCells, TableCells
from likely.latent.manifolds.coordinates import Coordinates
from likely.layers import BatchNorm, Chain, Dense
from likely.models.kernels import Kernel, definiteness
from likely.models.kernels.svm.machine import Dual
from likely.models.kernels.svm.primal import plane
from likely.models.linear.hyperplane import Hyperplane
from likely.models.trees import Bins, Grown, Trees
from likely.objectives.rows import Normalisation
from likely.recipe import Fit
from likely.selection import (
    CrossValidation,
    Importance,
    NestedCrossValidation,
    PartialDependence,
    Trial,
    mixing_weights,
)
from likely.solvers.first_order.minibatches import Minibatches
from likely.solvers.function import Function
from likely.solvers.least_squares.curve import Curve, CurveFit, SumOfSquares
from likely.solvers.least_squares.levenberg_marquardt import LevenbergMarquardt
from likely.solvers.second_order.bfgs import BFGS
from likely.solvers.second_order.lagrangian import LagrangeNewton
from likely.solvers.second_order.staged import Staged
from likely.solvers.second_order.stationary import StationaryPoint, step_forecast
from likely.solvers.second_order.steepest_descent import SteepestDescent
from likely.text.models.learner import Unscaled
from likely.text.models.masked_token import MaskedToken
from likely.text.models.next_token import NextToken
from likely.text.models.supervised.text_predictor import ReadText
from likely.text.models.supervised.text_tagger import ReadWords
from likely.text.models.token_lists import TokenLists
from likely.text.models.translation import Translation
from likely.typing import Batch, Solution, Status, Trace
from likely.vision.detection.calibration import DetectionCalibration
from likely.vision.detection.images import ImageCanvas
from likely.vision.detection.networks.detr import DETRArchitecture
from likely.vision.detection.networks.grid import GridArchitecture
from likely.vision.detection.networks.regions import RegionArchitecture
from likely.vision.detection.problem import PixelScaling
from likely.vision.features.cascade import HaarCascade
from likely.workbench.target import Target
from likely.workbench.unseen import KnownLevels

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3))
Y = X @ np.array([1.0, -2.0, 0.5]) + rng.normal(size=20)
LABELS = np.where(Y + rng.normal(size=20) > 0, "yes", "no")
COST = [[0, 10], [1, 0]]
WORDS = LABELS[:, None].astype(object)
TEXTS = [f"{word} {i}" for i in range(12) for word in ("good", "bad")]
ONES = np.ones(3, np.float32)
BATCH = Batch(X.astype(np.float32), Y.astype(np.float32), np.ones(20, np.float32))


ESTIMATE = inference.Estimate(
    np.ones(2), np.eye(2), np.array([False, True]), 20.0, 18.0, -30.0, -40.0, 2
)


def frame():
    import pandas

    return pandas.DataFrame({"size": X[:, 0], "kind": ["a", "b"] * 10})


def _predictive() -> families.Predictive:
    return families.Predictive(families.Normal(), np.ones((4, 2)))


def _table_model() -> Any:
    """The null model of a table, as a run leaves it behind."""
    encoder = preprocess.TableEncoder().fit(frame())
    model = lk.NullRegressor().fit(X, Y)
    target = Target("y", "real", "normal", "it has numbers")
    return lk.workbench.TableModel(
        "null", target, {"scaled": encoder}, (("scaled", model),), np.ones(1),
        1.0, 1.0, np.sort(np.abs(Y)), np.ones(20),
        KnownLevels.of(encoder.level_codes(frame()), Y, np.ones(20)),
    )  # fmt: skip


def grown() -> Grown:
    """A tree that is one leaf."""
    words, sets = np.zeros(1, np.uint64), np.zeros((0, 4), np.uint64)
    one = np.ones(1)
    return Grown(words, np.full(1, -1, np.int32), sets, one[:, None], one, one)


def network() -> Chain:
    return models.mlp([3, 4, 2], norm="batch", key=jax.random.key(0))


def solution(model: Any) -> Solution:
    """What a solver returns, with the parameters after each of two steps."""
    trace = Trace(jnp.array([1.0, jnp.nan]), jnp.ones(2), jnp.zeros(2), model)
    status = Status(jnp.array(2), jnp.array(1), jnp.array(1e-9))
    return Solution(model, None, jnp.array(0.5), trace, status)


def network_fit() -> Fit:
    """A fit as `recipe.fit` returns it: states, functions, a path of parameters."""
    model = network()
    params = eqx.filter(model, eqx.is_inexact_array)
    path = jax.tree.map(lambda a: jnp.stack([a, a]), params)
    found = solution(path)
    return Fit(
        families.Normal(),
        Solution(model, model.initial_state(), found.loss, found.trace, found.status),
    )


def days() -> np.ndarray:
    return np.arange(40).astype("datetime64[D]").reshape(20, 2)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "linear regression": lambda: lk.LinearRegression().fit(X, Y),
    "ridge, of a frame": lambda: lk.Ridge(np.float64(0.1)).fit(frame()[["size"]], Y),
    "logistic regression": lambda: lk.LogisticRegression().fit(X, LABELS),
    "network": lambda: lk.MLPRegressor((3,), max_iter=500, alpha=1.0).fit(X, Y),
    "network, classes": lambda: lk.MLPClassifier((3,), solver="adam", max_iter=2).fit(
        X, LABELS
    ),
    "logistic regression, objects": lambda: lk.LogisticRegression(
        alpha=1.0, solver=solvers.Newton()
    ).fit(X, LABELS.astype(object)),
    "poisson regression": lambda: lk.PoissonRegressor().fit(X, np.abs(Y).round()),
    "boosting": lambda: lk.GradientBoostingRegressor(
        n_estimators=3, min_samples_leaf=2, categorical_features=[0]
    ).fit(np.round(X), Y),
    "forest": lambda: lk.RandomForestClassifier(3).fit(X, LABELS),
    "bagging": lambda: lk.BaggingRegressor(n_estimators=2).fit(X, Y),
    "pipeline": lambda: Pipeline(
        [("scale", preprocess.StandardScaler()), ("model", lk.LinearRegression())]
    ).fit(X, Y),
}
"""Fitted, with inputs X to predict from (or the first column, of the frame)."""


@functools.cache
def fitted(name: str) -> Any:
    return ESTIMATORS[name]()


TRANSFORMERS: dict[str, Callable[[], Any]] = {
    "standard": lambda: preprocess.StandardScaler().fit(X),
    "robust": lambda: preprocess.RobustScaler().fit(X),
    "min-max": lambda: preprocess.MinMaxScaler(feature_range=(-1.0, 1.0)).fit(X),
    "imputer": lambda: preprocess.Imputer().fit(np.where(X > 1, np.nan, X)),
    "dates": lambda: preprocess.DateParts(cyclic=True).fit(days()),
    "one-hot": lambda: preprocess.OneHotEncoder().fit(WORDS),
    "ordinal": lambda: preprocess.OrdinalEncoder().fit(WORDS),
    "target": lambda: preprocess.TargetEncoder().fit(WORDS, Y),
    "table": lambda: preprocess.TableEncoder().fit(frame()),
    "polynomial": lambda: preprocess.PolynomialBasis(2).fit(X),
    "interactions": lambda: preprocess.Interactions([(0, 1)]).fit(X),
    "fourier": lambda: preprocess.FourierBasis(2).fit(X),
    "natural spline": lambda: preprocess.NaturalSpline(4).fit(X),
    "to pandas": lambda: (
        preprocess.StandardScaler()
        .set_output(transform="pandas")
        .fit(frame()[["size"]])
    ),
}


def latent_model():
    encoder = Encoder(None, Chain(Dense(2, 2, key=jax.random.key(0))))
    decoder = Decoder(Chain(Dense(1, 2, key=jax.random.key(1))), None)
    return LatentModel(encoder, decoder, jnp.zeros(2), jnp.ones(1))


def generated_scores():
    rows = np.random.default_rng(0).normal(size=(3, 12, 2))
    return [
        evaluate.frechet_distance(rows[0], rows[1]),
        evaluate.held_out_likelihood(rows[0, :, 0], 2),
        evaluate.memorization_test(*rows, n_permutations=9),
        evaluate.support_scores(rows[0], rows[1], n_neighbors=2),
        evaluate.closest_records(*rows),
        evaluate.mmd_test(rows[0], rows[1], n_permutations=9),
        evaluate.table_distances(rows[0], rows[1]),
    ]


OBJECTS: dict[str, Callable[[], Any]] = {
    "null models": lambda: [
        lk.NullRegressor("gamma").fit(X, np.abs(Y)),
        lk.NullClassifier().fit(X, LABELS),
        lk.LogTarget(lk.NullRegressor()).fit(X, np.abs(Y)),
        lk.CountTarget(lk.NullRegressor()).fit(X, np.round(np.abs(Y))),
        lk.BoundedTarget(lk.NullRegressor("gamma")).fit(X, np.abs(Y)),
        lk.HurdleTarget(lk.NullClassifier(), lk.NullRegressor("gamma")).fit(
            X, np.maximum(Y, 0.0)
        ),
        lk.SmoothedClassifier(lk.KNeighborsClassifier(3)).fit(X, LABELS),
    ],
    "cascade": lambda: HaarCascade(
        (4, 4),
        np.array([[[0, 0, 4, 4], [0, 0, 4, 2], [0, 0, 4, 2]]]),
        np.array([[1.0, -2.0, 0.0]]),
        np.zeros(1),
        np.array([[-1.0, 1.0]]),
        np.array([0, 1]),
        np.array([[0.1, 0.0]]),
        np.ones(1),
        np.zeros(1),
    ),
    "compound distributions": lambda: [
        families.Stretched(_predictive(), 1.5),
        families.Recalibrated(
            _predictive(), np.array([0.0, 0.5, 1.0]), np.array([0.4, 0.6])
        ),
        families.Exponentiated(_predictive()),
        families.Hurdled(_predictive(), np.full(len(_predictive()), 0.3)),
        families.Mixed([_predictive(), _predictive()], np.array([0.5, 0.5])),
    ],
    "scores": lambda: [
        evaluate.mean_score(Y),
        evaluate.kaplan_meier([1.0, 2.0, 3.0], [1, 0, 1]),
        evaluate.reliability_of_events(Y > 0, np.full(20, 0.4)),
        evaluate.uniformity(np.linspace(0, 1, 20)),
        evaluate.event_error(Y > 0, np.full(20, 0.4)),
        evaluate.corrected_t_test(Y[:5], Y[5:10]),
        evaluate.auc_interval(Y > 0, Y),
        evaluate.cost_curve(Y > 0, np.linspace(0, 1, 20), COST),
        evaluate.decision_cost(Y > 0, np.full((20, 2), 0.5), COST),
        evaluate.platt([0, 1, 1], np.log([[0.5, 0.5], [0.2, 0.8], [0.6, 0.4]])),
        evaluate.isotonic([0, 1, 1], [[0.5, 0.5], [0.2, 0.8], [0.6, 0.4]]),
    ],
    "networks": lambda: [fitted("network"), lk.MLPClassifier((3,))],
    "network of categories, with its last layer": lambda: lk.MLPRegressor(
        (3,), max_iter=2000, alpha=1.0, laplace=True
    ).fit(frame(), Y),
    "networks of images": lambda: [
        lk.CNNClassifier((2,), augment=layers.Augmentation(shift=0.1, flip=0.5)),
        lk.CNNRegressor(),
        lk.ResNetClassifier(network=models.resnet8()),
        lk.UNetSegmenter(),
    ],
    "few labels": lambda: [
        lk.PseudoLabels(lk.GaussianNB(), 0.9).fit(
            X, np.where(X[:, 0] > 1, -1, 1 * (Y > 0))
        ),
        lk.ConsistencyTraining(lk.MLPClassifier((3,)), strong=layers.ColumnNoise(0.1)),
        lk.AutoencoderFeatures(2, (3,), max_iter=2).fit(X),
        lk.MaskedPretraining(lk.MLPClassifier((3,), trainable=layers.LowRank(2))),
        Regime.of(("low_rank", 4)),
        layers.Adapted(
            Dense(2, 3, key=jax.random.key(0)),
            layers.Adapter(3, 1, key=jax.random.key(1)),
        ),
    ],
    "networks of sequences": lambda: [
        lk.SequenceClassifier("gru"),
        lk.SequenceRegressor("transformer", n_layers=2),
        lk.SequenceTagger(),
        lk.VisionTransformerClassifier(patch=4),
        lk.Forecaster(2, architecture="linear").fit(Y),
        SequenceNetwork("gru", 2, vocabulary=3).build((4, 2), 2, key=jax.random.key(0)),
        SequenceNetwork("rnn", 2, each=True).build((4, 2), 2, key=jax.random.key(1)),
        SequenceNetwork("transformer", 4, n_heads=2).build(
            (4, 2), 2, key=jax.random.key(2)
        ),
        SequenceNetwork("lstm", 2, dropout=0.1),
        PatchNetwork(4, 1, 2),
    ],
    "spec": lambda: lk.workbench.Spec(data="iris", kinds={"a": "code"}),
    "table model": _table_model,
    "svc": lambda: lk.SVC(probability=True).fit(X, LABELS),
    "svc, three classes": lambda: lk.SVC(probability=True).fit(X, np.arange(20) % 3),
    "svr": lambda: lk.SVR(probability=True).fit(X, Y),
    "linear svc": lambda: lk.LinearSVC(probability=True).fit(X, LABELS),
    "neighbours": lambda: lk.KNeighborsClassifier().fit(X, LABELS),
    "neighbours, numbers": lambda: lk.KNeighborsRegressor().fit(X, Y),
    "naive bayes": lambda: lk.GaussianNB().fit(X, LABELS),
    "nystroem": lambda: lk.Nystroem(n_components=4).fit(X),
    "frozen features": lambda: lk.estimators.FrozenFeatures(network()),
    "ensemble": lambda: lk.Ensemble([lk.SVR(), lk.KNeighborsRegressor()]).fit(X, Y),
    "stacking": lambda: lk.Stacking([lk.GaussianNB(), lk.KNeighborsClassifier()]).fit(
        X, LABELS
    ),
    "searches": lambda: [
        lk.RandomSearch(
            lk.KNeighborsRegressor(),
            {"n_neighbors": stats.randint(1, 5), "weights": ["uniform"]},
            n_iter=2,
            cv=model_selection.KFold(2, shuffle=True, random_state=0),
        ).fit(X, Y),
        lk.GridSearch(lk.GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, cv=2).fit(
            X, LABELS
        ),
        lk.SuccessiveHalving(lk.Ridge(), {"alpha": stats.loguniform(1e-3, b=10.0)}),
        lk.OptunaSearch(lk.Ridge(), {"alpha": [1.0]}, storage="sqlite:///trials.db"),
    ],
    "nested cross-validation": lambda: NestedCrossValidation(
        np.ones(2), np.ones(2), [{"alpha": 0.1}, {"alpha": 1.0}], 0.5
    ),
    "trial": lambda: Trial(0, {"alpha": 1.0}, (0.5, 0.25)),
    "folds of scikit-learn": lambda: [
        model_selection.GroupKFold(2),
        model_selection.ShuffleSplit(3, random_state=0),
        model_selection.StratifiedGroupKFold(2),
        model_selection.StratifiedKFold(2),
        model_selection.TimeSeriesSplit(3, gap=1),
    ],
    "recalibrated classes": lambda: lk.RecalibratedClassifier(
        lk.GaussianNB(), method="isotonic", cv=2
    ).fit(X, LABELS),
    "recalibrated numbers": lambda: lk.RecalibratedRegressor(lk.SVR(), cv=2).fit(X, Y),
    "conformal sets": lambda: lk.ConformalClassifier(lk.GaussianNB(), cv=2).fit(
        X, LABELS
    ),
    "conformal intervals": lambda: [
        lk.ConformalRegressor(lk.Ridge(), method="jackknife+").fit(X, Y),
        lk.ConformalRegressor(lk.SVR(), method="cross", cv=2).fit(X, Y),
    ],
    "mixing": lambda: mixing_weights(np.log([[0.2, 0.4], [0.5, 0.3]])),
    "hyperplane": lambda: Hyperplane(np.ones(2), 1.0),
    "kernel": lambda: Kernel("rbf", 0.5),
    "definiteness": lambda: definiteness(np.eye(2)),
    "dual": lambda: Dual(Kernel("linear")),
    "found": lambda: Dual(Kernel("rbf")).classify(X, np.sign(Y), np.ones(20)),
    "plane": lambda: plane(X, np.sign(Y), np.ones(20)),
    "ridge": lambda: lk.Ridge(alpha=3.0),
    "linear regression": lambda: lk.LinearRegression(),
    "logistic regression": lambda: lk.LogisticRegression(C=2.0),
    "lasso": lambda: lk.Lasso(0.1),
    "elastic net estimator": lambda: lk.ElasticNet(0.1, l1_ratio=0.2),
    "huber regressor": lambda: lk.HuberRegressor(),
    "median regressor": lambda: lk.LADRegressor(),
    "poisson regressor": lambda: lk.PoissonRegressor(),
    "negative binomial regressor": lambda: lk.NegativeBinomialRegressor(),
    "gamma regressor": lambda: lk.GammaRegressor(),
    "perceptron": lambda: lk.Perceptron(),
    "spline regressor": lambda: lk.SplineRegressor(),
    "pipeline": lambda: Pipeline([("model", lk.Ridge())], memory=None),
    "learner with dispersion": lambda: DispersedLearner(
        families.Gamma(), families.Gamma(1.0), "concentration", solvers.Newton(), True
    ),
    "learner of lassos": lambda: ElasticNetLearner(
        families.Normal(), solvers.CoordinateDescent(), True
    ),
    "learner of medians": lambda: AbsoluteLearner(True),
    "firth learner": lambda: FirthLearner(True),
    "spread": lambda: Spread(
        np.ones(2), np.ones(2), np.eye(2), np.ones(2), *np.zeros((5, 1))
    ),
    "perceptron learner": lambda: PerceptronLearner(3, True),
    "spline learner": lambda: SplineLearner(
        *penalties([np.linspace(0.0, 1.0, 5)]), "reml", n_curves=1, width=3
    ),
    "formula": lambda: Formula(
        "y ~ center(x) + C(town)",
        ["x", "town"],
        "days",
        None,
        {"center(x)": {"center": 0.5, "scale": 1.0}},
        {"C(town)": ["ems", "ulm"]},
    ),
    "spline fit": lambda: SplineFit(
        to_numpy(models.Linear.zeros(3)), np.zeros(()), ONES, np.ones(()), np.eye(4)
    ),
    "offset": lambda: models.Offset(models.Linear.zeros(3)),
    "estimate": lambda: ESTIMATE,
    "summary": lambda: inference.Summary("a title", ("a", "b"), ESTIMATE),
    "test result": lambda: inference.TestResult(2.0, (3.0,), 0.1, "t test"),
    "correlation": lambda: inference.Correlation(0.5, 0.1, (0.2, 0.7), 1.5),
    "partial effect": lambda: lk.estimators.PartialEffect(ONES, ONES, ONES, ONES),
    "nats": lambda: lk.estimators.NatsDifference(0.1, 0.01, 0.2),
    "operating points": lambda: evaluate.OperatingPoints(ONES, ONES, ONES, ONES),
    "roc curve": lambda: evaluate.RocCurve(ONES, ONES, ONES),
    "patience": lambda: Patience(np.array(5), every=2),
    "trees": lambda: [
        lk.DecisionTreeClassifier(),
        lk.DecisionTreeRegressor(criterion=families.Poisson()),
        lk.RandomForestClassifier(),
        lk.RandomForestRegressor(),
        lk.GradientBoostingClassifier(),
        lk.GradientBoostingRegressor(families.Normal()),
        lk.BaggingClassifier(lk.LogisticRegression()),
        lk.BaggingRegressor(),
    ],
    "flat trees": lambda: Trees.of(
        Bins(np.full((1, 255), np.inf), np.ones(1, int), np.zeros(1, bool)),
        [grown()],
        np.zeros(1),
    ),
    "grown": lambda: grown(),
    "held-out nats": lambda: lk.latent.HeldOutNats(
        np.arange(3), *np.ones((4, 3)), best=1
    ),
    "importance": lambda: Importance(np.ones(3), np.ones(3), np.ones((3, 2))),
    "dependence": lambda: PartialDependence(np.ones(3), np.ones(3), np.ones((2, 3))),
    "learner of numbers": lambda: NormalLinearLearner(penalised=True, intercept=False),
    "standardised learner": lambda: StandardisedLearner(
        NormalLinearLearner(penalised=True, intercept=True), Standardisation(ONES, ONES)
    ),
    "learner of classes": lambda: LinearLearner(
        families.Categorical(3), solvers.Newton(), True
    ),
    "learner of levels": lambda: SharedLearner(
        families.CumulativeLogit(3), solvers.Newton()
    ),
    "every public estimator": lambda: [
        entry.make()
        for name, entry in PUBLIC.items()
        if entry.kind != "columns" or name in LATENT
    ],
    "rounded learner": lambda: RoundedLearner(
        families.Categorical(3), NormalLinearLearner(penalised=False, intercept=True)
    ),
    "normal linear": lambda: to_numpy(
        NormalLinear(models.Linear.zeros(3), jnp.zeros(()), jnp.array(False))
    ),
    "fit of layers": network_fit,
    "fit, in NumPy": lambda: to_numpy(
        Fit(families.Normal(1.0), solution(models.Linear.zeros(3)))
    ),
    "cross-validation": lambda: CrossValidation(
        [{"alpha": 0.1}, {"alpha": 1.0}],
        np.ones((2, 3)),
        models.Linear.zeros(3).with_coefficients(jnp.ones((4, 1))),
    ),
    "predictive": lambda: families.Predictive(families.Normal(), np.ones((4, 2))),
    "predictive, classes": lambda: families.Predictive(
        families.Bernoulli(), np.ones((4, 1)), np.array(["no", "yes"])
    ),
    "empirical": lambda: families.Empirical(Y),
    "batch": lambda: BATCH,
    "data set": lambda: Dataset(X, Y, ("a", "b", "c"), truth={"w": [1.0, -2.0, 0.5]}),
    "schema": lambda: Schema.infer(frame()),
    "chain": lambda: Chain(Dense(3, 2, key=jax.random.key(0)), BatchNorm(2), jnp.tanh),
    "running": lambda: BatchNorm(2).initial_state(),
    "activations": lambda: Chain(
        *[layers.activation(name, 3) for name in layers.ACTIVATIONS]
    ),
    "initialisers": lambda: tuple(
        layers.initializer(name) for name in layers.INITIALIZERS
    ),
    "settings of networks of images": lambda: (
        models.lenet(),
        models.resnet8(zero=True),
        models.UNet([2, 4], norm="group"),
    ),
    "network of images": lambda: models.CNN([2], hidden=[3], norm="group").build(
        (4, 4, 1), 2, key=jax.random.key(0)
    ),
    "network told a time": lambda: models.timed(
        models.UNet((2, 3), condition=4), (4, 4, 1), 1, key=jax.random.key(0)
    ),
    "upsampling and unpooling": lambda: Chain(
        layers.Upsampling(2, kind="bilinear"),
        layers.Unpooling(layers.GroupNorm(2, 1), layers.Pooling()),
    ),
    "layers of sequences": lambda: (
        layers.Recurrent("gru", 2, 3, bidirectional=True, key=jax.random.key(0)),
        layers.TransformerLayer(
            4, 2, gated=True, norm="rms", reach=2, key=jax.random.key(1)
        ),
        layers.MultiHeadAttention(4, 2, key=jax.random.key(2)).cache(1, 3),
        layers.LearnedPositions(5, 4, key=jax.random.key(3)),
        layers.TokenEmbedding(6, 4, key=jax.random.key(4)),
        layers.pad_sequences([[1.0, 2.0], [3.0]]),
    ),
    "models of sequences": lambda: (
        models.Transformer(
            5,
            4,
            1,
            2,
            context=3,
            dropout=0.1,
            positions="rotary",
            key=jax.random.key(0),
        ),
        models.EncoderDecoder(5, 6, 4, 1, 2, context=3, key=jax.random.key(1)),
        models.RecurrentNetwork(5, 3, kind="gru", n_out=2, key=jax.random.key(2)),
        models.VisionTransformer((4, 4, 1), 2, 4, 1, 2, patch=2, key=jax.random.key(3)),
        models.BERT(
            models.Transformer(5, 4, 1, 2, n_types=2, n_out=0, key=jax.random.key(4)),
            Dense(4, 4, key=jax.random.key(5)),
        ),
    ),
    "language model": lambda: [
        lk.LanguageModel(2, context=8, precision="bfloat16"),
        NextToken(
            models.Transformer(
                4, 4, 1, 2, kind="decoder", context=3, key=jax.random.key(0)
            ),
            "bfloat16",
        ),
        Unscaled(),
        lk.MaskedLanguageModel(1, 2, 8),
        MaskedToken(
            {"size": 4, "n_layers": 1, "n_heads": 2, "context": 3},
            5,
            pairs=True,
            key=jax.random.key(0),
        ),
    ],
    "estimators of texts": lambda: [
        lk.TextClassifier("linear").fit(TEXTS, np.arange(24) % 2),
        lk.TextRegressor("linear").fit(TEXTS, np.arange(24.0)),
        lk.TextTagger("linear").fit(
            [text.split() for text in TEXTS], [["B-A", "O"]] * 24
        ),
        ReadText(lk.WordTokenizer().fit(TEXTS), lk.SequenceClassifier(), 9),
        ReadWords(None, lk.SequenceTagger()),
        evaluate.span_scores([["B-A", "O"]], [["B-A", "O"]]),
    ],
    "sequence to sequence": lambda: [
        lk.Seq2Seq(1, tokenizer="words", method="beam"),
        Translation(
            models.EncoderDecoder(5, 6, 4, 1, 2, context=3, key=jax.random.key(1))
        ),
        TokenLists(("a", "b")),
        TokenLists((0, 7)),
    ],
    "detectors": lambda: [
        lk.YOLODetector(anchors=2, augment=lk.BoxAugmentation(flip=0.5)),
        lk.RCNNDetector((4, 8), n_proposals=8),
        lk.FastRCNNDetector(),
        lk.FasterRCNNDetector(),
        lk.DETRDetector(size=8),
        PixelScaling(ONES[:1], ONES[:1]),
        DetectionCalibration(1.5, -0.5, ONES),
        ImageCanvas(16, 24, 3, True),
    ],
    "networks of detectors": lambda: [
        settings.build((16, 16, 1), 2, key=jax.random.key(0))
        for settings in (
            GridArchitecture(models.Backbone((2, 4), 1), 1, ((0.2, 0.3),)),
            RegionArchitecture(models.Backbone((2, 4), 1), ((0.2, 0.3),), hidden=4),
            RegionArchitecture(models.Backbone((2, 4), 1), ((0.2, 0.3),), "map"),
            DETRArchitecture(models.Backbone((2, 4), 1), 4, 8, 1, 1, 2),
        )
    ],
    "settings of the body of a detector": lambda: models.Backbone([4, 8], norm=None),
    "objective of positions": lambda: objectives.PositionLikelihood(
        objectives.NegativeLogLikelihood(
            families.Categorical(3), None, Normalisation(jnp.ones(()), jnp.ones(()))
        )
    ),
    "settings of a network": lambda: models.MLP(
        [8, 4], activation=["leaky_relu", 0.2], norm="layer", init=["gaussian", 0.1]
    ),
    "residual network, bfloat16": lambda: models.mlp(
        (3, 4, 4, 5, 2),
        norm="layer",
        dropout=0.1,
        residual="zero",
        dtype="bfloat16",
        key=jax.random.key(0),
    ),
    "null": lambda: models.Null(jnp.zeros(2)),
    "shared": lambda: models.Shared(models.Linear.zeros(3, 1), jnp.zeros(1)),
    "least squares fit": lambda: LeastSquaresFit(ONES[:, None], np.array(True)),
    "regression": lambda: Regression(
        *[ONES[:, None]] * 2, *[ONES[:1]] * 2, np.eye(3), np.array(False)
    ),
    "curve": lambda: Curve({"a": jnp.ones(2)}, jax.nn.softplus),
    "curve fit": lambda: CurveFit(ONES, ONES, np.array(1.0), solution(ONES)),
    "sum of squares": lambda: SumOfSquares(),
    "function": lambda: Function(jnp.square),
    "Bayesian network and its parts": lambda: [
        lk.BayesianNetwork([("kind", "size")]).fit(frame()),
        lk.DirectedGraph.of([("a", "b")]),
        lk.LinearNormal("x", {"y": 2.0}, 1.0),
    ],
    "bijections": lambda: [
        layers.ActNorm.identity(2),
        layers.LULinear((1, 0)),
        layers.Permutation((1, 0)),
        layers.Composed(
            layers.PixelLogit(4),
            layers.Squeeze(),
            layers.Factored(layers.FlatRows((2, 2, 2)), (2, 2, 4)),
        ),
        layers.Whitening(jnp.zeros(2), jnp.eye(2)),
    ],
    "flow": lambda: models.TableFlow(hidden=2, n_layers=1, base="student").build(
        2, 0, key=jax.random.key(0)
    ),
    "players of a game, and their solver": lambda: [
        players(),
        lk.GAN(8, (16,), loss="wasserstein"),
        Regions(np.array([12, 8]), np.array([20, 0])),
        solvers.Alternating(solvers.Adam(), solvers.Adam(0.5), turns=2),
        objectives.AdversarialLoss(
            None, Normalisation(jnp.ones(()), jnp.ones(())), "wasserstein", ONES[0]
        ),
    ],
    "diffusion models and their parts": lambda: [
        lk.Diffusion("mlp", n_steps=50, target="v"),
        DenoisingErrors(np.arange(2), np.zeros((2, 3))),
        ImageCells(PixelCode((2, 2, 1), (2, 2), 4, 1.0, "float64")),
        TableCells(preprocess.TableCodec.fit(frame())),
        *(diffuser(kind, row) for kind, row in DENOISED.items()),
        objectives.DenoisingLoss(None, Normalisation(jnp.ones(()), jnp.ones(()))),
    ],
    "autoencoders and their parts": lambda: [
        lk.Autoencoder(2, sparsity=0.1),
        lk.generative.LinearCode([[1.0, 0.0]], [[1.0], [1.0]]),
        lk.generative.LinearGaussianVAE([[1.0], [0.5]], [1.0, 2.0]),
        Shaped((2, 3)),
        Cropped(2, 2),
        UnscaledRows(),
        Given.fit(["a", "b", "a"]),
        TableCoding(preprocess.TableCodec.fit(frame())),
        ArrayCoding(
            (2,), (2,), families.Normal(), *(np.ones(2),) * 2, (np.zeros(()),) * 2, "f8"
        ),
        latent_model(),
    ],
    "scores of generated rows": generated_scores,
    "two solvers, one after the other": lambda: Staged(
        solvers.LBFGS(), solvers.Newton()
    ),
    "settings of flows": lambda: [models.TableFlow(), models.ImageFlow()],
    "flow of a mixed table": lambda: MixedTableFlow(
        masked_density(),
        models.TableFlow("autoregressive", "affine", 1, hidden=2).build(
            2, 0, key=jax.random.key(0)
        ),
        (True, True, False, False),
    ),
    "flow of images": lambda: PixelFlow(
        models.Flow(
            None,
            layers.SequentialAutoregressive(
                block_network(), layers.RationalQuadratic(2), 2
            ),
            models.StandardNormal(),
        ),
        4,
    ),
    "masked table": lambda: MaskedTable(masked_density(), True),
    "transformer of images": lambda: [
        BlockTransformer(block_network(), PixelCells(4, 2)),
        PixelCode((2, 2, 1), (2, 2), 4, 1.0, "uint8"),
    ],
    "likelihood of densities": lambda: objectives.DensityLikelihood(
        None, Normalisation.of(BATCH)
    ),
    "circuit": lambda: lk.SumProductNetwork(min_rows=3).fit(frame()),
    "Boltzmann machine": lambda: lk.RestrictedBoltzmannMachine(2).fit(X > 0),
    "Hopfield networks": lambda: [
        lk.HopfieldNetwork().fit(X),
        lk.HopfieldNetwork("hebbian").fit(X > 0),
    ],
    "principal coordinates": lambda: Coordinates(
        np.eye(3)[:, :2], ONES[:2], ONES, ONES, 3.0
    ),
    "moments": lambda: Moments(jnp.array(2.0), jnp.zeros(3), jnp.ones(3)),
    "stationary point": lambda: StationaryPoint(ONES, ONES, np.eye(3), 1e-6),
    "forecast": lambda: step_forecast(lambda x: x @ x, jnp.ones(2), 0.1),
    "Chinese restaurant": lambda: lk.ChineseRestaurant(2.0),
    "Indian buffet": lambda: lk.IndianBuffet(2.0),
    "gap statistic": lambda: lk.GapStatistic(2, ONES, ONES, ONES, ONES),
    "folds": lambda: Folds(np.ones((2, 3)), np.zeros((2, 3))),
    "split": lambda: Split(*np.eye(3)),
    "minibatches": lambda: Minibatches.of(20, 8),
    "lasso path": lambda: solvers.LassoPath(
        ONES, np.ones((3, 2)), ONES, ONES, np.ones(3, int), solution(ONES).status
    ),
    "likelihood": lambda: objectives.NegativeLogLikelihood.of(
        families.Poisson(),
        BATCH._replace(y=np.round(np.abs(BATCH.y))),
        objectives.GaussianPrior(1.0),
    ),
    "hinge": lambda: objectives.SurrogateLoss.of(objectives.hinge, BATCH),
    "rows": lambda: Normalisation.of(BATCH),
    "elastic net": lambda: objectives.ElasticNetPrior(1.0, 0.3),
    "laplace prior": lambda: objectives.LaplacePrior(1.0, on="all"),
    "norm prior": lambda: objectives.NormPrior(),
    "blended": lambda: objectives.Blending(plain_likelihood())(
        plain_likelihood(), jnp.asarray(0.5)
    ),
    "blending": lambda: objectives.Blending(plain_likelihood()),
    "losses of rows": lambda: objectives.RowLosses(
        plain_likelihood(), models.Linear.zeros(2)
    ),
    "smoothed": lambda: objectives.Smoothing(2)(plain_likelihood(), jnp.asarray(0.5)),
    **{f"family: {name}": example.make for name, example in FAMILIES.items()},
}


def masked_density() -> MaskedDensity:
    columns = CodedColumns(("number", "category"), (0, 2), np.zeros(2), np.ones(2), 1)
    network = models.MaskedMLP(
        columns.input_variables,
        columns.output_variables,
        2,
        1,
        key=jax.random.key(0),
    )
    whitening = layers.Whitening(jnp.zeros(2), jnp.eye(2))
    start = ColumnStart(jnp.zeros(1), jnp.zeros(1), (jnp.zeros(2),))
    return MaskedDensity(columns, network, LinearConditionals(whitening, (0, 1)), start)


DENOISED = {"mlp": (2,), "transformer": (2,), "unet": (4, 4, 1)}
"""Denoisers, and the shapes of rows."""


def diffuser(kind: str, row: tuple[int, ...]) -> Diffuser:
    sizes = (2, 1, 1) if kind == "transformer" else (2,)
    settings = DenoiserSettings(kind, sizes, 1)
    network = settings.build(row, 0, key=jax.random.key(0))
    levels = Levels(jnp.zeros((*row, 2)), jnp.zeros((*row, 2)), jnp.zeros(row))
    units = Units(jnp.zeros(row), jnp.ones(row), levels)
    return Diffuser(network, lk.NoiseSchedule("linear", 10), "residual", units)


def players() -> solvers.Players:
    coder, head = DenseCoder((2,)), PointHead(bounded=False, levels=((0, 2),))
    one, two = jax.random.split(jax.random.key(0))
    return solvers.Players(
        Critic(coder.encoder((2,), 0, 1, one), (2,)),
        RowGenerator(coder.decoder(3, 2, (2,), two), head, (2,), 3),
    )


def block_network() -> models.BlockNetwork:
    return models.BlockNetwork(
        blocks=2,
        block=2,
        width=1,
        n_outputs=5,
        n_given=0,
        size=2,
        n_layers=1,
        n_heads=1,
        hidden=2,
        key=jax.random.key(0),
    )


def plain_likelihood() -> objectives.NegativeLogLikelihood:
    return objectives.NegativeLogLikelihood.of(families.Normal(1.0), BATCH)


SOLVERS: dict[str, Callable[[], Any]] = {
    "adagrad": lambda: solvers.AdaGrad(0.1),
    "adam": lambda: solvers.Adam(solvers.WarmUp(100, solvers.Cosine(1e-3, 2000))),
    "adamw": lambda: solvers.AdamW(solvers.StepDecay(0.1, 10, 0.5)),
    "bfgs": lambda: BFGS(),
    "block": lambda: solvers.BlockCoordinate(),
    "coordinate": lambda: solvers.CoordinateDescent(),
    "descent": lambda: solvers.GradientDescent(solvers.ExponentialDecay(0.1, 0.5)),
    "genetic": lambda: solvers.Genetic(),
    "lagrange": lambda: LagrangeNewton(jnp.square),
    "lbfgs": lambda: solvers.LBFGS(),
    "least squares": lambda: solvers.LeastSquares(),
    "levenberg": lambda: LevenbergMarquardt(),
    "momentum": lambda: solvers.Momentum(solvers.InverseTime(0.1)),
    "nesterov": lambda: solvers.Nesterov(
        0.1, clip=(solvers.ClipByNorm(1.0), solvers.ClipByValue(2.0)), batch_size=8
    ),
    "newton": lambda: solvers.Newton(),
    "proximal": lambda: solvers.ProximalGradient(),
    "rmsprop": lambda: solvers.RMSprop(solvers.ReduceOnPlateau(0.1)),
    "steepest": lambda: SteepestDescent(),
    "stops": lambda: solvers.Adam(
        stop=(
            solvers.ParameterChange(),
            solvers.GradientNorm(1e-3),
            solvers.RelativeLoss(patience=3),
        ),
        validation=solvers.Validation(BATCH),
        average=solvers.ExponentialAverage(0.9),
        noise=solvers.Noise(inputs=0.1, flips=0.2, classes=3),
    ),
    "averaged": lambda: solvers.Adam(average=solvers.UniformAverage(10)),
    "curriculum": lambda: solvers.Adam(
        sampling=solvers.Curriculum(np.arange(3.0), steps=9),
        continuation=solvers.Continuation(objectives.Smoothing(), (0.5, 0.0), 9),
    ),
    "drawn": lambda: solvers.Adam(
        sampling=solvers.RowWeights(jnp.square, np.arange(3.0)), batch_size=2
    ),
    "whitened": lambda: solvers.Whitened(solvers.LBFGS()),
}

EXAMPLES = {
    **{f"transformer: {name}": make for name, make in TRANSFORMERS.items()},
    **{f"solver: {name}": make for name, make in SOLVERS.items()},
    **OBJECTS,
}
"""Every class of the table, quickly."""
