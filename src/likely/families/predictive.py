"""What `predict_dist` returns: a distribution with NumPy on both sides.

A NumPyro distribution built in the float64 scope silently turns float32 outside it
and in other threads. A `Predictive` holds the family and η as NumPy arrays, enters
the scope by itself for every method, pads rows so that few programs are compiled, and
returns labels as the user wrote them.
"""

import html
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.random import key_of
from likely.core.rows import pad_rows, size_class
from likely.families.bernoulli import Bernoulli
from likely.families.categorical import Categorical
from likely.families.counts_on_host import answer_on_host
from likely.families.crps_formulas import closed_crps
from likely.families.family import AbstractFamily
from likely.families.ordinal import CumulativeLogit
from likely.families.outputs import outputs_of
from likely.families.prediction import (
    BOTH,
    DENSITY,
    PROBABILITIES,
    AbstractPrediction,
)


class Predictive(AbstractPrediction):
    """The distribution p(y | x) of each of n rows.

    Args:
        family: the distribution family.
        eta: (n, k) unconstrained parameters.
        classes: labels for class numbers, where y is a class.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Normal(1.0), np.array([[0.0], [2.0]]))
        >>> print(dist.mean, dist.interval(0.9)[1].round(2))
        [0. 2.] [1.64 3.64]
    """

    def __init__(
        self,
        family: AbstractFamily,
        eta: Float[np.ndarray, "n k"],
        classes: Any = None,
    ):
        self.family = family
        self.classes = None if classes is None else np.asarray(classes)
        self.eta = np.asarray(eta, dtype=np.float64)
        if self.eta.shape[1:] != (family.n_eta,):
            raise InputError(
                f"eta has shape {self.eta.shape}, but {type(family).__name__} needs "
                f"{family.n_eta} entries for each row: (n, {family.n_eta})."
            )

    def __len__(self) -> int:
        return len(self.eta)

    def __repr__(self) -> str:
        return f"Predictive({type(self.family).__name__}, n={len(self)})"

    def _repr_html_(self) -> str:
        rows = min(5, len(self))
        theta = Predictive(self.family, self.eta[:rows]).theta
        head = "".join(f"<th>{html.escape(name)}</th>" for name in theta)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{_short(v[i])}</td>" for v in theta.values())
            + "</tr>"
            for i in range(rows)
        )
        more = f"<p>… {len(self) - rows} more rows</p>" if len(self) > rows else ""
        caption = html.escape(repr(self))
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table>{more}"

    @property
    def discrete(self) -> bool:
        """Whether y is a whole number."""
        return self.family.discrete

    @property
    def theta(self) -> dict[str, np.ndarray]:
        """The named parameters of the distribution, one entry for each row."""
        return self._ask("theta")

    @property
    def mean(self) -> np.ndarray:
        """E[y]; for classes, the probabilities (see `probs`)."""
        return self.probs if self._is_class else self._ask("mean")

    @property
    def var(self) -> np.ndarray:
        """The variance of y (of the indicator of each class, for classes)."""
        if self._is_class:
            return self.probs * (1 - self.probs)
        return self._ask("variance")

    @property
    def mode(self) -> np.ndarray:
        """The most probable y, as a label where y is a class."""
        return self._decode(self._ask("mode"))

    @property
    def probs(self) -> np.ndarray:
        """(n, c) class probabilities."""
        if not isinstance(self.family, Bernoulli | Categorical | CumulativeLogit):
            raise AttributeError(
                f"{type(self.family).__name__} has no classes; ask for cdf or quantile."
            )
        return self._ask("probs")

    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) of each row, in nats; −∞ where y is impossible."""
        y = self._rows(self._encode(y), "y")
        impossible = self.family.outside(y)
        some = np.asarray(self._ask("mode")) if impossible.any() else y
        mask = impossible[:, None] if self.family.multivariate else impossible
        answer = self._ask("log_prob", np.where(mask, some, y))
        missing = np.isnan(y).any(-1) if self.family.multivariate else np.isnan(y)
        return np.where(missing, np.nan, np.where(impossible, -np.inf, answer))

    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) of each row (and output); `y` for all rows, or for each."""
        y = self._rows(self._encode(y), "y")
        return np.where(np.isnan(y), np.nan, self._ask("cdf", y))

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, rows, ...) independent draws; the first are those of a smaller sample."""
        with float64(work=0.0):
            keys = jax.random.split(key_of(random_state), size_class(n))
            draws = _sample(self.family, pad_rows(self.eta), keys)
            return self._decode(np.asarray(draws)[:n, : len(self)])

    def _quantile(self, q: np.ndarray) -> np.ndarray:
        """The quantile of each row (and output) at its own level."""
        q = q[:, None] if self.family.multivariate else q
        return self._decode(self._ask("quantile", self._rows(q, "q")))

    def _take(self, rows: np.ndarray) -> "Predictive":
        return Predictive(self.family, self.eta[rows], self.classes)

    def _outputs(self) -> "list[Predictive] | None":
        """The distribution of each output on its own."""
        if not self.family.multivariate:
            return None
        return [Predictive(*output) for output in outputs_of(self.family, self.eta)]

    @property
    def _kind(self) -> str:
        """Whether y has a density, probabilities, or outputs of either."""
        kinds = {family.discrete for family in getattr(self.family, "families", ())}
        if len(kinds) == 2 or self.family.zeros:
            return BOTH
        return PROBABILITIES if True in kinds or self.discrete else DENSITY

    def _closed_crps(self, y: np.ndarray) -> np.ndarray | None:
        return closed_crps(self, y)

    @property
    def _is_class(self) -> bool:
        """Whether y is a class; a Bernoulli without labels is a number."""
        is_class = isinstance(self.family, Categorical | CumulativeLogit)
        return self.classes is not None or is_class

    def _encode(self, y: Any) -> np.ndarray:
        """Labels as class numbers, everything as float64."""
        y = np.asarray(y)
        if self.classes is None:
            return y.astype(np.float64)
        order = np.argsort(self.classes)
        index = np.searchsorted(self.classes, y, sorter=order)
        codes = order[np.minimum(index, len(order) - 1)]
        if not np.all(self.classes[codes] == y):
            known = self.classes.tolist()
            raise InputError(f"y has labels that are not among {known}.")
        return np.asarray(codes, np.float64)

    def _decode(self, y: np.ndarray) -> np.ndarray:
        """Class numbers as labels."""
        return y if self.classes is None else self.classes[y.astype(int)]

    def _rows(self, values: np.ndarray, name: str) -> np.ndarray:
        """One value (or vector of outputs) for each row."""
        n, family = len(self), self.family
        shape = (n, family.n_outputs) if family.multivariate else (n,)
        try:
            return np.broadcast_to(values, shape)
        except ValueError:
            one = f"{family.n_outputs} numbers" if family.multivariate else "one number"
            raise InputError(
                f"{name} has shape {values.shape}; give {one}, or shape {shape}."
            ) from None

    def _ask(self, name: str, *rows: np.ndarray) -> Any:
        """A method or moment of the family at η, compiled, on padded rows, in float64."""
        found = answer_on_host(self.family, name, self.eta, *rows)
        if found is not None:
            return found
        with float64(work=0.0):
            answer = _compute(self.family, name, *map(pad_rows, (self.eta, *rows)))
            return jax.tree.map(lambda a: np.asarray(a)[: len(self)], answer)


def _short(value: Any) -> str:
    """A number or array with few digits, for HTML."""
    return html.escape(
        np.array2string(np.asarray(value), precision=4, separator=", ", threshold=9)
    )


@lean_jit
def _compute(family, name, eta, *rows):
    """A method of the family, or the mean or variance of its distribution."""
    if name in ("mean", "variance"):
        return getattr(family(eta), name)
    return getattr(family, name)(eta, *rows)


@eqx.filter_jit
def _sample(family, eta, keys):
    """Draws of every row; NumPyro's samplers broadcast batch against event axes."""
    with jax.numpy_rank_promotion("allow"):
        return jax.vmap(family(eta).sample)(keys)
