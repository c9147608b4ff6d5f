"""Flows of tables: coupling or autoregressive layers with linear maps between."""

import equinox as eqx
import jax
import numpy as np

from likely.core.checks import InputError, check_choice
from likely.layers.bijections.affine import AbstractIncreasing, AffineFunction
from likely.layers.bijections.autoregressive import Autoregressive
from likely.layers.bijections.bijection import AbstractBijection, joined_width
from likely.layers.bijections.composed import Composed
from likely.layers.bijections.coupling import Coupling
from likely.layers.bijections.linear import LULinear, Permutation
from likely.layers.bijections.spline import RationalQuadratic
from likely.models.flows.base import AbstractBase, StandardNormal, StandardStudent
from likely.models.flows.flow import Flow
from likely.models.masked_mlp import CONDITION, MaskedMLP
from likely.models.mlp import MLP
from likely.models.settings import setting
from likely.typing import Key

KINDS = ("coupling", "autoregressive")
FUNCTIONS = ("spline", "affine")
MIXINGS = ("lu", "permutation")
BASES = ("normal", "student")


class TableFlow(eqx.Module):
    """The settings of a flow of rows of numbers, as plain data; `build` makes the flow.

    Before training the flow is the identity up to the order of the columns: rows that
    are standard normal have their exact density at once.

    Args:
        kind: "coupling" (a half of the columns maps the other; quick both ways) or
            "autoregressive" (each column is mapped by all before it; sampling takes as
            many passes as columns).
        function: what columns are mapped by: "spline" or "affine".
        n_layers: the number of such layers.
        hidden: the width of the hidden layers of each network.
        n_hidden: how many hidden layers each has.
        n_bins: of the splines.
        bound: B of the splines, which are the identity outside of [−B, B].
        mixing: what is between layers: "lu", a learned invertible matrix, or
            "permutation", a fixed order.
        base: "normal" or "student".
        dropout: the probability to drop a hidden unit of a network.
        activation: of the networks.
    """

    kind: str = setting("coupling")
    function: str = setting("spline")
    n_layers: int = setting(4)
    hidden: int = setting(64)
    n_hidden: int = setting(2)
    n_bins: int = setting(8)
    bound: float = setting(5.0)
    mixing: str = setting("lu")
    base: str = setting("normal")
    dropout: float = setting(0.0)
    activation: str = setting("relu")

    def __check_init__(self):
        check_choice("kind", self.kind, KINDS)
        check_choice("function", self.function, FUNCTIONS)
        check_choice("mixing", self.mixing, MIXINGS)
        check_choice("base", self.base, BASES)
        if min(self.n_layers, self.hidden, self.n_hidden) < 1:
            raise InputError(
                f"n_layers, hidden and n_hidden are {self.n_layers}, {self.hidden} and "
                f"{self.n_hidden}; give whole numbers from 1 on."
            )
        if self.function == "spline":
            RationalQuadratic(self.n_bins, self.bound)  # refuses settings of its own

    @property
    def increasing(self) -> AbstractIncreasing:
        """The function that columns are mapped by."""
        if self.function == "affine":
            return AffineFunction()
        return RationalQuadratic(self.n_bins, self.bound)

    def build(self, d: int, n_given: int, *, key: Key) -> Flow:
        """The flow of d columns given n_given numbers, with initial weights."""
        parts: list[AbstractBijection] = []
        for number, k in enumerate(jax.random.split(key, self.n_layers)):
            if d > 1 and number:
                order = column_order(d, number)
                lu = self.mixing == "lu"
                parts.append(LULinear(order) if lu else Permutation(order))
            parts.append(self._layer(d, n_given, k))
        return Flow(None, Composed(*parts), self._base(d))

    def _layer(self, d: int, n_given: int, key: Key) -> AbstractBijection:
        p = self.increasing.n_parameters
        shared = {"dropout": self.dropout, "key": key}
        if self.kind == "autoregressive":
            inputs = (*range(d), *[CONDITION] * n_given)
            outputs = tuple(range(d)) * p
            widths = (self.hidden, self.n_hidden)
            network = MaskedMLP(
                inputs, outputs, *widths, activate=self.activation, **shared
            )
            return Autoregressive(network, self.increasing)
        kept = d // 2
        settings = MLP(
            (self.hidden,) * self.n_hidden,
            activation=self.activation,
            dropout=self.dropout,
            output_init="zero",
        )
        network = settings.build(joined_width(kept, n_given), p * (d - kept), key=key)
        return Coupling(network, self.increasing, kept)

    def _base(self, d: int) -> AbstractBase:
        return StandardNormal() if self.base == "normal" else StandardStudent.of(d)


def column_order(d: int, number: int) -> tuple[int, ...]:
    """The order of columns before layer `number`: reversed, then at random; fixed."""
    if number % 2:
        return tuple(range(d))[::-1]
    return tuple(map(int, np.random.default_rng(number).permutation(d)))
