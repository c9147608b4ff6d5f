r"""Bayesian networks: $p(x) = \prod_i p(x_i \mid x_{pa(i)})$ along a graph without cycles."""

import warnings
from typing import Any, no_type_check

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from likely.base.generator import Generator
from likely.base.progress import Rounds
from likely.base.settings import at_least, one_of, store
from likely.base.table_rows import check_table, codes_of, learn_codes
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.generative.evidence import column_names, filled_rows
from likely.generative.graphs.answers import (
    blocks,
    draw_hidden,
    draw_rows,
    hidden_values,
    log_probs,
)
from likely.generative.graphs.by_hand import LinearNormal, codec_of, joint_of
from likely.generative.graphs.directed_graph import DirectedGraph
from likely.generative.graphs.em import blank, fit_numbers
from likely.generative.graphs.nodes import Joint, TableNode
from likely.generative.graphs.queries import answer, known_values
from likely.generative.graphs.scores import SCORES
from likely.generative.graphs.statistics import LEAST_SCALE
from likely.generative.graphs.structure import (
    Problem,
    check_kinds,
    given_graph,
    learned,
    search_limits,
    tree,
)
from likely.generative.merged_rows import merged_rows
from likely.preprocess import TableCodec
from likely.preprocess.codec.column_code import ColumnCode
from likely.probability import Table

STRUCTURES = ("learn", "independent", "tree")
LEAST_STEPS = 0.6
"""The smallest σ of whole numbers, in steps: then their probabilities sum to 1 ± 0.002."""


class BayesianNetwork(Generator):
    r"""Columns of a table, each given a few others: $p(x) = \prod_i p(x_i \mid x_{pa(i)})$.

    Words, truth values and few whole numbers have tables; other numbers are normal around a
    linear function of continuous parents, with numbers of their own for each combination of
    levels of discrete parents. A discrete column has no continuous parents. All answers are
    exact, by variable elimination; missing cells (NaN, None) are summed or integrated out.

    Args:
        structure: "learn" searches the graph of largest score, "tree" the best tree,
            "independent" has no arrows; or a graph: pairs (from, to), a mapping from a
            column to its parents, or a `DirectedGraph`.
        criterion: the score of a structure: "bic", or "bdeu", the evidence under the prior.
        max_parents: of a column, at most.
        prior: the equivalent sample size: how many imaginary rows the prior counts for,
            spread evenly over the cells of each table. 0 is maximum likelihood.
        required: pairs (from, to) that have to be there.
        forbidden: pairs that must not.
        n_restarts: of the search, from disturbed copies of the best graph.
        n_tabu: steps that the search goes on after the last better graph.
        kinds: of some columns by name, where they are not to be guessed: "category",
            "number", "positive", "whole".
        target: the column that `predict` is about; the last one unless given.
        max_iter: steps of EM where cells are missing, at most.
        tol: nats per row by which a step of EM has to get better.
        random_state: of the restarts, and of draws of missing cells while a structure is searched.
        verbose: whether to show the steps of EM.

    Attributes:
        graph_: the `DirectedGraph`.
        joint_: the conditional distribution of each column.
        score_: of the structure, in nats, where it was learned.
        codec_: how cells became numbers.
        history_: the mean log-likelihood of a row plus the log prior, after each step.
        n_iter_: how many steps there were.

    Examples:
        >>> X = np.repeat([[0, 0], [1, 1]], 20, axis=0)
        >>> lk.BayesianNetwork().fit(X).sample(3, random_state=0).shape
        (3, 2)
    """

    structure: Any
    criterion: Any
    max_parents: Any
    prior: Any
    required: Any
    forbidden: Any
    n_restarts: Any
    n_tabu: Any
    kinds: Any
    target: Any
    max_iter: Any
    tol: Any
    random_state: Any
    verbose: Any
    joint_: Joint
    codec_: TableCodec

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        structure: Any = "learn",
        *,
        criterion: str = "bic",
        max_parents: int = 5,
        prior: float = 1.0,
        required: Any = (),
        forbidden: Any = (),
        n_restarts: int = 5,
        n_tabu: int = 10,
        kinds: Any = None,
        target: Any = None,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        store(self, locals())

    @classmethod
    def from_conditionals(cls, *parts: Table | LinearNormal) -> "BayesianNetwork":
        """A network whose numbers are known, with one part for each variable.

        Args:
            parts: tables $P(x_i | parents)$ of one variable each, with `given=` its parents,
                and `LinearNormal` for continuous variables.
        """
        joint = joint_of(parts)
        model = cls(structure=joint.graph)
        model.codec_, model.joint_ = codec_of(parts, joint), joint
        model.n_features_in_ = len(joint.names)
        vars(model)["feature_names_in_"] = np.array(joint.names, object)
        return model

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        callbacks: Any = (),
    ) -> "BayesianNetwork":
        """Learn the structure, unless it is given, and the numbers of each column.

        Args:
            X: rows: a frame, a dictionary of columns, or an array; cells may be missing.
            y: not used.
            sample_weight: how often each row counts.
            callbacks: functions of the numbers of a step of EM; one that returns True
                ends it.
        """
        prior = at_least("prior", self.prior)
        rows = learn_codes(self, X, sample_weight, kinds=self.kinds, counts=False)
        values, w = merged_rows(rows.V, rows.w)
        columns = self.codec_.columns
        sizes = tuple(c.n_levels for c in columns)
        least = {c.name: _least_scale(c) for c in columns if not c.n_levels}
        criterion = one_of("criterion", self.criterion, SCORES)
        names = self.codec_.names
        problem = Problem(names, sizes, values, w, criterion, max(prior, 1e-6), least)
        graph = self._structure(problem)
        check_kinds(graph, sizes)
        most = at_least("max_iter", self.max_iter, 1, whole=True)
        with Rounds(most, self.verbose, callbacks) as rounds:
            found = fit_numbers(
                blank(names, sizes, graph.parents),
                values,
                w,
                prior=prior,
                least=least,
                tol=at_least("tol", self.tol),
                max_iter=most,
                after_step=rounds.update,
            )
        self.joint_, self.history_ = found.joint, found.path
        self.n_iter_ = len(found.path)
        if not found.converged and not callbacks:
            warnings.warn(
                f"EM did not converge in {most} steps; give a larger max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _structure(self, problem: Problem) -> DirectedGraph:
        """The graph that the settings mean."""
        if not isinstance(self.structure, str):
            return given_graph(self.structure, problem.names)
        kind = one_of("structure", self.structure, STRUCTURES)
        if kind == "independent":
            return DirectedGraph(problem.names, ())
        if kind == "tree":
            return tree(problem)
        limits = search_limits(
            problem.names,
            problem.sizes,
            required=self.required,
            forbidden=self.forbidden,
            max_parents=at_least("max_parents", self.max_parents, 1, whole=True),
            n_tabu=at_least("n_tabu", self.n_tabu, whole=True),
            n_restarts=at_least("n_restarts", self.n_restarts, whole=True),
        )
        rng = np.random.default_rng(seed_of(self.random_state))
        graph, found = learned(problem, limits, rng)
        self.score_ = found.score
        return graph

    # The graph -------------------------------------------------------------------------

    @property
    def graph_(self) -> DirectedGraph:
        """The graph: arrows from parents to children."""
        check_is_fitted(self)
        return self.joint_.graph

    def conditional(self, name: str) -> Any:
        """The distribution of a column given its parents, in the units of the table.

        Of a discrete column a `Table`, of a continuous one a `LinearNormal` as the network
        sees it: of scaled numbers, positive ones by a logarithm.
        """
        check_is_fitted(self)
        (name,) = column_names(self.codec_, name)
        node = self.joint_.by_name[name]
        if not isinstance(node, TableNode):
            return LinearNormal.of(node)
        levels = [list(self._column(n).levels) for n in node.scope]
        return Table(np.exp(node.log_probs), node.scope, levels, given=node.parents)

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
        """log p of codes, in the units of the table; whole numbers have probabilities."""
        steps = [
            np.log(c.step) if c.kind == "whole" else 0.0 for c in self.codec_.columns
        ]
        units = ~np.isnan(V) @ np.array(steps)
        return log_probs(self.joint_, V) + self.codec_.log_det(V) + units

    def query(self, targets: Any, *, given: Any = None, do: Any = None) -> Any:
        """The joint distribution of some columns.

        Args:
            targets: a name or several.
            given: values of other columns that were observed, by name.
            do: values of columns that are set from outside: the arrows to them are cut, so
                that nothing follows about their causes.

        Returns:
            A `Table` of discrete columns; a `MixtureAnswer` if one is continuous.
        """
        check_is_fitted(self)
        return answer(self.joint_, self.codec_, targets, given, do)

    def sample(
        self,
        n: int = 1,
        *,
        given: Any = None,
        do: Any = None,
        random_state: Any = None,
    ) -> Any:
        """n new rows, in the container that the model was fitted to.

        Args:
            n: how many.
            given: values of some columns, the same for all rows or one for each.
            do: values of columns that are set from outside.
            random_state: seed of the draws.
        """
        check_is_fitted(self)
        n = at_least("n", n, 1, whole=True)
        rng = np.random.default_rng(seed_of(random_state))
        if given is None and do is None:
            return self.codec_.decode(draw_rows(self.joint_, n, rng))
        joint, values = known_values(self.joint_, self.codec_, given, do, n)
        self._check_possible(joint, values)
        return self.codec_.decode(draw_hidden(joint, values, rng))

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
            return filled_rows(self.codec_, X, self._expected(V))
        rng = np.random.default_rng(seed_of(random_state))
        m = at_least("n_draws", n_draws, 1, whole=True)
        draws = [draw_hidden(self.joint_, V, rng) for _ in range(m)]
        return [filled_rows(self.codec_, X, drawn) for drawn in draws]

    def predict(self, X: Any, target: str | None = None) -> np.ndarray:
        """(n,) a column given the others: the most probable level, or the mean.

        Args:
            X: rows; what they hold in the column itself is not looked at.
            target: its name; `target` of the settings unless given, else the last column.
        """
        name, V = self._without(X, target)
        hidden = self._expected(V, (name,))
        filled = self.codec_.decode(hidden)
        if hasattr(filled, "columns") or isinstance(filled, dict):
            return np.asarray(filled[name])
        return np.asarray(filled)[:, self.codec_.container.names.index(name)]

    def probabilities(self, X: Any, target: str | None = None) -> np.ndarray:
        """(n, levels) the probabilities of the levels of a discrete column, given the others.

        Args:
            X: rows.
            target: its name, as of `predict`.
        """
        name, V = self._without(X, target)
        size = self.joint_.levels.get(name)
        if size is None:
            raise InputError(
                f"{name!r} is continuous; ask for predict, or query for its distribution."
            )
        found = np.empty((len(V), size))
        for rows, evidence in blocks(self.joint_, V, (name,)):
            found[rows] = hidden_values(self.joint_, evidence, (name,)).probabilities[
                name
            ]
        return found

    # Inside ----------------------------------------------------------------------------

    def _column(self, name: str) -> ColumnCode:
        return self.codec_.columns[self.codec_.names.index(name)]

    def _without(self, X: Any, target: str | None) -> tuple[str, np.ndarray]:
        """The column that is asked for, and the codes of the others."""
        check_is_fitted(self)
        wanted = self.target if target is None else target
        (name,) = column_names(self.codec_, wanted or self.codec_.names[-1])
        V = codes_of(self, X).copy()
        V[:, self.codec_.names.index(name)] = np.nan
        return name, V

    def _expected(self, V: np.ndarray, names: Any = None) -> np.ndarray:
        """Codes with the most probable level or the mean of each missing cell."""
        V = V.copy()
        incomplete = np.flatnonzero(np.isnan(V).any(1))
        for rows, evidence in blocks(self.joint_, V[incomplete]):
            hidden = hidden_values(self.joint_, evidence, names)
            at = incomplete[rows]
            for name, shares in hidden.probabilities.items():
                V[at, self.joint_.column(name)] = shares.argmax(1)
            for name, mean in hidden.means.items():
                V[at, self.joint_.column(name)] = mean
        return V

    def _check_possible(self, joint: Joint, values: np.ndarray) -> None:
        bad = np.isneginf(log_probs(joint, values))
        if bad.any():
            raise InputError(
                f"what is given (row {int(np.argmax(bad))}) has probability 0 under the "
                "network, so no row can be drawn; leave some of it out."
            )


def _least_scale(column: ColumnCode) -> float:
    """The smallest σ of a column: numbers are not known better than they are written."""
    if column.kind == "whole":
        return LEAST_STEPS * column.step
    return max(LEAST_SCALE, column.resolution / np.sqrt(12))
