r"""Independence of two variables, given others: exactly, or as a test.

The effect is the conditional mutual information in nats,

$$I(A; B \mid C) = \sum P(a, b, c) \log \frac{P(a, b \mid c)}{P(a \mid c)\,P(b \mid c)} \ge 0,$$

which is zero only for independence. For N counted rows, $G = 2 N I$ has a χ² distribution under
independence where the expected counts are not small; where they are, tables with the same margins
are drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from likely.core.checks import InputError, check_choice
from likely.probability.tables.factor import Factor, check_names, sum_out

MIN_EXPECTED = 5.0
"""The expected count below which the χ² distribution is not trusted."""
EXACT_TOLERANCE = 1e-9
"""The largest gap |P(a, b | c) − P(a | c) P(b | c)| that is rounding."""
N_PERMUTATIONS = 2000
MAX_P = 0.05
"""The p-value up to which independence is rejected."""


@dataclass(frozen=True)
class Independence:
    """What is known about the independence of two variables."""

    independent: bool
    """For probabilities, whether it holds; for counts, whether p > 0.05: not rejected."""
    effect: float
    """The (conditional) mutual information in nats."""
    gap: float
    """The largest |P(a, b | c) − P(a | c) P(b | c)|."""
    cell: dict[str, Any]
    """Where the gap is largest."""
    method: str
    """"exact", "chi2" or "permutation"."""
    statistic: float | None = None
    """G = 2 N I."""
    degrees: int | None = None
    """Σ over c of (levels of a that occur − 1)(levels of b that occur − 1)."""
    p_value: float | None = None
    """The probability of a G as large, if the variables were independent."""
    by_chance: float | None = None
    """The effect to expect under independence from so few rows: degrees / 2N nats."""

    def __bool__(self) -> bool:
        return self.independent


def independence(
    table: Any,
    a: str,
    b: str,
    given: Sequence[str] | str = (),
    *,
    method: str = "auto",
    n_permutations: int = N_PERMUTATIONS,
    random_state: Any = 0,
) -> Independence:
    """Whether a and b are independent, given other variables.

    Args:
        table: a `Table`, with counts for a test.
        a: one variable.
        b: the other.
        given: the conditions.
        method: "exact" asks the probabilities; "chi2" and "permutation" test counts.
            "auto" takes the exact answer without counts, draws tables where an expected
            count is below 5, and the χ² distribution otherwise.
        n_permutations: how many tables with the same margins are drawn.
        random_state: for these.

    Examples:
        >>> table = lk.probability.Table([[0.25, 0.25], [0.25, 0.25]], ("a", "b"))
        >>> lk.probability.independence(table, "a", "b").independent
        True
    """
    check_choice("method", method, ("auto", "exact", "chi2", "permutation"))
    given = (given,) if isinstance(given, str) else tuple(given)
    wanted = (a, b, *given)
    check_names(wanted, table.names)
    if len(set(wanted)) != len(wanted):
        raise InputError(f"a, b and given are {wanted}; give different variables.")
    part = table.marginal(*wanted)
    if part.conditions and set(part.conditions) - set(given):
        raise InputError(
            f"the table is conditional on {', '.join(part.conditions)}; add them to given."
        )
    part = part.arranged(wanted)
    exact = method == "exact" or (method == "auto" and part.counts is None)
    cells = part.values if exact else part.counts
    if cells is None:
        raise InputError(
            f'method="{method}" tests counts, and this table has none; make it by '
            "Table.from_frame or Table.from_counts."
        )
    # conditions of a conditional table have equal weights: any weights would do
    three = cells.reshape(*cells.shape[:2], -1)
    effect, gap, where = _compare(three / three.sum())
    index = np.unravel_index(where, cells.shape)
    pairs = zip(wanted, part.levels, index, strict=True)
    named = {name: own[i].item() for name, own, i in pairs}
    if exact:
        return Independence(gap <= EXACT_TOLERANCE, effect, gap, named, "exact")
    statistic = 2 * float(three.sum()) * effect
    tested, degrees, p = _test(three, statistic, method, n_permutations, random_state)
    chance = degrees / (2 * float(three.sum()))
    return Independence(
        p > MAX_P, effect, gap, named, tested, statistic, degrees, p, chance
    )


def _test(
    counts: np.ndarray,
    statistic: float,
    method: str,
    n_permutations: int,
    random_state: Any,
) -> tuple[str, int, float]:
    """The G-test of (a, b, strata) counts: the method, the degrees of freedom and p."""
    strata = [s[s.sum(1) > 0][:, s.sum(0) > 0] for s in np.moveaxis(counts, -1, 0)]
    strata = [s for s in strata if min(s.shape, default=0) > 1]
    degrees = sum((s.shape[0] - 1) * (s.shape[1] - 1) for s in strata)
    if not degrees:
        raise InputError(
            "there are too few rows to test: no condition has two levels of both variables; "
            "count more rows, or condition on fewer variables."
        )
    least = min(float((np.outer(s.sum(1), s.sum(0)) / s.sum()).min()) for s in strata)
    whole = all(np.array_equal(s, np.round(s)) for s in strata)
    if method == "permutation" and not whole:
        raise InputError(
            'method="permutation" needs whole counts, and the weights are not; use "chi2".'
        )
    if method == "permutation" or (method == "auto" and whole and least < MIN_EXPECTED):
        drawn = _drawn(strata, n_permutations, random_state)
        slack = 1e-9 * max(1.0, statistic)
        p = (1 + int(np.sum(drawn >= statistic - slack))) / (1 + n_permutations)
        return "permutation", degrees, p
    return "chi2", degrees, float(stats.chi2.sf(statistic, degrees))


def _drawn(strata: list[np.ndarray], n: int, random_state: Any) -> np.ndarray:
    """(n,) G of tables that are drawn with the margins of each stratum."""
    rng = np.random.default_rng(random_state)
    total = np.zeros(n)
    for stratum in strata:
        row, column = stratum.sum(1).astype(int), stratum.sum(0).astype(int)
        tables = stats.random_table.rvs(row, column, size=n, random_state=rng)
        expected = np.outer(row, column) / stratum.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(tables > 0, tables * np.log(tables / expected), 0.0)
        total += 2 * terms.sum((1, 2))
    return total


def _compare(joint: np.ndarray) -> tuple[float, float, int]:
    """The mutual information of (a, b, c), the largest gap, and the cell that has it."""
    with np.errstate(divide="ignore"):
        factor = Factor(("a", "b", "c"), np.log(joint))
    side = {k: sum_out(factor, k).arranged("abc") for k in ("a", "b", ("a", "b"))}
    with np.errstate(invalid="ignore", over="ignore"):
        ratio = factor.log_values + side[("a", "b")] - side["a"] - side["b"]
        effect = float(np.sum(np.where(joint > 0, joint * ratio, 0.0)))
        conditional = np.exp(factor.log_values - side[("a", "b")])
        apart = np.exp(side["a"] + side["b"] - 2 * side[("a", "b")])
        gaps = np.nan_to_num(np.abs(conditional - apart), nan=0.0)
    where = int(gaps.argmax())
    return max(effect, 0.0), float(gaps.flat[where]), where
