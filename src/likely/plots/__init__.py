"""One function for each picture: arrays or results in, a Matplotlib figure out."""

from likely.plots.checkpoint_timeline import checkpoint_timeline
from likely.plots.computation_graph import computation_graph
from likely.plots.dependence import dependence
from likely.plots.images import images
from likely.plots.importances import importances
from likely.plots.margin import margin
from likely.plots.partial_effects import partial_effects
from likely.plots.path import path
from likely.plots.signal_profile import signal_profile
from likely.plots.trace import trace
from likely.plots.tree import tree

__all__ = [
    "checkpoint_timeline",
    "computation_graph",
    "dependence",
    "images",
    "importances",
    "margin",
    "partial_effects",
    "path",
    "signal_profile",
    "trace",
    "tree",
]
