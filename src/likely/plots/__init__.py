"""One function for each picture: arrays or results in, a Matplotlib figure out."""

from likely.plots.path import path
from likely.plots.trace import trace

__all__ = ["path", "trace"]
