"""The summary of a fit: the table of coefficients and tests, as text and HTML."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.inference.estimate import Estimate

R2_AGREE = (
    "the three forms of R² agree: least squares with an intercept, own training rows"
)
R2_DIFFER = (
    "the three forms of R² differ: they agree only for least squares with an intercept"
)


@dataclass(frozen=True)
class Summary:
    """The result of `summary()`: a text table by `str`, an HTML table in notebooks.

    Attributes:
        title: the model, in words.
        names: (q,) names of the coefficients.
        estimate: coefficients, covariance, likelihoods: every number of the table.
        errors: the kind of standard errors.
        coverage: the coverage of the confidence intervals.
        notes: sentences below the table.
    """

    title: str
    names: tuple[str, ...]
    estimate: Estimate
    errors: str = "model"
    coverage: float = 0.95
    notes: tuple[str, ...] = field(default=())

    @property
    def coefficients(self) -> Float[np.ndarray, " q"]:
        """The estimated coefficients."""
        return self.estimate.coefficients

    @property
    def standard_errors(self) -> Float[np.ndarray, " q"]:
        """The standard errors of the coefficients."""
        return self.estimate.standard_errors

    @property
    def statistics(self) -> Float[np.ndarray, " q"]:
        """The t or z statistics of the coefficients."""
        return self.estimate.statistics

    @property
    def p_values(self) -> Float[np.ndarray, " q"]:
        """The two-sided p-values of the coefficients."""
        return self.estimate.p_values

    @property
    def intervals(self) -> Float[np.ndarray, "q 2"]:
        """The confidence intervals of the coefficients."""
        return self.estimate.intervals(self.coverage)

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood at the estimate, in nats."""
        return self.estimate.log_likelihood

    @property
    def r_squared(self) -> tuple[float, float, float] | None:
        """R² in three forms: explained variance, 1 − RSS/TSS, squared correlation."""
        return self.estimate.r_squared

    def to_frame(self) -> Any:
        """The table as a pandas frame, one row for each coefficient."""
        import pandas

        columns = dict(zip(self._head[1:], self._columns, strict=True))
        return pandas.DataFrame(columns, index=pandas.Index(self.names))

    @property
    def _head(self) -> tuple[str, ...]:
        percent = f"{100 * self.coverage:g} %"
        kind = self.estimate.kind
        p = f"P>|{kind}|"
        return ("", "coef", "std err", kind, p, f"low {percent}", f"high {percent}")

    @property
    def _columns(self) -> list[np.ndarray]:
        e = self.estimate
        parts = (e.coefficients, e.standard_errors, e.statistics, e.p_values)
        return [*parts, *self.intervals.T]

    @property
    def _cells(self) -> list[tuple[str, ...]]:
        formats = (_number, _number, _short, _p, _number, _number)
        columns = [
            [show(v) for v in column]
            for show, column in zip(formats, self._columns, strict=True)
        ]
        return list(zip(self.names, *columns, strict=True))

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The numbers above the table: pairs of a name and a value."""
        e = self.estimate
        found = [
            ("observations", f"{e.total:g}"),
            ("residual df", f"{e.df_residual:g}"),
            ("log-likelihood", _number(e.log_likelihood)),
            ("null log-likelihood", _number(e.null_log_likelihood)),
            ("AIC", _number(e.aic)),
            ("BIC", _number(e.bic)),
            ("standard errors", self.errors),
            ("condition number", _short(e.condition)),
        ]
        if e.r_squared is not None:
            explained, residual, squared = map(_number, e.r_squared)
            found += [
                ("R², 1 − RSS/TSS", residual),
                ("R², adjusted", _number(e.adjusted)),
                ("R², explained variance", explained),
                ("R², squared correlation", squared),
            ]
        if e.kind == "t":
            found.append(("scale s", _number(np.sqrt(e.dispersion))))
        else:
            found.append(("McFadden R²", _number(e.mcfadden)))
            if e.dispersion != 1:
                found.append(("dispersion", _number(e.dispersion)))
        return found + self._tests

    @property
    def _tests(self) -> list[tuple[str, str]]:
        e = self.estimate
        if not e.df_model:
            return []
        statistic, p = e.likelihood_ratio
        found = [(f"LR test, χ²({e.df_model})", f"{_short(statistic)}, p {_p(p)}")]
        if e.kind == "t":
            statistic, p = e.f_test
            name = f"F({e.df_model}, {e.df_residual:g})"
            found.append((name, f"{_short(statistic)}, p {_p(p)}"))
        return found

    def __str__(self) -> str:
        rows = [self._head, *self._cells]
        widths = [max(len(row[j]) for row in rows) for j in range(len(self._head))]
        lines = [
            "  ".join(
                cell.ljust(size) if j == 0 else cell.rjust(size)
                for j, (cell, size) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        rule = "─" * max(len(line) for line in lines)
        body = [lines[0], rule, *lines[1:]]
        return "\n".join(
            [self.title, rule, *self._fact_lines(len(rule)), rule, *body, rule]
            + [f"· {note}" for note in self._all_notes]
        )

    def _fact_lines(self, width: int) -> list[str]:
        """The numbers above the table, in two columns."""
        sides = zip(*self._fact_pairs, strict=True)
        left, right = (_aligned(side, (width - 4) // 2) for side in sides)
        return [f"{a}    {b}".rstrip() for a, b in zip(left, right, strict=True)]

    @property
    def _fact_pairs(self) -> list[tuple[tuple[str, str], tuple[str, str]]]:
        """The numbers above the table, two in each line."""
        facts = self.facts
        facts += [("", "")] * (len(facts) % 2)
        middle = len(facts) // 2
        return list(zip(facts[:middle], facts[middle:], strict=True))

    @property
    def _all_notes(self) -> list[str]:
        notes = list(self.notes)
        r = self.estimate.r_squared
        if r is not None:
            notes.append(R2_AGREE if np.allclose(r, r[1], rtol=1e-6) else R2_DIFFER)
        return notes

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def row(cells, tag: str) -> str:
            shown = "".join(
                f'<{tag} style="text-align:{"left" if j == 0 else "right"}">'
                f"{html.escape(cell)}</{tag}>"
                for j, cell in enumerate(cells)
            )
            return f"<tr>{shown}</tr>"

        head = "".join(row([*a, *b], "td") for a, b in self._fact_pairs)
        body = row(self._head, "th") + "".join(
            row(cells, "td") for cells in self._cells
        )
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self._all_notes)
        return (
            f"<h4>{html.escape(self.title)}</h4><table>{head}</table>"
            f"<table>{body}</table><ul>{notes}</ul>"
        )


def _aligned(facts: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Lines of one length: names to the left, values to the right."""
    size = max(width, *(len(name) + 2 + len(value) for name, value in facts))
    return [f"{name}{value.rjust(size - len(name))}" for name, value in facts]


def _number(value: float) -> str:
    """A number with six digits."""
    return f"{value:.6g}"


def _short(value: float) -> str:
    """A number with four digits."""
    return f"{value:.4g}"


def _p(value: float) -> str:
    """A p-value with three decimals, or in scientific notation where it is small."""
    return f"{value:.3f}" if not value < 0.001 else f"{value:.1e}"
