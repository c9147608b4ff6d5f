"""The table of posterior draws, and the sentences about what speaks against them."""

import html
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely.inference.evidence.pareto import MAX_PARETO_K, is_trusted

MAX_R_HAT = 1.01
MIN_ESS_PER_CHAIN = 100
"""The effective number of draws for each chain from which quantiles and R̂ are stable."""
MAX_SATURATED = 0.01
"""The share of paths that may reach their longest length."""
MIN_ACCEPTANCE = 0.05
MAX_NAMED = 3
"""How many numbers a sentence names."""
HEAD = ("mean", "sd", "mcse", "low", "high", "ess bulk", "ess tail", "r_hat")
N_REAL_COLUMNS = 5
"""Columns of `HEAD` that have the units of the draws."""
MAX_ROWS = 40
"""Rows of the printed table."""


def verdict_of(draws: Any) -> tuple[str, ...]:
    """Why not to believe draws, as parts of a sentence."""
    found = list(draws.notes)
    still = np.ptp(draws.values, axis=1).min(0) == 0
    if still.any():
        found.append(f"a chain does not move in {_named(draws, still)}")
    found += _convergence(draws, still)
    if draws.n_divergent:
        share = draws.n_divergent / draws.n_draws
        found.append(
            f"{draws.n_divergent} paths ({share:.1%}) diverged, so a narrow part of the "
            "distribution is missed: raise target_acceptance, or change the parameters"
        )
    if draws.saturated is not None and np.mean(draws.saturated) > MAX_SATURATED:
        found.append("paths reach their longest length: raise max_depth")
    if draws.acceptance is not None and np.min(draws.acceptance) < MIN_ACCEPTANCE:
        low = float(np.min(draws.acceptance))
        found.append(f"a chain accepts {low:.1%} of its proposals: take shorter steps")
    share = draws.details.get("effective_share", 0.0)
    if draws.pareto_k is not None and not is_trusted(draws.pareto_k, share):
        found.append(
            f"Pareto k̂ is {draws.pareto_k:.2f}, above {MAX_PARETO_K}: the approximation "
            "misses a part of the distribution; use nuts"
        )
    return tuple(found)


def _convergence(draws: Any, still: np.ndarray) -> list[str]:
    """What R̂ and the effective numbers of draws say."""
    if draws.values.shape[1] < 4:
        return ["there are fewer than four draws in a chain"]
    found = []
    apart = ~still & ~(draws.r_hat <= MAX_R_HAT)
    if apart.any():
        worst = np.max(draws.r_hat[apart])
        found.append(
            f"chains disagree about {_named(draws, apart)} (R̂ up to {worst:.3g}): "
            "draw longer"
        )
    least = MIN_ESS_PER_CHAIN * draws.n_chains
    ess = np.minimum(draws.ess_bulk, draws.ess_tail)
    few = ~still & ~(ess >= least)
    if few.any():
        found.append(
            f"{_named(draws, few)} {'is' if few.sum() == 1 else 'are'} worth only "
            f"{np.nanmin(ess[few]):.0f} independent draws (at least {least} are needed)"
        )
    return found


def _named(draws: Any, which: np.ndarray) -> str:
    names = [draws.names[j] for j in np.flatnonzero(which)]
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class DrawsTable:
    """Means, errors, intervals and diagnostics, as text and HTML.

    Attributes:
        names: (d,) of the rows.
        columns: by name, (d,) each.
        title: what was drawn, and how.
        verdict: the diagnostics in a sentence.
    """

    names: tuple[str, ...]
    columns: dict[str, np.ndarray]
    title: str
    verdict: str

    @classmethod
    def of(cls, draws: Any, coverage: float) -> "DrawsTable":
        """The table of some draws."""
        ends = draws.interval(coverage)
        percent = f"{100 * coverage:g} %"
        values = (draws.mean, draws.std, draws.mcse, *ends.T)
        values += (draws.ess_bulk, draws.ess_tail, draws.r_hat)
        labels = [f"{n} {percent}" if n in ("low", "high") else n for n in HEAD]
        each = draws.values.shape[1]
        title = f"{draws.method}: {draws.n_chains} chains of {each} draws"
        columns = dict(zip(labels, values, strict=True))
        return cls(draws.names, columns, title, draws.verdict)

    def to_frame(self) -> Any:
        """The table as a pandas frame, one row for each number."""
        import pandas

        return pandas.DataFrame(self.columns, index=pandas.Index(self.names))

    @property
    def _cells(self) -> list[tuple[str, ...]]:
        n = min(len(self.names), MAX_ROWS)
        columns = list(self.columns.values())
        texts = [[f"{v:.4g}" for v in c[:n]] for c in columns[:N_REAL_COLUMNS]]
        texts += [[f"{v:.0f}" for v in c[:n]] for c in columns[N_REAL_COLUMNS:-1]]
        texts += [[f"{v:.3f}" for v in columns[-1][:n]]]
        return list(zip(self.names[:n], *texts, strict=True))

    @property
    def _left_out(self) -> list[str]:
        more = len(self.names) - MAX_ROWS
        return [f"... and {more} more"] if more > 0 else []

    def __str__(self) -> str:
        rows = [("", *self.columns), *self._cells]
        widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        lines = [
            "  ".join(
                c.ljust(w) if j == 0 else c.rjust(w)
                for j, (c, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        rule = "─" * max(map(len, lines))
        return "\n".join(
            [self.title, rule, lines[0], rule, *lines[1:], *self._left_out, rule]
            + [self.verdict]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [("", *self.columns), *self._cells]
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        below = html.escape(" ".join([*self._left_out, self.verdict]))
        title = html.escape(self.title)
        return f"<table><caption>{title}</caption>{body}</table><p>{below}</p>"
