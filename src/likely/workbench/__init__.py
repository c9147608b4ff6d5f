"""What the command line and the lab share: a run as data, and its result."""

from likely.workbench.demo import run

__all__ = ["run"]
