"""What the command line and the lab share: a run as data, its result, the report."""

from likely.workbench.job import resume, run, run_spec
from likely.workbench.model import TableModel
from likely.workbench.result import Result
from likely.workbench.spec import Spec

__all__ = ["Result", "Spec", "TableModel", "resume", "run", "run_spec"]
