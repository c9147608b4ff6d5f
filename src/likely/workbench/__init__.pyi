from .job import (
    resume as resume,
    run as run,
    run_spec as run_spec,
)
from .model import TableModel as TableModel
from .result import Result as Result
from .spec import Spec as Spec
