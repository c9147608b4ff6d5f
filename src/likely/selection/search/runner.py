"""The trials of a search: in this process or by an executor, each kept in the journal."""

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from typing import NamedTuple

from likely.core.checks import InputError
from likely.core.progress import Bar
from likely.files.journal import Journal
from likely.selection.search.batches import Setting, batches
from likely.selection.search.evaluation import Evaluation, Outcome
from likely.selection.search.record import entry_of, recorded_outcomes
from likely.selection.search.trial import Trial


class Runner(NamedTuple):
    """Where trials are run, and who is told."""

    bar: Bar
    journal: Journal | None = None
    executor: Executor | None = None

    def run(
        self,
        evaluation: Evaluation,
        settings: Sequence[Setting],
        *,
        first: int = 0,
        resource: int | None = None,
        rung: int = 0,
    ) -> list[Trial]:
        """The trials of some settings, in their order.

        Args:
            evaluation: how they are judged.
            settings: what is tried.
            first: the number of the first trial.
            resource: what each fit is given.
            rung: how often the candidates had been reduced before.
        """
        found: dict[int, Outcome] = {}
        if self.journal is not None:
            found = recorded_outcomes(self.journal, first, settings, resource)
        self.bar.update(advance=len(found), description="searching" if found else None)
        groups = batches(evaluation.estimator, settings)
        left = [[i for i in group if i not in found] for group in groups]
        left = [group for group in left if group]

        def finish(group: list[int], outcomes: list[Outcome]) -> None:
            found.update(zip(group, outcomes, strict=True))
            if self.journal is not None:
                numbers = [first + i for i in group]
                own = [settings[i] for i in group]
                self.journal.append(entry_of(numbers, own, resource, outcomes))
            self._tell(found, len(group))

        if self.executor is None:
            for group in left:
                finish(group, evaluation([settings[i] for i in group]))
        else:
            self._by_executor(self.executor, evaluation, settings, left, finish)
        return [
            Trial(first + i, setting, *found[i], resource, rung)
            for i, setting in enumerate(settings)
        ]

    @staticmethod
    def _by_executor(
        executor: Executor,
        evaluation: Evaluation,
        settings: Sequence[Setting],
        groups: list[list[int]],
        finish: Callable[[list[int], list[Outcome]], None],
    ) -> None:
        """Groups as they finish; when one of them is interrupted the others are cancelled."""
        jobs = {
            executor.submit(evaluation, [settings[i] for i in group]): group
            for group in groups
        }
        try:
            for job in as_completed(jobs):
                finish(jobs[job], job.result())
        except BrokenExecutor as error:
            raise InputError(
                "a worker of the executor died (it may have run out of memory); begin "
                f"the search again: a journal has the finished trials. ({error})"
            ) from error
        finally:
            for job in jobs:
                job.cancel()

    def _tell(self, found: dict[int, Outcome], new: int) -> None:
        means = [sum(o.scores) / len(o.scores) for o in found.values() if not o.failure]
        detail = f"best {max(means):.4g}" if means else "no score yet"
        self.bar.update(advance=new, description="searching", detail=detail)
