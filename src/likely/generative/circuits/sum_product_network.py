"""Sum-product networks: densities of mixed tables with exact marginals and conditionals."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, no_type_check

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.generator import Generator
from likely.base.progress import Rounds
from likely.base.settings import at_least, store
from likely.base.table_rows import check_table, codes_of, learn_codes
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.generative.circuits.answers import (
    draw_missing,
    expectation,
    expected_values,
    level_probabilities,
)
from likely.generative.circuits.circuit import Circuit
from likely.generative.circuits.explanation import explain
from likely.generative.circuits.learning import Growth
from likely.generative.circuits.polishing import polish
from likely.generative.evidence import column_names, evidence_codes, filled_rows
from likely.generative.merged_rows import merged_rows
from likely.preprocess import TableCodec

MIN_GROUP_ROWS = 10.0
"""The smallest group of rows, where it is not given, for few rows."""


class MostProbable(NamedTuple):
    """The most probable rows."""

    rows: Any
    """Rows without missing cells, in the container of the fit."""
    log_probs: np.ndarray
    """(n,) log p of them."""
    exact: np.ndarray
    """(n,) whether it is certain that nothing is more probable."""


class SumProductNetwork(Generator):
    r"""A circuit of sums (mixtures) and products (independence) over distributions of columns.

    The structure is learned: columns that are independent by test become a product; rows that a
    mixture of two explains better become a sum. Leaves are normal, Student's t or a
    histogram for numbers, rounded normal for whole numbers, Poisson or negative binomial for
    counts, a table for words; the one that suits best. EM then improves all weights and leaves.
    Missing cells are summed out exactly, so every marginal and conditional is one pass.

    Args:
        min_rows: the smallest group of rows; "auto" is 10, and more for many rows.
        alpha: the level at which independence of columns is rejected.
        penalty: a group has to gain so many times the price of BIC; smaller grows larger circuits.
        max_iter: steps of EM on the whole circuit, at most.
        tol: nats per row by which a step of EM has to get better.
        kinds: of some columns by name, where they are not to be guessed: "category",
            "number", "positive", "whole", "count".
        target: the column that `predict` is about; the last one unless given.
        verbose: whether to show the steps of EM.

    Attributes:
        circuit_: the leaves, sums and products.
        codec_: how cells became numbers.
        history_: the mean log-likelihood plus log prior, before each step of EM and at the end.
        n_iter_: the number of steps.

    Examples:
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> lk.SumProductNetwork().fit(X).log_prob(X[:3]).shape
        (3,)
    """

    min_rows: Any
    alpha: Any
    penalty: Any
    max_iter: Any
    tol: Any
    kinds: Any
    target: Any
    verbose: Any
    circuit_: Circuit
    codec_: TableCodec

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        min_rows: Any = "auto",
        alpha: float = 0.01,
        penalty: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-4,
        kinds: Any = None,
        target: Any = None,
        verbose: bool = False,
    ):
        store(self, locals())

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        callbacks: Any = (),
    ) -> "SumProductNetwork":
        """Learn the structure, and the numbers of leaves and sums.

        Args:
            X: rows: a frame, a dictionary of columns, or an array; cells may be missing.
            y: not used.
            sample_weight: how often each row counts.
            callbacks: functions of the numbers of a step of EM; one that returns True
                ends it.
        """
        rows = learn_codes(self, X, sample_weight, kinds=self.kinds)
        V, w = merged_rows(rows.V, rows.w)
        codes = self.codec_.columns
        growth = Growth(
            codes,
            at_least("alpha", self.alpha),
            self._least_rows(float(w.sum())),
            at_least("penalty", self.penalty),
        )
        circuit = Circuit.of(growth.grow(V, w), len(codes))
        most = at_least("max_iter", self.max_iter, whole=True)
        with Rounds(most, self.verbose, callbacks) as rounds:
            found = polish(
                circuit,
                V,
                w,
                codes,
                max_iter=most,
                tol=at_least("tol", self.tol),
                after_step=rounds.update,
            )
        self.circuit_, self.history_ = found
        self.n_iter_ = len(self.history_) - 1
        return self

    def _least_rows(self, total: float) -> float:
        if self.min_rows == "auto":
            return max(MIN_GROUP_ROWS, 0.002 * total)
        return float(at_least("min_rows", self.min_rows, 1))

    # What it says ----------------------------------------------------------------------

    def _log_prob(self, X: Any, *, given: Any = None) -> np.ndarray:
        """(n,) log p of the cells that are there; given the columns named by `given`, if any."""
        V = codes_of(self, X)
        found = self._log_codes(V)
        if given is None:
            return found
        at = [self.codec_.names.index(n) for n in column_names(self.codec_, given)]
        known = np.full_like(V, np.nan)
        known[:, at] = V[:, at]
        return found - self._log_codes(known)

    def _log_codes(self, V: np.ndarray) -> np.ndarray:
        return self.circuit_.log_probs(V) + self.codec_.log_det(V)

    def sample(self, n: int = 1, *, given: Any = None, random_state: Any = None) -> Any:
        """n new rows, in the container that the model was fitted to.

        Args:
            n: how many.
            given: values of some columns, the same for all rows or one for each.
            random_state: seed of the draws.
        """
        check_is_fitted(self)
        V = evidence_codes(self.codec_, given, at_least("n", n, 1, whole=True))
        rng = np.random.default_rng(seed_of(random_state))
        return self.codec_.decode(draw_missing(self.circuit_, V, rng))

    def impute(
        self, X: Any, *, n_draws: int | None = None, random_state: Any = 0
    ) -> Any:
        """The rows with their missing cells filled, given the cells that are there.

        Args:
            X: rows.
            n_draws: None takes the most probable level and the mean of each missing cell; a
                number gives a list of so many tables with all missing cells drawn together.
            random_state: seed of the draws.
        """
        V = codes_of(self, X)
        X = check_table(self, X, reset=False)
        if n_draws is None:
            filled = expected_values(self.circuit_, V, self.codec_.columns)
            return filled_rows(self.codec_, X, filled)
        rng = np.random.default_rng(seed_of(random_state))
        m = at_least("n_draws", n_draws, 1, whole=True)
        draws = [draw_missing(self.circuit_, V, rng) for _ in range(m)]
        return [filled_rows(self.codec_, X, drawn) for drawn in draws]

    def most_probable(self, given: Any = None) -> MostProbable:
        """The most probable values of all columns that are not given.

        Args:
            given: values of some columns: a mapping, a frame, or rows with missing cells; None
                asks for the most probable row of all.
        """
        check_is_fitted(self)
        V = evidence_codes(self.codec_, given)
        found = explain(self.circuit_, V)
        logs = found.log_probs + self.codec_.log_det(found.V)
        return MostProbable(self.codec_.decode(found.V), logs, found.exact)

    def expectation(
        self, functions: Mapping[str, Callable[[np.ndarray], Any]], given: Any = None
    ) -> np.ndarray:
        r"""(n,) $E[\prod_j g_j(x_j)]$ given values of other columns, exact for the circuit.

        Args:
            functions: g by the name of a column: functions of arrays of numbers, or of words.
            given: values of some columns, for one row or several.

        Example:
            ```python
            model.expectation({"age": lambda x: x}, given={"job": "nurse"})
            ```
        """
        check_is_fitted(self)
        names = column_names(self.codec_, tuple(functions))
        V = evidence_codes(self.codec_, given)
        chosen = {}
        for name in names:
            j = self.codec_.names.index(name)
            chosen[j] = _of_codes(functions[name], self.codec_.columns[j])
        return expectation(self.circuit_, V, chosen)

    def predict(self, X: Any, target: str | None = None) -> np.ndarray:
        """(n,) a column given the others: the most probable level, or the mean.

        Args:
            X: rows; what they hold in the column itself is not looked at.
            target: its name; `target` of the settings unless given, else the last column.
        """
        name, V = self._without(X, target)
        known = np.isnan(V)
        filled = expected_values(self.circuit_, V, self.codec_.columns)
        j = self.codec_.names.index(name)
        known[:, j] = False
        decoded = self.codec_.decode(np.where(known, np.nan, filled))
        if hasattr(decoded, "columns") or isinstance(decoded, dict):
            return np.asarray(decoded[name])
        return np.asarray(decoded)[:, self.codec_.container.names.index(name)]

    def probabilities(self, X: Any, target: str | None = None) -> np.ndarray:
        """(n, levels) the probabilities of the levels of a discrete column, given the others.

        Args:
            X: rows.
            target: its name, as of `predict`.
        """
        name, V = self._without(X, target)
        j = self.codec_.names.index(name)
        if self.codec_.columns[j].kind != "category":
            raise InputError(
                f"{name!r} is no category; ask for predict, or expectation."
            )
        return level_probabilities(self.circuit_, V, j)

    def _without(self, X: Any, target: str | None) -> tuple[str, np.ndarray]:
        """The column that is asked for, and the codes of the others."""
        check_is_fitted(self)
        wanted = self.target if target is None else target
        (name,) = column_names(self.codec_, wanted or self.codec_.names[-1])
        V = codes_of(self, X).copy()
        V[:, self.codec_.names.index(name)] = np.nan
        return name, V


def _of_codes(g: Callable[[np.ndarray], Any], code: Any) -> Callable[[np.ndarray], Any]:
    """A function of cells as a function of codes."""
    if code.kind == "category":
        levels = np.array(code.levels, object)
        if code.read != "levels":
            levels = np.array([float(level) for level in code.levels])
        return lambda v: np.asarray(g(levels[v.astype(np.int64)]), np.float64)
    if code.kind == "count":
        return g
    if code.softness is None:
        return lambda v: g(v * code.scale + code.center)
    return lambda v: g(code.decoded(v))
