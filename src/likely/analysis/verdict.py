"""A verdict: whether a property holds, why, and the witness if it does not."""

from typing import Any, NamedTuple

YES, NO, NOT_REFUTED = "yes", "no", "not refuted"


class Verdict(NamedTuple):
    """The answer to "does it hold?", with what shows it.

    It is true in a condition unless a counter-example was found. `proved` says whether it was
    proved; a search that finds no counter-example proves nothing.

    Attributes:
        claim: what was asked, in words.
        answer: "yes" where it is proved, "no" where there is a counter-example, "not refuted"
            where a search found none.
        reason: the sentence that says why.
        witness: the counter-example, or what proves the claim, by name.
    """

    claim: str
    answer: str
    reason: str
    witness: dict[str, Any]

    def __bool__(self) -> bool:
        return self.answer != NO

    def __str__(self) -> str:
        return f"{self.claim}: {self.answer}. {self.reason}"

    @property
    def proved(self) -> bool:
        """Whether the claim was proved, not only not refuted."""
        return self.answer == YES

    @property
    def refuted(self) -> bool:
        """Whether there is a counter-example."""
        return self.answer == NO


def searched(
    claim: str, found: bool, reason: str, witness: dict[str, Any], tried: int
) -> Verdict:
    """The verdict of a search for a counter-example."""
    if found:
        return Verdict(claim, NO, reason, witness)
    words = f"No counter-example among {tried:,} trials; that is no proof."
    return Verdict(claim, NOT_REFUTED, words, {})
