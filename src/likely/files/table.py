"""Which classes and functions a file may name, and where they are.

The table is the only way from a name in a file to code: a name that is not here is
refused, and nothing is ever imported by a name that a file gives. The rooms above this
one stand here as text, so that this room imports none of them; they are imported when a
file that names them is loaded.

The public classes of most rooms are read from the stubs of these rooms. Any other class
that people may want to keep is one word here; one that is not meant to be kept is one
line in `UNSAVED`. A name is never removed while files of its version exist.
"""

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import Any

PLACES = {
    "likely.typing": "Batch Solution Status Trace",
    "likely.core.linalg": "LeastSquaresFit Regression",
    "likely.core.moments": "Moments",
    "likely.recipe": "Fit",
    "likely.layers.embedding.table_embedding": "CategoryColumn CategoryEmbedding TableEmbedding",
    "likely.layers.recurrent.recurrent": "Direction",
    "likely.models.linear.hyperplane": "Hyperplane",
    "likely.models.trees.bins": "Bins",
    "likely.models.kernels.svm.machine": "Dual Found Machines",
    "likely.models.kernels.svm.primal": "Plane",
    "likely.models.kernels.svm.scaling": "PairScaling Scaling",
    "likely.models.trees.ensemble": "Grown Trees",
    "likely.objectives.rows": "Normalisation",
    "likely.solvers.second_order.descent": "Rules",
    "likely.estimators.linear.formulas.formula": "Formula",
    "likely.estimators.linear.dispersed": "DispersedLearner",
    "likely.estimators.linear.glm": "LinearLearner SharedLearner",
    "likely.estimators.linear.lasso": "ElasticNetLearner",
    "likely.estimators.linear.normal": "NormalLinear NormalLinearLearner",
    "likely.estimators.linear.logistic": "FirthLearner",
    "likely.estimators.linear.perceptron": "PerceptronLearner",
    "likely.estimators.linear.standardised": "Standardisation StandardisedLearner",
    "likely.estimators.linear.quantile": "AbsoluteLearner",
    "likely.estimators.networks.laplace": "LastLayer",
    "likely.base.training.members": "Network Patience",
    "likely.base.training.regimes": "Regime",
    "likely.generative.autoencoders.codings": "ArrayCoding TableCoding",
    "likely.generative.autoencoders.networks": "Cropped Decoder Encoder Shaped",
    "likely.generative.autoencoders.units": "ColumnUnits",
    "likely.generative.autoencoders.variational": "LatentModel",
    "likely.generative.autoregressive.any_order": "MaskedTable",
    "likely.generative.autoregressive.block_transformer": "BlockTransformer",
    "likely.generative.autoregressive.columns": "CodedColumns",
    "likely.generative.autoregressive.linear_conditionals": "LinearConditionals",
    "likely.generative.autoregressive.masked_density": "ColumnStart MaskedDensity",
    "likely.generative.autoregressive.pixel_cells": "PixelCells",
    "likely.generative.circuits.circuit": "Circuit",
    "likely.generative.circuits.leaves": "Leaf",
    "likely.generative.diffusion.bound": "DenoisingErrors",
    "likely.generative.diffusion.denoisers": "Condition MLPDenoiser PatchDenoiser UNetDenoiser",
    "likely.generative.diffusion.denoising": "Diffuser",
    "likely.generative.diffusion.levels": "Levels",
    "likely.generative.diffusion.targets": "Units",
    "likely.generative.energies.machine": "BoltzmannMachine",
    "likely.generative.energies.partition": "LogPartition",
    "likely.generative.flows.image_model": "PixelFlow",
    "likely.generative.flows.mixed_table": "MixedTableFlow",
    "likely.generative.gan.collapse": "Regions",
    "likely.generative.gan.players": "Critic PointHead RowGenerator",
    "likely.generative.pixels": "PixelCode",
    "likely.generative.point_cells": "ImageCells TableCells",
    "likely.generative.graphs.nodes": "Joint NormalNode TableNode",
    "likely.base.given": "Given",
    "likely.base.training.unsupervised": "UnscaledRows",
    "likely.preprocess.codec.column_code": "ColumnCode",
    "likely.preprocess.codec.container": "Container",
    "likely.estimators.networks.learner": "NetworkLearner RowScaling",
    "likely.estimators.networks.table": "TableNetwork",
    "likely.estimators.images.vision_transformer": "PatchNetwork",
    "likely.estimators.sequence.forecaster": "Line",
    "likely.estimators.sequence.network": (
        "PositionStates PositionValues PositionVectors PresentPositions RowVector "
        "SequenceNetwork"
    ),
    "likely.estimators.linear.rounded": "RoundedLearner",
    "likely.estimators.linear.spline": "SplineFit SplineLearner",
    "likely.estimators.linear.inference.spread": "Spread",
    "likely.text.models.learner": "Unscaled",
    "likely.text.models.masked_token": "MaskedToken",
    "likely.text.models.next_token": "NextToken",
    "likely.text.models.supervised.baseline": "LinearText",
    "likely.text.models.supervised.comparison": "Judged TextComparison",
    "likely.text.models.supervised.linear_tags": "LinearTags",
    "likely.text.models.supervised.sparse_linear": "LinearFit",
    "likely.text.models.supervised.text_predictor": "ReadText",
    "likely.text.models.supervised.text_tagger": "ReadWords",
    "likely.text.models.token_lists": "TokenLists",
    "likely.text.models.translation": "Translation",
    "likely.vision.detection.calibration": "DetectionCalibration",
    "likely.vision.detection.images": "ImageCanvas",
    "likely.vision.detection.networks.detr": "DETRNetwork",
    "likely.vision.detection.networks.grid": "GridNetwork",
    "likely.vision.detection.networks.proposals": (
        "ProposalChoice ProposalNetwork WindowProposals"
    ),
    "likely.vision.detection.networks.regions": "RegionNetwork",
    "likely.vision.detection.problem": "PixelScaling",
    "likely.selection.conformal.refits": "LoopRefits ProgramRefits",
    "likely.workbench.target": "Target",
    "likely.workbench.unseen": "KnownLevels",
    "likely.latent.manifolds.coordinates": "Coordinates",
    "sklearn.model_selection._split": (
        "GroupKFold KFold ShuffleSplit StratifiedGroupKFold StratifiedKFold TimeSeriesSplit"
    ),
    "sklearn.pipeline": "Pipeline",
}
"""A module -> those of its classes that files may hold, under their own names."""

_FOLDS = ("n_splits", "shuffle", "random_state")
ATTRIBUTES = {
    "Empirical": ("y", "w", "_below"),
    "Exponentiated": ("base",),
    "GroupKFold": _FOLDS,
    "Hurdled": ("base", "zero"),
    "KFold": _FOLDS,
    "Mixed": ("parts", "weights", "classes"),
    "Predictive": ("family", "eta", "classes"),
    "Recalibrated": ("base", "levels", "shares"),
    "ShuffleSplit": (
        *("n_splits", "test_size", "train_size", "random_state", "_default_test_size"),
    ),
    "StratifiedGroupKFold": _FOLDS,
    "StratifiedKFold": _FOLDS,
    "Stretched": ("base", "factor", "middle"),
    "TimeSeriesSplit": (*_FOLDS, "max_train_size", "test_size", "gap"),
}
"""What to keep of a class that is no dataclass."""

UNSAVED = {
    "likely.data.corpora": "made by functions of a seed",
    "likely.data.table_file.TableFile": "is a file already",
    "likely.families.compound.AnyPredictive": "is a name for several classes",
    "likely.estimators.linear.inference.evidence.Evidence": "holds the rows of a fit",
    "likely.estimators.linear.smoothing": "lives inside a program",
    "likely.inference.information.Curvature": "lives inside a program",
    "likely.inference.evidence": "answers; models of priors are their few numbers",
    "likely.inference.mcmc": "draws: arrays with names, which are what to keep",
    "likely.inference.variational": "answers: a mean and a covariance are what to keep",
    "likely.selection.posterior": "holds the rows of a fit; its draws are arrays",
    "likely.selection.posterior_average": "its `ensemble` is what is kept",
    "likely.selection.posterior_linear": "holds the rows of a fit",
    "likely.selection.posterior_network": "holds the rows of a fit",
    "likely.selection.scoring": "predictions that are being judged",
    "likely.objectives.next_token.NextTokenLikelihood": "lives inside a learner",
    "likely.text.models.next_token.Ensemble": "made of the networks, which are kept",
    "likely.text.models.learner.TokenLearner": "holds the tokens of a fit",
    "likely.text.models.masked_token.MaskedLikelihood": "lives inside a learner",
    "likely.text.models.masking": "the tokens of a fit",
    "likely.text.models.random_windows": "the tokens of a fit",
    "likely.text.models.supervised.sentences": "the texts of a fit",
    "likely.text.models.supervised.sparse_linear.SparseRows": "the rows of a fit",
    "likely.text.models.supervised.text_predictor.TextRows": "the texts of a fit",
    "likely.text.models.supervised.text_tagger.TaggedRows": "the texts of a fit",
    "likely.text.models.decoding": "made of the networks, which are kept",
    "likely.text.models.pairs": "the texts of a fit",
    "likely.text.models.random_pairs": "the texts of a fit",
    "likely.text.models.translation.Translators": "made of networks, which are kept",
    "likely.generative.autoregressive.any_order.MaskedTableProblem": "settings of a fit",
    "likely.generative.autoregressive.image_problem": "settings of a fit",
    "likely.generative.defended": "lives inside a learner",
    "likely.generative.flows.image_model.ImageFlowProblem": "settings of a fit",
    "likely.generative.flows.mixed_table.TableFlowProblem": "settings of a fit",
    "likely.generative.circuits.circuit.ProductNode": "a part of a circuit, which is kept",
    "likely.generative.circuits.circuit.SumNode": "a part of a circuit, which is kept",
    "likely.generative.circuits.learning": "how a circuit is grown",
    "likely.generative.energies.capacity": "numbers of an experiment",
    "likely.generative.energies.divergence": "lives inside a training",
    "likely.generative.graphs.equivalence": "what follows from a graph",
    "likely.generative.graphs.mixture_answer": "an answer of a network, which is kept",
    "likely.generative.graphs.scores": "holds the rows of a fit",
    "likely.generative.diffusion.denoising.DiffusionProblem": "settings of a fit",
    "likely.generative.diffusion.denoisers.DenoiserSettings": "settings of a fit",
    "likely.generative.diffusion.reverse": "lives inside a draw",
    "likely.generative.gan.players.GANProblem": "settings of a fit",
    "likely.diagnostics.batch_norm": "numbers of an experiment; `to_frame` keeps them",
    "likely.diagnostics.checks": "what is said about a model; `to_frame` keeps it",
    "likely.diagnostics.curriculum_study": "numbers of an experiment; `to_frame` keeps them",
    "likely.diagnostics.dynamics": "numbers of an experiment; `to_frame` keeps them",
    "likely.diagnostics.generators": "numbers of an experiment; `to_frame` keeps them",
    "likely.diagnostics.implicit": "numbers of an experiment; `to_frame` keeps them",
    "likely.diagnostics.rates": "numbers of an experiment; `to_frame` keeps them",
    "likely.workbench.detection": "a run, which its folder keeps",
    "likely.diagnostics.expressivity": "numbers of an experiment; `to_frame` keeps them",
    "likely.diagnostics.generalization": "numbers of an experiment; `to_frame` keeps them",
    "likely.diagnostics.influence": "holds the rows of a fit; `to_frame` keeps numbers",
    "likely.diagnostics.landscape": "numbers of an experiment; `to_frame` keeps them",
    "likely.diagnostics.piecewise": "a network that is kept, in another form",
    "likely.diagnostics.propagation": "numbers of an experiment; `to_frame` keeps them",
    "likely.diagnostics.rows": "what is said about rows; `to_frame` keeps it",
    "likely.objectives.firth.FirthLikelihood": "lives inside a learner",
    "likely.solvers.first_order.continuation.ObjectivePath": "a function of one's own",
    "likely.solvers.first_order.sampling.RowFunction": "a function of one's own",
    "likely.solvers.first_order.sampling.RowSampler": "lives inside a run",
    "likely.models.kernels.svm.smo": "lives inside the dual solver",
    "likely.autodiff": "shows how derivatives are computed: programs, not results",
    "likely.analysis": "verdicts with a witness: answers, not models",
    "likely.information": "answers in nats, and codes, which a few numbers make again",
    "likely.probability": "answers, and arrays with names, which are what to keep",
    "likely.families.averaged": "lives inside a prediction of the workbench",
    "likely.families.joined": "lives inside a prediction of the workbench",
    "likely.workbench.bench": "comparisons of speed; `bench.json` is what is kept",
    "likely.workbench.fitted": "parts of a run; `TableModel` is what is kept",
    "likely.workbench.effects": "parts of a report; `report.json` is what is kept",
    "likely.workbench.findings": "parts of a report; `report.json` is what is kept",
    "likely.workbench.held_out": "parts of a run, kept in files of its own",
    "likely.workbench.scoring": "parts of a run",
    "likely.workbench.ladder": "parts of a run",
    "likely.workbench.result": "`report.json` and the model are what is kept",
    "likely.workbench.report": "parts of a report; `report.json` is what is kept",
    "likely.workbench.runs": "made of reports, which are kept",
    "likely.workbench.explanations": "made of a model and rows, which are kept",
    "likely.workbench.candidates": "how models are made, not what they are",
    "likely.workbench.survival": "parts of a run",
    "likely.workbench.simple": "parts of a report; `report.json` is what is kept",
    "likely.workbench.table": "the rows of a run",
    "likely.layers.convolution.sliding.SlidingWindow": "lives inside a layer",
    "likely.layers.attention.multi_head.Memory": "lives inside generation",
    "likely.layers.recurrent.cells": "lives inside a layer",
    "likely.layers.recurrent.recurrent.States": "what a layer makes: arrays, not results",
    "likely.models.sequence.generation": "lives inside generation",
    "likely.models.sequence.sampling": "lives inside generation",
    "likely.layers.composition.record": "shows what layers make: arrays, not results",
    "likely.diagnostics.anatomy": "counts what is in a model",
    "likely.diagnostics.attention": "shows what a model looks at: arrays, not results",
    "likely.diagnostics.recall": "shows what a model knows: arrays, not results",
    "likely.diagnostics.signals": "shows what passes through a model",
    "likely.diagnostics.survey": "counts what a model makes",
    "likely.diagnostics.regions": "shows the pieces of a model: polygons, not results",
    "likely.solvers.first_order.stepper.Stepper": "lives inside a compiled loop",
    "likely.solvers.first_order.stochastic.Loop": "lives inside a compiled loop",
    "likely.solvers.training": "drives runs: callbacks, files and devices, not results",
    "likely.base.training.members.Start": "what a fit begins with",
    "likely.base.training.bodies.Body": "made of a network, which is kept",
    "likely.base.training.regimes.ChangedArray": "lives inside a training",
    "likely.base.training.regimes.FixedNorm": "lives inside a training",
    "likely.base.training.regimes.FrozenArray": "lives inside a training",
    "likely.base.training.regimes.PartlyTrained": "lives inside a training",
    "likely.base.training.regimes.PriorAround": "lives inside a training",
    "likely.layers.units.low_rank.LowRankChange": "lives inside a training",
    "likely.generative.autoencoders.cells": "lives inside a fit",
    "likely.generative.autoencoders.networks.ConvolutionalCoder": "settings of a fit",
    "likely.generative.autoencoders.networks.DenseCoder": "settings of a fit",
    "likely.generative.autoencoders.reconstruction": "lives inside a fit",
    "likely.generative.autoencoders.variational.Variational": "lives inside a fit",
    "likely.base.training.unsupervised.UnsupervisedLearner": "lives inside a fit",
    "likely.objectives.evidence_bound": "lives inside a learner",
    "likely.preprocess.codec.inputs": "made of a codec, which is kept",
    "likely.estimators.networks.reconstruction": "lives inside a training",
    "likely.estimators.networks.inputs": "kinds of inputs, which have no state",
    "likely.estimators.wrappers.consistency.ConsistencyLearner": "holds rows of a fit",
    "likely.objectives.consistency.Consistency": "holds the rows of a fit",
    "likely.objectives.reconstruction": "lives inside a learner",
    "likely.estimators.sequence.forecaster.Windows": "the rows of a fit",
    "likely.estimators.sequence.inputs": "kinds of inputs, which have no state",
    "likely.vision.boxes": "answers: arrays with names, which are what to keep",
    "likely.data.detection": "images of files, or made by functions of a seed",
    "likely.vision.detection.detections": "answers: arrays with names, to be kept as such",
    "likely.vision.detection.losses": "lives inside a learner",
    "likely.vision.detection.networks.candidates": "lives inside a program",
    "likely.vision.detection.networks.detr.DETRArchitecture": "settings of a fit",
    "likely.vision.detection.networks.detr.SetPredictions": "lives inside a program",
    "likely.vision.detection.networks.grid.Cells": "lives inside a program",
    "likely.vision.detection.networks.grid.GridArchitecture": "settings of a fit",
    "likely.vision.detection.networks.proposals.Proposals": "lives inside a program",
    "likely.vision.detection.networks.regions.RegionArchitecture": "settings of a fit",
    "likely.vision.detection.networks.regions.Regions": "lives inside a program",
    "likely.vision.detection.problem.DetectionObjective": "lives inside a learner",
    "likely.vision.detection.problem.DetectionProblem": "settings of a fit",
    "likely.vision.detection.targets": "lives inside a program",
    "likely.vision.features.haar": "made by a function of a seed",
    "likely.vision.features.homography": "an answer; its matrix is what to keep",
    "likely.vision.features.keypoints": "arrays with names, which are what to keep",
}
"""Classes, or whole modules of them, that are not meant to be kept, and why."""

ROOMS = """
    data estimators evaluate families generative inference latent layers models
    models.kernels objectives preprocess selection solvers text vision workbench
"""
"""Rooms whose public classes files may hold."""


def _public(room: str) -> dict[str, str]:
    """The classes that the stub of a room names -> their modules; nothing is imported."""
    stub = Path(__file__).parents[1].joinpath(*room.split("."), "__init__.pyi")
    return {
        alias.name: f"likely.{room}.{node.module}"
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if _is_class_name(alias.name)
        and not _is_unsaved(f"likely.{room}.{node.module}.{alias.name}")
    }


def _is_class_name(name: str) -> bool:
    hidden = name.startswith("Abstract") or name.endswith(("Warning", "Error"))
    return name[0].isupper() and (not name.isupper() or len(name) < 6) and not hidden


def _is_unsaved(path: str) -> bool:
    return any(f"{path}.".startswith(f"{unsaved}.") for unsaved in UNSAVED)


CLASSES = {name: place for place, names in PLACES.items() for name in names.split()}
for _room in ROOMS.split():
    CLASSES |= _public(_room)

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
