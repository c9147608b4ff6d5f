"""Training: first-order solvers run from the host, with an audience, on many devices."""

from likely.solvers.training.checkpoints import Checkpoints, ResumeWarning
from likely.solvers.training.divergence import DivergenceWarning
from likely.solvers.training.events import Callback, Event
from likely.solvers.training.layout import Layout
from likely.solvers.training.members import Plan, train_members
from likely.solvers.training.observers import History, MLflow, ProgressBar, TensorBoard
from likely.solvers.training.stream import Stream
from likely.solvers.training.training import Training

__all__ = [
    "Callback",
    "Checkpoints",
    "DivergenceWarning",
    "Event",
    "History",
    "Layout",
    "MLflow",
    "Plan",
    "ProgressBar",
    "ResumeWarning",
    "Stream",
    "TensorBoard",
    "Training",
    "train_members",
]
