"""The report of a run as typed data: every number that is shown, computed once.

`report.json` is this data; the page, the terminal and the model card only write it down.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from likely.core.checks import InputError
from likely.diagnostics.checks.finding import Finding
from likely.workbench.report.facts import (
    Data,
    ModelScores,
    Numbers,
    TargetFacts,
    Winner,
)
from likely.workbench.report.measured import (
    Calibration,
    ClassScores,
    Decisions,
    EffectFacts,
    Groups,
    ImportanceFacts,
    Interaction,
    LearningCurve,
    RowError,
    Simple,
    WordFacts,
)
from likely.workbench.report.typed_json import json_schema, plain, typed
from likely.workbench.spec import Spec

VERSION = 2
"""The version of the format; older files are refused with a sentence."""


@dataclasses.dataclass(frozen=True)
class Report:
    """Everything that a run found out.

    Attributes:
        version: of this format.
        likely: the version of the package.
        spec: the settings of the run.
        data: the rows.
        target: what is predicted.
        ladder: the compared models, from simple to flexible.
        skipped: models that were left out, with the reason.
        shrunk: what was made smaller to stay within the seconds of the effort.
        winner: the best model.
        simple: the coefficients of a linear model.
        calibration: of the best model.
        confusion: held-out rows by true class and predicted class.
        classes: precision and recall by class.
        decisions: thresholds and costs, for two classes.
        groups: scores and coverage by group.
        worst: the held-out rows that the best model finds least likely.
        importances: of the columns, the largest first.
        effects: of the most important columns.
        interactions: the strongest interactions of columns.
        learning_curve: the loss by the number of rows.
        findings: warnings and notes, warnings first.
        versions: of the packages that were used.
        words: of columns of text, those that matter most first.
    """

    version: int
    likely: str
    spec: Spec
    data: Data
    target: TargetFacts
    ladder: tuple[ModelScores, ...]
    skipped: Mapping[str, str]
    shrunk: tuple[str, ...]
    winner: Winner
    simple: Simple
    calibration: Calibration
    confusion: tuple[Numbers, ...]
    classes: tuple[ClassScores, ...]
    decisions: Decisions | None
    groups: Groups | None
    worst: tuple[RowError, ...]
    importances: tuple[ImportanceFacts, ...]
    effects: tuple[EffectFacts, ...]
    interactions: tuple[Interaction, ...]
    learning_curve: LearningCurve | None
    findings: tuple[Finding, ...]
    versions: Mapping[str, str]
    words: tuple[WordFacts, ...] = ()

    @property
    def is_class(self) -> bool:
        """Whether the target has classes."""
        return bool(self.target.classes)

    def rounded(self) -> "Report":
        """The report with the digits that its file has."""
        return Report.from_dict(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it: dictionaries, lists, numbers, texts and null."""
        return plain(self)

    def to_json(self) -> str:
        """The report as JSON; the same run gives the same bytes."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_dict(cls, content: Any) -> "Report":
        """The report in the content of a JSON file."""
        version = content.get("version") if isinstance(content, dict) else None
        if version != VERSION:
            raise InputError(
                f"the report has format {version}, and this version of likely reads "
                f"format {VERSION}: open its report.html, or repeat the run with "
                "`likely fit --spec spec.toml` in its folder."
            )
        return typed(cls, content)

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """The report that `to_json` wrote; anything else is refused with a sentence."""
        try:
            content = json.loads(text)
        except ValueError as error:
            raise InputError(f"the report is not JSON ({error}).") from error
        return cls.from_dict(content)

    @staticmethod
    def schema() -> dict[str, Any]:
        """The JSON Schema of `report.json`."""
        return json_schema(Report)
