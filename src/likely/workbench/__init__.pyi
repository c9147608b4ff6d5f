from .explanations import (
    Explanations as Explanations,
    explain as explain,
)
from .job import (
    resume as resume,
    run as run,
    run_spec as run_spec,
)
from .model import TableModel as TableModel
from .report.contents import Report as Report
from .result import Result as Result
from .runs import (
    RunComparison as RunComparison,
    compare as compare,
)
from .spec import Spec as Spec
