r"""Discrete tables: joint and conditional probabilities of named variables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.probability.tables.checks import (
    check_probabilities,
    check_shape,
    levels_of,
    number_of,
)
from likely.probability.tables.counting import counts_of, counts_of_frame, smoothed
from likely.probability.tables.display import html_of, text_of
from likely.probability.tables.expectations import Tower, iterate, values_of
from likely.probability.tables.factor import (
    Factor,
    check_names,
    log_ratio,
    multiply,
    restrict,
    sum_out,
)
from likely.probability.tables.independence import Independence, independence


class Table:
    r"""Probabilities $P(X_1, X_2, \dots)$ of discrete variables, one axis for each.

    A table with `given` is conditional: $P(Y \mid X)$ sums to one over Y for each level of X.
    Tables multiply by the product rule, `P_y_given_x * P_x`; the sum rule is `marginal`,
    conditioning is `given`.

    Args:
        values: (levels of the first variable, levels of the second, ...) probabilities.
        names: the name of each axis.
        levels: what the levels of each variable are called; 0, 1, ... unless given.
        given: the variables that the others are conditional on.

    Attributes:
        values: the probabilities.
        names: the names of the variables, as a tuple.
        levels: one array for each variable.
        conditions: the variables that the others are conditional on.
        counts: the weights that the table was counted from, or None.

    Examples:
        >>> table = lk.probability.Table([[0.1, 0.2], [0.3, 0.4]], ("rain", "late"))
        >>> print(table)
        P(rain, late)
        rain  late=0  late=1
           0     0.1     0.2
           1     0.3     0.4
    """

    values: np.ndarray
    names: tuple[str, ...]
    levels: tuple[np.ndarray, ...]
    conditions: tuple[str, ...]
    counts: np.ndarray | None

    def __init__(
        self,
        values: Any,
        names: Any,
        levels: Any = None,
        *,
        given: Sequence[str] | str = (),
    ):
        values = np.asarray(values, np.float64)
        self.names = (names,) if isinstance(names, str) else tuple(names)
        check_shape(values, self.names)
        self.levels = levels_of(levels, self.names, values.shape)
        self.conditions = (given,) if isinstance(given, str) else tuple(given)
        check_names(self.conditions, self.names)
        check_probabilities(values, self.names, self.levels, self.conditions)
        self.counts = None
        with np.errstate(divide="ignore"):
            self._hold(Factor(self.names, np.log(values)), values)

    def _hold(self, factor: Factor, values: np.ndarray | None = None) -> None:
        """Keep the logarithms, and the probabilities as an array that cannot be written to."""
        self.factor = factor
        self.values = np.exp(factor.log_values) if values is None else values.copy()
        self.values.flags.writeable = False

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        names: Any,
        levels: Any = None,
        *,
        prior: float | int = 0.0,
    ) -> "Table":
        """The shares of counts, which are kept for tests.

        Args:
            counts: an array of counts or weights, one axis for each variable.
            names: the name of each axis.
            levels: what the levels of each variable are called.
            prior: the α of a Dirichlet prior, added to each cell: 1 is a uniform prior, of
                which the table is the posterior mean.
        """
        counts = counts_of(counts)
        table = cls(smoothed(counts, prior), names, levels)
        table.counts = counts
        return table

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        names: Any = None,
        *,
        sample_weight: Any = None,
        prior: float | int = 0.0,
        levels: Mapping[str, Any] | None = None,
    ) -> "Table":
        """The joint table of the columns of a frame, counted.

        Args:
            frame: a pandas, polars or Arrow frame, a dictionary of columns, or an array.
            names: the columns; all of them unless given.
            sample_weight: how often each row counts; rows of weight 0 are not looked at.
            prior: the α of a Dirichlet prior, added to each cell.
            levels: the levels of a column and their order, where not all occur. Otherwise
                they are the categories of a categorical column, and else the different
                values, sorted.
        """
        found = counts_of_frame(frame, names, sample_weight, levels or {})
        return cls.from_counts(found.counts, found.names, found.levels, prior=prior)

    @classmethod
    def from_conditionals(cls, *tables: "Table") -> "Table":
        """The joint table of a chain of conditional tables, by the product rule."""
        if not tables:
            raise InputError("there are no tables to multiply; give one or more.")
        joint, rest = tables[0], list(tables[1:])
        for table in rest:
            joint = joint.product(table)
        return joint

    @classmethod
    def from_family(
        cls,
        law: Any,
        name: str = "y",
        *,
        given: str = "row",
        levels: Any = None,
        **theta: Any,
    ) -> "Table":
        """The probabilities of a discrete family.

        Args:
            law: a family with its parameters as further arguments, such as
                `Table.from_family(Poisson(), rate=3.0)`; or a `Predictive`, whose rows,
                if several, become the levels of a condition.
            name: the name of the variable.
            given: the name of the condition.
            levels: what the rows of the condition are called.
            **theta: the parameters of the family, where `law` is one.
        """
        from likely.probability.tables.from_law import (
            probabilities_of,
        )  # loads families

        support, values = probabilities_of(law, theta)
        if len(values) == 1:
            return cls(values[0], (name,), (support,))
        rows = np.arange(len(values)) if levels is None else levels
        return cls(values, (given, name), (rows, support), given=given)

    # the rules of probability ---------------------------------------------------------

    @property
    def heads(self) -> tuple[str, ...]:
        """The variables that the probabilities are of: those that are no conditions."""
        return tuple(name for name in self.names if name not in self.conditions)

    def marginal(self, *names: str) -> "Table":
        r"""The table of some variables, by the sum rule: $P(X) = \sum_y P(X, y)$.

        Conditions stay; the result is in the order of the names.
        """
        check_names(names, self.names)
        kept = (*(c for c in self.conditions if c not in names), *names)
        gone = [name for name in self.names if name not in kept]
        if not any(name in self.heads for name in kept):
            raise InputError(
                "no variable would be left; name one that is no condition."
            )
        counts = None
        if self.counts is not None:
            axes = tuple(self.names.index(name) for name in gone)
            counts = self.counts.sum(axes)
        rest = [name for name in self.names if name not in gone]
        summed = _made(sum_out(self.factor, gone), self, counts, self.conditions)
        return summed.arranged(kept) if tuple(rest) != kept else summed

    def arranged(self, names: Sequence[str]) -> "Table":
        """The same table with its axes in another order."""
        check_names(names, self.names)
        if sorted(names) != sorted(self.names):
            raise InputError(f"give each of the names once: {', '.join(self.names)}.")
        axes = [self.names.index(name) for name in names]
        counts = None if self.counts is None else self.counts.transpose(axes)
        factor = Factor(tuple(names), self.factor.log_values.transpose(axes))
        return _made(factor, self, counts, self.conditions)

    def given(self, *names: str | Mapping[str, Any], **levels: Any) -> "Table":
        """The conditional table, given variables or given levels of them.

        `table.given("x")` is P(rest | x), for each level of x; `table.given(x="a")` is
        P(rest | x = a), without x. Names that are no Python names go in a dictionary:
        `table.given({"my column": "a"})`.
        """
        fixed = dict(levels)
        wanted = [name for name in names if isinstance(name, str)]
        for name in names:
            fixed |= dict(name) if isinstance(name, Mapping) else {}
        check_names([*wanted, *fixed], self.names)
        if not [name for name in self.heads if name not in (*wanted, *fixed)]:
            raise InputError("every variable is given; leave one that is asked about.")
        where = {
            name: number_of(level, name, self.levels[self.names.index(name)])
            for name, level in fixed.items()
        }
        factor, counts = restrict(self.factor, where), None
        if self.counts is not None:
            counts = self.counts[tuple(where.get(n, slice(None)) for n in self.names)]
        conditions = [c for c in (*self.conditions, *wanted) if c not in fixed]
        heads = [name for name in factor.names if name not in conditions]
        total = sum_out(factor, heads)
        self._check_possible(total, fixed)
        total = total.arranged(factor.names)
        ratio = Factor(factor.names, log_ratio(factor.log_values, total))
        return _made(ratio, self, counts, tuple(dict.fromkeys(conditions)))

    def product(self, other: "Table") -> "Table":
        """The product of two tables, P(Y | X) P(X): the product rule.

        Each variable is asked about in at most one of them; conditions of one that the other
        table is of become variables of the joint table.
        """
        both = set(self.heads) & set(other.heads)
        if both:
            raise InputError(
                f"both tables are of {sorted(both)[0]!r}; the product of P(Y | X) and P(X) has "
                "each variable once on the left of a bar."
            )
        if set(self.heads) & set(other.conditions) and (
            set(other.heads) & set(self.conditions)
        ):
            raise InputError(
                "each table is conditional on a variable of the other, and such products are "
                "no distributions; use Factor and multiply for those."
            )
        heads = {*self.heads, *other.heads}
        conditions = dict.fromkeys((*self.conditions, *other.conditions))
        factor = multiply([self.factor, _matched(other, self).factor])
        levels = dict(zip(other.names, other.levels, strict=True))
        levels |= dict(zip(self.names, self.levels, strict=True))
        left = tuple(c for c in conditions if c not in heads)
        return _made(factor, levels, None, left)

    def __mul__(self, other: "Table") -> "Table":
        return self.product(other)

    def bayes(self, likelihood: "Table", **evidence: Any) -> "Table":
        r"""The posterior, where this table is the prior P(Y): Bayes' rule.

        $$P(Y_k \mid X) = \frac{P(X \mid Y_k)\,P(Y_k)}{\sum_i P(X \mid Y_i)\,P(Y_i)} .$$

        Args:
            likelihood: P(X | Y).
            **evidence: the observed levels; without, the result is the table P(Y | X).
        """
        joint = self.product(likelihood)
        return joint.given(*(() if evidence else likelihood.heads), **evidence)

    # numbers ---------------------------------------------------------------------------

    def probability(self, **levels: Any) -> float:
        """The probability of an event, by the levels of some variables."""
        self._check_joint("probability")
        check_names(levels, self.names)
        part = self.marginal(*levels)
        where = [
            number_of(level, name, part.levels[i])
            for i, (name, level) in enumerate(levels.items())
        ]
        return float(part.values[tuple(where)])

    def expectation(self, g: str | Callable[..., Any], given: str | None = None) -> Any:
        """E[g], or E[g | x] for each level of a variable x.

        Args:
            g: the name of a variable whose levels are numbers, or a function whose arguments
                are named like variables; it is called once with arrays.
            given: the variable of the condition; impossible levels of it have NaN.
        """
        self._check_joint("an expectation")
        if given is None:
            return float(np.sum(self.values * self._values(g)))
        return iterate(self.factor, self._values(g), given).conditional

    def tower(self, g: str | Callable[..., Any], given: str) -> Tower:
        """E[g] and Var g by way of a condition: the tower property and its parts."""
        self._check_joint("an expectation")
        return iterate(self.factor, self._values(g), given)

    def variance(self, g: str | Callable[..., Any]) -> float:
        """Var g = E[(g − E g)²]."""
        values = self._values(g)
        return float(np.sum(self.values * (values - self.expectation(g)) ** 2))

    def covariance(self, *names: str) -> Float[np.ndarray, "k k"]:
        """The covariance matrix of variables whose levels are numbers."""
        self._check_joint("a covariance")
        names = names or self.names
        centred = [self._values(name) - self.expectation(name) for name in names]
        return np.array(
            [[np.sum(self.values * a * b) for b in centred] for a in centred]
        )

    def independent(
        self, a: str, b: str, given: Sequence[str] | str = (), **options: Any
    ) -> Independence:
        """Whether two variables are independent, given others.

        Exactly for a table of probabilities; for counts, as a test with a p-value. The effect is
        the (conditional) mutual information in nats. Options are those of
        `likely.probability.independence`.
        """
        return independence(self, a, b, given, **options)

    def sample(self, n: int, *, random_state: Any = None) -> dict[str, np.ndarray]:
        """The columns of n independent draws, by name."""
        self._check_joint("a sample")
        rng = np.random.default_rng(random_state)
        share = self.values.ravel() / self.values.sum()
        cells = rng.choice(share.size, size=n, p=share)
        codes = np.unravel_index(cells, self.values.shape)
        pairs = zip(self.names, self.levels, codes, strict=True)
        return {name: levels[code] for name, levels, code in pairs}

    # what it looks like ----------------------------------------------------------------

    def __repr__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)

    def _values(self, g: str | Callable[..., Any]) -> np.ndarray:
        return values_of(g, self.names, self.levels)

    def _check_joint(self, what: str) -> None:
        if self.conditions:
            raise InputError(
                f"{what} needs a joint table, and this one is conditional on "
                f"{', '.join(self.conditions)}; multiply it by a table of these first."
            )

    def _check_possible(self, total: Factor, fixed: Mapping[str, Any]) -> None:
        """Refuse a condition of probability zero, by its levels."""
        zero = np.argwhere(np.isneginf(total.log_values))
        if not len(zero):
            return
        known = dict(zip(self.names, self.levels, strict=True))
        numbers = zip(total.names, zero[0], strict=True)
        shown = {n: known[n][i] for n, i in numbers} | dict(fixed)
        event = ", ".join(f"{name}={level}" for name, level in shown.items())
        raise InputError(
            f"the condition {event} has probability 0, so nothing follows from it; leave "
            "that level out, or count with a prior above 0."
        )


def _made(
    factor: Factor,
    like: "Table | Mapping[str, np.ndarray]",
    counts: np.ndarray | None,
    conditions: Sequence[str],
) -> Table:
    """A table of logarithms that are known to be right."""
    known = (
        dict(zip(like.names, like.levels, strict=True))
        if isinstance(like, Table)
        else like
    )
    table = Table.__new__(Table)
    table.names, table.counts = factor.names, counts
    table.levels = tuple(known[name] for name in factor.names)
    table.conditions = tuple(name for name in conditions if name in factor.names)
    table._hold(factor)
    return table


def _matched(table: Table, like: Table) -> Table:
    """The table with the levels of shared variables in the order of another table."""
    values = table.factor.log_values
    for axis, name in enumerate(table.names):
        if name in like.names:
            order = like.levels[like.names.index(name)]
            own = table.levels[axis]
            if len(own) == len(order) and np.array_equal(own, order):
                continue
            if sorted(map(str, own)) != sorted(map(str, order)):
                raise InputError(
                    f"{name!r} has the levels {list(order)} in one table and {list(own)} in "
                    "another; give both the same levels."
                )
            index = [number_of(level, name, own) for level in order]
            values = np.take(values, index, axis)
    return _made(Factor(table.names, values), table, None, table.conditions)
