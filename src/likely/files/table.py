"""Which classes and functions a file may name, and where they are.

The table is the only way from a name in a file to code: a name that is not here is
refused, and nothing is ever imported by a name that a file gives. The rooms above this
one stand here as text, so that this room imports none of them; they are imported when a
file that names them is loaded.

A new class that people may want to keep is one word here; one that is not meant to be
kept is one line in `UNSAVED`. A name is never removed while files of its version exist.
"""

import importlib
from functools import cache
from typing import Any

PLACES = {
    "likely.typing": "Batch Solution Status Trace",
    "likely.core.linalg": "LeastSquaresFit Regression",
    "likely.core.moments": "Moments",
    "likely.recipe": "Fit",
    "likely.data.dataset": "Dataset",
    "likely.data.schema": "Column Schema",
    "likely.families.bernoulli": "Bernoulli",
    "likely.families.binomial": "Binomial",
    "likely.families.categorical": "Categorical",
    "likely.families.compound": "Exponentiated Mixed Stretched",
    "likely.families.empirical": "Empirical",
    "likely.families.exponential": "Exponential",
    "likely.families.gamma": "Gamma",
    "likely.families.geometric": "Geometric",
    "likely.families.huber": "Huber",
    "likely.families.laplace": "Laplace",
    "likely.families.mixture": "Mixture",
    "likely.families.multinomial": "Multinomial",
    "likely.families.multivariate_normal": "MultivariateNormal",
    "likely.families.negative_binomial": "NegativeBinomial",
    "likely.families.normal": "Normal",
    "likely.families.poisson": "Poisson",
    "likely.families.predictive": "Predictive",
    "likely.families.product": "Product",
    "likely.families.student": "StudentT",
    "likely.layers.units.activations": "ELU GELU Heaviside LeakyReLU PReLU "
    "PolynomialActivation Sigmoid",
    "likely.layers.augmentation.augmentation": "Augmentation",
    "likely.layers.norms.batch_norm": "BatchNorm Running",
    "likely.layers.composition.chain": "Chain Pointwise",
    "likely.layers.composition.concatenated": "Concatenated",
    "likely.layers.composition.condition": "Conditional Shifted Sinusoids",
    "likely.layers.convolution.convolution": "Convolution",
    "likely.layers.units.dense": "Dense",
    "likely.layers.units.dropout": "Dropout",
    "likely.layers.composition.flatten": "Flatten",
    "likely.layers.norms.group_norm": "GroupNorm",
    "likely.layers.units.initializers": "GaussianInit HeInit UniformInit XavierInit ZeroInit",
    "likely.layers.norms.layer_norm": "LayerNorm",
    "likely.layers.composition.mixed_precision": "MixedPrecision",
    "likely.layers.convolution.pooling": "Pooling",
    "likely.layers.composition.residual": "Residual",
    "likely.layers.embedding.table_embedding": "CategoryColumn CategoryEmbedding TableEmbedding",
    "likely.layers.convolution.transposed": "TransposedConvolution",
    "likely.layers.convolution.unpooling": "Unpooling",
    "likely.layers.convolution.upsampling": "Upsampling",
    "likely.inference.correlation": "Correlation",
    "likely.inference.estimate": "Estimate",
    "likely.inference.nested": "TestResult",
    "likely.inference.summary": "Summary",
    "likely.models.images.cnn": "CNN",
    "likely.models.linear.hyperplane": "Hyperplane",
    "likely.models.kernels.functions": "Definiteness Kernel",
    "likely.models.linear.linear": "Linear",
    "likely.models.mlp": "MLP",
    "likely.models.linear.null": "Null",
    "likely.models.linear.offset": "Offset",
    "likely.models.images.resnet": "ResNet",
    "likely.models.linear.shared": "Shared",
    "likely.models.trees.bins": "Bins",
    "likely.models.kernels.svm.machine": "Dual Found Machines",
    "likely.models.kernels.svm.primal": "Plane",
    "likely.models.kernels.svm.scaling": "PairScaling Scaling",
    "likely.models.images.unet": "UNet",
    "likely.models.trees.ensemble": "Grown Trees",
    "likely.objectives.nll": "NegativeLogLikelihood",
    "likely.objectives.positions": "PositionLikelihood",
    "likely.objectives.priors": "ElasticNetPrior GaussianPrior LaplacePrior NormPrior",
    "likely.objectives.rows": "Normalisation",
    "likely.objectives.surrogates": "SurrogateLoss",
    "likely.solvers.first_order.averaging": "ExponentialAverage UniformAverage",
    "likely.solvers.second_order.bfgs": "BFGS",
    "likely.solvers.derivative_free.block_coordinate": "BlockCoordinate",
    "likely.solvers.first_order.clipping": "ClipByNorm ClipByValue",
    "likely.solvers.penalised.coordinate": "CoordinateDescent",
    "likely.solvers.least_squares.curve": "Curve CurveFit SumOfSquares",
    "likely.solvers.second_order.descent": "Rules",
    "likely.solvers.first_order.rules": "AdaGrad Adam AdamW GradientDescent Momentum "
    "Nesterov RMSprop",
    "likely.solvers.function": "Function",
    "likely.solvers.derivative_free.genetic": "Genetic",
    "likely.solvers.second_order.lagrangian": "LagrangeNewton",
    "likely.solvers.penalised.lasso_path": "LassoPath",
    "likely.solvers.second_order.lbfgs": "LBFGS",
    "likely.solvers.least_squares.exact": "LeastSquares",
    "likely.solvers.least_squares.levenberg_marquardt": "LevenbergMarquardt",
    "likely.solvers.first_order.minibatches": "Minibatches",
    "likely.solvers.second_order.newton": "Newton",
    "likely.solvers.first_order.noise": "Noise",
    "likely.solvers.penalised.proximal": "ProximalGradient",
    "likely.solvers.first_order.schedules": "Constant Cosine ExponentialDecay InverseTime "
    "ReduceOnPlateau StepDecay WarmUp",
    "likely.solvers.second_order.stationary": "StationaryPoint StepForecast",
    "likely.solvers.second_order.steepest_descent": "SteepestDescent",
    "likely.solvers.stopping": "GradientNorm ParameterChange RelativeLoss Validation",
    "likely.solvers.second_order.whitened": "Whitened",
    "likely.evaluate.calibration": "Reliability Uniformity",
    "likely.evaluate.scores": "Score",
    "likely.evaluate.splits": "Folds Split",
    "likely.evaluate.thresholds": "OperatingPoints",
    "likely.preprocess.basis": "FourierBasis Interactions NaturalSpline "
    "PolynomialBasis",
    "likely.preprocess.date_parts": "DateParts",
    "likely.preprocess.imputer": "Imputer",
    "likely.preprocess.one_hot_encoder": "OneHotEncoder",
    "likely.preprocess.ordinal_encoder": "OrdinalEncoder",
    "likely.preprocess.scalers": "MinMaxScaler RobustScaler StandardScaler",
    "likely.preprocess.table_encoder": "TableEncoder",
    "likely.preprocess.target_encoder": "TargetEncoder",
    "likely.estimators.linear.comparison": "NatsDifference PartialEffect",
    "likely.estimators.wrappers.count_target": "CountTarget",
    "likely.estimators.linear.counts": "NegativeBinomialRegressor PoissonRegressor",
    "likely.estimators.linear.gamma": "GammaRegressor",
    "likely.estimators.linear.glm": "DispersedLearner LinearLearner",
    "likely.estimators.linear.lasso": "ElasticNet ElasticNetLearner Lasso",
    "likely.estimators.wrappers.bagging": "BaggingClassifier BaggingRegressor",
    "likely.estimators.trees.boosting": "GradientBoostingClassifier "
    "GradientBoostingRegressor",
    "likely.estimators.trees.forest": "RandomForestClassifier RandomForestRegressor",
    "likely.estimators.trees.tree": "DecisionTreeClassifier DecisionTreeRegressor",
    "likely.estimators.wrappers.frozen": "FrozenFeatures",
    "likely.estimators.linear.normal": "LinearRegression NormalLinear NormalLinearLearner "
    "Ridge",
    "likely.estimators.wrappers.log_target": "LogTarget",
    "likely.estimators.linear.null": "NullClassifier NullRegressor",
    "likely.estimators.linear.logistic": "FirthLearner LogisticRegression",
    "likely.estimators.linear.perceptron": "Perceptron PerceptronLearner",
    "likely.estimators.linear.robust": "AbsoluteLearner HuberRegressor LADRegressor",
    "likely.estimators.networks.mlp": "MLPClassifier MLPRegressor",
    "likely.estimators.images.cnn": "CNNClassifier CNNRegressor ResNetClassifier",
    "likely.estimators.images.segmentation": "UNetSegmenter",
    "likely.estimators.networks.laplace": "LastLayer",
    "likely.estimators.networks.learner": "Network NetworkLearner RowScaling",
    "likely.estimators.networks.table": "TableNetwork",
    "likely.estimators.linear.rounded": "RoundedLearner RoundedRegression",
    "likely.estimators.wrappers.smoothed": "SmoothedClassifier",
    "likely.estimators.linear.spline": "SplineFit SplineLearner SplineRegressor",
    "likely.selection.cross_validation": "CrossValidation",
    "likely.workbench.model": "TableModel",
    "likely.workbench.spec": "Spec",
    "likely.workbench.target": "Target",
    "likely.estimators.kernels.linear_svc": "LinearSVC",
    "likely.estimators.linear.naive_bayes": "GaussianNB",
    "likely.estimators.neighbors.nearest": "KNeighborsClassifier KNeighborsRegressor",
    "likely.estimators.kernels.nystroem": "Nystroem",
    "likely.estimators.kernels.svc": "SVC",
    "likely.estimators.kernels.svr": "SVR",
    "likely.selection.ensemble": "Ensemble",
    "likely.selection.mixing": "Mixing",
    "likely.selection.stacking": "Stacking",
    "likely.selection.dependence": "PartialDependence",
    "likely.selection.importance": "Importance",
    "sklearn.pipeline": "Pipeline",
}
"""A module -> those of its classes that files may hold, under their own names."""
CLASSES = {name: place for place, names in PLACES.items() for name in names.split()}

ATTRIBUTES = {
    "Empirical": ("y", "w", "_below"),
    "Exponentiated": ("base",),
    "Mixed": ("parts", "weights", "classes"),
    "Predictive": ("family", "eta", "classes"),
    "Stretched": ("base", "factor", "middle"),
}
"""What to keep of a class that is no dataclass."""

UNSAVED = {
    "likely.estimators.linear.evidence.Evidence": "holds the rows of a fit",
    "likely.inference.information.Curvature": "lives inside a program",
    "likely.objectives.firth.FirthLikelihood": "lives inside a learner",
    "likely.models.kernels.svm.smo": "lives inside the dual solver",
    "likely.autodiff": "shows how derivatives are computed: programs, not results",
    "likely.workbench.candidate": "parts of a run; `TableModel` is what is kept",
    "likely.workbench.effects": "parts of a report; `report.json` is what is kept",
    "likely.workbench.findings": "parts of a report; `report.json` is what is kept",
    "likely.workbench.held": "parts of a run, kept in files of its own",
    "likely.workbench.judge": "parts of a run",
    "likely.workbench.ladder": "parts of a run",
    "likely.workbench.result": "`report.json` and the model are what is kept",
    "likely.workbench.rungs": "how models are made, not what they are",
    "likely.workbench.simple": "parts of a report; `report.json` is what is kept",
    "likely.workbench.table": "the rows of a run",
    "likely.layers.convolution.pooling.Pooled": "lives inside a layer",
    "likely.layers.convolution.sliding.Sliding": "lives inside a layer",
    "likely.layers.composition.record": "shows what layers make: arrays, not results",
    "likely.diagnostics.anatomy": "counts what is in a model",
    "likely.diagnostics.signals": "shows what passes through a model",
    "likely.diagnostics.survey": "counts what a model makes",
    "likely.diagnostics.regions": "shows the pieces of a model: polygons, not results",
    "likely.solvers.first_order.stepper.Stepper": "lives inside a compiled loop",
    "likely.solvers.first_order.stochastic.Loop": "lives inside a compiled loop",
    "likely.solvers.training": "drives runs: callbacks, files and devices, not results",
    "likely.estimators.networks.learner.Start": "what a fit begins with",
    "likely.estimators.networks.members": "what a fit is made of",
    "likely.estimators.networks.solver": "settings of a fit",
}
"""Classes, or whole modules of them, that are not meant to be kept, and why."""

_ACTIVATIONS = """
    celu elu gelu glu hard_sigmoid hard_silu hard_tanh identity leaky_relu log_sigmoid
    log_softmax mish relu relu6 selu sigmoid silu soft_sign softmax softplus sparse_plus
    sparse_sigmoid squareplus standardize
"""
_ELEMENTWISE = "abs arctan cos exp log1p sin sinh square tanh"
_LOSSES = "hinge logistic zero_one"
FUNCTIONS = {
    **{name: "jax.nn" for name in _ACTIVATIONS.split()},
    **{name: "jax.numpy" for name in _ELEMENTWISE.split()},
    **{name: "likely.objectives.surrogates" for name in _LOSSES.split()},
}
"""The functions a saved object may hold: a name -> its module."""


@cache
def class_of(name: str) -> type:
    """The class of a name in the table."""
    return getattr(importlib.import_module(CLASSES[name]), name)


@cache
def function_of(name: str) -> Any:
    """The function of a name in the table."""
    return getattr(importlib.import_module(FUNCTIONS[name]), name)


def is_class(value: Any) -> bool:
    """Whether a value is of a class in the table (not of one that extends it)."""
    name = type(value).__name__
    return name in CLASSES and class_of(name) is type(value)


def is_function(value: Any) -> bool:
    """Whether a value is a function of the table."""
    name = getattr(value, "__name__", None)
    return callable(value) and name in FUNCTIONS and function_of(name) is value
