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
    "likely.estimators.linear.glm": "DispersedLearner LinearLearner SharedLearner",
    "likely.estimators.linear.lasso": "ElasticNetLearner",
    "likely.estimators.linear.normal": "NormalLinear NormalLinearLearner",
    "likely.estimators.linear.logistic": "FirthLearner",
    "likely.estimators.linear.perceptron": "PerceptronLearner",
    "likely.estimators.linear.standardised": "Standardisation StandardisedLearner",
    "likely.estimators.linear.quantile": "AbsoluteLearner",
    "likely.estimators.networks.laplace": "LastLayer",
    "likely.base.training.members": "Network Patience",
    "likely.base.training.regimes": "Regime",
    "likely.estimators.networks.autoencoder": "ColumnUnits",
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
    "likely.workbench.target": "Target",
    "likely.workbench.unseen": "KnownLevels",
    "likely.latent.manifolds.coordinates": "Coordinates",
    "sklearn.pipeline": "Pipeline",
}
"""A module -> those of its classes that files may hold, under their own names."""

ATTRIBUTES = {
    "Empirical": ("y", "w", "_below"),
    "Exponentiated": ("base",),
    "Hurdled": ("base", "zero"),
    "Mixed": ("parts", "weights", "classes"),
    "Predictive": ("family", "eta", "classes"),
    "Stretched": ("base", "factor", "middle"),
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
    "likely.objectives.firth.FirthLikelihood": "lives inside a learner",
    "likely.models.kernels.svm.smo": "lives inside the dual solver",
    "likely.autodiff": "shows how derivatives are computed: programs, not results",
    "likely.analysis": "verdicts with a witness: answers, not models",
    "likely.information": "answers in nats, and codes, which a few numbers make again",
    "likely.probability": "answers, and arrays with names, which are what to keep",
    "likely.families.averaged": "lives inside a prediction of the workbench",
    "likely.families.joined": "lives inside a prediction of the workbench",
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
    "likely.estimators.networks.autoencoder.AutoencoderLearner": "lives inside a fit",
    "likely.estimators.networks.reconstruction": "lives inside a training",
    "likely.estimators.networks.inputs": "kinds of inputs, which have no state",
    "likely.estimators.wrappers.consistency.ConsistencyLearner": "holds rows of a fit",
    "likely.objectives.consistency.Consistency": "holds the rows of a fit",
    "likely.objectives.reconstruction": "lives inside a learner",
    "likely.estimators.sequence.forecaster.Windows": "the rows of a fit",
    "likely.estimators.sequence.inputs": "kinds of inputs, which have no state",
}
"""Classes, or whole modules of them, that are not meant to be kept, and why."""

ROOMS = """
    data estimators evaluate families inference latent layers models models.kernels
    objectives preprocess selection solvers text workbench
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
