r"""The masked network over columns: $p(x) = \prod_j p(x_j \mid x_{<j})$ in any order.

Each factor is a family of the kind of its column, whose parameters one masked network gives
for all columns in one pass. Numbers are described relative to their linear prediction from
earlier columns. Under another order it is another product; a network that was trained
under random orders knows them all.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from likely.base.training.unsupervised import Cells
from likely.generative.autoregressive.columns import CodedColumns, ColumnEta
from likely.generative.autoregressive.linear_conditionals import LinearConditionals
from likely.layers.bijections.whitening import Whitening
from likely.models.masked_mlp import CONDITION, MaskedMLP
from likely.typing import Key

LINEAR = ("number", "whole")
"""Kinds of columns that begin at a linear prediction."""
FAR = -30.0
"""The logit of a component that is not there."""


class ColumnStart(eqx.Module):
    """What columns without a linear prediction begin at; it is not trained.

    Args:
        first: the logarithm of the mean of counts, 0 for others.
        second: the logarithm of their concentration.
        words: the logits of each column of words.
    """

    first: Float[Array | np.ndarray, " m"]
    second: Float[Array | np.ndarray, " m"]
    words: tuple[Any, ...]

    @classmethod
    def of(
        cls, columns: CodedColumns, cells: Cells, w: Float[Array, " n"]
    ) -> "ColumnStart":
        """The parameters of counts and words by their moments and frequencies."""
        w = jnp.where(cells.missing, 0.0, w[:, None])
        total = jnp.maximum(w.sum(0), 1e-6)
        V = cells.values
        mean = (w * V).sum(0) / total
        extra = (w * (V - mean[None]) ** 2).sum(0) / total - mean
        counts = np.array([columns.kinds[j] == "count" for j in columns.mixed], bool)
        at = columns.mixed
        level = jnp.maximum(mean[at], 0.5 / total[at])
        r = jnp.clip(level**2 / jnp.maximum(extra[at], 1e-3 * level), 0.1, 100.0)
        words = []
        for j in columns.words:
            hot = V[:, j : j + 1] == jnp.arange(columns.levels[j])[None]
            share = (w[:, j : j + 1] * hot).sum(0) + 0.5
            words.append(jnp.log(share / share.sum()))
        first = jnp.where(counts, jnp.log(jnp.where(counts, level, 1.0)), 0.0)
        second = jnp.where(counts, jnp.log(jnp.where(counts, r, 1.0)), 0.0)
        return cls(first, second, tuple(words))


class MaskedDensity(eqx.Module):
    """A masked network over the columns of a coded table.

    Args:
        columns: their kinds.
        network: from what is read to what is said.
        linear: the linear predictions that it begins at.
        start: of the columns that have none.
    """

    columns: CodedColumns
    network: MaskedMLP
    linear: LinearConditionals
    start: ColumnStart

    @classmethod
    def build(
        cls,
        columns: CodedColumns,
        cells: Cells,
        w: Float[Array, " n"],
        *,
        key: Key,
        **of,
    ) -> "MaskedDensity":
        """The density with initial weights, which begins at linear predictions.

        Args:
            columns: the kinds of the columns.
            cells: rows to begin from.
            w: their weights.
            key: the random key of the initial weights.
            of: settings of `MaskedMLP`.
        """
        g = cells.given.shape[1]
        inputs = (*columns.input_variables, *[CONDITION] * g)
        network = MaskedMLP(inputs, columns.output_variables, **of, key=key)
        read = cls._read(columns, cells)
        variables = tuple(inputs[j] for j in cls._numeric(columns, g))
        numbers = read[:, cls._numeric(columns, g)]
        linear = LinearConditionals(Whitening.of(numbers, w), variables)
        return cls(columns, network, linear, ColumnStart.of(columns, cells, w))

    def log_probs(
        self,
        cells: Cells,
        order: Int[Array, " q"],
        *,
        key: Key | None = None,
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """log p of the cells that are there, by the network and by its start.

        Args:
            cells: rows.
            order: the rank of each column.
            key: of dropout in training.
        """
        found = []
        for eta in self.etas(cells, order, key=key):
            each = self.columns.log_probs(eta, cells.values)
            found.append(jnp.where(cells.missing, 0.0, each).sum(1))
        return found[0], found[1]

    def etas(
        self, cells: Cells, order: Int[Array, " q"], *, key: Key | None = None
    ) -> tuple[ColumnEta, ColumnEta]:
        """The parameters of all columns, by the network and by its start."""
        read = self._read(self.columns, cells)
        start = self._start(read, order)
        out, _ = self.network(read, order=order, key=key)
        eta, K = self.columns.eta(out), self.columns.n_components
        logits, shift, narrower = (a[None, :, None] for a in components(K))
        spread = jnp.where(self._is_linear[None, None], jnp.exp(start.second), 1.0)
        moved = ColumnEta(
            eta.logits + logits,
            start.first + spread * (shift + eta.first),
            start.second + narrower + eta.second,
            tuple(s + e for s, e in zip(start.words, eta.words, strict=True)),
        )
        return moved, start

    def _start(self, read: Float[Array, "n i"], order: Int[Array, " q"]) -> ColumnEta:
        """The parameters before training: one component, at the linear prediction."""
        n, K, m = len(read), self.columns.n_components, len(self.columns.mixed)
        start = jax.lax.stop_gradient(self.start)
        g = sum(v == CONDITION for v in self.network.inputs)
        at = self._numeric(self.columns, g)
        expected, deviation = self.linear(read[:, at], order)
        own = np.searchsorted(
            np.array(self.linear.variables[: len(at) - g]), self.columns.mixed
        )
        linear = self._is_linear[None]
        first = jnp.where(linear, expected[:, own], start.first[None])
        log_scale = jnp.where(linear, jnp.log(deviation[own])[None], start.second[None])
        only = jnp.where(jnp.arange(K) == 0, 0.0, FAR)[None, :, None]

        def alike(rows: Float[Array, "_ m"]) -> Float[Array, "n k m"]:
            return jnp.broadcast_to(rows[:, None], (n, K, m)).astype(read.dtype)

        words = tuple(jnp.broadcast_to(a[None], (n, len(a))) for a in start.words)
        logits = jnp.broadcast_to(only, (n, K, m)).astype(read.dtype)
        return ColumnEta(logits, alike(first), alike(log_scale), words)

    @property
    def _is_linear(self) -> np.ndarray:
        """(m,) which of the columns that are mixtures have a linear prediction."""
        return np.array(
            [self.columns.kinds[j] in LINEAR for j in self.columns.mixed], bool
        )

    @staticmethod
    def _read(columns: CodedColumns, cells: Cells) -> Float[Array, "n i"]:
        """What the network reads."""
        own = columns.inputs(cells.values, cells.missing)
        return jnp.concatenate([own, cells.given.astype(own.dtype)], 1)

    @staticmethod
    def _numeric(columns: CodedColumns, g: int) -> np.ndarray:
        """The inputs that linear predictions use: all but whether cells are there."""
        count = len(columns.input_variables)
        numbers = np.arange(count - len(columns.kinds))
        return np.concatenate([numbers, count + np.arange(g)])


def components(K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits, shifts and log scales of the components at first.

    The first is the prediction itself and has most of the weight; the others are narrower
    and stand beside it, so that they learn different things.
    """
    beside = np.linspace(-1.0, 1.0, K - 1) if K > 2 else np.zeros(K - 1)
    logits = np.r_[2.0, np.zeros(K - 1)]
    return logits, np.r_[0.0, beside], np.r_[0.0, np.full(K - 1, -0.7)]
